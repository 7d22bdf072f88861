import { ConfigError } from '../gateway/config/config-error.ts';

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

/**
 * The failure of a file that could not be replaced: see `replaceFile`.
 * @param name the option with the file.
 * @param other what to name instead, if no run can write it.
 * @param next what the next run does.
 */
export function toUnwritten(
  name: string,
  error: unknown,
  other: string,
  next = '',
): LocalFailure | ConfigError {
  const { code, message, left } = Object(error);
  const rest = left === undefined ? '' : ` ${JSON.stringify(left)} stays beside it: remove it.`;
  if (passingCode(error) === undefined)
    return new ConfigError([
      `${name} cannot be written.${rest} ${other} Cause: ${code ?? message}.`,
    ]);
  return new LocalFailure(
    `${name} could not be written (${code}), and is as it was.${next}${rest} Check the space on its disk, and that you may write to its folder.`,
  );
}
