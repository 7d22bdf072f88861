import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { runFaultCase } from '../helpers/fault-bench.ts';
import { startProduction } from '../helpers/production.ts';
import { startService } from '../helpers/service.ts';

describe('a client', () => {
  it('A41: that disconnects during an audit leaves no socket open at the service after 100 ms', () => {
    const arrived = Promise.withResolvers<void>();
    return runFaultCase(
      () => {
        arrived.resolve();
        return undefined;
      },
      async ({ ask, sockets, logged, url }) => {
        const client = new AbortController();
        const response = fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${CANARY.accessToken}`,
          },
          body: '{"query": "{ audit { totalCount } }"}',
          signal: client.signal,
        });
        await arrived.promise;
        client.abort();
        const start = performance.now();
        await expect(response).rejects.toThrow();
        await expect.poll(sockets, { interval: 5 }).toBe(0);
        expect(performance.now() - start).toBeLessThan(100 * 8);
        await expect.poll(() => logged.join()).toContain('"aborted":true');
        expect((await ask('{ __typename }')).code).toBe('');
      },
      { upstream: { timeoutMs: 60_000 } },
    );
  });
});

describe('SIGTERM', () => {
  it('A42: finishes a request of 300 ms, closes its connection, and exits within 2 s', async () => {
    const arrived = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      arrived.resolve();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { body: [] };
    });
    await using process = await startProduction(service.url);
    const response = fetch(process.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${CANARY.accessToken}`,
      },
      body: JSON.stringify({
        query: `{ audit(filter: {actor: "${CANARY.literal}"}) { nodes { id } } }`,
      }),
    });
    await arrived.promise;
    process.child.kill('SIGTERM');
    const start = performance.now();
    const { status, headers } = await response;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    expect(await process.status).toBe(0);
    expect(performance.now() - start).toBeLessThan(2000 * 2);
    expect(service.sockets()).toBe(0);
    expectNoCanary(process.output.stdout + process.output.stderr);
  });

  it('finishes 50 requests of keep-alive clients, closes their connections, and exits', async () => {
    await using stage = await startFifty({});
    for (const client of stage.clients) client.ask();
    await expect.poll(() => stage.service.seen.length).toBe(100);
    stage.process.child.kill('SIGTERM');
    await expect.poll(stage.isReady).toBe(false);
    stage.release();
    await stage.expectServedAndExited();
  });

  it('serves new requests during the drain period, not ready, and exits', async () => {
    await using stage = await startFifty({ SHUTDOWN_DRAIN_MS: '2000' });
    stage.release();
    stage.process.child.kill('SIGTERM');
    const ready = new URL('/health/ready', stage.process.url);
    await expect.poll(async () => (await fetch(ready)).status).toBe(503);
    for (const client of stage.clients) client.ask();
    const headers = { 'content-type': 'application/json' };
    const body = '{"query": "{ __typename }"}';
    const response = await fetch(stage.process.url, { method: 'POST', headers, body });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    await stage.expectServedAndExited();
  });
});

const BODY = '{"query": "{ audit { totalCount } }"}';
const RESPONSE_BODY = '{"data":{"audit":{"totalCount":0}}}';
/** With a token of its own: one token never has all connections to the service. */
const requestOf = (client: number) =>
  [
    'POST /graphql HTTP/1.1',
    'host: a',
    `authorization: Bearer ${CANARY.accessToken}${client}`,
    'content-type: application/json',
    `content-length: ${BODY.length}`,
    '',
    BODY,
  ].join('\r\n');

/** A client with one keep-alive connection; a repeating one sends a request after each response but the first. */
async function startClient(url: string, number: number) {
  const request = requestOf(number);
  const isRepeating = number % 3 === 0;
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  const responses = () =>
    received.split(/(?=HTTP\/1\.1 )/).filter((text) => text.endsWith(RESPONSE_BODY));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {}); // a repeating client writes to a closed connection
  socket.on('data', (chunk) => {
    received += chunk;
    if (isRepeating && received.endsWith(RESPONSE_BODY) && responses().length > 1)
      socket.write(request);
  });
  await once(socket, 'connect');
  const ask = () => void socket.write(request);
  ask();
  return { ask, responses, closed, received: () => received };
}

/** A process with 50 clients that have had one response. Later ones take 300 ms at the service, after `release`. */
async function startFifty(settings: Readonly<Record<string, string>>) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await using stack = new AsyncDisposableStack();
  const service = stack.use(
    await startService(async () => {
      if (service.seen.length > 50) await released.then(() => wait(300));
      return { body: [] };
    }),
  );
  // Longer than the timeout of a test: the process must exit before this deadline.
  const environment = { SHUTDOWN_TIMEOUT_MS: '600000', ...settings };
  const process = stack.use(await startProduction(service.url, environment));
  const clients = await Promise.all(
    Array.from({ length: 50 }, (_, number) => startClient(process.url, number)),
  );
  const counts = () => new Set(clients.map(({ responses }) => responses().length));
  await expect.poll(counts).toEqual(new Set([1]));
  const kept = stack.move();
  return {
    clients,
    service,
    process,
    release,
    isReady: () =>
      fetch(new URL('/health/ready', process.url)).then(
        ({ ok }) => ok,
        () => false,
      ),
    expectServedAndExited: async () => {
      expect(await process.status).toBe(0);
      await Promise.all(clients.map(({ closed }) => closed));
      for (const { responses, received } of clients) {
        expect(received().match(/^connection: .*(?=\r)/gim)).toEqual([
          'Connection: keep-alive',
          'Connection: close',
        ]);
        expect(responses()).toHaveLength(2);
      }
      expect(service.seen).toHaveLength(100);
      expectNoCanary(process.output.stdout + process.output.stderr);
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}
