import { GraphQLError } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { FAILURES, GatewayError, toErrorBody } from '../../errors.ts';

const ANSWER_TYPES: ReadonlySet<string | undefined> = new Set([
  '*/*',
  'application/*',
  'application/json',
  'application/graphql-response+json',
]);

const JSON_TYPE = /^application\/(?:graphql\+)?json\s*(?:;|$)/i;

/**
 * Takes operations by GET, or as JSON by POST, from those who take JSON for an answer. A form or a text, which a
 * browser sends across origins without asking, is refused. Whatever fails while a request is read is the request's
 * fault, and nothing of it is echoed.
 */
export function useJsonRequests(): Plugin<object, { requestId: string }> {
  return {
    onRequestParse(hook) {
      const { request, requestParser, setRequestParser } = hook;
      if (!acceptsJson(request.headers.get('accept') || '*/*')) {
        const error = new GatewayError('BAD_REQUEST', { message: NOT_ACCEPTABLE });
        const body = toErrorBody(error, hook.serverContext.requestId);
        return hook.endResponse(hook.fetchAPI.Response.json(body, { status: 406 }));
      }
      if (request.method === 'POST') {
        checkType(request.headers);
        setRequestParser((post) => orBadRequest(() => parseBody(post)));
      } else if (requestParser !== undefined) {
        setRequestParser((get) => orBadRequest(async () => requestParser(get)));
      }
    },
    onParams({ params: { query, extensions } }) {
      if (query == null && Object(extensions).persistedQuery != null) throw notPersisted();
    },
  };
}

const NOT_ACCEPTABLE = 'Answers are JSON: send `accept: application/json`.';

/** Yoga looks at this when the operation has been executed: the tokens of a login would be lost. */
function acceptsJson(accept: string): boolean {
  const ranges = accept.toLowerCase().replace(/\s/g, '').split(',');
  const isUtf8 = (range: string) => /;charset=(?!utf-8(?:;|$))/.exec(range) === null;
  return ranges.some((range) => ANSWER_TYPES.has(range.split(';')[0]) && isUtf8(range));
}

function checkType(headers: Headers): void {
  if (!/^(?:identity)?$/i.test(headers.get('content-encoding') ?? ''))
    throw badRequest('Send the body as it is, without `content-encoding`.', 415);
  const contentType = headers.get('content-type');
  if (contentType !== null && JSON_TYPE.test(contentType)) return;
  const status = contentType === null ? 400 : 415;
  throw badRequest('POST a JSON body with `content-type: application/json`.', status);
}

async function orBadRequest<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GraphQLError) throw error;
    throw badRequest('The request cannot be read: its JSON is not valid.');
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

const MEMBERS: ReadonlySet<string> = new Set(['query', 'variables', 'operationName', 'extensions']);

/**
 * Yoga's own takes the content type in lower case only, puts another character for bytes that are none, and another
 * number for a long one: a deletion must not hit the key next to the one that was meant.
 */
async function parseBody(request: Request): Promise<GraphQLParams> {
  const text = UTF_8.decode(await request.arrayBuffer());
  const body: unknown = JSON.parse(text, isInexact(text) ? refuseLongNumber : undefined);
  if (typeof body !== 'object' || body === null)
    throw badRequest('The body must be a JSON object.');
  if (!Array.isArray(body) && !Object.keys(body).every((name) => MEMBERS.has(name))) {
    throw badRequest(`The body may have ${[...MEMBERS].join(', ')}, and nothing else.`);
  }
  const { operationName, ...others } = Object(body);
  return operationName === '' ? others : body; // as Yoga takes it by GET
}

/** Whether a JSON text may have a number in it that JSON does not carry safely. */
export function isInexact(json: string): boolean {
  return /\d{16}|\d[eE]/.test(json);
}

function refuseLongNumber(_name: string, value: unknown): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  throw badRequest('A number has more digits than JSON carries safely: send it as a string.');
}

/** With the status that Apollo Server gives it. */
function notPersisted(): GraphQLError {
  const code = 'PERSISTED_QUERY_NOT_SUPPORTED';
  const { message } = FAILURES[code];
  return new GraphQLError(message, { extensions: { code, http: { status: 200 } } });
}

function badRequest(message: string, status = 400): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
