import { SETTINGS, type SettingName, toCommandOption } from '../config/settings.ts';
import type { Parameter } from '../config/value-types.ts';
import { wrap } from '../util/wrap.ts';
import { COMMAND_NAMES, COMMANDS, type Command, type CommandName, OPTIONS } from './commands.ts';

/** Names with the paragraphs that describe them, under a heading. */
type Section = readonly [heading: string, rows: readonly Row[]];
type Row = readonly [name: string, ...paragraphs: string[]];

/** Formats the text of `keytrail --help`, or of `--help` after a command. Lines have at most 100 columns. */
export function formatHelp(topic: CommandName | 'keytrail'): string {
  return topic === 'keytrail' ? formatOverview() : formatCommand(topic);
}

function formatOverview(): string {
  const sections: readonly Section[] = [
    ['Commands', COMMAND_NAMES.map((name) => [name, COMMANDS[name].summary])],
    [
      'Options',
      [
        ['-h, --help', 'print this help, or with a command its options and settings'],
        ['-v, --version', 'print the version'],
      ],
    ],
  ];
  return `Keytrail is a GraphQL gateway for a REST service: log in, read the audit trail, delete an API key.

Usage: keytrail [command] [options]

${formatSections(sections)}
Examples
  keytrail
  keytrail --upstream-url https://service.example.com
  keytrail learn --from response.json > contract.json

keytrail serve --help lists every setting.
Exit status: 0 stopped normally, 1 could not run, 2 an option or a setting is invalid.
`;
}

function formatCommand(command: CommandName): string {
  const { summary, options, settings, ...more }: Command = COMMANDS[command];
  const { defaults = {}, variables = {}, meanings = {} } = more;
  const own = options.map((name) =>
    toRow(toCommandOption(name), { ...OPTIONS[name], ...meanings[name] }),
  );
  const [first] = settings;
  const groups = Object.groupBy(settings, (name) => SETTINGS[name].group);
  const sections: readonly Section[] = [
    ['Options', [...own, ['-h, --help', 'print this help']]],
    ...Object.entries(variables).map((row): Section => ['Environment', [row]]),
    ...(first === undefined ? [] : [describeSettings(first)]),
    ...Object.entries(groups).map(
      ([group, names = []]): Section => [
        group,
        names.map((name) => toRow(toCommandOption(name), SETTINGS[name], defaults[name])),
      ],
    ),
  ];
  const title = wrap(`keytrail ${command}: ${summary}`, '  ').join('\n');
  return `${title}

Usage: keytrail ${command} [options]

${formatSections(sections)}`;
}

function describeSettings(example: SettingName): Section {
  const names = `${toCommandOption(example)} or ${example}`;
  return [`Settings, as options or environment variables (${names}; the option wins)`, []];
}

function toRow(name: string, parameter: Parameter, commandDefault?: string): Row {
  const { description, form, impliedText, defaultText, default: byDefault } = parameter;
  const implied = impliedText === undefined ? '' : `, ${impliedText} without a value`;
  const text = commandDefault ?? defaultText ?? String(byDefault);
  return [name, description, `${form}${implied} (default: ${text || 'none'})`];
}

/** The descriptions of all sections start in the same column. */
function formatSections(sections: readonly Section[]): string {
  const names = sections.flatMap(([, rows]) => rows.map(([name]) => name.length));
  const width = Math.max(...names);
  const indent = ' '.repeat(width + 4);
  const formatRow = ([name, first = '', ...more]: Row) => [
    ...wrap(`  ${name.padEnd(width)}  ${first}`, indent),
    ...more.flatMap((paragraph) => wrap(`${indent}${paragraph}`, indent)),
  ];
  return sections
    .map(([heading, rows]) => `${[heading, ...rows.flatMap(formatRow)].join('\n')}\n`)
    .join('\n');
}
