import type { Plugin } from 'graphql-yoga';
import { EVENT_STREAM } from '../http/media-types.ts';
import { RESPONSE_HEADERS } from '../http/send-response.ts';

/** Adds {@link RESPONSE_HEADERS} to every response of Yoga; with CORS also `Vary: Origin`, as responses differ by it. */
export function useResponseHeaders({ hasCors }: { readonly hasCors: boolean }): Plugin {
  return {
    onResponse({ response }) {
      for (const [name, value] of Object.entries(RESPONSE_HEADERS))
        response.headers.set(name, value);
      if (response.headers.get('content-type') === EVENT_STREAM) {
        // Yoga sets an encoding that does not exist, and a header of the connection, which Node sets.
        for (const name of ['content-encoding', 'connection']) response.headers.delete(name);
        response.headers.set('x-accel-buffering', 'no'); // nginx would hold back events until its buffer is full
      }
      if (hasCors) response.headers.append('vary', 'Origin');
    },
  };
}
