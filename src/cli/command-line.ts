import type { Environment } from '../config/load.ts';
import { SETTING_NAMES, toCommandOption } from '../config/settings.ts';
import { readValues, type ValuesOf } from '../config/value-types.ts';
import { findClosestName } from '../util/closest-name.ts';
import {
  COMMAND_NAMES,
  type CommandName,
  OPTION_NAMES,
  OPTIONS,
  parametersOf,
} from './commands.ts';

/** A parsed command line: the values of {@link OPTIONS}, and the rest. */
export type CommandLine = Omit<ValuesOf<typeof OPTIONS>, 'from'> & {
  /** Files with saved responses, for `learn`; a recording, for `check`. */
  readonly from: readonly string[];
  /** `serve` by default; undefined if there is no such command, which is also reported in `problems`. */
  readonly command: CommandName | undefined;
  /** What to print help about; undefined to print none. */
  readonly help: CommandName | 'keytrail' | undefined;
  readonly version: boolean;
  /** Settings that were given as options, by environment variable. */
  readonly flags: Environment;
  /** One sentence per problem. */
  readonly problems: readonly string[];
};

const PARAMETERS = new Map(COMMAND_NAMES.flatMap((command) => [...parametersOf(command)]));

/** Parses the command line. It never throws, so that its problems can be reported with those of the settings. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { words, options, version, ...tokens } = tokenize(args);
  const isHelp = words[0] === 'help';
  const [word, ...more] = isHelp ? words.slice(1) : words;
  const command = word === undefined ? 'serve' : COMMAND_NAMES.find((name) => name === word);
  const topic = word === undefined ? 'keytrail' : command;
  const problems: string[] = [];
  if (word !== undefined && command === undefined) problems.push(describeUnknownCommand(word));

  const valid = command === undefined ? PARAMETERS : parametersOf(command);
  const texts = new Map<string, readonly string[]>();
  for (const { name, text } of options) {
    const before = texts.get(name) ?? [];
    if (!valid.has(name)) problems.push(describeUnknownOption(name, command));
    else if (!text) problems.push(`${name} needs a value.`);
    else if (before.length > 0 && name !== '--from')
      problems.push(`${name} is given more than once.`);
    else texts.set(name, [...before, text]);
  }

  const textsOf = (names: readonly string[]): Environment =>
    Object.fromEntries(names.map((name) => [name, texts.get(toCommandOption(name))?.[0]]));
  const given = { texts: textsOf(OPTION_NAMES), label: toCommandOption };
  const values = readValues(OPTIONS, OPTION_NAMES, given, problems);
  // The shell expands `--from *.json` to several words.
  const from = texts.get('--from') ?? [];
  if (more.length > 0 && command !== 'learn')
    problems.push('Only one command can be given. Options begin with --.');
  else if (more.length > 0 && from.length === 0)
    problems.push('Put --from before the files: learn --from FILE.');
  return {
    ...values,
    from: [...from, ...more],
    command,
    help: isHelp || tokens.help ? topic : undefined,
    version,
    flags: textsOf(SETTING_NAMES),
    problems: [...new Set(problems)],
  };
}

/**
 * Splits the command line, before it is known which options are valid. An option takes the next word as its value, unless
 * `=` comes before its value. Its text is undefined if the value is missing.
 */
function tokenize(args: readonly string[]) {
  const rest = [...args];
  const words: string[] = [];
  const options: { readonly name: string; readonly text: string | undefined }[] = [];
  let help = false;
  let version = false;
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name = '', value] = /^(-[^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === '') words.push(arg);
    else if (name === '--help' || name === '-h') help = true;
    else if (name === '--version' || name === '-v') version = true;
    else options.push({ name, text: value ?? takeValue(name, rest) });
  }
  return { words, options, help, version };
}

/** Removes the value of an option from the arguments that follow it. */
function takeValue(name: string, rest: string[]): string | undefined {
  const parameter = PARAMETERS.get(name);
  const needsValue = parameter !== undefined && parameter.impliedText === undefined;
  const [next = '--'] = rest; // no value follows, as before another option
  // A word after an unknown option is most likely its value, unless it is a command.
  const isValue = needsValue ? !next.startsWith('--') : !/^-/.test(next) && !isCommandWord(next);
  return isValue ? rest.shift() : parameter?.impliedText;
}

function isCommandWord(word: string): boolean {
  return word === 'help' || COMMAND_NAMES.some((name) => name === word);
}

/** Repeats the word only if it is nearly a command: any other may be part of a secret. */
function describeUnknownCommand(word: string): string {
  const closest = findClosestName(word, COMMAND_NAMES);
  return closest === undefined
    ? `The command must be one of ${COMMAND_NAMES.join(', ')}. With npm, options follow --, as in npm start -- --port 4001.`
    : `${word} is not a command. Did you mean ${closest}?`;
}

function describeUnknownOption(name: string, command: CommandName | undefined): string {
  const problem = `${name} is not an option${command === undefined ? '' : ` of ${command}`}.`;
  const commands = COMMAND_NAMES.filter((other) => parametersOf(other).has(name));
  if (commands.length > 0) return `${problem} Use it with ${commands.join(' or ')}.`;
  const valid = command === undefined ? PARAMETERS : parametersOf(command);
  const closest = findClosestName(name, [...valid.keys(), '--help', '--version']);
  return closest === undefined ? problem : `${problem} Did you mean ${closest}?`;
}
