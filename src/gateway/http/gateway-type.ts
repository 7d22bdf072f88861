import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Returns the Authorization header of a request, `Bearer …` with a token of the service; null if it has none. The request
 * is what was passed to `handle`, with what a framework has added to it, or to `fetch`. It may be declared with the type
 * of the framework's request: therefore this is the type of a method.
 */
export type Authorize = {
  of(
    request: IncomingMessage | Request,
  ): string | null | undefined | Promise<string | null | undefined>;
}['of'];

/**
 * A gateway. It holds connections to the service, and listens on no port. Disposing it finishes the requests in flight
 * and closes the connections; later requests get HTTP 503 with `OVERLOADED`. Disposal waits for the slowest call to the
 * service, and for clients that have not sent their whole request yet; after `abort` it waits for neither.
 */
export type Gateway = AsyncDisposable & {
  /** Aborts all calls to the service that are in flight. A disposal then completes immediately. */
  abort(): void;
  /**
   * Handles one request, with the parameters of the global `fetch`. Like `fetch`, it rejects if the request is invalid or
   * its signal is aborted. `remoteAddress` is the address of the client's socket, for the login limit: a `Request` has none.
   */
  fetch(
    input: Request | URL | string,
    init?: RequestInit & { readonly remoteAddress?: string | undefined },
  ): Promise<Response>;
  /**
   * Handles one request of a Node server, as in `createServer(gateway.handle)` or `app.use(gateway.handle)` of Express. Any
   * path but that of GraphQL gets a 404, or is left to `next` if it is given. Rejects only if `next` throws.
   */
  handle(request: IncomingMessage, response: ServerResponse, next?: () => void): Promise<void>;
};
