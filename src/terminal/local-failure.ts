/**
 * A failure of this machine that may pass, such as a full disk: the exit status is 1. A message says what to do. What no
 * run can mend is a ConfigError.
 */
export class LocalFailure extends Error {
  override readonly name = 'LocalFailure';
}

/** Errors of the name of a file: no run can use it. */
const OF_NAME: ReadonlySet<unknown> = new Set([
  ...['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP', 'EINVAL'],
]);

/** The code of an error of the file system that may pass, such as ENOSPC or EROFS; undefined for any other error. */
export function passingCode(error: unknown): string | undefined {
  const { code, syscall } = Object(error);
  return typeof code === 'string' && typeof syscall === 'string' && !OF_NAME.has(code)
    ? code
    : undefined;
}
