const HELP_WORDS = ['help', '--help', '-h'];
const VERSION_WORDS = ['--version', '-V', '-v'];

/**
 * The text that a command line prints if it asks for the version or for help, and for nothing else; undefined for any
 * other. Neither needs the tables of options and settings, and loading them is most of the time of a start.
 * @param help texts by command, and that of `keytrail --help` under an empty name.
 */
export function printAtOnce(
  args: readonly string[],
  version: string,
  help: Readonly<Record<string, string>>,
): string | undefined {
  const [first = '', second] = args;
  if (args.length === 1 && VERSION_WORDS.includes(first)) return `${version}\n`;
  if (args.length === 1) return HELP_WORDS.includes(first) ? help[''] : undefined;
  if (args.length !== 2 || !second) return undefined;
  const command = HELP_WORDS.includes(first) ? second : first;
  const isHelp = HELP_WORDS.includes(first) || /^(?:--help|-h)$/.test(second);
  return isHelp && command !== '' && Object.hasOwn(help, command) ? help[command] : undefined;
}
