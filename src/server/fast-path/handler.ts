// Kept for speed: x3.9 with 10 records and x4.7 for deletions, together with prepared-operations.ts (npm run bench -- --load small,delete).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ExecutionResult } from 'graphql';
import type { OngoingRequest } from '../../observability/reporter.ts';
import { createTickBarrier } from '../../util/tick-barrier.ts';
import { mayLoseDigits, UTF_8 } from '../plugins/use-json-requests.ts';
import type { OperationRequest, PreparedOperation } from './prepared-operations.ts';

/** What the fast path does in the same way as Yoga's plugins. */
export type FastPathOptions = {
  readonly find: (request: OperationRequest) => PreparedOperation | undefined;
  /** Maximum length of a request body, in bytes. */
  readonly maxBytes: number;
  readonly begin: (request: IncomingMessage, response: ServerResponse) => BegunRequest;
  /** Adds codes and the request ID to errors. */
  readonly codeErrors: (result: ExecutionResult, requestId: string) => ExecutionResult;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
};

type BegunRequest = {
  readonly requestId: string;
  readonly context: { release(): void };
  readonly report: OngoingRequest;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

/**
 * Creates the fast path. True: the request is handled, or its client is gone. False: Yoga must respond, because the
 * request is not a POST of plain JSON for a prepared operation with valid variables.
 */
export function createFastPath({ find, maxBytes, begin, codeErrors, headers }: FastPathOptions) {
  const tickBarrier = createTickBarrier();
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (!isPlain(request, maxBytes)) return false;
    await tickBarrier();
    // Most bodies arrive together with their headers: `read` then saves the stream's events.
    const body = request.complete ? request.read() : await buffer(request).catch(() => null);
    if (body === null) return true; // the client disconnected before it had sent the whole request
    // Prepared by `createPreparedOperations`, when Yoga responded to the first request of the operation.
    const operationRequest = parseBody(body, request.headers.accept);
    const prepared = operationRequest && find(operationRequest);
    const execute = operationRequest && prepared?.compile()(operationRequest.variables);
    if (!prepared || !execute) {
      // A stream can be read only once. Yoga takes `request.body`, where body parsers of Express leave it.
      Object.assign(request, { body });
      return false;
    }
    const { requestId, context, report, signal } = begin(request, response);
    const result = codeErrors(await execute(context), requestId);
    const text = JSON.stringify(result);
    result.data = null; // settled promises would retain it, see Context.release
    context.release();
    if (!response.destroyed) {
      // Outside of V8's heap, so that no GC has to copy a large response while the client downloads it.
      const payload = text.length > 2 ** 16 ? Buffer.from(text) : text;
      const length = Buffer.byteLength(payload);
      const own = { 'content-type': prepared.contentType, 'content-length': length };
      response.writeHead(200, { ...headers, ...own, 'x-request-id': requestId });
      // If each character is one byte, latin1 gives the same bytes as UTF-8 and is faster to write.
      response.end(payload, length === text.length ? 'latin1' : 'utf8');
    }
    const { outcome } = prepared;
    report.end(signal.aborted ? { ...outcome, aborted: true } : outcome, result.errors);
    return true;
  };
}

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Excludes other content types and encodings, large bodies, CORS, and a body that a framework has already read. */
function isPlain({ method, headers, readableDidRead }: IncomingMessage, maxBytes: number) {
  const length = Number(headers['content-length'] ?? 0);
  const isJson = length > 0 && JSON_TYPE.test(headers['content-type'] ?? '');
  const isSimple = headers.origin === undefined && headers['content-encoding'] === undefined;
  return method === 'POST' && isJson && length <= maxBytes && isSimple && !readableDidRead;
}

/** Null for a body that is invalid or has other members: Yoga's pipeline then reports what is wrong. */
function parseBody(body: Buffer, accept = ''): OperationRequest | null {
  try {
    const text = UTF_8.decode(body);
    if (mayLoseDigits(text)) return null;
    const { query, operationName = null, variables: given, ...others } = Object(JSON.parse(text));
    const variables = given ?? {};
    const isName = operationName === null || typeof operationName === 'string';
    const isObject = typeof variables === 'object' && !Array.isArray(variables);
    const isAll = typeof query === 'string' && isName && isObject && !Object.keys(others).length;
    return isAll ? { query, operationName: operationName || null, accept, variables } : null;
  } catch {
    return null;
  }
}
