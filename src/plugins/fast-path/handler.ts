// Kept for speed: x3.9 with 10 records and x4.7 for deletions, together with prepared-operations.ts (npm run bench -- --load small,delete).
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { Send } from '../../http/send-response.ts';
import type { OngoingRequest } from '../../observability/reporter.ts';
import type { Context } from '../../schema/context.ts';
import { mayLoseDigits, toParams, UTF_8 } from '../use-json-requests.ts';
import { limitResult, type ResultLimits } from '../use-result-limit.ts';
import type { OperationRequest, PreparedOperation } from './prepared-operations.ts';

/** What the fast path does in the same way as Yoga's plugins. */
export type FastPathOptions = ResultLimits & {
  /** A header with which Yoga must respond; null if there is none. */
  readonly ownHeader: string | null;
  readonly find: (request: OperationRequest) => PreparedOperation | undefined;
  readonly begin: (request: IncomingMessage, response: ServerResponse) => BegunRequest;
  /** Adds codes and the request ID to errors. */
  readonly codeErrors: (result: ExecutionResult, requestId: string) => ExecutionResult;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly send: Send;
};

type BegunRequest = {
  readonly requestId: string;
  readonly context: Pick<Context, 'calls' | 'limits'>;
  readonly report: OngoingRequest;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

/**
 * Creates the fast path. True: the request is handled. False: Yoga must respond, because the request is not a POST of
 * plain JSON for a prepared operation with valid variables.
 */
export function createFastPath({
  ownHeader,
  find,
  begin,
  graphqlMaxBytes,
  codeErrors,
  headers,
  send,
}: FastPathOptions) {
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): Promise<boolean> => {
    if (!isPlain(request)) return false;
    if (ownHeader !== null && request.headers[ownHeader] !== undefined) return false;
    // Prepared by `createPreparedOperations`, when Yoga responded to the first request of the operation.
    const operationRequest = parseBody(body, request.headers.accept);
    const prepared = operationRequest && find(operationRequest);
    const execute = operationRequest && prepared?.compile()(operationRequest.variables);
    if (!prepared || !execute) return false;
    const { requestId, context, report, signal } = begin(request, response);
    const executed = await execute(context);
    // Measuring the result takes 5 % of the CPU with 1,000 records, so it is left out if it must be small enough.
    const ofPageInfo = MAX_CURSORS * body.length;
    const isSmall =
      !prepared.hasOwnValues &&
      context.limits.maxResultLength(prepared.longestKey) + ofPageInfo <= graphqlMaxBytes;
    const { outcome } = prepared;
    const limited = isSmall
      ? executed
      : limitResult(executed, { graphqlMaxBytes }, outcome.operation);
    const result = codeErrors(limited, requestId);
    const text = JSON.stringify(result);
    result.data = null; // settled promises would retain it, see `PageLoader.release`
    context.calls.release();
    // Outside of V8's heap, so that no GC has to copy a large response while the client downloads it.
    const payload = text.length > 2 ** 16 ? Buffer.from(text) : text;
    const length = Buffer.byteLength(payload);
    const own = { 'content-type': prepared.contentType, 'content-length': length };
    const head = { status: 200, headers: { ...headers, ...own, 'x-request-id': requestId } };
    // If each character is one byte, latin1 gives the same bytes as UTF-8 and is faster to write.
    send(response, head, payload, length === text.length ? 'latin1' : 'utf8');
    report.end(signal.aborted ? { ...outcome, aborted: true } : outcome, result.errors);
    return true;
  };
}

/** Cursors of `pageInfo` under 50 aliases, each up to twice as long as `after`. */
const MAX_CURSORS = 200;

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Excludes other content types and encodings, and CORS. */
function isPlain({ headers }: IncomingMessage): boolean {
  const isJson = JSON_TYPE.test(headers['content-type'] ?? '');
  return isJson && headers.origin === undefined && headers['content-encoding'] === undefined;
}

/** Null for a body that is invalid: Yoga's pipeline then reports what is wrong. */
function parseBody(body: Buffer, accept = ''): OperationRequest | null {
  try {
    const text = UTF_8.decode(body);
    if (mayLoseDigits(text)) return null;
    const { query, operationName, variables, extensions } = toParams(JSON.parse(text));
    const isValid =
      typeof query === 'string' &&
      typeof (operationName ?? '') === 'string' &&
      isObject(variables ?? {}) &&
      isObject(extensions ?? {});
    if (!isValid) return null;
    return { query, operationName: operationName ?? null, accept, variables: variables ?? {} };
  } catch {
    return null;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value);
}
