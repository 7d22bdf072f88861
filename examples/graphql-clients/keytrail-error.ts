import type { Result, ResultError } from 'keytrail-client';

/** The first error of a response, as an exception. Decide by `code`. */
export class KeytrailError extends Error {
  readonly code: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;

  constructor({ message, extensions = {} }: ResultError) {
    super(message);
    this.code = extensions.code;
    this.retryable = extensions.retryable ?? false;
    this.retryAfterSeconds = extensions.retryAfterSeconds;
  }
}

/** Returns the data of a result without errors. Throws the first error otherwise. */
export function dataOf<Data>({ data, errors: [error] = [] }: Result<Data>): Data {
  if (error !== undefined) throw new KeytrailError(error);
  if (data == null) throw new Error('The response has neither data nor errors.');
  return data;
}
