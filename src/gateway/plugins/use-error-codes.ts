import { type ASTNode, GraphQLError, visit } from 'graphql';
import { type FetchAPI, isAsyncIterable, type Plugin } from 'graphql-yoga';
import { type ErrorCode, GatewayError, toErrorBody } from '../../errors.ts';
import type { RequestLogContext } from './use-request-report.ts';

/** Called with every error that is not an expected failure. */
export type ReportBug = (error: unknown, requestId: string) => void;

/**
 * Adds a code and the request ID to every error. Expected failures keep their code, and errors of Yoga and graphql-js
 * about the request get one. Any other error is a bug: it is reported, and masked as INTERNAL_SERVER_ERROR.
 */
export function useErrorCodes(reportBug: ReportBug): Plugin<RequestLogContext, RequestLogContext> {
  return {
    onSubscribe: ({ args: { contextValue } }) => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) =>
          setResult(codeErrors(result, contextValue.requestId, reportBug)),
      }),
    }),
    onResultProcess({ result, setResult, serverContext }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      setResult(codeErrors(result, serverContext.requestId, reportBug));
    },
    onResponse({ response, setResponse, serverContext, fetchAPI }) {
      // Yoga rejects some requests with a status and no body.
      if (response.status < 400 || response.body !== null) return;
      const { status, headers } = response;
      const error = new GatewayError('BAD_REQUEST');
      setResponse(toErrorResponse(error, { status, headers }, { serverContext, fetchAPI }));
    },
  };
}

/** Builds the response to a request that has no GraphQL result, and puts the error on the server context for the log. */
export function toErrorResponse(
  error: GatewayError,
  init: ResponseInit,
  { serverContext, fetchAPI }: { serverContext: RequestLogContext; fetchAPI: FetchAPI },
): Response {
  serverContext.errors = [error];
  return fetchAPI.Response.json(toErrorBody(error, serverContext.requestId), init);
}

/** Returns a result whose errors have a code and the request ID. */
export function codeErrors<Result extends { readonly errors?: readonly GraphQLError[] }>(
  result: Result,
  requestId: string,
  reportBug: ReportBug,
): Result {
  if (!result.errors) return result;
  return { ...result, errors: result.errors.map((error) => toCoded(error, requestId, reportBug)) };
}

/** Yoga's error codes, and ours for them. An error with any other code is a bug. */
const YOGA_CODES: Readonly<Record<string, ErrorCode>> = {
  BAD_REQUEST: 'BAD_REQUEST',
  OPERATION_RESOLUTION_FAILURE: 'BAD_REQUEST',
  REQUEST_ENTITY_TOO_LARGE: 'BAD_REQUEST',
  PERSISTED_QUERY_NOT_SUPPORTED: 'PERSISTED_QUERY_NOT_SUPPORTED',
  GRAPHQL_PARSE_FAILED: 'GRAPHQL_PARSE_FAILED',
  GRAPHQL_VALIDATION_FAILED: 'GRAPHQL_VALIDATION_FAILED',
  BAD_USER_INPUT: 'BAD_USER_INPUT',
};

/** Yoga's messages, and ours, which tell the user what to do next. */
const YOGA_MESSAGES: Readonly<Record<string, string>> = {
  'Batching is not supported.': 'Send the operations one by one: batching is not supported.',
  'Must provide query string.': 'Send the document as `query`.',
  'Request body too large': 'The body is larger than 64 KiB: send a smaller one.',
  'Could not determine what operation to execute.':
    'Set `operationName` to the name of an operation in the document.',
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
    // Without a path the whole request failed, not a field.
    extensions: { ...extensions, requestId, ...(path === undefined && http?.status && { http }) },
  });
}

type CodedFailure = Pick<GatewayError, 'message' | 'extensions'> & {
  readonly http: GraphQLError['extensions']['http'];
  /** Read by the log. */
  readonly originalError?: GatewayError;
};

function toFailure(error: GraphQLError, report: (bug: unknown) => void): CodedFailure {
  const cause = rootOf(error);
  if (cause instanceof GatewayError) {
    const { message, extensions } = cause;
    const { http = BAD_INPUT_HTTP } = error.extensions; // without a status if the operation was executed
    return { message, extensions, http, originalError: cause };
  }
  const code = cause === error ? YOGA_CODES[String(error.extensions['code'])] : undefined;
  if (code !== undefined) {
    const { http } = error.extensions;
    return {
      message: YOGA_MESSAGES[error.message] ?? error.message,
      extensions: new GatewayError(code).extensions,
      // With `spec`, Yoga responds with 200 if application/json is accepted: right for a wrong document, not for wrong HTTP.
      http: code === 'BAD_REQUEST' ? { status: 400, ...http, spec: false } : http,
    };
  }
  if (cause instanceof GraphQLError && cause.nodes !== undefined) {
    const message = describeExecutionFailure(cause.nodes);
    const { extensions } = new GatewayError('BAD_USER_INPUT');
    return { message, extensions, http: BAD_INPUT_HTTP };
  }
  report(cause);
  const { message, extensions } = new GatewayError('INTERNAL_SERVER_ERROR');
  return { message, extensions, http: { status: 500 } };
}

const BAD_INPUT_HTTP = { status: 400, spec: true };

/** graphql-js could not execute a valid document, nearly always because a variable is null: names the variables. */
function describeExecutionFailure(nodes: readonly ASTNode[]): string {
  const names = new Set<string>();
  for (const node of nodes)
    visit(node, { Variable: ({ name }) => void names.add(`$${name.value}`) });
  return names.size > 0
    ? `A required value is null or missing: check ${[...names].join(', ')}.`
    : 'This schema cannot execute the document: check its arguments and directives.';
}

function rootOf(error: unknown): unknown {
  return error instanceof GraphQLError && error.originalError ? rootOf(error.originalError) : error;
}
