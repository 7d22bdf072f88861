import { SETTINGS, type SettingName, toCommandOption } from '../gateway/config/settings.ts';
import type { Parameter } from '../gateway/config/value-types.ts';
import { wrap } from '../util/wrap.ts';
import { COMMAND_NAMES, COMMANDS, type Command, type CommandName, optionsOf } from './commands.ts';
import { EXIT_STATUS } from './exit-status.ts';
import { shortNameOf } from './options.ts';

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
        ['-V, --version', 'print the version; -v too, where it is not --verbose'],
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
  keytrail audit --since 24h --outcome failure

keytrail serve --help lists every setting.
--help after a command lists its exit statuses.
`;
}

function formatCommand(command: CommandName): string {
  const { summary, settings, operands, ...more }: Command = COMMANDS[command];
  const { variables = {}, statuses = [] } = more;
  const isServer = settings.some((name) => name === 'PORT');
  const own = Object.entries(optionsOf(command)).map(([name, option]) =>
    (isServer ? toRow : toShortRow)(toCommandOption(name), option),
  );
  const exits = ([0, ...statuses, 2] as const).toSorted((one, other) => one - other);
  const sections: readonly Section[] = [
    ['Options', [...own, ['-h, --help', 'print this help']]],
    ...Object.entries(variables).map((row): Section => ['Environment', [row]]),
    ...(isServer ? describeSettings(command) : listSettings(settings)),
    ...(isServer
      ? []
      : [['Exit status', exits.map((exit): Row => [String(exit), EXIT_STATUS[exit]])] as const]),
  ];
  const title = wrap(`keytrail ${command}: ${summary}`, '  ').join('\n');
  return `${title}

Usage: keytrail ${[command, operands?.form, '[options]'].filter(Boolean).join(' ')}

${formatSections(sections)}`;
}

/** Every setting with its form and default, under its group. */
function describeSettings(command: CommandName): readonly Section[] {
  const { settings, defaults = {} }: Command = COMMANDS[command];
  const groups = Object.groupBy(settings, (name) => SETTINGS[name].group);
  return [
    [
      `Settings, as options or environment variables (${namesOf(settings[0])}; the option wins)`,
      [],
    ],
    ...Object.entries(groups).map(
      ([group, names = []]): Section => [
        group,
        names.map((name) => toRow(toCommandOption(name), SETTINGS[name], defaults[name])),
      ],
    ),
  ];
}

/** The names alone: `keytrail serve --help` describes them. */
function listSettings(settings: readonly SettingName[]): readonly Section[] {
  if (settings.length === 0) return [];
  const title = `Settings, as variables or options (${namesOf(settings[0])}): see keytrail serve --help`;
  return [[title, [['', settings.join(', ')]]]];
}

const namesOf = (name: SettingName = 'UPSTREAM_URL') => `${toCommandOption(name)} or ${name}`;

/** `-n, --limit`, or the name alone. */
function withShort(name: string): string {
  const short = shortNameOf(name);
  return short === undefined ? name : `${short}, ${name}`;
}

/** An option in a line or two. */
function toShortRow(name: string, option: Parameter): Row {
  const { description, placeholder, impliedText, defaultText, default: byDefault } = option;
  const value = impliedText === undefined && placeholder ? ` ${placeholder}` : '';
  const text = defaultText ?? String(byDefault);
  const isOff = byDefault === false && (text === 'off' || text === 'false');
  return [`${withShort(name)}${value}`, isOff ? description : `${description} (default: ${text})`];
}

function toRow(name: string, parameter: Parameter, commandDefault?: string): Row {
  const { description, form, impliedText, defaultText, default: byDefault } = parameter;
  const implied = impliedText === undefined ? '' : `, ${impliedText} without a value`;
  const text = commandDefault ?? defaultText ?? String(byDefault);
  return [name, description, `${form}${implied} (default: ${text || 'none'})`];
}

/** Columns of the names. A longer one moves its description to the right. */
const MAX_NAME = 32;

/** The descriptions of all sections start in the same column. */
function formatSections(sections: readonly Section[]): string {
  const names = sections.flatMap(([, rows]) => rows.map(([name]) => name.length));
  const width = Math.min(Math.max(...names), MAX_NAME);
  const indent = ' '.repeat(width + 4);
  const formatRow = ([name, first = '', ...more]: Row) => [
    ...(name === '' ? wrap(`  ${first}`, '  ') : wrap(`  ${name.padEnd(width)}  ${first}`, indent)),
    ...more.flatMap((paragraph) => wrap(`${indent}${paragraph}`, indent)),
  ];
  return sections
    .map(([heading, rows]) => `${[heading, ...rows.flatMap(formatRow)].join('\n')}\n`)
    .join('\n');
}
