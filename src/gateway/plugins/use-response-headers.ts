import type { Plugin } from 'graphql-yoga';
import { EVENT_STREAM } from '../http/request-head.ts';
import { RESPONSE_HEADERS } from '../http/send-response.ts';

/** What useResponseHeaders puts on the server context for the plugins after it. */
export type RequestIdContext = { requestId: string };

/** Long enough for a UUID, a trace ID or a router's own ID; no character that is special in a header or a log line. */
const WELL_FORMED = /^[\w.:/+=-]{1,128}$/;

/** Returns the client's request ID if it is well-formed, else a new one. */
export function takeRequestId(given: string | null, createId: () => string): string {
  return given !== null && WELL_FORMED.test(given) ? given : createId();
}

/**
 * Gives every request an ID, and sends it in the header `x-request-id`. Adds {@link RESPONSE_HEADERS} to every response of
 * Yoga.
 */
export function useResponseHeaders(createId: () => string): Plugin<object, RequestIdContext> {
  return {
    onRequest({ request, serverContext }) {
      serverContext.requestId = takeRequestId(request.headers.get('x-request-id'), createId);
    },
    onResponse({ response: { headers }, serverContext }) {
      headers.set('x-request-id', serverContext.requestId);
      for (const [name, value] of Object.entries(RESPONSE_HEADERS)) headers.set(name, value);
      if (headers.get('content-type') === EVENT_STREAM) {
        // Yoga sets an encoding that does not exist, and a header of the connection, which Node sets.
        for (const name of ['content-encoding', 'connection']) headers.delete(name);
        headers.set('x-accel-buffering', 'no'); // nginx would hold back events until its buffer is full
      }
    },
  };
}
