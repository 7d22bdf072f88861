import { type ErrorCode, type FailureExtensions, RETRYABLE } from '../errors.ts';

/** Why a field or the whole request failed. Decide by `extensions.code`. */
export type ResultError = {
  /** What happened and what to do next, for people. */
  readonly message: string;
  /** The field that failed. Absent if the whole request failed. */
  readonly path?: readonly (string | number)[];
  /** A federation router between client and gateway forwards `code`. It may drop the rest, and has its own codes. */
  readonly extensions?: Partial<Omit<FailureExtensions, 'code'>> & {
    readonly code?: ErrorCode | (string & {});
  };
};

/** The options of an {@link OperationError}. */
type OperationErrorOptions = ErrorOptions & { readonly needsSecret?: boolean };

/** A login, a mutation or a stream that failed. Decide by `extensions.code`. Neither message nor cause has a secret. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly extensions: NonNullable<ResultError['extensions']>;
  /**
   * Of a login: whether it needs the client secret, because the refresh token was refused, or there is none. If the client
   * secret itself was refused, it needs another one.
   */
  readonly needsSecret: boolean;

  constructor(
    { message, extensions = {} }: ResultError,
    { needsSecret = false, ...options }: OperationErrorOptions = {},
  ) {
    super(message, options);
    this.extensions = extensions;
    this.needsSecret = needsSecret;
  }

  /** Whether a repetition is safe, and may succeed. A federation router may forward only the code. */
  get isRetryable(): boolean {
    const { code = '', retryable = RETRYABLE.has(code) } = this.extensions;
    return retryable;
  }
}

/**
 * It is not known whether a login was carried out. If it was, its credential is used up and the new refresh token is
 * lost, so the session never logs in again. The message has the code, and the cause is the error. A new session begins
 * with the tokens that are saved.
 */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

/** Whether an error says that the token was rejected. */
export const isUnauthenticated = (error: unknown): boolean =>
  Object(error).extensions?.code === 'UNAUTHENTICATED';

/** The part of a result that shows whether a mutation was refused. Results of other GraphQL clients have it, too. */
export type MutationResult = {
  /** Undefined if it is not known, null if the result has none. */
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly path?: readonly (string | number)[] | undefined;
    readonly extensions?: unknown;
  }[];
};

/**
 * Whether a mutation was not carried out because its token was rejected: it may be sent again with another one. True if
 * every mutation field is null, and every error is UNAUTHENTICATED and of a mutation field. Errors of other fields, and
 * those without a path, say nothing about the mutation: a federation router may have dropped the path.
 */
export function wasRefused({ data = {}, errors = [] }: MutationResult): boolean {
  if (data === null || errors.length === 0) return false;
  const isOfRoot = errors.every((error) => isUnauthenticated(error) && error.path?.length === 1);
  const refused = new Set(errors.map(({ path = [] }) => path[0]));
  return (
    isOfRoot &&
    Object.entries(Object(data)).every(
      ([field, value]) => field === '__typename' || (value === null && refused.has(field)),
    )
  );
}
