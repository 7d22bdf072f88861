/** The settings or the options of a gateway are invalid. The message has one problem per line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One sentence per problem. None has the value of a setting that may hold a secret. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
