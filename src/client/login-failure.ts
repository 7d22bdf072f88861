import type { ErrorCode } from '../errors.ts';
import { OperationError, type ResultError, SessionLost } from './errors.ts';
import { isRefusedStatus } from './request.ts';

type Extensions = NonNullable<ResultError['extensions']>;

/**
 * What the error of a login says of its credential. `refused`: sent again, it is refused again. `kept`: it can be used
 * again, because nobody looked at it, or it was never sent. `unknown`: it may be used up.
 */
type Verdict = 'refused' | 'kept' | 'unknown';

/** A refusal of the service. With Retry-After it is about the time, and not about the credential. */
const refusal = ({ retryAfterSeconds }: Extensions): Verdict =>
  retryAfterSeconds === undefined ? 'refused' : 'kept';

/**
 * By the code of the error. A federation router may forward only the code: what is then not known counts as used up. Sent
 * again, a used refresh token can end all tokens of the client (RFC 9700, section 4.14.2). A service refuses a refresh
 * token with 400 (RFC 6749, section 5.2), and with any other 4xx.
 */
const VERDICTS: Readonly<Record<ErrorCode, Verdict | ((extensions: Extensions) => Verdict)>> = {
  BAD_REQUEST: 'kept',
  PERSISTED_QUERY_NOT_SUPPORTED: 'kept',
  GRAPHQL_PARSE_FAILED: 'kept',
  GRAPHQL_VALIDATION_FAILED: 'kept',
  BAD_USER_INPUT: refusal, // also without a status of the service: a router may have dropped it
  OPERATION_TOO_COMPLEX: 'kept',
  UNAUTHENTICATED: 'refused',
  FORBIDDEN: refusal,
  NOT_FOUND: refusal,
  CONFLICT: refusal,
  RATE_LIMITED: 'kept',
  OVERLOADED: 'kept',
  UPSTREAM_TIMEOUT: ({ retryable }) => (retryable === true ? 'kept' : 'unknown'), // never sent, or the service's 504
  UPSTREAM_UNAVAILABLE: 'kept',
  // A 2xx whose body reports a failure is not one of them: that is read from words of the body.
  UPSTREAM_ERROR: (extensions) => {
    const { upstream: { status = 0 } = {}, retryAfterSeconds } = extensions;
    if (status === 503 && retryAfterSeconds !== undefined) return 'kept';
    if (!isRefusedStatus(status)) return 'unknown';
    return status === 425 || status < 400 ? 'kept' : refusal(extensions); // Too Early (RFC 8470)
  },
  UPSTREAM_BAD_RESPONSE: 'unknown',
  OUTCOME_UNKNOWN: 'unknown',
  INTERNAL_SERVER_ERROR: 'unknown',
};

function verdictOf({ extensions = {} }: ResultError): Verdict {
  const { code = '' } = extensions;
  if (!Object.hasOwn(VERDICTS, code)) return 'unknown';
  const verdict = VERDICTS[code as ErrorCode]; // a key of the table
  return typeof verdict === 'string' ? verdict : verdict(extensions);
}

/** Converts the errors of a login that returned no tokens: SessionLost unless its credential can be used again. */
export function toLoginFailure(errors: readonly ResultError[] = []): OperationError | SessionLost {
  const none: ResultError = { message: 'There is no data.' };
  const error = errors.find((each) => !wasNotDone(each)) ?? errors[0] ?? none;
  const { message, extensions } = error;
  if (wasNotDone(error))
    return new OperationError(
      {
        message: `The login failed (${extensions?.code}): ${message}`,
        extensions: { retryable: false, ...extensions }, // without that extension, a login is not repeated
      },
      { needsSecret: verdictOf(error) === 'refused' },
    );
  const known = [extensions?.code, extensions?.reason, message].filter(Boolean).join(': ');
  const cause = error instanceof Error ? error : new OperationError(error);
  return new SessionLost(`${LOST} ${known}`, { cause });
}

/** Whether the service refused the login, or it was never sent. The same tells it of a deletion. */
export function wasNotDone(error: ResultError): boolean {
  return verdictOf(error) !== 'unknown';
}

const LOST =
  'The credential of a login may be used up, and is not sent again: check that, then create a new session.';
