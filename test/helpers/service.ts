import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the service saw it. */
export type ReceivedRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: string;
};

/** How the service answers: what is left out is 200, no headers, an empty body. */
export type ServiceResponse = {
  readonly status?: number;
  /** Node's own text for the status, unless given. */
  readonly statusText?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string goes as it is, anything else as JSON. */
  readonly body?: unknown;
};

/** What to do with a request: an answer, or nothing when it was dealt with on the response itself. */
export type Handler = (
  seen: ReceivedRequest,
  response: ServerResponse,
  request: IncomingMessage,
) => ServiceResponse | undefined | Promise<ServiceResponse | undefined>;

/** A real REST server on a loopback port, which remembers what it was sent. */
export type Service = AsyncDisposable & {
  readonly url: string;
  readonly seen: readonly ReceivedRequest[];
  /** How many sockets are open right now. */
  readonly sockets: () => number;
  /** How many were ever opened. */
  readonly connections: () => number;
  /** Drops what it remembers, for loads that would fill the memory with it. */
  readonly forget: () => void;
};

/** Starts a service that answers by a handler, or always the same, on a free port or a given one. */
export async function startService(handler: Handler | ServiceResponse, at = 0): Promise<Service> {
  const seen: ReceivedRequest[] = [];
  let sockets = 0;
  let connections = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers, rawHeaders } = request;
    const now = { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() };
    seen.push(now);
    const answer = typeof handler === 'function' ? await handler(now, response, request) : handler;
    if (answer === undefined) return;
    const { status = 200, statusText = STATUS_CODES[status] ?? '', body = '' } = answer;
    response.writeHead(status, statusText, {
      'content-type': 'application/json',
      ...answer.headers,
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
  server.listen(at, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
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
