/**
 * A failure of this machine that may pass, such as a full disk: the exit status is 1. A message says what to do. What no
 * run can mend is a ConfigError.
 */
export class LocalFailure extends Error {
  override readonly name = 'LocalFailure';
}
