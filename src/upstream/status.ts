import type { ErrorCode, FailureReason } from '../errors.ts';

/** What a status outside 2xx means to the caller, to retries and to the circuit breaker. */
export type FailureStatus = {
  /** `extensions.code` of the GraphQL error. */
  readonly code: ErrorCode;
  readonly reason?: FailureReason;
  /** Which operations set `extensions.retryable`. */
  readonly retryable: 'all' | 'reads' | 'none';
  /** Whether the gateway itself repeats a read once. */
  readonly repeat: boolean;
  /** Whether the circuit breaker counts it as a failure of the service. */
  readonly countsAgainstService: boolean;
};

const NEVER = { retryable: 'none', repeat: false, countsAgainstService: false } as const;

/** Never followed: the token could reach another host. */
const REDIRECT: FailureStatus = { ...NEVER, code: 'UPSTREAM_BAD_RESPONSE', reason: 'REDIRECT' };

/** The service works, and rejects this request. */
const CLIENT_ERROR: FailureStatus = { ...NEVER, code: 'UPSTREAM_ERROR' };

const SERVER_ERROR: FailureStatus = { ...CLIENT_ERROR, countsAgainstService: true };

/** The service is overloaded, or a proxy cannot reach it (RFC 9110, section 15.6). */
const TEMPORARY: FailureStatus = { ...SERVER_ERROR, retryable: 'reads', repeat: true };

const FAILURE_BY_STATUS: Readonly<Record<number, FailureStatus>> = {
  400: { ...CLIENT_ERROR, code: 'BAD_USER_INPUT' },
  401: { ...CLIENT_ERROR, code: 'UNAUTHENTICATED' },
  403: { ...CLIENT_ERROR, code: 'FORBIDDEN' },
  404: { ...CLIENT_ERROR, code: 'NOT_FOUND' },
  408: { ...CLIENT_ERROR, retryable: 'reads' },
  409: { ...CLIENT_ERROR, code: 'CONFLICT' },
  410: { ...CLIENT_ERROR, code: 'NOT_FOUND' },
  422: { ...CLIENT_ERROR, code: 'BAD_USER_INPUT' },
  425: { ...CLIENT_ERROR, retryable: 'reads' }, // Too Early (RFC 8470)
  429: { ...CLIENT_ERROR, code: 'RATE_LIMITED', retryable: 'all' },
  502: TEMPORARY,
  503: TEMPORARY,
  504: { ...TEMPORARY, code: 'UPSTREAM_TIMEOUT' },
};

/** The meaning of a final HTTP status (200 or more); null for 2xx. Unlisted ones go by their class. */
export function failureOf(status: number): FailureStatus | null {
  if (status < 300) return null;
  if (status < 400) return REDIRECT;
  return FAILURE_BY_STATUS[status] ?? (status < 500 ? CLIENT_ERROR : SERVER_ERROR);
}
