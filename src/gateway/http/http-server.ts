import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { toCorsHeaders } from './cors.ts';
import type { Gateway } from './gateway-type.ts';
import { RESPONSE_HEADERS } from './send-response.ts';

/** Where to listen, and how to shut down. */
export type ListenOptions = {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** {@link listen} aborts it when the shutdown begins; `/health/ready` then responds with 503. */
  readonly draining: AbortController;
  /** Drain period: how long the port stays open while not ready, so that load balancers notice; milliseconds. */
  readonly drainMs: number;
  /** Shutdown deadline: open connections are then closed; milliseconds, including the drain period. */
  readonly timeoutMs: number;
  /** Those of the gateway, for responses that it does not send. */
  readonly corsOrigins: readonly string[];
  /** How long a client may take to send the head of a request; milliseconds. @default 10_000 */
  readonly headersTimeoutMs?: number | undefined;
  /** How long a client may take to send a whole request; milliseconds. @default 15_000 */
  readonly requestTimeoutMs?: number | undefined;
};

/** A gateway that listens on a port. Disposing it finishes the requests in flight, then closes the port. */
export type ListeningServer = AsyncDisposable & {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
};

/** Longer than load balancers keep idle connections (usually 60 s): a POST sent while we close its connection is lost. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const SWEEP_MS = 500;

/**
 * Serves a gateway on a port.
 * @throws Node's error if it cannot listen there, with `code` EADDRINUSE, EACCES …
 */
export async function listen(
  { handle }: Pick<Gateway, 'handle'>,
  options: ListenOptions,
): Promise<ListeningServer> {
  const { host, port, draining, drainMs, timeoutMs, corsOrigins } = options;
  const { headersTimeoutMs = 10_000, requestTimeoutMs = 15_000 } = options;
  // In arrival order. An array, not a Set: V8 chains the old hash tables of a Set that changes often, and a promoted one
  // retains every later response until a major GC.
  const pending: ServerResponse[] = [];

  const respond = (request: IncomingMessage, response: ServerResponse) => {
    if (draining.signal.aborted) {
      // No request is processed after a response with `connection: close` (RFC 9112, section 9.6).
      const { socket } = request;
      if (!socket.writable || pending.some(({ req }) => req.socket === socket)) return;
      response.shouldKeepAlive = false;
    }
    pending.push(response);
    response.once('close', () => pending.splice(pending.indexOf(response), 1));
    void handle(request, response);
  };
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: SWEEP_MS, // Node's default, 30 s, would enforce both timeouts late
      requireHostHeader: false, // validateHead responds with JSON instead
    },
    respond,
  );
  // Of any expectation but 100-continue, Node's 417 would lack our headers. A server may ignore it (RFC 9110, section 10.1.1).
  server.on('checkExpectation', respond);
  // Bytes that are not HTTP, or come too late: write to the socket.
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const responses = pending.filter(({ req }) => req.socket === socket);
    // The client would take it for the response to an earlier request, or for a part of one.
    const isMisplaced = responses.some(({ req, headersSent }) => req.complete || headersSent);
    // Browsers open connections ahead: the client would take it for the response to its next request.
    const isUnused = socket instanceof Socket && socket.bytesRead === 0;
    const origin = responses.map(({ req }) => req.headers.origin ?? null)[0]; // none: the head could not be read
    const response = toRawResponse(STATUS_LINES[error.code ?? ''] ?? '400 Bad Request', {
      ...RESPONSE_HEADERS,
      ...toCorsHeaders(corsOrigins, origin),
    });
    // Destroyed explicitly: Node applies no timeout to this socket any more, and the client may never close it.
    if (socket.writable && !isMisplaced && !isUnused) socket.end(response, () => socket.destroy());
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
      // Otherwise a keep-alive client could send requests for ever. Of pipelined responses, the last closes the connection.
      const last = new Map(pending.map((response) => [response.req.socket, response]));
      for (const response of last.values()) response.shouldKeepAlive = false;
      await wait(Math.min(drainMs, timeoutMs));
      const closed = once(server, 'close');
      server.close();
      // Node counts a connection without any request as active. One that is sending its headers has until the next sweep.
      const sweep = setInterval(() => {
        if (pending.length === 0) server.closeAllConnections();
      }, SWEEP_MS);
      await closed;
      clearInterval(sweep);
      clearTimeout(deadline);
    },
  };
}

const STATUS_LINES: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

function toRawResponse(status: string, own: Readonly<Record<string, string>>): string {
  const headers = Object.entries({ connection: 'close', 'content-length': 0, ...own });
  return [`HTTP/1.1 ${status}`, ...headers.map((header) => header.join(': ')), '\r\n'].join('\r\n');
}

/** The URL of a server, without a trailing slash. */
export function toUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
