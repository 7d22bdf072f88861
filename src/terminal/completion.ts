import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings } from '../gateway/config/load.ts';
import type { Parameter } from '../gateway/config/value-types.ts';
import type { CommandLine } from './command-line.ts';
import {
  COMMAND_NAMES,
  COMMANDS,
  type Command,
  type CommandName,
  parametersOf,
  SHELLS,
} from './commands.ts';
import { shortNameOf } from './options.ts';
import { print } from './output.ts';
import type { Runtime } from './runtime.ts';

/**
 * Runs `keytrail completion`: prints a script that completes commands, options and their values. It holds their names,
 * and does not start keytrail at each press of TAB, which takes half a second.
 * @throws ConfigError if there is none for the shell.
 */
export async function completion(runtime: Runtime, commandLine: CommandLine): Promise<void> {
  loadSettings({ ...runtime, ...commandLine, ...COMMANDS.completion }); // reports invalid options
  const shell = SHELLS.find((name) => name === commandLine.operands[0]);
  if (shell === undefined) throw new ConfigError([COMMANDS.completion.operands.advice]);
  await print(runtime, SCRIPTS[shell]());
}

const SCRIPTS = { bash: writeBash, zsh: writeZsh, fish: writeFish } as const;

/** What follows an option or a command. */
type Values = 'a file' | 'a text' | 'nothing' | readonly string[];

type Option = {
  readonly name: string;
  /** With its hyphen; empty if there is none. */
  readonly short: string;
  readonly description: string;
  readonly values: Values;
};

const OPTIONS_OF_ALL: readonly Option[] = [
  { name: '--help', short: '-h', description: 'print help', values: 'nothing' },
  { name: '--version', short: '-V', description: 'print the version', values: 'nothing' },
];

const FIRST_WORDS: readonly string[] = ['help', ...COMMAND_NAMES];

function optionsOf(command: CommandName): readonly Option[] {
  const toValues = ({ impliedText, placeholder }: Parameter) =>
    impliedText === undefined ? valuesOf(placeholder) : 'nothing';
  return [
    ...[...parametersOf(command)].map(
      ([name, parameter]): Option => ({
        ...{ name, short: shortNameOf(name) ?? '', values: toValues(parameter) },
        description: parameter.description,
      }),
    ),
    ...OPTIONS_OF_ALL,
  ];
}

function operandsOf(command: CommandName): Values {
  const { operands }: Command = COMMANDS[command];
  return operands === undefined ? 'nothing' : valuesOf(operands.form);
}

/** Words in lower case are values, as in `table|json`. */
function valuesOf(placeholder = ''): Values {
  if (placeholder.includes('FILE')) return 'a file';
  const values = placeholder.split('|').filter((word) => /^[a-z]/.test(word));
  return values.length === 0 ? 'a text' : values;
}

/** Needs bash 4, which splits `--output=table` into three words. */
function writeBash(): string {
  const complete = (values: Values) =>
    values === 'a file'
      ? 'compopt -o default; return'
      : typeof values === 'string'
        ? 'return'
        : `words='${values.join(' ')}'`;
  const afterOptions = COMMAND_NAMES.flatMap((command) =>
    optionsOf(command)
      .filter(({ values }) => values !== 'nothing')
      .flatMap(({ name, short, values }) =>
        [name, ...(short === '' ? [] : [short])].map(
          (each) => `    '${command} ${each}') ${complete(values)} ;;\n`,
        ),
      ),
  );
  const afterCommands = COMMAND_NAMES.flatMap((command) => {
    const operands = operandsOf(command);
    const names = complete(optionsOf(command).map(({ name }) => name));
    const hasOptionsOnly = operands === 'nothing' || operands === 'a text';
    return [
      `        '${command} '${hasOptionsOnly ? '*' : '-*'}) ${names} ;;\n`,
      ...(hasOptionsOnly ? [] : [`        '${command} '*) ${complete(operands)} ;;\n`]),
    ];
  });
  return `# For bash 4 or later:
# keytrail completion bash > ~/.local/share/bash-completion/completions/keytrail
_keytrail() {
  local index command='' words='' current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD - 1]}
  for ((index = 1; index < COMP_CWORD; index++)); do
    case \${COMP_WORDS[index]} in
      ${FIRST_WORDS.join(' | ')}) command=\${COMP_WORDS[index]}; break ;;
    esac
  done
  if [[ $current == = ]]; then current=''
  elif [[ $option == = ]]; then option=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [[ -z $command && $current == -* ]] && command=serve
  case "\${command:-serve} $option" in
${afterOptions.join('')}    *)
      case "$command $current" in
${afterCommands.join('')}        *) ${complete(FIRST_WORDS)} ;;
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _keytrail keytrail
`;
}

function writeZsh(): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const complete = (values: Values) => {
    if (values === 'nothing') return '';
    if (values === 'a file') return ':file:_files';
    return values === 'a text' ? ':value: ' : `:value:(${values.join(' ')})`;
  };
  const toSpecs = ({ name, short, description, values }: Option) => {
    const shown = description.replace(/[[\]:\\]/g, '\\$&');
    const ends = values === 'nothing' ? ['', ''] : ['=', '+']; // --limit=10 or a word; -n10 or a word
    return [name, ...(short === '' ? [] : [short])].map((each, index) =>
      quote(`*${each}${ends[index]}[${shown}]${complete(values)}`),
    );
  };
  const cases = COMMAND_NAMES.map((command) => {
    const operands = operandsOf(command);
    const specs = optionsOf(command).flatMap(toSpecs);
    if (operands !== 'nothing' && operands !== 'a text')
      specs.push(quote(`*${complete(operands)}`));
    return `    ${command})\n      specs+=(\n${specs.map((spec) => `        ${spec}\n`).join('')}      ) ;;\n`;
  });
  const commands = COMMAND_NAMES.map(
    (name) => `    ${quote(`${name}:${COMMANDS[name].summary}`)}\n`,
  );
  return `#compdef keytrail
# keytrail completion zsh > "\${fpath[1]}/_keytrail"
_keytrail() {
  local word command=serve
  local -a commands=(
    'help:print help'
${commands.join('')}  )
  local -a specs=('1: :{_describe command commands}')
  for word in \${words[2,CURRENT-1]}; do
    case $word in
      ${FIRST_WORDS.join(' | ')}) command=$word; break ;;
    esac
  done
  case $command in
    help) specs+=('2: :{_describe command commands}') ;;
${cases.join('')}  esac
  _arguments $specs
}
if [[ $funcstack[1] == _keytrail ]]; then _keytrail "$@"; else compdef _keytrail keytrail; fi
`;
}

function writeFish(): string {
  const quote = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const complete = (values: Values) => {
    if (values === 'nothing') return '';
    if (values === 'a file') return ' -r -F';
    return values === 'a text' ? ' -x' : ` -x -a ${quote(values.join(' '))}`;
  };
  const lines = COMMAND_NAMES.flatMap((command) => {
    const when = `complete -c keytrail -n "__keytrail_in ${command === 'serve' ? "'' " : ''}${command}"`;
    const operands = operandsOf(command);
    return [
      `complete -c keytrail -n "__keytrail_in '' help" -a ${command} -d ${quote(COMMANDS[command].summary)}`,
      ...optionsOf(command).map(
        ({ name, short, description, values }) =>
          `${when}${short === '' ? '' : ` -s ${short.slice(1)}`} -l ${name.slice(2)} -d ${quote(description)}${complete(values)}`,
      ),
      ...(operands === 'a file' ? [`${when} -F`] : []),
      ...(typeof operands === 'string' ? [] : [`${when} -a ${quote(operands.join(' '))}`]),
    ];
  });
  return `# keytrail completion fish > ~/.config/fish/completions/keytrail.fish
function __keytrail_in
  set -l command ''
  for word in (commandline -opc)
    if contains -- $word ${FIRST_WORDS.join(' ')}
      set command $word
      break
    end
  end
  contains -- "$command" $argv
end
complete -c keytrail -f
complete -c keytrail -n "__keytrail_in ''" -a help -d 'print help'
${lines.join('\n')}
`;
}
