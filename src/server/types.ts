import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * A gateway: it holds connections to the service, and no port. Disposing it finishes what is under way and closes
 * them; whatever is asked of it from then on is answered with 503 and OVERLOADED. That takes as long as the slowest
 * call may take, and as a caller takes who has not sent all of his request; `abort` does not wait for either.
 */
export type Gateway = AsyncDisposable & {
  /** Cuts off every call to the service that is under way, and lets a disposal end at once. */
  abort(): void;
  /** Answers one request, given as to the global `fetch`; like that it rejects for what is no request, and when its signal is aborted. */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
  /** Answers one request of a Node server, as in `createServer(gateway.handle)`; never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
};
