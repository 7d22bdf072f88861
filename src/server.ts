import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Gateway } from './gateway.ts';
import { RESPONSE_HEADERS } from './plugins/use-response-headers.ts';

/** Where to listen, and how to stop. */
export type ListenOptions = {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Aborted here when stopping begins, so that `/health/ready` says so. */
  readonly draining: AbortController;
  /** How long the port stays open while not ready, so that balancers notice; milliseconds. */
  readonly drainMs: number;
  /** After how long what is still under way is cut off; milliseconds, the drain included. */
  readonly fuseMs: number;
};

/** A gateway on a port. Disposing it finishes what is under way, then closes the port. */
export type Listening = AsyncDisposable & {
  /** Without a slash at the end. */
  readonly url: string;
};

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Puts a gateway on a port.
 * @throws what Node says when the port cannot be had, with `code` EADDRINUSE, EACCES …
 */
export async function listen(
  { handle }: Pick<Gateway, 'handle'>,
  options: ListenOptions,
): Promise<Listening> {
  const { host, port, draining, drainMs, fuseMs } = options;
  const unanswered = new Set<ServerResponse>();

  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      unanswered.add(response);
      response.once('close', () => unanswered.delete(response));
      response.shouldKeepAlive &&= server.listening;
      void handle(request, response);
    },
  );
  // What is not HTTP has no response object to answer with.
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end(NOT_HTTP);
  });
  server.listen(port, host);
  await once(server, 'listening');

  return {
    url: toUrl(server.address() as AddressInfo), // it listens on TCP
    [Symbol.asyncDispose]: async () => {
      draining.abort();
      const fuse = setTimeout(() => server.closeAllConnections(), fuseMs);
      await wait(drainMs);
      // A keep-alive client would otherwise go on asking on the connection it has.
      for (const response of unanswered) response.shouldKeepAlive = false;
      const closed = once(server, 'close');
      server.close();
      await closed;
      clearTimeout(fuse);
    },
  };
}

const NOT_HTTP = [
  'HTTP/1.1 400 Bad Request',
  'connection: close',
  ...Object.entries(RESPONSE_HEADERS).map((header) => header.join(': ')),
  'content-length: 0',
  '\r\n',
].join('\r\n');

function toUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
