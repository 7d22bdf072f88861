import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { RESPONSE_HEADERS } from './plugins/use-response-headers.ts';
import type { Gateway } from './types.ts';

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
  readonly timeoutMs: number;
};

/** A gateway on a port. Disposing it finishes what is under way, then closes the port. */
export type ListeningServer = AsyncDisposable & {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
};

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** Longer than balancers keep a connection, which is 60 s for most: a POST that meets the closing is lost. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const SWEEP_MS = 500;

/**
 * Puts a gateway on a port.
 * @throws what Node says when the port cannot be had, with `code` EADDRINUSE, EACCES …
 */
export async function listen(
  { handle }: Pick<Gateway, 'handle'>,
  options: ListenOptions,
): Promise<ListeningServer> {
  const { host, port, draining, drainMs, timeoutMs } = options;
  // In the order in which they came. No Set: of one that changes all the time V8 links the old table to the new one, so
  // that what was promoted to the old generation keeps alive everything that came later, until all is marked.
  const unanswered: ServerResponse[] = [];

  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: SWEEP_MS, // Node looks at the two above every 30 s only
      requireHostHeader: false, // the guard says it in JSON
    },
    (request, response) => {
      if (draining.signal.aborted) {
        // Behind an answer that closes the connection nothing is answered, so nothing is begun (RFC 9112, section 9.6).
        const { socket } = request;
        if (!socket.writable || unanswered.some(({ req }) => req.socket === socket)) return;
        response.shouldKeepAlive = false;
      }
      unanswered.push(response);
      response.once('close', () => unanswered.splice(unanswered.indexOf(response), 1));
      void handle(request, response);
    },
  );
  // What is not HTTP has no response object to answer with.
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = refusal(REFUSALS[error.code ?? ''] ?? '400 Bad Request');
    // The peer may never close its side, and Node watches such a socket no longer.
    if (socket.writable) socket.end(answer, () => socket.destroy());
    else socket.destroy();
  });
  server.listen(port, host);
  await once(server, 'listening');

  const address = server.address() as AddressInfo; // it listens on TCP
  return {
    url: toUrl(address),
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      draining.abort();
      const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
      // A keep-alive client would otherwise go on asking on the connection it has. Of pipelined answers the last closes it.
      const last = new Map(unanswered.map((response) => [response.req.socket, response]));
      for (const response of last.values()) response.shouldKeepAlive = false;
      await wait(Math.min(drainMs, timeoutMs));
      const closed = once(server, 'close');
      server.close();
      // A connection that never asked anything counts as busy; a request whose head is under way gets until the sweep.
      const sweep = setInterval(() => {
        if (unanswered.length === 0) server.closeAllConnections();
      }, SWEEP_MS);
      await closed;
      clearInterval(sweep);
      clearTimeout(deadline);
    },
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

function refusal(status: string): string {
  const headers = Object.entries({ connection: 'close', 'content-length': 0, ...RESPONSE_HEADERS });
  return [`HTTP/1.1 ${status}`, ...headers.map((header) => header.join(': ')), '\r\n'].join('\r\n');
}

function toUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
