/** Default messages: what failed and what to do next. Fixed sentences, so that they cannot contain a secret. */
export const FAILURES = {
  BAD_REQUEST: 'This is not a GraphQL-over-HTTP request: POST a JSON object with a `query`.',
  // Clients of Apollo and urql compare this text, then send the document.
  PERSISTED_QUERY_NOT_SUPPORTED: 'PersistedQueryNotSupported',
  GRAPHQL_PARSE_FAILED: 'The document is not valid GraphQL: correct its syntax.',
  GRAPHQL_VALIDATION_FAILED:
    'The document does not match the schema: check its fields and arguments.',
  BAD_USER_INPUT:
    'The service rejected the input: check the client ID, the credential and the parameters.',
  OPERATION_TOO_COMPLEX: 'The operation exceeds a limit: split it into several requests.',
  UNAUTHENTICATED: 'The service rejected the access token: log in again and send the new token.',
  FORBIDDEN:
    'The service does not permit this operation: ask for the permission, or use another client.',
  NOT_FOUND:
    'The service responded with status 404 or 410: check what was requested, and that UPSTREAM_URL is its base URL.',
  CONFLICT:
    'The operation conflicts with the current state of the service: read that state, then decide.',
  RATE_LIMITED: 'Too many requests: wait `retryAfterSeconds` if it is given, then retry.',
  OVERLOADED: 'The gateway is overloaded: wait `retryAfterSeconds`, then retry. Nothing was sent.',
  UPSTREAM_TIMEOUT: 'The service did not respond in time: retry if `retryable` is true.',
  UPSTREAM_UNAVAILABLE:
    'The service could not be reached: check that it is running and that UPSTREAM_URL is its base URL.',
  UPSTREAM_ERROR: 'The service reported a failure: retry if `retryable` is true.',
  UPSTREAM_BAD_RESPONSE:
    'The response of the service cannot be used: see `reason`, and check that UPSTREAM_URL is its base URL.',
  OUTCOME_UNKNOWN:
    'The request was sent, but its response was lost or cannot be read: it may or may not have taken effect. Check before you repeat it.',
  INTERNAL_SERVER_ERROR: 'Internal error of the gateway: report it with the `requestId`.',
};

/** Messages of an operation, by code or reason. They replace the default of the code if a response is the cause. */
export const MESSAGES: Readonly<
  Record<
    'login' | 'read' | 'deletion',
    { readonly [Name in ErrorCode | FailureReason]?: string | undefined }
  >
> = {
  login: {
    UNAUTHENTICATED:
      'The service did not accept the client ID with this credential: check both. Use the client secret for the first login of a client, and the latest refresh token for every later one.',
    BAD_USER_INPUT: 'The service rejected the login: check the client ID and the credential.',
    FORBIDDEN:
      'The service does not permit this login: check the credential, or ask for the permission to log in.',
    NOT_FOUND:
      'The service responded with status 404 or 410: it has no client with that client ID, or UPSTREAM_URL is not its base URL.',
  },
  read: {
    BAD_USER_INPUT:
      'The service rejected the request for the audit trail: check `filter`, `parameters` and `after`.',
    NOT_FOUND:
      'The service responded with status 404 or 410: UPSTREAM_URL is not its base URL, or this page of the audit trail no longer exists. Then read from the first page.',
  },
  deletion: {
    BAD_USER_INPUT: 'The service rejected the deletion: check the client ID.',
    NOT_FOUND:
      'The service has no API key with that client ID: status 404 or 410, or its response says so. The key may be deleted already, or UPSTREAM_URL is not its base URL.',
    SAYS_IT_FAILED:
      'The service responded with a 2xx status, but its response says that nothing was deleted: check whether the key still exists before you repeat it. If the response means otherwise, say so with `deletion.outcome` in the contract.',
  },
};

/** Codes after which the same request may be sent again, unless a {@link GatewayError} specifies otherwise. */
export const RETRYABLE: ReadonlySet<string> = new Set<ErrorCode>([
  'RATE_LIMITED',
  'OVERLOADED',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_UNAVAILABLE',
]);

/**
 * What failed. `code` is the only extension that every federation router forwards, so decide by it alone.
 *
 * - `BAD_REQUEST`: not a GraphQL-over-HTTP request.
 * - `PERSISTED_QUERY_NOT_SUPPORTED`: a hash instead of a document; send the document.
 * - `GRAPHQL_PARSE_FAILED`: a syntax error in the document.
 * - `GRAPHQL_VALIDATION_FAILED`: the document does not match the schema.
 * - `BAD_USER_INPUT`: a wrong variable or argument, or the service's 400 or 422.
 * - `OPERATION_TOO_COMPLEX`: the operation exceeds a limit, of its document, its response or what it reads of the service;
 *   split it, or request smaller pages.
 * - `UNAUTHENTICATED`: no well-formed bearer token (nothing is sent), or the service's 401 or 498; log in.
 * - `FORBIDDEN`: the service's 403, unless it is due to a rate limit.
 * - `NOT_FOUND`: the service's 404 or 410.
 * - `CONFLICT`: the service's 409.
 * - `RATE_LIMITED`: the service's 429, its 403 with Retry-After or a rate limit of which nothing remains, or too many
 *   logins of one client or IP address (nothing is sent).
 * - `OVERLOADED`: the gateway sheds load, was closed, or has too many calls in flight. Nothing is sent; retry.
 * - `UPSTREAM_TIMEOUT`: the deadline passed, or the service's 504. Retry, except a login or a deletion after a 504.
 * - `UPSTREAM_UNAVAILABLE`: the service was not reached, a read lost its connection, or the circuit breaker is open.
 *   Retry: no login and no deletion was sent.
 * - `UPSTREAM_ERROR`: any other failure status, or a 2xx whose body reports a failure. If it reports one status 4xx, the
 *   code is that of this status.
 * - `UPSTREAM_BAD_RESPONSE`: a response that cannot be used: not JSON, a redirect; for a read also too large or truncated. A
 *   login or a deletion may have been carried out, unless it was redirected.
 * - `OUTCOME_UNKNOWN`: a login or a deletion was sent and its response was lost, or cannot be read. Check before you
 *   repeat it.
 * - `INTERNAL_SERVER_ERROR`: a bug of the gateway.
 */
export type ErrorCode = keyof typeof FAILURES;

/** Detail of an {@link ErrorCode}, given as its comment says. More may be added. */
export type FailureReason =
  | 'TOKEN_MISSING' // UNAUTHENTICATED: the request has no Authorization header
  | 'TOKEN_MALFORMED' // UNAUTHENTICATED: that header is not a bearer token. UPSTREAM_BAD_RESPONSE: no header can have the token of a login
  | 'REDIRECT' // UPSTREAM_BAD_RESPONSE, like those down to FIELD_UNREAD
  | 'TOO_LARGE' // this one, CONTENT_ENCODING, TRUNCATED, HEADERS_TOO_LARGE and NOT_HTTP: OUTCOME_UNKNOWN for a login or a deletion
  | 'CONTENT_ENCODING'
  | 'NOT_JSON'
  | 'TOO_DEEP'
  | 'TRUNCATED'
  | 'HEADERS_TOO_LARGE'
  | 'NOT_HTTP'
  | 'NO_TOKEN' // of a login: no access token was found in the response
  | 'NO_RECORDS' // of the audit trail: no list of records was found in the response, or several
  | 'PAGING_UNKNOWN' // of the audit trail: the contract does not specify how to request the next page
  | 'PAGING_REPEATS' // of the audit trail: the service returns records again instead of the next page
  | 'ORDER_UNKNOWN' // of a live trail: the records have no times that show their order
  | 'TRAIL_TOO_LONG' // of a live trail: it begins with its oldest record, and its end cannot be reached
  | 'FIELD_UNREAD' // a filter needs a field that was not found in the records, or a code or a flag of the response is not understood; of a deletion, OUTCOME_UNKNOWN
  | 'SAYS_IT_FAILED' // a 2xx whose body reports a failure: UPSTREAM_ERROR, or the code of the status 4xx that it reports
  | 'LOGIN_LIMIT'; // RATE_LIMITED: by the gateway's own limit on logins

type Header = string | readonly string[] | null | undefined;

/**
 * Retry-After in whole seconds, from seconds or a date (RFC 9110, section 10.2.3), up to the largest Int of GraphQL; undefined
 * for any other value. Some services send a fraction of a second. A date is that of the service's clock, which the header
 * Date shows.
 */
export function readRetryAfter(
  { 'retry-after': header, date }: { readonly 'retry-after'?: Header; readonly date?: Header },
  now: () => number,
): number | undefined {
  const text = String(header);
  const time = parseHttpDate(text);
  if (Number.isNaN(time) && !/^\d+(?:\.\d+)?$/.test(text)) return undefined;
  const sent = parseHttpDate(String(date));
  const exact = Number.isNaN(time)
    ? Number(text)
    : (time - (Number.isNaN(sent) ? now() : sent)) / 1000;
  return Math.min(Math.max(0, Math.ceil(exact)), 2 ** 31 - 1);
}

/** Milliseconds since the epoch; NaN for anything but a date in GMT. */
function parseHttpDate(text: string): number {
  return text.endsWith('GMT') ? Date.parse(text) : Number.NaN;
}

/** What an error contains beyond its code. Never text of the service or a value of the client. */
export type FailureDetails = {
  /** Replaces the default message: sentences without text of the service or a value of the client. */
  readonly message?: string | undefined;
  readonly reason?: FailureReason;
  /** Replaces the default of the code. */
  readonly retryable?: boolean;
  /** Whole seconds, 0 or more. */
  readonly retryAfterSeconds?: number | undefined;
  /** HTTP status of the service's response. */
  readonly upstreamStatus?: number;
  /** Node's code of the underlying error, e.g. ECONNREFUSED. Logged only, never part of a response. */
  readonly cause?: string | undefined;
};

/** `extensions` of a GraphQL error in a response. */
export type FailureExtensions = {
  readonly code: ErrorCode;
  /** Whether the same request may succeed later and is safe to repeat: it reads, or nothing was sent, or the service's 429. */
  readonly retryable: boolean;
  readonly retryAfterSeconds?: number;
  readonly reason?: FailureReason;
  readonly upstream?: { readonly status: number };
  /** Identifies the request in the log; also in the header `x-request-id`. */
  readonly requestId?: string;
};

/**
 * An expected failure. Any other error is a bug: it is logged, and masked in the response. graphql-js copies
 * `extensions` of a thrown error to the GraphQL error, so code that throws this does not need to import graphql.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  override readonly cause: string | undefined;
  readonly extensions: FailureExtensions;

  constructor(code: ErrorCode, details: FailureDetails = {}) {
    // Nobody reads the stack trace of an expected failure. With 600 clients whose calls are rejected, traces took a third
    // of the CPU: graphql-js formats each.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(details.message ?? FAILURES[code]);
    Error.stackTraceLimit = stackTraceLimit;
    const { reason, retryAfterSeconds, upstreamStatus } = details;
    this.cause = details.cause;
    this.extensions = {
      code,
      retryable: details.retryable ?? RETRYABLE.has(code),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(reason !== undefined && { reason }),
      ...(upstreamStatus !== undefined && { upstream: { status: upstreamStatus } }),
    };
  }
}

/**
 * Whether the service refuses a page because of how it was requested, and not because of the caller or the moment: its
 * cursor has expired, or the page is too deep. Also in a 2xx: as a soft failure, or without a list.
 */
export function isPageRefusal({
  code,
  reason,
  retryable,
  upstream,
}: Omit<FailureExtensions, 'code'> & { readonly code: string }): boolean {
  if (reason === 'NO_RECORDS') return true;
  const isOther =
    retryable || reason === 'REDIRECT' || /^(?:UNAUTHENTICATED|FORBIDDEN)$/.test(code);
  return upstream !== undefined && upstream.status < 500 && !isOther;
}

/** Whether a read may succeed later without a change of its request: a rate limit, a failure of the service, a lost connection. */
export function isPassing({
  retryable,
  reason,
  upstream,
}: Pick<FailureExtensions, 'reason' | 'upstream'> & { readonly retryable?: boolean }): boolean {
  return retryable === true || (upstream?.status ?? 0) >= 500 || reason === 'TRUNCATED';
}

/** Converts a failure to a response body, for a request that has no GraphQL result. */
export function toErrorBody({ message, extensions }: GatewayError, requestId: string) {
  return { errors: [{ message, extensions: { ...extensions, requestId } }] } as const;
}

/** No query can be executed, because the installed packages do not fit together. Thrown when a gateway is created. */
export class InstallationError extends Error {
  override readonly name = 'InstallationError';

  constructor(cause: unknown) {
    const [line = ''] = String(Object(cause).message).split('\n');
    const reason = line.replace(/\{.*\}/, '…').replace(/\.$/, ''); // graphql-js prints the whole schema
    super(
      `No query can be executed, as the installed packages do not fit together (${reason}). Install them again: ` +
        '`npm ci` in a clone; in a project, remove node_modules/keytrail, then `npm install`.',
      { cause },
    );
  }
}
