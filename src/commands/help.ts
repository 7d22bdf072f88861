import { SETTINGS } from '../config.ts';
import { COMMANDS, optionOf } from './command-line.ts';

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
