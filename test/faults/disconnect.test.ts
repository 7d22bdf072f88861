import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { withstand } from '../helpers/fault-bench.ts';
import { startProduction } from '../helpers/production.ts';
import { startService } from '../helpers/service.ts';

describe('a caller', () => {
  it('A41: who leaves during an audit leaves no socket at the service after 100 ms', () => {
    const arrived = Promise.withResolvers<void>();
    return withstand(
      () => {
        arrived.resolve();
        return undefined;
      },
      async ({ ask, sockets, logged, url }) => {
        const caller = new AbortController();
        const answer = fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${CANARY.accessToken}`,
          },
          body: '{"query": "{ audit { totalCount } }"}',
          signal: caller.signal,
        });
        await arrived.promise;
        caller.abort();
        const start = performance.now();
        await expect(answer).rejects.toThrow();
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
  it('A42: lets a request of 300 ms finish, closes its connection, and the process ends within 2 s', async () => {
    const arrived = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      arrived.resolve();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { body: [] };
    });
    await using process = await startProduction(service.url);
    const answer = fetch(process.url, {
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
    const { status, headers } = await answer;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    expect(await process.status).toBe(0);
    expect(performance.now() - start).toBeLessThan(2000 * 2);
    expect(service.sockets()).toBe(0);
    expectNoCanary(process.output.stdout + process.output.stderr);
  });

  it('answers 50 requests of keep-alive clients, serves none of them for ever, and ends by itself', async () => {
    await using stage = await startFifty({});
    for (const client of stage.clients) client.ask();
    await expect.poll(() => stage.service.seen.length, POLL).toBe(100);
    stage.process.child.kill('SIGTERM');
    await expect.poll(stage.isReady, POLL).toBe(false);
    stage.release();
    await stage.expectServedAndEnded();
  });

  it('serves what comes while it drains, not ready, and ends by itself', async () => {
    await using stage = await startFifty({ SHUTDOWN_DRAIN_MS: '2000' });
    stage.release();
    stage.process.child.kill('SIGTERM');
    const ready = new URL('/health/ready', stage.process.url);
    await expect.poll(async () => (await fetch(ready)).status, POLL).toBe(503);
    for (const client of stage.clients) client.ask();
    const headers = { 'content-type': 'application/json' };
    const body = '{"query": "{ __typename }"}';
    const newcomer = await fetch(stage.process.url, { method: 'POST', headers, body });
    expect(await newcomer.json()).toEqual({ data: { __typename: 'Query' } });
    await stage.expectServedAndEnded();
  });
});

const POLL = { interval: 5, timeout: 10_000 };
const BODY = '{"query": "{ audit { totalCount } }"}';
const ANSWER = '{"data":{"audit":{"totalCount":0}}}';
const REQUEST = [
  'POST /graphql HTTP/1.1',
  'host: a',
  `authorization: Bearer ${CANARY.accessToken}`,
  'content-type: application/json',
  `content-length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n');

/** A client on one connection, which is left open; a chatty one asks again with every answer but the first. */
async function startClient(url: string, isChatty: boolean) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  const answers = () => received.split(/(?=HTTP\/1\.1 )/).filter((text) => text.endsWith(ANSWER));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {}); // a chatty one writes to a connection that was closed
  socket.on('data', (chunk) => {
    received += chunk;
    if (isChatty && received.endsWith(ANSWER) && answers().length > 1) socket.write(REQUEST);
  });
  await once(socket, 'connect');
  const ask = () => void socket.write(REQUEST);
  ask();
  return { ask, answers, closed, received: () => received };
}

/** A process with 50 clients that were answered once, over a service whose later answers take 300 ms from a release. */
async function startFifty(settings: Readonly<Record<string, string>>) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await using stack = new AsyncDisposableStack();
  const service = stack.use(
    await startService(async () => {
      if (service.seen.length > 50) await released.then(() => wait(300));
      return { body: [] };
    }),
  );
  // The fuse is longer than a test may last: what ends, ends by itself.
  const environment = { SHUTDOWN_TIMEOUT_MS: '600000', ...settings };
  const process = stack.use(await startProduction(service.url, environment));
  const clients = await Promise.all(
    Array.from({ length: 50 }, (_, index) => startClient(process.url, index % 3 === 0)),
  );
  const counts = () => new Set(clients.map(({ answers }) => answers().length));
  await expect.poll(counts, POLL).toEqual(new Set([1]));
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
    expectServedAndEnded: async () => {
      expect(await process.status).toBe(0);
      await Promise.all(clients.map(({ closed }) => closed));
      for (const { answers, received } of clients) {
        expect(received().match(/^connection: .*(?=\r)/gim)).toEqual([
          'Connection: keep-alive',
          'Connection: close',
        ]);
        expect(answers()).toHaveLength(2);
      }
      expect(service.seen).toHaveLength(100);
      expectNoCanary(process.output.stdout + process.output.stderr);
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}
