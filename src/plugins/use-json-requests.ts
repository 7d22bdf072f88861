import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';

const JSON_TYPE = /^application\/(?:graphql\+)?json\s*(?:;|$)/i;

/**
 * Takes operations by GET, or as JSON by POST. A form or a text, which a browser sends across origins without asking,
 * is refused. Whatever fails while a request is read is the request's fault, and nothing of it is echoed.
 */
export function useJsonRequests(): Plugin {
  return {
    onRequestParse({ request, requestParser, setRequestParser }) {
      if (request.method === 'POST' && !JSON_TYPE.test(request.headers.get('content-type') ?? '')) {
        throw badRequest('POST a JSON body with `content-type: application/json`.', 415);
      }
      if (requestParser === undefined) return;
      setRequestParser(async (toParse) => {
        try {
          return await requestParser(toParse);
        } catch (error) {
          if (error instanceof GraphQLError) throw error;
          throw badRequest('The request cannot be read: its JSON is not valid.', 400);
        }
      });
    },
  };
}

function badRequest(message: string, status: number): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
