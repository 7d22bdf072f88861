// Exists because a plain question that was asked before needs little of what Yoga does for all the others.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { RequestReport } from '../reports.ts';
import type { PreparedOperation, PreparedOperations } from './operations.ts';

/** What the lane needs of the gateway. */
export type LaneOptions = {
  readonly find: PreparedOperations['find'];
  /** Where questions are asked. */
  readonly path: string;
  /** The largest body taken, in bytes. */
  readonly maxBytes: number;
  /** The id of a request: the one given, if it can be taken. */
  readonly toRequestId: (given: string | null) => string;
  readonly begin: (requestId: string, caller: Caller) => RequestReport;
  readonly createContext: (caller: Caller, report: RequestReport) => unknown;
  /** Gives errors their codes. */
  readonly toCoded: (result: ExecutionResult, requestId: string) => ExecutionResult;
  /** On every answer. */
  readonly headers: Readonly<Record<string, string>>;
};

/** Who asks. */
export type Caller = {
  readonly headers: { get(name: string): string | null };
  /** Aborted when he leaves. */
  readonly signal: AbortSignal;
  readonly peer: string | undefined;
};

/** Answers a request, or says that Yoga must: then its body, if it was read, stands on it where Yoga looks for it. */
export type Lane = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

type Execute = NonNullable<ReturnType<PreparedOperation['ready']>>;

type Question = {
  readonly query: string;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
};

/** Takes what is plain JSON by POST, was asked before, and has variables that fit; all else is left to Yoga. */
export function createLane(options: LaneOptions): Lane {
  const { find, path, maxBytes, toRequestId, begin, createContext, toCoded } = options;

  const answer = async (
    caller: Caller,
    response: ServerResponse,
    { contentType, operation, fields }: PreparedOperation,
    execute: Execute,
  ): Promise<void> => {
    const requestId = toRequestId(caller.headers.get('x-request-id'));
    const report = begin(requestId, caller);
    const context = createContext(caller, report);
    const result = toCoded(await execute(context), requestId);
    const body = JSON.stringify(result);
    if (!response.destroyed) {
      const length = Buffer.byteLength(body);
      const own = {
        'content-type': contentType,
        'content-length': length,
        'x-request-id': requestId,
      };
      response.writeHead(200, { ...options.headers, ...own });
      // One byte each: Node need not look for longer ones.
      response.end(body, length === body.length ? 'latin1' : 'utf8');
    }
    const codes =
      result.errors && new Set(result.errors.map(({ extensions }) => String(extensions['code'])));
    report.end({
      operation: operation.operation,
      fields,
      ...(codes && { codes: [...codes].join(',') }),
      status: 200,
      prepared: true,
      ...(caller.signal.aborted && { aborted: true }),
    });
  };

  return async (request, response) => {
    if (!isPlain(request, path, maxBytes)) return false;
    const caller = callerOf(request, response);
    const body = await readBody(request);
    if (body === null) return true; // the caller left before he had asked
    const question = readQuestion(body);
    const prepared = question && find({ ...question, accept: request.headers.accept ?? '' });
    const execute = question && prepared?.ready(question.variables);
    if (prepared && execute) await answer(caller, response, prepared, execute);
    else Object.assign(request, { body });
    return Boolean(execute);
  };
}

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Whether nothing about it asks for more than the lane knows: another type or length, an origin of CORS. */
function isPlain(
  { method, url, headers }: IncomingMessage,
  path: string,
  maxBytes: number,
): boolean {
  const length = Number(headers['content-length'] ?? 0);
  return (
    method === 'POST' &&
    url === path &&
    length > 0 &&
    length <= maxBytes &&
    headers.origin === undefined &&
    JSON_TYPE.test(headers['content-type'] ?? '')
  );
}

function callerOf({ headers, socket }: IncomingMessage, response: ServerResponse): Caller {
  const leaving = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) leaving.abort();
  });
  return {
    headers: {
      get: (name) => {
        const value = headers[name];
        return typeof value === 'object' ? value.join(', ') : (value ?? null);
      },
    },
    signal: leaving.signal,
    peer: socket.remoteAddress,
  };
}

/** Null when it does not come to its end. */
function readBody(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(chunks[1] ? Buffer.concat(chunks) : (chunks[0] ?? null)))
      .on('close', () => resolve(null));
  });
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Some of these Yoga's way has to refuse. */
const LONG_NUMBER = /\d{16}|\d[eE]/;

/** Null for what is not plain, or wrong: Yoga's way says how. */
function readQuestion(body: Buffer): Question | null {
  try {
    const text = UTF_8.decode(body);
    if (LONG_NUMBER.test(text)) return null;
    const { query, operationName = null, variables: given, ...others } = Object(JSON.parse(text));
    const variables = given ?? {};
    const isName = operationName === null || typeof operationName === 'string';
    const isObject = typeof variables === 'object' && !Array.isArray(variables);
    if (typeof query !== 'string' || !isName || !isObject) return null;
    return Object.keys(others).length > 0 ? null : { query, operationName, variables };
  } catch {
    return null;
  }
}
