import type { Plugin } from 'graphql-yoga';

/** What other plugins find on the server context of every request. */
export type RequestFacts = { requestId: string };

/** Long enough for a UUID, a trace id or a router's own; without anything that could break a header or a log line. */
const WELL_FORMED = /^[\w.:/+=-]{1,128}$/;

/** Gives every request an id: the caller's `x-request-id` when it is well-formed, else a new one. The answer carries it. */
export function useRequestId(createId: () => string): Plugin<object, RequestFacts> {
  return {
    onRequest({ request, serverContext }) {
      const given = request.headers.get('x-request-id');
      serverContext.requestId = given !== null && WELL_FORMED.test(given) ? given : createId();
    },
    onResponse({ response, serverContext }) {
      // Yoga answers the preflights of CORS before any plugin sees them.
      serverContext.requestId ??= createId();
      response.headers.set('x-request-id', serverContext.requestId);
    },
  };
}
