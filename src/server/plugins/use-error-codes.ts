import { type ASTNode, GraphQLError, visit } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import { type ErrorCode, FAILURES, GatewayError, toErrorBody } from '../../errors.ts';

/** Told of every error that is not an expected failure. */
export type ReportBug = (error: unknown, requestId: string) => void;

/**
 * The last word on every error that leaves the gateway: expected failures keep their code, what Yoga and graphql-js
 * say of a request gets one, and all else is a bug, reported and masked. Everything gets the request's id.
 */
export function useErrorCodes(reportBug: ReportBug): Plugin<object, { requestId: string }> {
  return {
    onResultProcess({ result, setResult, serverContext }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      setResult(codeErrors(result, serverContext.requestId, reportBug));
    },
    onResponse({ response, setResponse, serverContext, fetchAPI }) {
      // Yoga refuses some requests with a status alone.
      if (response.status < 400 || response.body !== null) return;
      const { status, headers } = response;
      const body = toErrorBody(new GatewayError('BAD_REQUEST'), serverContext.requestId);
      setResponse(fetchAPI.Response.json(body, { status, headers }));
    },
  };
}

/** A result whose errors have their codes and the request's id. */
export function codeErrors<Result extends { readonly errors?: readonly GraphQLError[] }>(
  result: Result,
  requestId: string,
  reportBug: ReportBug,
): Result {
  if (!result.errors) return result;
  return { ...result, errors: result.errors.map((error) => toCoded(error, requestId, reportBug)) };
}

/** Codes of Yoga's own, by what they are here. The rest of its codes are in the table already. */
const YOGA_CODES: Readonly<Record<string, ErrorCode>> = {
  BAD_REQUEST: 'BAD_REQUEST',
  OPERATION_RESOLUTION_FAILURE: 'BAD_REQUEST',
  REQUEST_ENTITY_TOO_LARGE: 'BAD_REQUEST',
  PERSISTED_QUERY_NOT_SUPPORTED: 'PERSISTED_QUERY_NOT_SUPPORTED',
  GRAPHQL_PARSE_FAILED: 'GRAPHQL_PARSE_FAILED',
  GRAPHQL_VALIDATION_FAILED: 'GRAPHQL_VALIDATION_FAILED',
  BAD_USER_INPUT: 'BAD_USER_INPUT',
};

/** What Yoga says without saying what to do next. */
const YOGA_MESSAGES: Readonly<Record<string, string>> = {
  'Batching is not supported.': 'Send the operations one by one, not as a batch.',
  'Must provide query string.': 'Send the document as `query`.',
  'Request body too large': 'The body is larger than 64 KiB: send less.',
  'Could not determine what operation to execute.':
    'Name an operation that the document has by `operationName`.',
};

function toCoded(error: GraphQLError, requestId: string, reportBug: ReportBug): GraphQLError {
  const { nodes, source, positions, path } = error;
  const failure = toFailure(error, (bug) => reportBug(bug, requestId));
  const { message, extensions, http, originalError } = failure;
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source,
    positions,
    path,
    originalError,
    extensions: { ...extensions, requestId, ...(http !== undefined && { http }) },
  });
}

type CodedFailure = Pick<GatewayError, 'message' | 'extensions'> & {
  readonly http?: GraphQLError['extensions']['http'];
  /** For the log. */
  readonly originalError?: GatewayError;
};

function toFailure(error: GraphQLError, report: (bug: unknown) => void): CodedFailure {
  const cause = rootOf(error);
  if (cause instanceof GatewayError) {
    const { message, extensions } = cause;
    const http = error.path === undefined && { http: BAD_INPUT_HTTP };
    return { message, extensions, originalError: cause, ...http };
  }
  const code = cause === error ? YOGA_CODES[String(error.extensions['code'])] : undefined;
  if (code !== undefined) {
    const { retryable } = FAILURES[code];
    const { http } = error.extensions;
    return {
      message: YOGA_MESSAGES[error.message] ?? error.message,
      extensions: { code, retryable },
      // `spec` lets Yoga answer 200 to those who accept application/json: right for a wrong document, not for wrong HTTP.
      http: code === 'BAD_REQUEST' ? { status: 400, ...http, spec: false } : http,
    };
  }
  if (cause instanceof GraphQLError && cause.nodes !== undefined) {
    const { message, extensions } = misplaced(cause.nodes);
    return { message, extensions, ...(error.path === undefined && { http: BAD_INPUT_HTTP }) };
  }
  report(cause);
  const failure = new GatewayError('INTERNAL_SERVER_ERROR');
  // Without a path no field failed: the request as a whole did.
  return error.path === undefined
    ? { message: failure.message, extensions: failure.extensions, http: { status: 500 } }
    : failure;
}

const BAD_INPUT_HTTP = { status: 400, spec: true };

/** graphql-js points at the document when it cannot execute it, nearly always because a variable is null. */
function misplaced(nodes: readonly ASTNode[]): CodedFailure {
  const names = new Set<string>();
  for (const node of nodes)
    visit(node, { Variable: ({ name }) => void names.add(`$${name.value}`) });
  const message =
    names.size > 0
      ? `A value is needed where ${[...names].join(', ')} is null or missing.`
      : 'The document asks for what this schema cannot execute.';
  return new GatewayError('BAD_USER_INPUT', { message });
}

function rootOf(error: unknown): unknown {
  return error instanceof GraphQLError && error.originalError ? rootOf(error.originalError) : error;
}
