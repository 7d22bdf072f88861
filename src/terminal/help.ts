import { SETTINGS, type SettingName, toCommandOption } from '../gateway/config/settings.ts';
import type { Parameter } from '../gateway/config/value-types.ts';
import { wrap as wrapTo } from '../util/wrap.ts';
import { COMMAND_NAMES, COMMANDS, type Command, type CommandName, optionsOf } from './commands.ts';
import { EXIT_STATUS, type ExitStatus } from './exit-status.ts';
import { shortNameOf } from './options.ts';

/** Names with the paragraphs that describe them, under a heading. */
type Section = readonly [heading: string, rows: readonly Row[]];
type Row = readonly [name: string, ...paragraphs: string[]];

/** Columns of a usual terminal. */
const WIDTH = 80;

const wrap = (line: string, indent: string) => wrapTo(line, indent, WIDTH);

/** Formats the text of `keytrail --help`, or of `--help` after a command. Lines have at most 80 columns. */
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
  return `Keytrail is a GraphQL gateway for a REST service: log in, read the audit trail,
delete an API key.

Usage: keytrail [command] [options]

${formatSections(sections)}
Examples
  keytrail serve --upstream-url https://service.example.com
  keytrail audit --since 24h --outcome failure

keytrail serve --help lists every setting.
--help after a command lists its exit statuses.
`;
}

function formatCommand(command: CommandName): string {
  const { summary, settings, operands, ...more }: Command = COMMANDS[command];
  const isServer = settings.some((name) => name === 'PORT');
  const own = Object.entries(optionsOf(command)).map(([name, option]) =>
    (isServer ? toRow : toShortRow)(toCommandOption(name), option),
  );
  const options: Section = ['Options', [...own, ['-h, --help', 'print this help']]];
  const head = [
    ...wrap(`keytrail ${command}: ${summary}`, '  '),
    ...wrap(
      `Usage: keytrail ${[command, operands?.form, '[options]'].filter(Boolean).join(' ')}`,
      '',
    ),
  ].join('\n');
  if (isServer) {
    const variables = Object.entries(more.variables ?? {});
    const environment: readonly Section[] =
      variables.length > 0 ? [['Environment', variables]] : [];
    const sections = formatSections([options, ...environment, ...describeSettings(command)]);
    return `${head}\n\n${sections}\n${wrap(SERVER_STATUSES, '  ').join('\n')}\n`;
  }
  const sections = [options, ...listVariables(command)];
  const examples = (more.examples ?? []).map((line) => `  ${line}\n`);
  return [
    `${head}\n\n`,
    formatSections(sections, ''),
    ...(examples.length > 0 ? ['Examples\n', ...examples] : []),
    `${formatStatuses(more.statuses ?? [])}\n`,
  ].join('');
}

/** Of `serve` and `sandbox`, which run until a signal. A second signal ends them at once, with 128 and its number. */
const SERVER_STATUSES = `Exit status. 0: stopped by a signal. 1: could not start, for example because the port is in use. 2: ${EXIT_STATUS[2]}.`;

/** The exit statuses in one paragraph: a page with a line for each does not fit a screen. */
function formatStatuses(statuses: readonly ExitStatus[]): string {
  const exits = ([0, ...statuses, 2] as const).toSorted((one, other) => one - other);
  const texts = exits.map((exit) => `${exit}: ${EXIT_STATUS[exit]}.`);
  return wrap(`Exit status. ${texts.join(' ')}`, '  ').join('\n');
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

/** The names of the settings alone: `keytrail serve --help` describes them. */
function listVariables(command: CommandName): readonly Section[] {
  const { settings, variables = {} }: Command = COMMANDS[command];
  if (settings.length === 0) return [];
  const title = `Variables; settings are options too (${toCommandOption(settings[0] ?? '')}): keytrail serve --help`;
  return [[title, [...Object.entries(variables), ['', settings.join(', ')]]]];
}

const namesOf = (name: SettingName = 'UPSTREAM_URL') => `${toCommandOption(name)} or ${name}`;

/** `-n, --limit`, or the name alone. */
function withShort(name: string): string {
  const short = shortNameOf(name);
  return short === undefined ? name : `${short}, ${name}`;
}

/** Characters of alternatives. More of them come after the description. */
const MAX_PLACEHOLDER = 12;

/** An option in a line or two. */
function toShortRow(name: string, option: Parameter): Row {
  const { description, placeholder = '', impliedText, defaultText, default: byDefault } = option;
  const isLong = placeholder.length > MAX_PLACEHOLDER;
  const value = impliedText === undefined && placeholder ? ` ${isLong ? 'WORD' : placeholder}` : '';
  const words = isLong ? `: ${placeholder.split('|').join(', ')}` : '';
  const text = defaultText ?? String(byDefault);
  const hasDefault = text !== 'none' && !(byDefault === false && /^(?:off|false)$/.test(text));
  const end = hasDefault ? ` (default: ${text})` : '';
  return [`${withShort(name)}${value}`, `${description}${words}${end}`];
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
function formatSections(sections: readonly Section[], between = '\n'): string {
  const names = sections.flatMap(([, rows]) => rows.map(([name]) => name.length));
  const width = Math.min(Math.max(...names), MAX_NAME);
  const indent = ' '.repeat(width + 4);
  const formatRow = ([name, first = '', ...more]: Row) => [
    ...(name === '' ? wrap(`  ${first}`, '  ') : wrap(`  ${name.padEnd(width)}  ${first}`, indent)),
    ...more.flatMap((paragraph) => wrap(`${indent}${paragraph}`, indent)),
  ];
  return sections
    .map(
      ([heading, rows]) => `${[...wrap(heading, '  '), ...rows.flatMap(formatRow)].join('\n')}\n`,
    )
    .join(between);
}
