import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { gatewayOver, onPort } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const BODY = '{"query": "mutation { deleteApiKey(clientId: \\"k\\") { outcome } }"}';
const DELETION = [
  'POST /graphql HTTP/1.1',
  'host: a',
  'authorization: Bearer t',
  'content-type: application/json',
  `content-length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n');

it('keeps an idle connection for longer than the 60 s of load balancers', async () => {
  await using gateway = gatewayOver('http://127.0.0.1:9');
  await using server = await onPort(gateway);
  const { headers } = await fetch(`${server.url}/health/live`);
  const [, seconds] = /^timeout=(\d+)$/.exec(headers.get('keep-alive') ?? '') ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
});

describe('a connection on which no whole request arrives in time', () => {
  /** Sends bytes, and returns what the server sends until it closes the connection. */
  const send = async (bytes: string) => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const timeouts = { headersTimeoutMs: 100, requestTimeoutMs: 200 };
    await using server = await onPort(gateway, timeouts);
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    if (bytes !== '') socket.write(bytes);
    return await text(socket);
  };

  it('is closed without a response if nothing was sent on it: browsers open some ahead', async () => {
    expect(await send('')).toBe('');
  });

  it.each([
    'P',
    'POST /graphql HTTP/1.1\r\n',
    DELETION.slice(0, -BODY.length),
    DELETION.slice(0, -1),
  ])('gets a 408 after a part of a request: %j', async (bytes) => {
    expect(await send(bytes)).toMatch(/^HTTP\/1.1 408 Request Timeout\r\nconnection: close\r\n/);
  });

  it('gets the response to its first request, then a 408 to a part of the next', async () => {
    const first = 'GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n';
    const responses = await send(`${first}GET /heal`);
    expect(responses.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 408']);
  });
});

describe('a server that shuts down', () => {
  it('responds to a request whose headers were incomplete, and closes its connection', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const server = await onPort(gateway);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET /health/live HTTP/1.1\r\nhost: a\r\n');
    // A response on a second connection shows that the server has read the first.
    await fetch(`${server.url}/health/live`);
    const closed = server[Symbol.asyncDispose]();
    socket.write('\r\n');
    const response = await text(socket);
    expect(response).toMatch(/^HTTP\/1.1 200 /);
    expect(response).toMatch(/connection: close/i);
    await closed;
  });

  it('responds to all pipelined requests, takes no new one, and closes the connection with the last response', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      await held;
      return { status: 204 };
    });
    await using gateway = gatewayOver(service.url);
    const server = await onPort(gateway);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const responses = text(socket);
    socket.write(DELETION + DELETION);
    await expect.poll(() => service.seen.length).toBe(1); // the second waits for its response
    const closed = server[Symbol.asyncDispose]();
    socket.write(DELETION);
    for (const _ of [1, 2]) await nextTick(); // the server reads the third request meanwhile
    release();
    expect((await responses).match(/HTTP\/1.1 \d+|connection: \S+|DELETED/gi)).toEqual([
      'HTTP/1.1 200',
      'Connection: keep-alive',
      'DELETED',
      'HTTP/1.1 200',
      'Connection: close',
      'DELETED',
    ]);
    expect(service.seen).toHaveLength(2);
    await closed;
  });
});
