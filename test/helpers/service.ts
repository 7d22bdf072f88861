import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the service received. */
export type ReceivedRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: string;
};

/** A response of the service. Default: 200, no headers, an empty body. */
export type ServiceResponse = {
  readonly status?: number;
  /** Default: Node's text for the status. */
  readonly statusText?: string;
  /** Of a list, each is sent as a header of its own. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** A string is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
};

/** Handles a request: returns a response, or undefined if it used `response` itself. */
export type Handler = (
  seen: ReceivedRequest,
  response: ServerResponse,
  request: IncomingMessage,
) => ServiceResponse | undefined | Promise<ServiceResponse | undefined>;

/** A real REST server on a loopback port that records its requests. */
export type Service = AsyncDisposable & {
  readonly url: string;
  readonly seen: readonly ReceivedRequest[];
  /** Number of open sockets. */
  readonly sockets: () => number;
  /** Number of sockets that were ever opened. */
  readonly connections: () => number;
  /** Drops the recorded requests, for loads that would fill the memory. */
  readonly forget: () => void;
};

/** Starts a service with a handler, or with the same response to everything, on a free port by default. */
export async function startService(
  handler: Handler | ServiceResponse,
  at = 0,
  host = '127.0.0.1',
): Promise<Service> {
  const seen: ReceivedRequest[] = [];
  let sockets = 0;
  let connections = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers, rawHeaders } = request;
    const now = { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() };
    seen.push(now);
    const reply = typeof handler === 'function' ? await handler(now, response, request) : handler;
    if (reply === undefined) return;
    const { status = 200, statusText = STATUS_CODES[status] ?? '', body = '' } = reply;
    response.writeHead(status, statusText, {
      'content-type': 'application/json',
      ...reply.headers,
    });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.on('connection', (socket) => {
    sockets += 1;
    connections += 1;
    socket.once('close', () => {
      sockets -= 1;
    });
  });
  server.listen(at, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    seen,
    sockets: () => sockets,
    connections: () => connections,
    forget: () => {
      seen.length = 0;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
