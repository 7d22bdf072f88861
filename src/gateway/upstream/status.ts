import {
  type ErrorCode,
  type FailureDetails,
  type FailureReason,
  GatewayError,
  MESSAGES,
} from '../../errors.ts';

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

/** What a request does. It decides whether the client may repeat the request. */
export type CallKind = keyof typeof MESSAGES;

const NEVER = { retryable: 'none', repeat: false, countsAgainstService: false } as const;

/** Never followed: the token could reach another host. */
const REDIRECT: FailureStatus = { ...NEVER, code: 'UPSTREAM_BAD_RESPONSE', reason: 'REDIRECT' };

/** The service works, and rejects this request or fails at it: a 500 may be due to what one client sends. */
const REJECTED: FailureStatus = { ...NEVER, code: 'UPSTREAM_ERROR' };

/** The service is overloaded, or a proxy cannot reach it (RFC 9110, section 15.6). */
const TEMPORARY: FailureStatus = {
  code: 'UPSTREAM_ERROR',
  retryable: 'reads',
  repeat: true,
  countsAgainstService: true,
};

const FAILURE_BY_STATUS: Readonly<Record<number, FailureStatus>> = {
  400: { ...REJECTED, code: 'BAD_USER_INPUT' },
  401: { ...REJECTED, code: 'UNAUTHENTICATED' },
  403: { ...REJECTED, code: 'FORBIDDEN' },
  404: { ...REJECTED, code: 'NOT_FOUND' },
  408: { ...REJECTED, retryable: 'reads' },
  409: { ...REJECTED, code: 'CONFLICT' },
  410: { ...REJECTED, code: 'NOT_FOUND' },
  422: { ...REJECTED, code: 'BAD_USER_INPUT' },
  425: { ...REJECTED, retryable: 'reads' }, // Too Early (RFC 8470)
  429: { ...REJECTED, code: 'RATE_LIMITED', retryable: 'all' },
  498: { ...REJECTED, code: 'UNAUTHENTICATED' }, // ArcGIS: Invalid Token
  502: TEMPORARY,
  503: TEMPORARY,
  504: { ...TEMPORARY, code: 'UPSTREAM_TIMEOUT' },
};

/** The meaning of a final HTTP status (200 or more) with these headers; null for 2xx. */
export function failureOf(status: number, headers: Headers = {}): FailureStatus | null {
  if (status < 300) return null;
  if (status < 400) return REDIRECT;
  const meaning = status === 403 && isRateLimit(headers) ? 429 : status;
  return FAILURE_BY_STATUS[meaning] ?? REJECTED;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Whether a 403 is due to a rate limit, as those of GitHub are: it has Retry-After, or a header by the name of a rate limit
 * says that nothing remains. `ratelimit` itself is that of draft-ietf-httpapi-ratelimit-headers.
 */
function isRateLimit(headers: Headers): boolean {
  return Object.entries(headers).some(([name, value]) => {
    if (name === 'retry-after') return true;
    if (name === 'ratelimit') return /\b(?:r|remaining)\s*=\s*0+(?![\d.])/.test(String(value));
    return /rate-?limit/.test(name) && /remaining/.test(name) && ZERO.test(String(value));
  });
}

/** Zero, or a list in which a number is zero. */
const ZERO = /(?:^|,)\s*0+(?:\.0+)?\s*(?:$|[,;])/;

/** The error of an operation whose response has this meaning. `details` take precedence. */
export function toStatusError(
  { code, reason, retryable }: FailureStatus,
  operation: CallKind,
  details: FailureDetails,
): GatewayError {
  const message = MESSAGES[operation][code];
  return new GatewayError(code, {
    ...(message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
    retryable: retryable === 'all' || (operation === 'read' && retryable === 'reads'),
    ...details,
  });
}
