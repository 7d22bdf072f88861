import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createGatewayWith } from '../../src/gateway/api/create-gateway.ts';
import { acceptTokens, ask, codeOf, gatewayOver, onPort } from '../helpers/gateway.ts';
import {
  type LiveTrail,
  PAGED,
  paged,
  record,
  records,
  startLiveTrail,
} from '../helpers/live-trail.ts';
import { startProduction } from '../helpers/production.ts';
import { type Handler, startService } from '../helpers/service.ts';
import { type Payload, requestEvents, subscribe } from '../helpers/subscribe.ts';

const loseConnection: Handler = (_, response) => {
  response.socket?.destroy();
  return undefined;
};

const neverRespond: Handler = () => undefined;

const codesOf = (payloads: readonly (Payload | null)[]) =>
  payloads.map((payload) => [
    payload?.data?.auditEvents,
    payload?.errors?.map(({ extensions }) => extensions.code).join(),
  ]);

/** A stream that has received its first payload, and pauses. */
async function startStream(live: LiveTrail, variables: object = {}) {
  live.list(1);
  const stream = await subscribe(live.gateway, { ...variables });
  const first = await stream.nextBatch();
  const next = stream.next(); // reads on: the stream pauses
  next.catch(() => {});
  await live.pauses.paused();
  return { stream, first, next };
}

describe('after a failed poll', () => {
  it.each([
    ['429 without Retry-After', { status: 429 }, 20_000],
    ['429 with Retry-After: 7', { status: 429, headers: { 'retry-after': '7' } }, 10_000],
    ['429 with Retry-After: 0', { status: 429, headers: { 'retry-after': '0' } }, 10_000],
    ['429 with Retry-After: 3600', { status: 429, headers: { 'retry-after': '3600' } }, 60_000],
    ['500', { status: 500 }, 20_000],
    ['501', { status: 501 }, 20_000],
    ['503', { status: 503 }, 20_000],
    ['503 with Retry-After: 30', { status: 503, headers: { 'retry-after': '30' } }, 30_000],
    ['504', { status: 504 }, 20_000],
    ['408', { status: 408 }, 20_000],
    ['a lost connection', loseConnection, 20_000],
  ])('with %s the stream goes on, and loses nothing', async (_, response, ms) => {
    await using live = await startLiveTrail();
    await using parts = await startOpen(live);
    live.respond(response);
    await live.poll();
    live.list(2, 1);
    await live.poll();
    const payload = await parts.next;
    expect(payload?.errors).toBeUndefined();
    expect(payload?.data?.auditEvents?.nodes).toEqual([{ id: 'r2' }]);
    expect(payload?.data?.auditEvents?.previous).toBe(parts.first.checkpoint);
    expect(live.pauses.waits).toEqual([10_000, ms, 10_000]);
  });

  it.each([
    [40, '3600', 60_000],
    [40, '0', 40_000],
    [300, '0', 300_000],
    [300, '3600', 300_000],
  ])('every %i s, with Retry-After: %s, the pause is %i ms', async (every, seconds, ms) => {
    await using live = await startLiveTrail();
    await using _parts = await startOpen(live, { every });
    live.respond({ status: 503, headers: { 'retry-after': seconds } });
    await live.poll();
    expect(live.pauses.waits).toEqual([1000 * every, ms]);
  });

  it.each([500, 503, 429])(
    'with %i, three without a successful one end the stream with the error',
    async (status) => {
      await using live = await startLiveTrail();
      live.respond({ status, headers: { 'retry-after': '1' } });
      await using stream = await subscribe(live.gateway);
      const rest = stream.rest();
      await live.poll();
      await live.pauses.paused();
      live.pauses.resume();
      const code = status === 429 ? 'RATE_LIMITED' : 'UPSTREAM_ERROR';
      expect(codesOf(await rest)).toEqual([[null, code]]);
      expect(live.pauses.waits).toEqual([10_000, 10_000]);
    },
  );

  it.each([429, 500, 503])(
    'with %i the stream ends with the error if its client asks for that',
    async (status) => {
      await using live = await startLiveTrail();
      live.list(1);
      const headers = { 'x-keytrail-fail-fast': '1' };
      await using stream = await subscribe(live.gateway, {}, { headers });
      await stream.nextBatch();
      const rest = stream.rest();
      await live.pauses.paused();
      live.respond({ status, headers: { 'retry-after': '7' } });
      live.pauses.resume();
      const code = status === 429 ? 'RATE_LIMITED' : 'UPSTREAM_ERROR';
      expect(codesOf(await rest)).toEqual([[null, code]]);
      expect(live.pauses.waits).toEqual([10_000]);
    },
  );

  it('two before the first successful one lose nothing', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using begun = await subscribe(live.gateway);
    const { checkpoint: after } = await begun.nextBatch();
    await begun[Symbol.asyncDispose]();
    live.respond({ status: 503, headers: { 'retry-after': '1' } });
    await using stream = await subscribe(live.gateway, { after });
    const first = stream.nextBatch();
    await live.poll();
    live.list(2, 1);
    await live.pauses.paused();
    live.pauses.resume();
    expect((await first).nodes).toEqual([{ id: 'r2' }]);
  });

  it('five minutes without a successful one end the stream with the error', async () => {
    let time = 0;
    await using live = await startLiveTrail({ clock: () => time });
    await using parts = await startOpen(live);
    live.respond({ status: 500 });
    const pass = async () => {
      await live.pauses.paused();
      time += live.pauses.waits.at(-1) ?? 0;
      live.pauses.resume();
    };
    for (let polls = 0; polls < 15; polls += 1) await pass(); // the last at 290 s
    await live.pauses.paused();
    await pass();
    expect(time).toBe(310_000);
    expect(codesOf([await parts.next])).toEqual([[null, 'UPSTREAM_ERROR']]);
    expect(await parts.stream.next()).toBeNull();
    expect(live.service.seen).toHaveLength(17);
  });

  it('a successful one begins the five minutes anew', async () => {
    let time = 0;
    await using live = await startLiveTrail({ clock: () => time });
    await using _parts = await startOpen(live);
    for (let polls = 0; polls < 20; polls += 1) {
      time += 100_000;
      if (polls % 2 === 0) live.respond({ status: 500 });
      else live.list(1);
      await live.poll();
    }
    expect(live.service.seen).toHaveLength(21);
  });

  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [422, 'BAD_USER_INPUT'],
    [302, 'UPSTREAM_BAD_RESPONSE'],
  ])('with %i the stream ends with null, %s, and complete', async (status, code) => {
    await using live = await startLiveTrail();
    await using parts = await startOpen(live);
    live.respond({ status });
    live.pauses.resume();
    const last = await parts.next;
    expect(codesOf([last])).toEqual([[null, code]]);
    const requestId = parts.stream.response.headers.get('x-request-id');
    expect(last?.errors?.[0]?.extensions.requestId).toBe(requestId);
    expect(await parts.stream.next()).toBeNull();
    expect(live.service.seen).toHaveLength(2);
    // Log in, and go on: nothing is lost.
    live.list(2, 1);
    await using again = await subscribe(
      live.gateway,
      { after: parts.first.checkpoint },
      { token: 'new' },
    );
    expect(await again.nextBatch()).toMatchObject({ nodes: [{ id: 'r2' }], missed: false });
    expect(live.service.seen.at(-1)?.headers.authorization).toBe('Bearer new');
  });

  it('that was no JSON the stream ends', async () => {
    await using live = await startLiveTrail();
    await using parts = await startOpen(live);
    live.respond({ body: '<p>' });
    live.pauses.resume();
    expect(codesOf([await parts.next])).toEqual([[null, 'UPSTREAM_BAD_RESPONSE']]);
    expect(await parts.stream.next()).toBeNull();
  });

  it.each([
    ['no token', null],
    ['a malformed token', 'a b'],
  ])('with %s the stream ends with UNAUTHENTICATED, and nothing is sent', async (_, token) => {
    await using live = await startLiveTrail();
    await using stream = await subscribe(live.gateway, {}, { token });
    expect(codesOf(await stream.rest())).toEqual([[null, 'UNAUTHENTICATED']]);
    expect(live.service.seen).toEqual([]);
  });
});

/** {@link startStream}, disposed with the test. */
async function startOpen(live: LiveTrail, variables: object = {}) {
  const parts = await startStream(live, variables);
  return { ...parts, [Symbol.asyncDispose]: () => parts.stream[Symbol.asyncDispose]() };
}

it('the memory of a poll is free again at the next one, also if it has found nothing or failed', async () => {
  await using live = await startLiveTrail({ memoryBytes: 8_000_000 }); // a megabyte for responses
  const trail = Array.from({ length: 200 }, (_, number) => ({
    id: `r${number}`,
    occurred_at: new Date(Date.UTC(2026, 0) + 1000 * number).toISOString(),
    note: 'x'.repeat(1000),
  }));
  live.respond({ body: trail });
  await using _ = await startOpen(live);
  for (const body of [trail, { note: 'later', trail }]) {
    live.respond({ body });
    for (let polls = 0; polls < 10; polls += 1) await live.poll();
  }
  live.respond({ body: trail });
  const read = await ask(live.gateway, '{ audit { totalCount } }', {}, { token: 'other' });
  expect(read.data).toEqual({ audit: { totalCount: 200 } });
});

describe('the circuit breaker', () => {
  it('gets one verdict per poll: 20 failed polls after a successful one open it, and the next sends nothing', async () => {
    await using live = await startLiveTrail({ clock: () => 0 });
    await using parts = await startOpen(live);
    live.respond({ status: 503, headers: { 'retry-after': '30' } });
    for (let polls = 0; polls < 20; polls += 1) await live.poll();
    expect(live.service.seen).toHaveLength(21);
    await live.poll();
    expect(live.service.seen).toHaveLength(21);
    expect(live.pauses.waits.slice(-2)).toEqual([30_000, 10_000]);
    expect(parts.stream.received()).not.toContain('errors');
  });

  it('gets one verdict per poll, however many pages it reads', async () => {
    await using live = await startLiveTrail({ clock: () => 0, contract: { audit: PAGED } });
    live.respond(paged(records(3, 2, 1), 1));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    stream.next().catch(() => {});
    for (let polls = 1; polls < 7; polls += 1) await live.poll();
    expect(live.service.seen).toHaveLength(3 * 7);
    live.respond({ status: 503, headers: { 'retry-after': '30' } });
    for (let polls = 0; polls < 21; polls += 1) await live.poll();
    expect(live.service.seen).toHaveLength(3 * 7 + 20);
  });

  it('gets the verdict of the first page: failures of later ones do not open it', async () => {
    await using live = await startLiveTrail({ clock: () => 0, contract: { audit: PAGED } });
    const list = paged(records(3, 2, 1), 1);
    live.respond(list);
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    stream.next().catch(() => {});
    const fails = { status: 503, headers: { 'retry-after': '30' } };
    live.respond((...request) => (/page=/.test(request[0].url) ? fails : list(...request)));
    const before = live.service.seen.length;
    for (let polls = 0; polls < 40; polls += 1) await live.poll();
    expect(live.service.seen).toHaveLength(before + 80);
  });
});

describe('a client that disconnects', () => {
  it.each(['fetch', 'a port'])('during a pause, by %s, ends it and the polls', async (path) => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    const client = new AbortController();
    const stream = await subscribe(
      path === 'fetch' ? live.gateway : { fetch },
      {},
      { signal: client.signal, url: `${server.url}/graphql` },
    );
    await stream.nextBatch();
    const next = stream.next();
    await live.pauses.paused();
    client.abort();
    expect(await next.catch(() => null)).toBeNull();
    await expect.poll(() => ended(live)).toEqual(['client']);
    expect(() => live.pauses.resume()).toThrow('does not pause');
    expect(live.service.seen).toHaveLength(1);
  });

  it.each(['fetch', 'a port'])('during a read, by %s, aborts it', async (path) => {
    await using live = await startLiveTrail({ upstream: { timeoutMs: 60_000 } });
    await using server = await onPort(live.gateway);
    const client = new AbortController();
    live.respond(neverRespond);
    const stream = await subscribe(
      path === 'fetch' ? live.gateway : { fetch },
      {},
      { signal: client.signal, url: `${server.url}/graphql` },
    );
    const next = stream.next();
    await expect.poll(() => live.service.seen).toHaveLength(1);
    client.abort();
    expect(await next.catch(() => null)).toBeNull();
    await expect.poll(() => live.service.sockets()).toBe(0);
    expect(live.pauses.waits).toEqual([]);
    expect(live.service.seen).toHaveLength(1);
  });

  it('by cancelling the body of `gateway.fetch` while it reads ends the stream, also through another Response', async () => {
    await using live = await startLiveTrail();
    for (const wrap of [
      (response: Response) => response.body,
      (response: Response) => new Response(response.body).body,
    ]) {
      live.list(1);
      const response = await requestEvents(live.gateway);
      const reader = wrap(response)?.getReader();
      await reader?.read();
      const pending = reader?.read().then(() => reader.read().then(() => reader.read()));
      await live.pauses.paused();
      await reader?.cancel();
      await pending;
      expect(() => live.pauses.resume()).toThrow('does not pause');
    }
    expect(ended(live)).toEqual(['client', 'client']);
  });
});

/** Why the streams ended, by the log. */
function ended({ gateway }: LiveTrail): readonly string[] {
  return gateway.logged.map((line) => JSON.parse(line).ended).filter(Boolean);
}

describe('a shutdown', () => {
  it('completes a stream that pauses, and its port closes without waiting for a deadline', async () => {
    const draining = new AbortController();
    await using live = await startLiveTrail({ draining: draining.signal });
    live.list(1);
    const server = await onPort(live.gateway, { draining, timeoutMs: 600_000 });
    await using stream = await subscribe({ fetch }, {}, { url: `${server.url}/graphql` });
    await stream.nextBatch();
    await live.pauses.paused();
    const closed = server[Symbol.asyncDispose]();
    expect(await stream.next()).toBeNull();
    await closed;
    await expect.poll(() => ended(live)).toEqual(['shutdown']);
    expect(live.service.seen).toHaveLength(1);
  });

  it('completes a stream that reads from the service', async () => {
    await using service = await startService(neverRespond);
    const gateway = gatewayOver(service.url, { upstream: { timeoutMs: 600_000 } });
    await using stream = await subscribe(gateway);
    const next = stream.next();
    await expect.poll(() => service.seen).toHaveLength(1);
    await gateway[Symbol.asyncDispose]();
    expect(await next).toBeNull();
    expect(service.sockets()).toBe(0);
  });

  it('by SIGTERM completes the streams of a process, which exits before its deadline', async () => {
    await using service = await startService({ body: records(1) });
    await using process = await startProduction(service.url, { SHUTDOWN_TIMEOUT_MS: '600000' });
    const streams = await Promise.all(
      // A pause that does not end would last for five minutes.
      Array.from({ length: 3 }, () => subscribe({ fetch }, { every: 300 }, { url: process.url })),
    );
    for (const stream of streams) await stream.nextBatch();
    const completed = Promise.all(streams.map((stream) => stream.next()));
    process.child.kill('SIGTERM');
    expect(await completed).toEqual([null, null, null]);
    expect(await process.status).toBe(0);
    expect(service.seen).toHaveLength(3);
  });

  it('that has begun completes a new stream at once, and sends nothing', async () => {
    const draining = new AbortController();
    await using live = await startLiveTrail({ draining: draining.signal });
    draining.abort();
    await using stream = await subscribe(live.gateway);
    expect(await stream.rest()).toEqual([]);
    expect(live.service.seen).toEqual([]);
  });
});

/** A client that sends the subscription over a socket, and reads nothing until `read`. */
async function connectSlowly(url: string, args = '') {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.pause();
  const query = `subscription { auditEvents${args} { nodes { id raw } checkpoint missed } }`;
  const body = JSON.stringify({ query });
  socket.write(
    [
      'POST /graphql HTTP/1.1',
      'host: a',
      'authorization: Bearer t',
      'accept: text/event-stream',
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
  let text = '';
  socket.on('error', () => {}); // reset by the gateway
  const closed = new Promise<void>((resolve) => socket.once('close', resolve));
  return {
    closed,
    read: () => {
      socket.on('data', (chunk) => {
        text = (text + chunk.toString('latin1')).slice(-20_000);
      });
      socket.resume();
    },
    end: () => text,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** 16 MB, which no socket buffers. */
const LARGE = records(...Array.from({ length: 16 }, (_, index) => 100 - index)).map((one) => ({
  ...one,
  note: 'n'.repeat(2 ** 20),
}));

/** On a busy machine, 16 MB take more than the 5 s of other tests. */
const LIMITS = { upstream: { timeoutMs: 60_000, maxBytes: 2 ** 26, maxBytesPerRequest: 2 ** 26 } };

describe('after an hour', () => {
  it('a stream is complete, without an error, and its checkpoint goes on', async () => {
    let time = 0;
    await using live = await startLiveTrail({ clock: () => time });
    await using parts = await startOpen(live, { every: 300 });
    for (let polls = 1; polls < 12; polls += 1) {
      time += 300_000;
      await live.poll();
    }
    await live.pauses.paused();
    expect(live.service.seen).toHaveLength(12);
    time += 299_000;
    live.pauses.resume();
    await live.pauses.paused();
    expect(live.pauses.waits.at(-1)).toBe(1000); // of the hour
    time += 1000;
    live.list(2, 1);
    live.pauses.resume();
    expect(await parts.next).toBeNull();
    expect(live.service.seen).toHaveLength(13);
    expect(ended(live)).toEqual(['expired']);
    await using other = await startLiveTrail();
    other.list(2, 1);
    await using resumed = await subscribe(other.gateway, { after: parts.first.checkpoint });
    expect((await resumed.nextBatch()).nodes).toEqual([{ id: 'r2' }]);
  });
});

describe('a slow reader', () => {
  it('is not polled for while the last payload was not taken', async () => {
    let number = 0;
    await using service = await startService(() => {
      number += 1;
      return { body: records(number, 0) };
    });
    await using gateway = gatewayOver(service.url, { pause: async () => {} });
    await using stream = await subscribe(gateway);
    for (let payloads = 1; payloads <= 5; payloads += 1) {
      await stream.nextBatch();
      await wait(20); // a poll takes 2 ms
      expect(service.seen.length).toBeLessThanOrEqual(payloads + 1);
    }
  });

  it('over a port is not polled for while it reads nothing, and is again once it reads', async () => {
    let number = 0;
    await using service = await startService(() => {
      number += 1;
      return { body: [record(number, { note: 'n'.repeat(2 ** 20) }), record(0)] };
    });
    await using gateway = gatewayOver(service.url, { ...LIMITS, pause: async () => {} });
    await using server = await onPort(gateway);
    using client = await connectSlowly(server.url);
    let polls = 0;
    const isBlocked = () => {
      const before = polls;
      polls = service.seen.length;
      return polls > 1 && polls === before;
    };
    const warnings: string[] = [];
    const warn = ({ message }: Error) => void warnings.push(message);
    process.on('warning', warn);
    await expect.poll(isBlocked, { interval: 300 }).toBe(true); // a poll takes 10 ms
    client.read();
    await expect.poll(() => service.seen.length).toBeGreaterThan(polls + 30); // Node warns of the eleventh listener
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });

  it('of a payload that blocks is disconnected after the write timeout, and its slot is free again', async () => {
    await using live = await startLiveTrail({
      ...LIMITS,
      writeTimeoutMs: 200,
      maxSubscriptions: 1,
    });
    live.list(0);
    await using server = await onPort(live.gateway);
    using client = await connectSlowly(server.url);
    await live.pauses.paused();
    live.respond({ body: [...LARGE, ...records(0)] });
    live.pauses.resume();
    await expect.poll(() => ended(live)).toEqual(['client']);
    client.read();
    await client.closed;
    expect(client.end()).not.toContain('event: complete');
    expect(live.service.seen).toHaveLength(2);
    await using next = await subscribe(live.gateway);
    expect((await next.nextBatch()).missed).toBe(false);
  });

  // Again if the process stood still for 250 ms, so that the client read too late.
  const again = { retry: 3, timeout: 20_000 };
  it(
    'that takes a large payload late, and then only gets pings, outlives the write timeout',
    again,
    async () => {
      // Shorter than the pause between two pings: 300 ms in tests, see Yoga's getSSEProcessor.
      await using live = await startLiveTrail({ ...LIMITS, writeTimeoutMs: 250 });
      live.list(0);
      await using server = await onPort(live.gateway);
      using client = await connectSlowly(server.url);
      await live.pauses.paused();
      live.respond({ body: [...LARGE, ...records(0)] });
      live.pauses.resume();
      await expect.poll(() => live.service.seen).toHaveLength(2);
      client.read();
      await live.pauses.paused();
      const pings = () => client.end().match(/:\n\n/g)?.length ?? 0;
      await expect.poll(pings).toBeGreaterThan(5);
      live.respond({ body: [...records(101), ...LARGE, ...records(0)] });
      live.pauses.resume();
      await expect.poll(client.end).toContain('"id":"r101"');
      expect(ended(live)).toEqual([]);
    },
  );

  it('counts for the limit on unread bytes: the one that has waited longest is disconnected', async () => {
    await using live = await startLiveTrail({ ...LIMITS, maxUnreadBytes: 2 ** 22 });
    await using server = await onPort(live.gateway);
    live.respond({ body: LARGE });
    const filter = '(filter: {since: "2000-01-01T00:00:00Z"})';
    using first = await connectSlowly(server.url, filter);
    await expect.poll(() => live.service.seen).toHaveLength(1);
    await wait(200); // until it blocks
    expect(ended(live)).toEqual([]);
    using second = await connectSlowly(server.url, filter);
    await expect.poll(() => ended(live)).toEqual(['client']);
    first.read();
    await first.closed;
    second.read();
    await expect.poll(second.end).toContain('"missed":false');
    expect(ended(live)).toEqual(['client']);
  });
});

describe('a reader that was slow', () => {
  it('does not count for the limit on unread bytes any more', async () => {
    await using live = await startLiveTrail({ ...LIMITS, maxUnreadBytes: 2 ** 24 + 2 ** 22 });
    await using server = await onPort(live.gateway);
    live.respond({ body: LARGE });
    const filter = '(filter: {since: "2000-01-01T00:00:00Z"})';
    using first = await connectSlowly(server.url, filter);
    await expect.poll(() => live.service.seen).toHaveLength(1);
    await wait(200); // until it blocks
    first.read();
    await live.pauses.paused();
    using second = await connectSlowly(server.url, filter);
    await expect.poll(() => live.service.seen).toHaveLength(2);
    await wait(200); // until it blocks
    second.read();
    await expect.poll(second.end).toContain('"missed":false');
    expect(ended(live)).toEqual([]);
  });
});

describe('too many subscriptions', () => {
  it('are OVERLOADED, until one ends', async () => {
    await using live = await startLiveTrail({ maxSubscriptions: 2 });
    live.list(1);
    const first = await subscribe(live.gateway);
    await using second = await subscribe(live.gateway);
    await using third = await subscribe(live.gateway);
    const [rejected, ...others] = await third.rest();
    expect([codesOf([rejected ?? null]), others]).toEqual([[[undefined, 'OVERLOADED']], []]);
    expect(rejected?.errors?.[0]?.extensions.retryable).toBe(true);
    expect(rejected?.errors?.[0]?.message).toContain('MAX_SUBSCRIPTIONS');
    expect(live.service.seen).toEqual([]); // nobody has read yet
    await first[Symbol.asyncDispose]();
    await using fourth = await subscribe(live.gateway);
    expect((await fourth.nextBatch()).missed).toBe(false);
    expect((await second.nextBatch()).missed).toBe(false);
  });

  it('are OVERLOADED as before after others have disconnected', async () => {
    await using live = await startLiveTrail({ maxSubscriptions: 1 });
    live.list(1);
    await using server = await onPort(live.gateway);
    const url = `${server.url}/graphql`;
    for (let streams = 1; streams <= 3; streams += 1) {
      const stream = await subscribe({ fetch }, {}, { url });
      await stream.nextBatch();
      await stream[Symbol.asyncDispose]();
      await expect.poll(() => ended(live)).toHaveLength(streams);
    }
    await using first = await subscribe({ fetch }, {}, { url });
    await using second = await subscribe({ fetch }, {}, { url });
    expect(codesOf(await second.rest())).toEqual([[undefined, 'OVERLOADED']]);
    expect((await first.nextBatch()).missed).toBe(false);
  });

  it('are those above MAX_SUBSCRIPTIONS of a process', async () => {
    await using service = await startService({ body: records(1) });
    await using process = await startProduction(service.url, { MAX_SUBSCRIPTIONS: '1' });
    await using first = await subscribe({ fetch }, {}, { url: process.url });
    await using second = await subscribe({ fetch }, {}, { url: process.url });
    expect(codesOf(await second.rest())).toEqual([[undefined, 'OVERLOADED']]);
    expect((await first.nextBatch()).missed).toBe(false);
  });

  it('are those above `maxSubscriptions` of a program, 100 by default', async () => {
    await using service = await startService({ body: records(1) });
    for (const [options, max] of [
      [{}, 100],
      [{ maxSubscriptions: 1 }, 1],
    ] as const) {
      const timers = { maxLagMs: Number.POSITIVE_INFINITY }; // on a busy machine, tests lag by seconds
      await using gateway = createGatewayWith(timers, {
        upstream: { url: service.url },
        ...options,
      });
      await using streams = new AsyncDisposableStack();
      for (let count = 0; count < max; count += 1) streams.use(await subscribe(gateway));
      await using another = await subscribe(gateway);
      expect(codesOf(await another.rest())).toEqual([[undefined, 'OVERLOADED']]);
    }
  });

  it('are counted apart from the requests in flight', async () => {
    await using live = await startLiveTrail({ maxInFlight: 1 });
    live.list(1);
    await using server = await onPort(live.gateway);
    const url = `${server.url}/graphql`;
    const streams = await Promise.all([subscribe({ fetch }, {}, { url }), subscribe(live.gateway)]);
    for (const stream of streams) await stream.nextBatch();
    const result = await ask(live.gateway, '{ audit { totalCount } }', {}, { token: 't' });
    expect([result.status, codeOf(result)]).toEqual([200, '']);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
  });

  it.each([
    ['a failed poll', { status: 401 }, {}],
    ['a wrong argument', { body: [] }, { every: 1 }],
    ['a wrong checkpoint', { body: [] }, { after: 'x' }],
  ])('do not include one that ended with %s', async (_, response, variables) => {
    await using live = await startLiveTrail({ maxSubscriptions: 1 });
    live.respond(response);
    for (let streams = 0; streams < 3; streams += 1) {
      await using stream = await subscribe(live.gateway, variables);
      await stream.rest();
    }
    live.list(1);
    await using stream = await subscribe(live.gateway);
    expect((await stream.nextBatch()).missed).toBe(false);
  });
});

describe('when all subscriptions are taken', () => {
  const of = (live: LiveTrail, token: string | null, authorization?: string) =>
    subscribe(live.gateway, {}, { token, ...(authorization && { headers: { authorization } }) });
  /** As {@link startLiveTrail}, with tokens that are callers of their own. */
  const startBusy = async (overrides: Parameters<typeof startLiveTrail>[0]) => {
    const live = await startLiveTrail(overrides);
    await acceptTokens(live.gateway, 'greedy', 'a', 'b', 'c', 'other', 't', 'third');
    live.service.forget();
    return live;
  };
  /** Whether another stream of the token is refused. */
  const isRefused = async (live: LiveTrail, token: string | null) => {
    await using stream = await of(live, token);
    return codesOf([await stream.next()])[0]?.[1] === 'OVERLOADED';
  };

  it('by one token, others without a stream get the slots of its oldest ones, which end with `complete`', async () => {
    await using live = await startBusy({ maxSubscriptions: 5 });
    live.list(1);
    await using stack = new AsyncDisposableStack();
    const greedy = [];
    for (let count = 0; count < 5; count += 1) greedy.push(stack.use(await of(live, 'greedy')));
    expect(await isRefused(live, 'greedy')).toBe(true);
    expect(ended(live)).toEqual([]);
    const others = [];
    for (const [index, token] of ['a', 'b'].entries()) {
      others.push(stack.use(await of(live, token)));
      expect(await greedy[index]?.rest()).toEqual([]);
      expect(ended(live)).toEqual(Array(index + 1).fill('evicted'));
    }
    // Those with a stream get no other one, and tokens that the service has not accepted take none from half of them.
    for (const token of ['a', 'greedy', 'made-up']) expect(await isRefused(live, token)).toBe(true);
    for (const stream of [...greedy.slice(2), ...others])
      expect((await stream.nextBatch()).nodes).toEqual([]);
    expect(ended(live)).toEqual(['evicted', 'evicted']);
    for (const token of ['c', 'other']) {
      const stream = stack.use(await of(live, token));
      expect((await stream.nextBatch()).nodes).toEqual([]);
    }
    expect(await isRefused(live, 't')).toBe(true); // each has one
    expect(ended(live)).toEqual(Array(4).fill('evicted'));
  });

  it('by one token, with its scheme in any case, is one caller still', async () => {
    await using live = await startBusy({ maxSubscriptions: 2 });
    await using first = await of(live, null, 'Bearer a');
    await using second = await of(live, null, 'bearer a');
    await using third = await of(live, null, 'BEARER a');
    expect(codesOf(await third.rest())).toEqual([[undefined, 'OVERLOADED']]);
    live.list(1);
    for (const stream of [first, second]) expect((await stream.nextBatch()).nodes).toEqual([]);
  });

  it.each([
    ['without a token', null],
    ['with a malformed token', 'a b'],
  ])('a client %s takes none from others', async (_, token) => {
    await using live = await startBusy({ maxSubscriptions: 3 });
    live.list(1);
    await using stack = new AsyncDisposableStack();
    for (let count = 0; count < 3; count += 1) stack.use(await of(live, 'greedy'));
    expect(await isRefused(live, token)).toBe(true);
    expect(ended(live)).toEqual([]);
  });

  it('by a single stream, as MAX_SUBSCRIPTIONS is 1, it keeps its slot', async () => {
    await using live = await startBusy({ maxSubscriptions: 1 });
    live.list(1);
    await using first = await of(live, 'a');
    expect(await isRefused(live, 'b')).toBe(true);
    expect((await first.nextBatch()).nodes).toEqual([]);
  });

  it('an evicted stream that resumes with its checkpoint misses nothing', async () => {
    await using live = await startBusy({ maxSubscriptions: 3 });
    live.list(1);
    await using stack = new AsyncDisposableStack();
    const oldest = stack.use(await of(live, 'greedy'));
    const { checkpoint } = await oldest.nextBatch();
    for (let count = 0; count < 2; count += 1) stack.use(await of(live, 'greedy'));
    const other = stack.use(await of(live, 'other'));
    expect(await oldest.rest()).toEqual([]);
    live.list(3, 2, 1);
    await other[Symbol.asyncDispose]();
    await using resumed = await subscribe(live.gateway, { after: checkpoint }, { token: 'greedy' });
    expect(await resumed.nextBatch()).toMatchObject({
      nodes: [{ id: 'r2' }, { id: 'r3' }],
      missed: false,
    });
  });

  it('by a stream whose client reads nothing, its slot is free at once, and only once', async () => {
    await using live = await startBusy({ ...LIMITS, maxSubscriptions: 3 });
    await using server = await onPort(live.gateway);
    live.respond({ body: LARGE });
    using slow = await connectSlowly(server.url, '(filter: {since: "2000-01-01T00:00:00Z"})');
    await expect.poll(() => live.service.seen).toHaveLength(1);
    await wait(200); // until it blocks
    live.list(1);
    await using stack = new AsyncDisposableStack();
    for (let count = 0; count < 2; count += 1) stack.use(await of(live, 't'));
    const other = stack.use(await of(live, 'other'));
    expect((await other.nextBatch()).nodes).toEqual([]);
    slow.read();
    await expect.poll(slow.end).toContain('event: complete');
    await expect.poll(() => ended(live)).toEqual(['evicted']);
    for (const token of ['t', 'other']) expect(await isRefused(live, token)).toBe(true);
    expect(await isRefused(live, 'third')).toBe(false);
  });
});
