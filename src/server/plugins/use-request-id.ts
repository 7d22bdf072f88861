import type { Plugin } from 'graphql-yoga';

/** What other plugins find on the server context of every request. */
export type RequestFacts = { requestId: string };

/** Long enough for a UUID, a trace id or a router's own; without anything that could break a header or a log line. */
const WELL_FORMED = /^[\w.:/+=-]{1,128}$/;

/** The caller's id of a request when it is well-formed, else a new one. */
export function takeRequestId(given: string | null, createId: () => string): string {
  return given !== null && WELL_FORMED.test(given) ? given : createId();
}

/** Gives every request an id, which the answer carries. */
export function useRequestId(createId: () => string): Plugin<object, RequestFacts> {
  return {
    onRequest({ request, serverContext }) {
      serverContext.requestId = takeRequestId(request.headers.get('x-request-id'), createId);
    },
    onResponse({ response, serverContext }) {
      // Yoga answers the preflights of CORS before any plugin sees them.
      serverContext.requestId ??= createId();
      response.headers.set('x-request-id', serverContext.requestId);
    },
  };
}
