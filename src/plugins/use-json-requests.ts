import { GraphQLError } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { GatewayError, toResult } from '../errors.ts';

const ANSWER_TYPES: ReadonlySet<string | undefined> = new Set([
  '*/*',
  'application/*',
  'application/json',
  'application/graphql-response+json',
]);

const JSON_TYPE = /^application\/(?:graphql\+)?json\s*(?:;|$)/i;

/**
 * Takes operations by GET, or as JSON by POST, from those who take JSON for an answer. A form or a text, which a browser sends across origins without asking,
 * is refused. Whatever fails while a request is read is the request's fault, and nothing of it is echoed.
 */
export function useJsonRequests(): Plugin<object, { requestId: string }> {
  return {
    onRequestParse(hook) {
      const { request, requestParser, setRequestParser } = hook;
      if (!acceptsJson(request.headers.get('accept') ?? '*/*')) {
        const error = new GatewayError('BAD_REQUEST', { message: NOT_ACCEPTABLE });
        const body = toResult(error, hook.serverContext.requestId);
        return hook.endResponse(hook.fetchAPI.Response.json(body, { status: 406 }));
      }
      if (request.method === 'POST') {
        checkType(request.headers.get('content-type'));
        setRequestParser((post) => orBadRequest(() => parseBody(post)));
      } else if (requestParser !== undefined) {
        setRequestParser((get) => orBadRequest(async () => requestParser(get)));
      }
    },
  };
}

const NOT_ACCEPTABLE = 'Answers are JSON: send `accept: application/json`.';

/** Yoga looks at this when the operation has been executed: the tokens of a login would be lost. */
function acceptsJson(accept: string): boolean {
  const types = accept.split(',').map((range) => range.split(';')[0]?.trim().toLowerCase());
  return types.some((type) => ANSWER_TYPES.has(type));
}

function checkType(contentType: string | null): void {
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

/** Yoga's own takes the content type in lower case only. What the members are, Yoga checks next. */
async function parseBody(request: Request): Promise<GraphQLParams> {
  const body: unknown = await request.json();
  if (typeof body !== 'object' || body === null)
    throw badRequest('The body must be a JSON object.');
  return body;
}

function badRequest(message: string, status = 400): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
