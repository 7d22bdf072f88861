import type { Plugin } from 'graphql-yoga';

/** What useRequestId puts on the server context for the plugins after it. */
export type RequestIdContext = { requestId: string };

/** Long enough for a UUID, a trace ID or a router's own ID; no character that is special in a header or a log line. */
const WELL_FORMED = /^[\w.:/+=-]{1,128}$/;

/** Returns the client's request ID if it is well-formed, else a new one. */
export function takeRequestId(given: string | null, createId: () => string): string {
  return given !== null && WELL_FORMED.test(given) ? given : createId();
}

/** Gives every request an ID, and sends it in the header `x-request-id`. */
export function useRequestId(createId: () => string): Plugin<object, RequestIdContext> {
  return {
    onRequest({ request, serverContext }) {
      serverContext.requestId = takeRequestId(request.headers.get('x-request-id'), createId);
    },
    onResponse({ response, serverContext }) {
      // Yoga responds to CORS preflights before any onRequest.
      serverContext.requestId ??= createId();
      response.headers.set('x-request-id', serverContext.requestId);
    },
  };
}
