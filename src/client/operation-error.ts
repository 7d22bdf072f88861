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
    const { code = '', retryable = RETRYABLE.has(code) } = this.extensions;
    return retryable;
  }
}

/** For a federation router that forwards only the code. */
const RETRYABLE: ReadonlySet<string> = new Set([
  'RATE_LIMITED',
  'OVERLOADED',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_UNAVAILABLE',
]);
