import type { ResultError } from './request.ts';

/** A login or a stream that failed. Decide by `extensions.code`. Neither message nor cause has a secret. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly extensions: NonNullable<ResultError['extensions']>;

  constructor({ message, extensions = {} }: ResultError, options?: ErrorOptions) {
    super(message, options);
    this.extensions = extensions;
  }

  /** Whether a repetition is safe, and may succeed. */
  get isRetryable(): boolean {
    const { code = '', retryable = RETRYABLE.test(code) } = this.extensions;
    return retryable;
  }
}

/** For a federation router that forwards only the code. */
const RETRYABLE = /^(?:RATE_LIMITED|OVERLOADED|UPSTREAM_TIMEOUT|UPSTREAM_UNAVAILABLE)$/;

/**
 * It is not known whether a login was carried out. If it was, its credential is used up and the new refresh token is
 * lost, so the session never logs in again. A new session begins with the tokens that are saved.
 */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

/** Whether an error says that the token was rejected. */
export const isUnauthenticated = (error: unknown): boolean =>
  Object(error).extensions?.code === 'UNAUTHENTICATED';

/** @throws OperationError that is retryable, for a connection that failed. */
export function throwUnreachable(cause: unknown): never {
  const message = 'The gateway could not be reached.';
  throw new OperationError({ message, extensions: { retryable: true } }, { cause });
}
