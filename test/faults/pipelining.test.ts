import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { gatewayOver, type Overrides, onPort } from '../helpers/gateway.ts';
import { startLiveTrail } from '../helpers/live-trail.ts';
import { startService } from '../helpers/service.ts';

const DELETION = 'mutation { deleteApiKey(clientId: "k") { outcome } }';
const STREAM = 'subscription { auditEvents { checkpoint } }';

const read = (name: string) => `{ ${name}: audit { totalCount } }`;

/** The bytes of a request. */
function request(query: string, { token = 't', headers = [] as readonly string[] } = {}): string {
  const body = JSON.stringify({ query });
  return [
    'POST /graphql HTTP/1.1',
    'host: a',
    `authorization: Bearer ${token}`,
    'accept: text/event-stream, application/json',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}

/** A client that writes requests without waiting for responses. */
async function openPipeline(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {}); // reset by the gateway
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    socket,
    closed,
    send: (...queries: readonly string[]) =>
      socket.write(queries.map((one) => request(one)).join('')),
    received: () => received,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** A service that holds each response until it is released, in order. */
async function startHeldService(respond: (seen: number) => unknown = () => []) {
  const held: (() => void)[] = [];
  const service = await startService(async ({ method }) => {
    const body = respond(held.length);
    await new Promise<void>((resolve) => held.push(resolve));
    return method === 'DELETE' ? { status: 204 } : { body };
  });
  return { ...service, release: (index: number) => held[index]?.() };
}

async function serve(
  service: Awaited<ReturnType<typeof startHeldService>>,
  options: Overrides = {},
) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(gatewayOver(service.url, options));
  const server = stack.use(await onPort(gateway));
  return { gateway, server, url: server.url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Resolves once the server has read all that was written before, by a response on another connection. */
const settle = (url: string) => fetch(`${url}/health/live`);

describe('a pipelined request', () => {
  it('is executed once the response before it is sent, in order', async () => {
    await using service = await startHeldService();
    await using bed = await serve(service);
    using client = await openPipeline(bed.url);
    client.send(read('a'), DELETION, read('b'));
    for (const seen of [1, 2, 3]) {
      await expect.poll(() => service.seen.length).toBe(seen);
      await settle(bed.url);
      expect(service.seen).toHaveLength(seen);
      service.release(seen - 1);
    }
    await expect
      .poll(() => client.received().match(/"(?:a|b)":|DELETED/g))
      .toEqual(['"a":', 'DELETED', '"b":']);
    expect(service.seen.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'GET']);
  });

  it('is not executed while its client does not read the response before it', async () => {
    const large = [{ id: 'x'.repeat(12_000_000) }]; // more than the kernel takes for a socket
    await using service = await startService({ body: large });
    const contract = { audit: { event: { id: '/id' } } }; // inferred IDs are shorter
    await using gateway = gatewayOver(service.url, { contract, upstream: { maxBytes: 2 ** 24 } });
    await using server = await onPort(gateway);
    using client = await openPipeline(server.url);
    client.socket.pause();
    const query = '{ audit { nodes { id } } }';
    client.send(...Array.from({ length: 6 }, () => query));
    await expect.poll(() => service.seen.length).toBe(1);
    await expect.poll(() => gateway.logged.length).toBe(1);
    for (const _ of [1, 2, 3]) await settle(server.url);
    expect(service.seen).toHaveLength(1);
    let bytes = 0;
    client.socket.removeAllListeners('data').on('data', ({ length }) => {
      bytes += length;
    });
    client.socket.resume();
    await expect.poll(() => bytes).toBeGreaterThan(6 * 12_000_000);
    expect(service.seen).toHaveLength(6);
  });

  it('after a subscription waits for its end, and takes no place of others meanwhile', async () => {
    await using live = await startLiveTrail({ maxInFlight: 2 });
    live.list(1);
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    client.send(STREAM, read('a'), read('b'), read('c'));
    await live.pauses.paused();
    await settle(server.url);
    expect(live.service.seen).toHaveLength(1);
    using other = await openPipeline(server.url);
    other.send(read('other'));
    await expect.poll(other.received).toContain('"other":');
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
    live.gateway.abort(); // ends the stream
    await expect.poll(() => client.received().match(/"[abc]":/g)).toEqual(['"a":', '"b":', '"c":']);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['resets the connection', (socket) => void socket.resetAndDestroy()],
    ['closes the connection', (socket) => void socket.end()],
  ])('is never executed if its client %s meanwhile', async (_, leave) => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    client.send(STREAM, DELETION);
    await live.pauses.paused();
    leave(client.socket);
    await expect.poll(() => live.gateway.logged.join()).toContain('"ended":"client"');
    for (const _ of [1, 2, 3]) await settle(server.url);
    expect(live.service.seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('is never executed if its client closes the connection while the response before it is executed', async () => {
    await using service = await startHeldService();
    await using bed = await serve(service);
    using client = await openPipeline(bed.url);
    client.send(read('a'), DELETION);
    await expect.poll(() => service.seen.length).toBe(1);
    client.socket.end();
    await settle(bed.url);
    service.release(0);
    for (const _ of [1, 2, 3]) await settle(bed.url);
    expect(service.seen).toHaveLength(1);
  });

  it('may be one of 32 that wait: a further one closes the connection, and executes nothing', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    client.send(STREAM, ...Array.from({ length: 32 }, () => DELETION));
    await live.pauses.paused();
    await settle(server.url);
    expect(live.gateway.logged.join()).not.toContain('"ended"');
    client.send(DELETION);
    await client.closed;
    await expect.poll(() => live.gateway.logged.join()).toContain('"ended":"client"');
    expect(live.service.seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('may be one of 32 that wait, also if all came at once', async () => {
    await using live = await startLiveTrail();
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    client.send(STREAM, ...Array.from({ length: 300 }, () => DELETION));
    await client.closed;
    for (const _ of [1, 2, 3]) await settle(server.url);
    expect(live.service.seen.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });

  it('counts as waiting until it is its turn: 100 in a row are served if few wait', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    using client = await openPipeline(server.url);
    for (let sent = 20; sent <= 100; sent += 20) {
      client.send(...Array.from({ length: 20 }, () => read('a')));
      await expect.poll(() => client.received().match(/"a":/g)?.length).toBe(sent);
    }
  });

  it('has a bound for the whole process as well', async () => {
    await using live = await startLiveTrail({ maxIncompleteRequests: 3 });
    live.list(1);
    await using server = await onPort(live.gateway);
    using first = await openPipeline(server.url);
    first.send(STREAM, DELETION, DELETION);
    await live.pauses.paused();
    using second = await openPipeline(server.url);
    second.send(STREAM, DELETION);
    await expect.poll(() => live.service.seen.length).toBe(2);
    await settle(server.url);
    using third = await openPipeline(server.url);
    third.send(STREAM, DELETION);
    await third.closed;
    first.socket.destroy();
    await expect.poll(() => live.gateway.logged.join().match(/"ended"/g)?.length).toBe(2);
    using fourth = await openPipeline(server.url);
    fourth.send(STREAM, DELETION, DELETION);
    await expect.poll(fourth.received).toContain('checkpoint');
    expect(second.socket.destroyed).toBe(false);
  });

  it('after a response that was read slowly is not disconnected by its timeout', async () => {
    const large = [{ id: 'x'.repeat(12_000_000) }];
    const held = Promise.withResolvers<void>();
    let seen = 0;
    await using service = await startService(async () => {
      seen += 1;
      if (seen > 1) await held.promise;
      return { body: seen > 1 ? [] : large };
    });
    const options = { upstream: { maxBytes: 2 ** 24 }, writeTimeoutMs: 300 };
    await using gateway = gatewayOver(service.url, options);
    await using server = await onPort(gateway);
    using client = await openPipeline(server.url);
    client.socket.pause();
    client.send('{ audit { nodes { id } } }', read('late'));
    await expect.poll(() => service.seen.length).toBe(1);
    await expect.poll(() => gateway.logged.length).toBe(1);
    client.socket.resume();
    await expect.poll(() => service.seen.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 900)); // three times the timeout
    held.resolve();
    await expect.poll(client.received).toContain('"late":');
  });

  it('is served in a program whose own responses are before it', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { draining: null });
    const held = Promise.withResolvers<void>();
    const server = createServer((message, response) =>
      gateway.handle(message, response, () => {
        if (message.url !== '/own') return void response.end();
        void held.promise.then(() => response.end('own'));
      }),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // it listens on TCP
    using client = await openPipeline(`http://127.0.0.1:${port}`);
    client.socket.write(`GET /own HTTP/1.1\r\nhost: a\r\n\r\n${request(read('a'))}`);
    await settle(`http://127.0.0.1:${port}`);
    expect(service.seen).toEqual([]);
    held.resolve();
    await expect.poll(client.received).toMatch(/own.*"a":/s);
    server.close();
    server.closeAllConnections();
  });

  it('of a gateway that was disposed of gets 503, and the disposal does not wait for it', async () => {
    await using service = await startHeldService();
    const gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    using client = await openPipeline(server.url);
    client.send(read('a'), DELETION);
    await expect.poll(() => service.seen.length).toBe(1);
    await settle(server.url);
    const disposed = gateway[Symbol.asyncDispose]();
    service.release(0);
    await disposed;
    await expect.poll(client.received).toContain('OVERLOADED');
    expect(service.seen).toHaveLength(1);
  });
});

describe('bytes that are not HTTP', () => {
  const GARBAGE = 'garbage\r\n\r\n';

  it('get 400 if no response is due', async () => {
    await using live = await startLiveTrail();
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    client.socket.write(GARBAGE);
    await client.closed;
    expect(client.received()).toMatch(/^HTTP\/1.1 400 /);
  });

  it('in a body get 400', async () => {
    await using live = await startLiveTrail();
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    const chunked = request(DELETION).replace(/content-length: \d+/, 'transfer-encoding: chunked');
    client.socket.write(chunked);
    await client.closed;
    expect(client.received()).toMatch(/^HTTP\/1.1 400 /);
    expect(live.service.seen).toEqual([]);
  });

  it('after a request that is executed close the connection: a 400 would be its response', async () => {
    await using service = await startHeldService();
    await using bed = await serve(service);
    using client = await openPipeline(bed.url);
    client.send(DELETION);
    await expect.poll(() => service.seen.length).toBe(1);
    client.socket.write(GARBAGE);
    await client.closed;
    expect(client.received()).toBe('');
    service.release(0);
  });

  it('after a subscription close the connection: a 400 would be a part of the stream', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    using client = await openPipeline(server.url);
    client.send(STREAM);
    await live.pauses.paused();
    client.socket.write(GARBAGE);
    await client.closed;
    expect(client.received()).not.toContain('400 Bad Request');
  });
});
