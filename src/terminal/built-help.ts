/** The texts of `--help` by command, and that of `keytrail --help` under an empty name. The build writes them in here. */
export const HELP: Readonly<Record<string, string>> = {};
