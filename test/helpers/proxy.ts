import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** A request that a proxy received: CONNECT, or one that it is to forward. */
export type ProxiedRequest = {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The name in the client certificate, for a proxy over TLS. */
  readonly certificate: unknown;
};

/** How a proxy behaves. */
export type ProxyOptions = {
  /** The loopback port of a service, by host and port as clients name it: nothing needs to resolve the name. */
  readonly ports: Readonly<Record<string, number>>;
  /** Refuses with this status; `reset` closes the connection, and `silent` never responds. */
  readonly refuse?: () => number | 'reset' | 'silent' | undefined;
  /** Of a proxy over TLS. It asks for a client certificate, and requires none. */
  readonly tls?: Readonly<Record<'key' | 'cert' | 'ca', string>>;
};

/** Starts an HTTP proxy on loopback: CONNECT opens a tunnel, and a request with a whole URL is forwarded. */
export async function startProxy({ ports, refuse = () => undefined, tls }: ProxyOptions) {
  const seen: ProxiedRequest[] = [];
  const server = tls
    ? createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false })
    : createServer();
  const see = ({ method = '', url = '', headers, socket }: IncomingMessage) => {
    const certificate = tls && (socket as TLSSocket).getPeerCertificate().subject?.CN; // it is a server over TLS
    seen.push({ method, target: url, headers, certificate });
    return refuse();
  };
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    const port = ports[request.url ?? ''];
    const refusal = see(request) ?? (port === undefined ? 502 : undefined);
    if (refusal === 'reset') socket.destroy();
    else if (typeof refusal === 'number')
      socket.end(`HTTP/1.1 ${refusal} Refused\r\ncontent-length: 0\r\n\r\n`);
    if (refusal !== undefined || port === undefined) return;
    const tunnel = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      tunnel.write(head);
      tunnel.pipe(socket).pipe(tunnel);
    });
    tunnel.on('error', () => socket.destroy());
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refusal = see(request);
    if (refusal === 'reset') response.destroy();
    else if (typeof refusal === 'number') response.writeHead(refusal).end('{"note": "no"}');
    if (refusal !== undefined) return;
    const { host, pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _credentials, ...headers } = request.headers;
    const { method = '' } = request;
    const options = { port: ports[host], method, path: `${pathname}${search}`, headers };
    const forwarded = send({ host: '127.0.0.1', ...options }, (result) => {
      response.writeHead(result.statusCode ?? 502, result.headers);
      result.pipe(response);
    });
    request.pipe(forwarded);
  });
  const sockets = new Set<Duplex>();
  server.on(tls ? 'secureConnection' : 'connection', (socket: Duplex) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = Object(server.address());
  return {
    url: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    seen,
    /** Number of sockets that were ever opened. */
    connections: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy(); // those of tunnels are no longer the server's
    },
  };
}
