import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

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

describe('a server that stops', () => {
  it('answers a request whose head was under way, and closes its connection', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const server = await onPort(gateway);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET /health/live HTTP/1.1\r\nhost: a\r\n');
    // A second connection that was answered shows that the first was read.
    await fetch(`${server.url}/health/live`);
    const stopped = server[Symbol.asyncDispose]();
    socket.write('\r\n');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).toMatch(/connection: close/i);
    await stopped;
  });

  it('answers all that was pipelined, begins no more, and closes with the last answer', async () => {
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
    const answers = text(socket);
    socket.write(DELETION + DELETION);
    await expect.poll(() => service.seen.length).toBe(2);
    const stopped = server[Symbol.asyncDispose]();
    socket.write(DELETION);
    for (const _ of [1, 2]) await turn(); // the server reads what has come before they are over
    release();
    expect((await answers).match(/HTTP\/1.1 \d+|connection: \S+|DELETED/gi)).toEqual([
      'HTTP/1.1 200',
      'Connection: keep-alive',
      'DELETED',
      'HTTP/1.1 200',
      'Connection: close',
      'DELETED',
    ]);
    expect(service.seen).toHaveLength(2);
    await stopped;
  });
});
