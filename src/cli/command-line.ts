import { parseArgs } from 'node:util';
import type { Environment } from '../config/load.ts';
import { SETTING_NAMES, SETTINGS, type Setting, type SettingName } from '../config/settings.ts';

/** A parsed command line. */
export type CommandLine = {
  /** A name of {@link COMMANDS}, `serve` by default. Any other name is also reported in `problems`. */
  readonly command: string;
  readonly help: boolean;
  readonly version: boolean;
  /** The SQLite file of the sandbox; undefined for a database in memory. */
  readonly data: string | undefined;
  /** Files with saved responses, for `learn`. */
  readonly from: readonly string[];
  /** Settings that were given as flags, by environment variable. */
  readonly flags: Environment;
  /** One sentence per problem. */
  readonly problems: readonly string[];
};

/** The flag of a setting: UPSTREAM_URL is `--upstream-url`. */
function toFlag(variable: string): string {
  return `--${variable.toLowerCase().replaceAll('_', '-')}`;
}

/** The commands and what they do. */
export const COMMANDS: ReadonlyMap<string, string> = new Map([
  ['serve', 'start the gateway (default); without UPSTREAM_URL, over an embedded sandbox service'],
  ['sandbox', 'start only the sandbox service, on port 4001 unless PORT is set'],
  ['learn', 'infer a contract from saved responses or from a live service, and print it as JSON'],
  ['schema', 'print the GraphQL schema, as a federation subgraph'],
]);

/** Parses the command line. It never throws, so that its problems can be reported with those of the settings. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const variables = new Map(SETTING_NAMES.map((name) => [toFlag(name), name]));
  const text = { type: 'string' } as const;
  const { tokens, values } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
      data: text,
      from: { ...text, multiple: true },
      ...Object.fromEntries([...variables.keys()].map((option) => [option.slice(2), text])),
    },
  });
  const flags: Record<string, string> = {};
  const problems: string[] = [];
  const words: string[] = [];
  const from: string[] = [];
  let data: string | undefined;
  let isUnknownBefore = false;
  for (const token of tokens) {
    // A word after an unknown option is most likely its value, not a command.
    if (token.kind === 'positional' && !isUnknownBefore) words.push(token.value);
    isUnknownBefore = false;
    if (token.kind !== 'option') continue;
    const variable = variables.get(token.rawName);
    if (token.name === 'help' || token.name === 'version') continue;
    if (variable === undefined && token.name !== 'data' && token.name !== 'from') {
      problems.push(`${token.rawName} is not an option.`);
      isUnknownBefore = true;
    } else if (token.value === undefined || token.value === '') {
      problems.push(`${token.rawName} needs a value.`);
    } else if (token.name === 'from') {
      from.push(token.value);
    } else if (variable === undefined) {
      data = token.value;
    } else {
      flags[variable] = token.value;
    }
  }
  const [command = 'serve', ...more] = words;
  if (!COMMANDS.has(command))
    problems.push(`The command must be one of ${[...COMMANDS.keys()].join(', ')}.`);
  // The shell expands `--from *.json` to several words.
  if (command === 'learn' && from.length > 0) from.push(...more);
  else if (more.length > 0 && command === 'learn')
    problems.push('Put --from before the files: learn --from FILE.');
  else if (more.length > 0) problems.push('Only one command can be given.');
  if (command !== 'learn' && from.length > 0) problems.push('--from is for the command learn.');
  const help = values['help'] !== undefined;
  const version = values['version'] !== undefined;
  return { command, help, version, data, from, flags, problems };
}

/** The text of `--help`. */
export function formatHelp(): string {
  return `Keytrail is a GraphQL gateway for a REST service: log in, read the audit trail, delete an API key.

Usage: keytrail [command] [options]

Commands
${[...COMMANDS].map(([name, description]) => `  ${name.padEnd(9)} ${description}`).join('\n')}

Options
  --from FILE…    files with saved responses for learn; without it, learn requests the audit trail
                  from UPSTREAM_URL with the access token in the variable KEYTRAIL_TOKEN
  --data FILE     SQLite file for the sandbox's data; without it, the data is lost at exit
  -h, --help      print this help
  -v, --version   print the version

Settings: each is an environment variable or an option; the option wins
${SETTING_NAMES.map(formatSetting).join('\n')}

Exit status: 0 stopped normally, 1 could not run, 2 an option or a setting is invalid.
`;
}

function formatSetting(name: SettingName): string {
  const { defaultText, default: byDefault, description, form }: Setting = SETTINGS[name];
  return `  ${name}, ${toFlag(name)} (default: ${defaultText ?? byDefault})
      ${description}
      ${form}`;
}
