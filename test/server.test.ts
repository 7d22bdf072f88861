import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { gatewayOver, onPort } from './helpers/gateway.ts';

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
});
