import type { Environment } from '../gateway/config/load.ts';
import { SETTING_NAMES, toCommandOption } from '../gateway/config/settings.ts';
import { type Parameter, readValues, type ValuesOf } from '../gateway/config/value-types.ts';
import { editDistance, findClosestName } from '../util/closest-name.ts';
import {
  COMMAND_NAMES,
  COMMANDS,
  type Command,
  type CommandName,
  optionsOf,
  parametersOf,
} from './commands.ts';
import { OPTION_NAMES, OPTIONS, SHORT_NAMES } from './options.ts';

/** A parsed command line: the values of {@link OPTIONS}, and the rest. */
export type CommandLine = Omit<ValuesOf<typeof OPTIONS>, 'from'> & {
  /** Files with saved responses, for `learn`; a recording, for `check`; IDs, for `delete-key`. */
  readonly from: readonly string[];
  /** The words after the command. */
  readonly operands: readonly string[];
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

/** Options that may be given several times. */
const REPEATABLE: ReadonlySet<string> = new Set(['--from', '--action']);

/** The variables that any command reads. */
const VARIABLES: ReadonlySet<string> = new Set([
  ...SETTING_NAMES,
  ...COMMAND_NAMES.flatMap((name) => {
    const { variables = {} }: Command = COMMANDS[name];
    return Object.keys(variables);
  }),
]);

const PARAMETERS = new Map(COMMAND_NAMES.flatMap((command) => [...parametersOf(command)]));

/**
 * Parses the command line, and looks for misspelt variables of the environment. It never throws, so that its problems can
 * be reported with those of the settings.
 */
export function parseCommandLine(
  args: readonly string[],
  environment: Environment = {},
): CommandLine {
  const { words, options, ...tokens } = tokenize(args);
  const isHelp = words[0] === 'help';
  const [word, ...more] = isHelp ? words.slice(1) : words;
  const command = word === undefined ? 'serve' : COMMAND_NAMES.find((name) => name === word);
  const topic = word === undefined ? 'keytrail' : command;
  const problems: string[] = [];
  if (word !== undefined && command === undefined) problems.push(describeUnknownCommand(word));

  const valid = command === undefined ? PARAMETERS : parametersOf(command);
  const texts = new Map<string, readonly string[]>();
  let { version } = tokens;
  for (const { name, text, given = name } of options) {
    const before = texts.get(name) ?? [];
    if (given === '-v' && !valid.has(name)) version = true;
    else if (!valid.has(name)) problems.push(describeUnknownOption(name, command, given));
    else if (!text) problems.push(`${name} needs a value.`);
    else if (before.length > 0 && !REPEATABLE.has(name))
      problems.push(`${name} is given more than once.`);
    else texts.set(name, [...before, text]);
  }

  const textsOf = (names: readonly string[]): Environment =>
    Object.fromEntries(names.map((name) => [name, texts.get(toCommandOption(name))?.join()]));
  const given = { texts: textsOf(OPTION_NAMES), label: toCommandOption };
  const own = command === undefined ? {} : optionsOf(command);
  const table = { ...OPTIONS, ...own } as typeof OPTIONS; // what a command changes is narrower
  const values = readValues(table, OPTION_NAMES, given, problems);
  const from = texts.get('--from') ?? [];
  const { operands }: Command = COMMANDS[command ?? 'serve'];
  if (operands === undefined && more.length > 0)
    problems.push('Only one command can be given. Options begin with --.');
  else if (operands !== undefined && (more.length < operands.min || more.length > operands.max))
    problems.push(operands.advice);
  // The shell expands `--from *.json` to several words.
  const isLearn = command === 'learn';
  if (isLearn && more.length > 0 && from.length === 0)
    problems.push('Put --from before the files: learn --from FILE.');
  const flags = textsOf(SETTING_NAMES);
  if (command !== undefined) problems.push(...findMisspelt(environment, flags, command));
  return {
    ...values,
    from: isLearn ? [...from, ...more] : from,
    operands: more,
    command,
    help: isHelp || tokens.help ? topic : undefined,
    version,
    flags,
    problems: [...new Set(problems)],
  };
}

/** An option on the command line. */
type GivenOption = {
  readonly name: string;
  /** Undefined if the value is missing. */
  readonly text: string | undefined;
  /** As it was typed, if that was a short name. */
  readonly given?: string;
};

/**
 * Splits the command line, before it is known which options are valid. An option takes the next word as its value, unless
 * `=` comes before its value.
 */
function tokenize(args: readonly string[]) {
  const end = args.indexOf('--'); // after it, a word that begins with - is no option
  const rest = end < 0 ? [...args] : args.slice(0, end);
  const words: string[] = [];
  const options: GivenOption[] = [];
  let help = false;
  let version = false;
  const add = (option: GivenOption) => {
    if (option.name === '--help') help = true;
    else if (option.name === '--version') version = true;
    else options.push(option);
  };
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name = '', value] = /^(-[^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    const short = splitShort(arg);
    if (name === '') words.push(arg);
    else if (short === undefined) add({ name, text: value ?? takeValue(name, rest, words[0]) });
    else
      for (const { text, ...option } of short)
        add({ ...option, text: text ?? takeValue(option.name, rest, words[0], option.given) });
  }
  if (end >= 0) words.push(...args.slice(end + 1));
  return { words, options, help, version };
}

/**
 * The options of `-n`, `-n10`, `-n=10` or `-fn10`, by their long names. A value is part of the last one only. Undefined if
 * a letter stands for none, and for a long name behind one hyphen.
 */
function splitShort(arg: string): readonly GivenOption[] | undefined {
  if (!/^-[^-]/.test(arg) || PARAMETERS.has(`-${arg.replace(/=.*/s, '')}`)) return undefined;
  const options: GivenOption[] = [];
  let rest = arg.slice(1);
  while (rest !== '') {
    const [letter = ''] = rest;
    const name = SHORT_NAMES[letter];
    if (name === undefined) return undefined;
    rest = rest.slice(letter.length);
    const parameter = PARAMETERS.get(name);
    const isLast = rest.startsWith('=') || (parameter !== undefined && needsValue(parameter));
    const text = isLast && rest !== '' ? rest.replace(/^=/, '') : undefined;
    options.push({ name, text, given: `-${letter}` });
    if (isLast) break;
  }
  return options;
}

const needsValue = ({ impliedText }: Parameter) => impliedText === undefined;

/** Removes the value of an option from the arguments that follow it. */
function takeValue(
  name: string,
  rest: string[],
  command = 'serve',
  given = name,
): string | undefined {
  const parameter = PARAMETERS.get(name);
  const isValueNeeded = parameter !== undefined && needsValue(parameter);
  const { operands }: Partial<Command> = Object(COMMANDS)[command] ?? {};
  // The word may be an ID of a key: `delete-key --yes ID`. A short name such as -f never takes one.
  if (!isValueNeeded && (given !== name || (parameter !== undefined && operands !== undefined)))
    return parameter?.impliedText;
  const [next = '--'] = rest; // no value follows, as before another option
  // A word after an unknown option is most likely its value, unless it is a command.
  const isValue = isValueNeeded ? !next.startsWith('--') : !/^-/.test(next) && !isCommandWord(next);
  return isValue ? rest.shift() : parameter?.impliedText;
}

function isCommandWord(word: string): boolean {
  return word === 'help' || COMMAND_NAMES.some((name) => name === word);
}

/** Variables of Kubernetes, for a service named keytrail or upstream. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|(?:SERVICE_)?PORT(?:_\w+)?)$/;

/** Characters of a variable that may be wrong. */
const MAX_TYPOS = 2;

/**
 * Variables that nobody reads, whose names are nearly that of a variable that the command reads and that is not set:
 * mistyped, or without its last word. All others are ignored: many programs may use such a prefix.
 */
function* findMisspelt(
  environment: Environment,
  flags: Environment,
  command: CommandName,
): Generator<string> {
  const { settings, variables = {} }: Command = COMMANDS[command];
  const isSet = (name: string) => Boolean(environment[name]?.trim() || flags[name]);
  const free = [...settings, ...Object.keys(variables)].filter((name) => !isSet(name));
  for (const name of Object.keys(environment)) {
    if (!/^(?:UPSTREAM|KEYTRAIL)_\w+$/.test(name) || !isSet(name)) continue;
    if (VARIABLES.has(name) || OF_KUBERNETES.test(name)) continue;
    const meant =
      free.find((each) => each.startsWith(`${name}_`)) ??
      free.find((each) => editDistance(name, each) <= MAX_TYPOS);
    if (meant !== undefined) yield `${name} is not a variable of keytrail. Did you mean ${meant}?`;
  }
}

/** Repeats the word only if it is nearly a command: any other may be part of a secret. */
function describeUnknownCommand(word: string): string {
  const closest = findClosestName(word, COMMAND_NAMES);
  return closest === undefined
    ? `The command must be one of ${COMMAND_NAMES.join(', ')}. With npm, options follow --, as in npm start -- --port 4001.`
    : `${word} is not a command. Did you mean ${closest}?`;
}

function describeUnknownOption(
  name: string,
  command: CommandName | undefined,
  given: string,
): string {
  const shown = given === name ? name : `${given} (${name})`;
  const problem = `${shown} is not an option${command === undefined ? '' : ` of ${command}`}.`;
  const commands = COMMAND_NAMES.filter((other) => parametersOf(other).has(name));
  if (commands.length > 0) return `${problem} Use it with ${commands.join(' or ')}.`;
  const valid = command === undefined ? PARAMETERS : parametersOf(command);
  const closest = findClosestName(name, [...valid.keys(), '--help', '--version']);
  return closest === undefined ? problem : `${problem} Did you mean ${closest}?`;
}
