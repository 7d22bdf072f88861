import type { ErrorCode } from '../errors.ts';
import { OperationError, SessionLost } from './errors.ts';
import { isRefusedStatus, type ResultError } from './request.ts';

type Extensions = NonNullable<ResultError['extensions']>;

/** The credential can be used again: the service refused the login, or it was never sent. */
const KEPT = () => true;
const UNKNOWN = () => false;

/**
 * Whether the credential of a login with an error of this code can be used again. A federation router may forward only
 * the code: what is then not known counts as used up. Sent again, a used refresh token can end all tokens of the client
 * (RFC 9700, section 4.14.2).
 */
const IS_KEPT: Readonly<Record<ErrorCode, (extensions: Extensions) => boolean>> = {
  BAD_REQUEST: KEPT,
  PERSISTED_QUERY_NOT_SUPPORTED: KEPT,
  GRAPHQL_PARSE_FAILED: KEPT,
  GRAPHQL_VALIDATION_FAILED: KEPT,
  BAD_USER_INPUT: KEPT,
  OPERATION_TOO_COMPLEX: KEPT,
  UNAUTHENTICATED: KEPT,
  FORBIDDEN: KEPT,
  NOT_FOUND: KEPT,
  CONFLICT: KEPT,
  RATE_LIMITED: KEPT,
  OVERLOADED: KEPT,
  UPSTREAM_TIMEOUT: ({ retryable }) => retryable === true, // never sent. After the service's 504 it is false
  UPSTREAM_UNAVAILABLE: KEPT,
  // A 2xx whose body reports a failure is not one of them: that is read from words of the body.
  UPSTREAM_ERROR: ({ upstream: { status = 0 } = {}, retryAfterSeconds }) =>
    isRefusedStatus(status) || (status === 503 && retryAfterSeconds !== undefined),
  UPSTREAM_BAD_RESPONSE: UNKNOWN,
  OUTCOME_UNKNOWN: UNKNOWN,
  INTERNAL_SERVER_ERROR: UNKNOWN,
};

/** Converts the errors of a login that returned no tokens: SessionLost unless its credential can be used again. */
export function toLoginFailure(errors: readonly ResultError[] = []): OperationError | SessionLost {
  const none: ResultError = { message: 'There is no data.' };
  const error = errors.find((each) => !wasNotDone(each)) ?? errors[0] ?? none;
  const { message, extensions } = error;
  if (wasNotDone(error))
    return new OperationError({
      message: `The login failed (${extensions?.code}): ${message}`,
      extensions: { retryable: false, ...extensions }, // without that extension, a login is not repeated
    });
  const known = [extensions?.code, extensions?.reason, message].filter(Boolean).join(': ');
  const cause = error instanceof Error ? error : new OperationError(error);
  return new SessionLost(`${LOST} ${known}`, { cause });
}

/** Whether the service refused the login, or it was never sent. The same tells it of a deletion. */
export function wasNotDone({ extensions = {} }: ResultError): boolean {
  const { code = '' } = extensions;
  return Object.hasOwn(IS_KEPT, code) && IS_KEPT[code as ErrorCode](extensions); // a key of the table
}

const LOST =
  'The credential of a login may be used up, and is not sent again: check that, then create a new session.';
