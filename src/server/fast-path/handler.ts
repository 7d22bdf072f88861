// Exists because a plain question that was asked before needs little of what Yoga does for all the others.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ExecutionResult } from 'graphql';
import type { OngoingRequest } from '../../observability/request-reporter.ts';
import { createTickBarrier } from '../../util/batch-per-tick.ts';
import type { OperationRequest, PreparedOperation } from './operations.ts';

/** What the lane needs of the gateway. */
export type FastPathOptions = {
  readonly find: (question: OperationRequest) => PreparedOperation | undefined;
  /** The largest body taken, in bytes. */
  readonly maxBytes: number;
  /** Whether a body may have a number in it that is refused. */
  readonly isInexact: (json: string) => boolean;
  readonly begin: (request: IncomingMessage, response: ServerResponse) => Begun;
  /** Gives errors their codes. */
  readonly toCoded: (result: ExecutionResult, requestId: string) => ExecutionResult;
  /** On every answer. */
  readonly headers: Readonly<Record<string, string>>;
};

/** A question that is about to be answered. */
type Begun = {
  readonly requestId: string;
  readonly context: { release(): void };
  readonly report: OngoingRequest;
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
};

/**
 * Answers a request for GraphQL that is plain JSON by POST, was asked before, and has variables that fit. Of all else it
 * says that Yoga must: then the body, if it was read, stands on the request where Yoga looks for it.
 */
export function createFastPath({
  find,
  maxBytes,
  isInexact,
  begin,
  toCoded,
  headers,
}: FastPathOptions) {
  const turn = createTickBarrier();
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (!isPlain(request, maxBytes)) return false;
    await turn();
    // Most bodies are there with their head, so that nothing has to flow.
    const body = request.complete ? request.read() : await buffer(request).catch(() => null);
    if (body === null) return true; // the caller left before he had asked
    const question = readQuestion(body, request.headers.accept, isInexact);
    const prepared = question && find(question);
    const execute = question && prepared?.plan()(question.variables);
    if (!prepared || !execute) {
      Object.assign(request, { body });
      return false;
    }
    const { requestId, context, report, signal } = begin(request, response);
    const result = toCoded(await execute(context), requestId);
    const text = JSON.stringify(result);
    result.data = null; // a promise that has waited would keep it, see Context
    context.release();
    if (!response.destroyed) {
      // In V8's heap a large one would wait, and be collected around, until its caller has taken it.
      const answer = text.length > 2 ** 16 ? Buffer.from(text) : text;
      const length = Buffer.byteLength(answer);
      const own = { 'content-type': prepared.contentType, 'content-length': length };
      response.writeHead(200, { ...headers, ...own, 'x-request-id': requestId });
      // One byte each: Node need not look for longer ones.
      response.end(answer, length === text.length ? 'latin1' : 'utf8');
    }
    const { outcome } = prepared;
    report.end(signal.aborted ? { ...outcome, aborted: true } : outcome, result.errors);
    return true;
  };
}

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Whether nothing about it asks for more than the lane knows: another type, coding or length, an origin of CORS; and nobody else has read its body. */
function isPlain({ method, headers, readableDidRead }: IncomingMessage, maxBytes: number) {
  const length = Number(headers['content-length'] ?? 0);
  const isJson = length > 0 && JSON_TYPE.test(headers['content-type'] ?? '');
  const isSimple = headers.origin === undefined && headers['content-encoding'] === undefined;
  return method === 'POST' && isJson && length <= maxBytes && isSimple && !readableDidRead;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Null for what is not plain, or wrong: Yoga's way says how. */
function readQuestion(body: Buffer, accept = '', isInexact: FastPathOptions['isInexact']) {
  try {
    const text = UTF_8.decode(body);
    if (isInexact(text)) return null;
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
