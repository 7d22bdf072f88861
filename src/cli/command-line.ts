import { parseArgs } from 'node:util';
import { type Environment, SETTINGS } from '../config/load.ts';

/** What was asked for on the command line. */
export type CommandLine = {
  /** The first word, `serve` when there is none: one of {@link COMMANDS}, or named as a problem. */
  readonly command: string;
  readonly help: boolean;
  readonly version: boolean;
  /** The file of the sandbox; in memory when left out. */
  readonly data: string | undefined;
  /** The saved answers to learn from. */
  readonly from: readonly string[];
  /** Settings given as options, under the names of their variables. */
  readonly environment: Environment;
  /** One sentence for each thing that cannot be understood. */
  readonly problems: readonly string[];
};

/** The option that stands for a variable: UPSTREAM_URL is `--upstream-url`. */
export function optionOf(variable: string): string {
  return `--${variable.toLowerCase().replaceAll('_', '-')}`;
}

/** What can be asked for, and what it does. */
export const COMMANDS: ReadonlyMap<string, string> = new Map([
  ['serve', 'serve the graph (the default); without UPSTREAM_URL over an embedded sandbox service'],
  ['sandbox', 'run the sandbox service alone, on port 4001 unless PORT says otherwise'],
  ['learn', 'print the contract by which saved answers, or those of a live service, are read'],
  ['schema', 'print the schema as a federation subgraph'],
]);

/** Takes the command line apart; it never throws, so that all problems can be named with those of the settings. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const variables = new Map(SETTINGS.map(({ name }) => [optionOf(name), name]));
  const text = { type: 'string' } as const;
  const { tokens } = parseArgs({
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
  const environment: Record<string, string> = {};
  const problems: string[] = [];
  const words: string[] = [];
  const flags = new Set<string>();
  const from: string[] = [];
  let data: string | undefined;
  let isUnknownBefore = false;
  for (const token of tokens) {
    // What follows an unknown option is most likely its value, and no command.
    if (token.kind === 'positional' && !isUnknownBefore) words.push(token.value);
    isUnknownBefore = false;
    if (token.kind !== 'option') continue;
    const variable = variables.get(token.rawName);
    if (token.name === 'help' || token.name === 'version') {
      flags.add(token.name);
    } else if (variable === undefined && token.name !== 'data' && token.name !== 'from') {
      problems.push(`There is no option ${token.rawName}.`);
      isUnknownBefore = true;
    } else if (token.value === undefined || token.value === '') {
      problems.push(`${token.rawName} needs a value.`);
    } else if (token.name === 'from') {
      from.push(token.value);
    } else if (variable === undefined) {
      data = token.value;
    } else {
      environment[variable] = token.value;
    }
  }
  const [command = 'serve', ...more] = words;
  if (!COMMANDS.has(command))
    problems.push(`The command must be ${[...COMMANDS.keys()].join(' or ')}.`);
  // A shell makes several words of `--from *.json`.
  if (command === 'learn' && from.length > 0) from.push(...more);
  else if (more.length > 0) {
    const isFile = command === 'learn';
    problems.push(isFile ? 'Files go as in --from answer.json.' : 'Only one command can be given.');
  }
  if (command !== 'learn' && from.length > 0) problems.push('--from is for the command learn.');
  return {
    command,
    help: flags.has('help'),
    version: flags.has('version'),
    data,
    from,
    environment,
    problems,
  };
}

/** The whole of `--help`. */
export function helpText(): string {
  return `Keytrail puts a GraphQL graph over a REST service: log in, read the audit trail, delete an API key.

Usage: keytrail [command] [options]

Commands
${[...COMMANDS].map(([name, does]) => `  ${name.padEnd(9)} ${does}`).join('\n')}

Options
  --from FILE…    learn from these saved answers; without it from UPSTREAM_URL, with the access
                  token in the variable KEYTRAIL_TOKEN
  --data FILE     keep the sandbox's data in this SQLite file; without it they end with the process
  --help, -h      print this
  --version, -v   print the version

Settings, each as a variable or as an option
${SETTINGS.map(describeSetting).join('\n')}

Exit status: 0 stopped as asked, 1 could not run, 2 an option or a setting is wrong.
`;
}

function describeSetting({ name, form, meaning, otherwise }: (typeof SETTINGS)[number]): string {
  return `  ${name}, ${optionOf(name)}
      ${meaning}
      ${form}; default: ${otherwise}`;
}
