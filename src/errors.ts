type Failure = {
  /** What happened and what to do next, for the caller: a fixed sentence, so that it can carry no secret. */
  readonly message: string;
  readonly retryable: boolean;
};

/** The one table of failures: every `extensions.code` a caller can meet. */
export const FAILURES = {
  BAD_REQUEST: {
    message:
      'This is not a GraphQL-over-HTTP request: POST a JSON object with a `query` to /graphql.',
    retryable: false,
  },
  PERSISTED_QUERY_NOT_SUPPORTED: {
    message: 'PersistedQueryNotSupported', // by this word clients know that they must send the document
    retryable: false,
  },
  GRAPHQL_PARSE_FAILED: { message: 'The document is not valid GraphQL.', retryable: false },
  GRAPHQL_VALIDATION_FAILED: {
    message: 'The document does not fit the schema.',
    retryable: false,
  },
  BAD_USER_INPUT: {
    message:
      'The service refused the input: check the client id, the credential and the parameters.',
    retryable: false,
  },
  OPERATION_TOO_COMPLEX: {
    message: 'The operation asks for too much at once: split it.',
    retryable: false,
  },
  UNAUTHENTICATED: {
    message: 'The service did not accept the credentials: log in again and send the new token.',
    retryable: false,
  },
  FORBIDDEN: { message: 'The service does not allow this to the caller.', retryable: false },
  NOT_FOUND: { message: 'The service knows nothing of that name.', retryable: false },
  CONFLICT: {
    message: 'The service says that this contradicts its present state: read it, then decide.',
    retryable: false,
  },
  RATE_LIMITED: {
    message: 'Too many requests: wait, then try again (see retryAfterSeconds).',
    retryable: true,
  },
  OVERLOADED: { message: 'The gateway is busy: try again shortly.', retryable: true },
  UPSTREAM_TIMEOUT: { message: 'The service did not answer in time.', retryable: true },
  UPSTREAM_UNAVAILABLE: {
    message: 'The service could not be reached: check that it runs and that UPSTREAM_URL names it.',
    retryable: true,
  },
  UPSTREAM_ERROR: { message: 'The service failed.', retryable: false },
  UPSTREAM_BAD_RESPONSE: {
    message: 'The service gave an answer that cannot be read.',
    retryable: false,
  },
  OUTCOME_UNKNOWN: {
    message:
      'The request was sent and its answer was lost: it may or may not have been carried out. Look before you repeat it.',
    retryable: false,
  },
  INTERNAL_SERVER_ERROR: {
    message: 'The gateway failed. Please report it with the requestId.',
    retryable: false,
  },
} as const satisfies Record<string, Failure>;

/** What happened, in one word: the key of {@link FAILURES}, and all that every router hands on. */
export type ErrorCode = keyof typeof FAILURES;

/** A finer word beside the code, for programs; the set may grow. */
export type FailureReason =
  | 'TOKEN_MISSING'
  | 'TOKEN_MALFORMED'
  | 'REDIRECT'
  | 'TOO_LARGE'
  | 'CONTENT_ENCODING'
  | 'NOT_JSON'
  | 'TOO_DEEP'
  | 'TRUNCATED'
  | 'NOT_HTTP'
  | 'NO_TOKEN'
  | 'NO_RECORDS'
  | 'PAGING_UNKNOWN'
  | 'SAYS_IT_FAILED'
  | 'LOGIN_LIMIT';

/** What a failure may tell beyond its code. None of it is ever taken from the service's text or the caller's values. */
export type FailureDetails = {
  /** Instead of the table's sentence; never built from a value. */
  readonly message?: string;
  readonly reason?: FailureReason;
  /** Instead of the table's answer. */
  readonly retryable?: boolean;
  /** Whole seconds, 0 or more. */
  readonly retryAfterSeconds?: number | undefined;
  /** The HTTP status of the service's answer. */
  readonly upstreamStatus?: number;
  /** Node's code of the error behind it, for the log alone. */
  readonly cause?: string | undefined;
};

/** `extensions` of a GraphQL error, as the caller sees them. */
export type FailureExtensions = {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryAfterSeconds?: number;
  readonly reason?: FailureReason;
  readonly upstream?: { readonly status: number };
  /** Quote it when you ask for help: the log has it, too. */
  readonly requestId?: string;
};

/**
 * An expected failure. Whatever else is thrown is a bug, and masked.
 * graphql-js copies `extensions` of a thrown error onto the GraphQL error, so that whoever throws this needs no graphql.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  override readonly cause: string | undefined;
  readonly extensions: FailureExtensions;

  constructor(code: ErrorCode, details: FailureDetails = {}) {
    super(details.message ?? FAILURES[code].message);
    const { reason, retryAfterSeconds, upstreamStatus } = details;
    this.cause = details.cause;
    this.extensions = {
      code,
      retryable: details.retryable ?? FAILURES[code].retryable,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(reason !== undefined && { reason }),
      ...(upstreamStatus !== undefined && { upstream: { status: upstreamStatus } }),
    };
  }
}

/** A failure as the body of an answer, for where there is no GraphQL result to put it into. */
export function toErrorBody({ message, extensions }: GatewayError, requestId: string) {
  return { errors: [{ message, extensions: { ...extensions, requestId } }] } as const;
}
