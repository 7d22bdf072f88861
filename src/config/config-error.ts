/** Settings or options that cannot be started with. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One sentence for each problem; none repeats a value. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
