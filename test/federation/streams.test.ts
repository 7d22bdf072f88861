import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf, type Overrides } from '../helpers/gateway.ts';
import type { ReceivedRequest, ServiceResponse } from '../helpers/service.ts';
import { ROUTERS } from './routers.ts';
import { ask, startGraph, startSubgraphs, subscribe, wireValues } from './supergraph.ts';

const ANN = { authorization: 'Bearer ann' };

const OWNER = 'id actor { apiKey { clientId owner } }';

type WithOwner = {
  readonly id: string;
  readonly actor: { readonly apiKey: { readonly clientId: string; readonly owner: string | null } };
};

/** Keytrail polls every 20 ms instead of every ten seconds. Records the signals of the pauses. */
function pauseShortly() {
  const signals = new Set<AbortSignal>();
  const pause: Overrides['pause'] = (_, signal) => {
    signals.add(signal);
    return wait(20, undefined, { signal });
  };
  return { pause, signals };
}

/** A trail, newest first, to which a test adds events. */
function createTrail() {
  const records: object[] = [];
  let seconds = 0;
  const add = (id: string, actor: object = { id: 'ann', type: 'user' }, rest: object = {}) => {
    seconds += 1;
    const at = new Date(Date.UTC(2026, 10, 21, 6, 0, seconds)).toISOString();
    records.unshift({ id, at, actor, ...rest });
  };
  add('event-0');
  add('event-1');
  return { add, respond: (): ServiceResponse => ({ body: records }) };
}

/** The actor of an event, which the owners subgraph knows. */
const key = (id: string) => ({ id, type: 'api_key' });

/** A proxy to a server whose connections a test can break. */
async function startBreakable(target: string) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1');
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
      sockets.add(one);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: `http://127.0.0.1:${Object(server.address()).port}/graphql`,
    breakAll,
    [Symbol.asyncDispose]: async () => {
      server.close();
      breakAll();
    },
  };
}

const STREAMING = Object.entries(ROUTERS).filter(
  ([, { forwarded }]) => forwarded.subscription === 'streamed',
);

describe.each(STREAMING)('%s', (_, { start, forwarded, missing }) => {
  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  it('joins the owner of its key into a new event, and forwards the token to Keytrail only', async () => {
    const trail = createTrail();
    await using graph = await startGraph(start, trail.respond, pauseShortly());
    const { payloads } = await subscribe<WithOwner>(graph.router, { ...ANN, fields: OWNER });
    const first = await payloads.next();
    expect(first.value?.data?.auditEvents).toMatchObject({ nodes: [], previous: null });
    trail.add('event-2', key('key-4'));
    const second = await payloads.next();
    expect(second.value).toEqual({
      data: {
        auditEvents: {
          nodes: [{ id: 'event-2', actor: { apiKey: { clientId: 'key-4', owner: 'team-4' } } }],
          checkpoint: expect.any(String),
          previous: first.value?.data?.auditEvents?.checkpoint,
        },
      },
    });
    await payloads.return(null);
    expect(new Set(graph.service.seen.map(({ headers }) => headers.authorization))).toEqual(
      new Set([ANN.authorization]),
    );
    const owners = graph.ownersQueries();
    expect(owners).toHaveLength(1);
    expect(owners[0]?.rawHeaders.join()).not.toMatch(/authorization|ann/i);
  });

  it('sends the address, the user agent and the traceparent of its client with each poll, once each', async () => {
    const trail = createTrail();
    const overrides = { ...pauseShortly(), trustedProxies: 1 };
    await using graph = await startGraph(start, trail.respond, overrides);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const headers = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'audit-console/2.1' };
    const options = { ...ANN, headers: { ...headers, traceparent } };
    const { payloads } = await subscribe(graph.router, options);
    await payloads.next();
    trail.add('event-2');
    await payloads.next();
    await payloads.return(null);
    const polls = graph.service.seen;
    expect(polls.length).toBeGreaterThan(1);
    for (const poll of polls) {
      expect(poll.headers).toMatchObject({ ...headers, via: '1.1 keytrail' });
      expect(wireValues(poll.rawHeaders, 'traceparent')).toEqual([traceparent]);
    }
  });

  it('continues after a checkpoint', async () => {
    const trail = createTrail();
    await using graph = await startGraph(start, trail.respond, pauseShortly());
    const { payloads } = await subscribe(graph.router, ANN);
    const after = (await payloads.next()).value?.data?.auditEvents?.checkpoint ?? '';
    await payloads.return(null);
    trail.add('event-2');
    const { payloads: later } = await subscribe(graph.router, { ...ANN, after });
    expect((await later.next()).value?.data?.auditEvents).toMatchObject({
      nodes: [{ id: 'event-2' }],
      previous: after,
    });
    await later.return(null);
  });

  it('keeps the streams of two clients with the same query apart', async () => {
    const trails = { 'Bearer ann': createTrail(), 'Bearer bob': createTrail() } as const;
    const isKnown = (token = ''): token is keyof typeof trails => token in trails;
    const respond = ({ headers: { authorization } }: ReceivedRequest): ServiceResponse =>
      isKnown(authorization) ? trails[authorization].respond() : { status: 401 };
    await using graph = await startGraph(start, respond, pauseShortly());
    const streams = await Promise.all(
      Object.keys(trails).map((authorization) => subscribe(graph.router, { authorization })),
    );
    const nextNodes = () =>
      Promise.all(
        streams.map(
          async ({ payloads }) => (await payloads.next()).value?.data?.auditEvents?.nodes,
        ),
      );
    expect(await nextNodes()).toEqual([[], []]);
    trails['Bearer ann'].add('of ann');
    trails['Bearer bob'].add('of bob');
    expect(await nextNodes()).toEqual([[{ id: 'of ann' }], [{ id: 'of bob' }]]);
    await Promise.all(streams.map(({ payloads }) => payloads.return(null)));
  });

  it('stops the polls when its client disconnects', async () => {
    const { pause, signals } = pauseShortly();
    await using graph = await startGraph(start, createTrail().respond, { pause });
    const { payloads } = await subscribe(graph.router, ANN);
    await payloads.next();
    await payloads.return(null);
    await expect
      .poll(graph.keytrailRequests)
      .toContainEqual(expect.stringMatching(/"ended":"client"/));
    expect([...signals].map(({ aborted }) => aborted)).toEqual([true]);
    await wait(100); // a poll that was sent before may arrive
    const polls = graph.service.seen.length;
    await wait(100); // five pauses
    expect(graph.service.seen).toHaveLength(polls);
  });

  it('returns UNAUTHENTICATED once the token has expired, and completes the stream', async () => {
    const trail = createTrail();
    let isExpired = false;
    const respond = () => (isExpired ? { status: 401 } : trail.respond());
    await using graph = await startGraph(start, respond, pauseShortly());
    const { payloads } = await subscribe(graph.router, ANN);
    await payloads.next();
    isExpired = true;
    const { value } = await payloads.next();
    expect(value?.data).toEqual({ auditEvents: null });
    expect(value?.errors).toMatchObject([
      { path: ['auditEvents'], extensions: { code: 'UNAUTHENTICATED', retryable: false } },
    ]);
    expect(await payloads.next()).toEqual({ done: true, value: null });
    expect(JSON.stringify(value)).not.toContain('ann');
  });

  it('completes the stream when Keytrail shuts down', async () => {
    await using graph = await startGraph(start, createTrail().respond, pauseShortly());
    const { payloads } = await subscribe(graph.router, ANN);
    await payloads.next();
    await graph.closeKeytrail();
    expect(await payloads.next()).toEqual({ done: true, value: null });
  });

  it.each([
    ['UNAUTHENTICATED', 'no token', {}, {}],
    ['BAD_USER_INPUT', 'an invalid checkpoint', { ...ANN, after: 'nonsense' }, {}],
    ['OVERLOADED', 'one subscription too many', ANN, { maxSubscriptions: 0 }],
  ])('returns %s for %s, and sends nothing', async (code, _, options, overrides) => {
    await using graph = await startGraph(start, {}, overrides);
    const { payloads } = await subscribe(graph.router, options);
    const { value } = await payloads.next();
    expect(codeOf(value ?? {})).toBe(code);
    expect(value?.data?.auditEvents ?? null).toBeNull();
    expect(await payloads.next()).toEqual({ done: true, value: null });
    expect(graph.service.seen).toHaveLength(0);
  });

  it('shows neither the token nor an address when Keytrail cannot be reached', async () => {
    await using graph = await startGraph(start);
    await graph.stopKeytrail();
    const { payloads } = await subscribe(graph.router, ANN);
    const { value } = await payloads.next();
    await payloads.return(null);
    expect(codeOf(value ?? {})).toBe(forwarded.unreachable);
    expect(JSON.stringify(value)).not.toMatch(/ann|127\.0\.0\.1|ECONNREFUSED/);
  });

  it(`returns ${forwarded.lostConnection} after a lost connection, and the stream: ${forwarded.afterwards}`, async () => {
    const trail = createTrail();
    await using subgraphs = await startSubgraphs(trail.respond, pauseShortly());
    await using keytrail = await startBreakable(subgraphs.keytrail);
    await using router = await start({
      ...subgraphs,
      toTestUrls: (text) => subgraphs.toTestUrls(text).replaceAll(subgraphs.keytrail, keytrail.url),
    });
    const { payloads } = await subscribe(router.url, ANN);
    await payloads.next();
    trail.add('event-2');
    const last = (await payloads.next()).value?.data?.auditEvents;
    expect(last?.nodes).toEqual([{ id: 'event-2' }]);
    keytrail.breakAll();
    const { value: lost } = await payloads.next();
    expect(codeOf(lost ?? {})).toBe(forwarded.lostConnection);
    expect(JSON.stringify(lost)).not.toContain('event-2');
    const next = await payloads.next();
    await payloads.return(null);
    if (forwarded.afterwards === 'complete') expect(next).toEqual({ done: true, value: null });
    // It sent the subscription again, as it was. Events may be missing in between, as `previous` shows.
    else expect(next.value?.data?.auditEvents).toMatchObject({ nodes: [], previous: null });
  });

  it(`returns an error of another subgraph: ${forwarded.joinError}`, async () => {
    const trail = createTrail();
    await using graph = await startGraph(start, trail.respond, pauseShortly());
    const { payloads } = await subscribe<WithOwner>(graph.router, { ...ANN, fields: OWNER });
    await payloads.next();
    await graph.stopOwners();
    trail.add('event-2', key('key-4'));
    const { value: failed } = await payloads.next();
    expect(failed?.data?.auditEvents?.nodes).toEqual([
      { id: 'event-2', actor: { apiKey: { clientId: 'key-4', owner: null } } },
    ]);
    expect(codeOf(failed ?? {})).toBe(forwarded.unreachable);
    trail.add('event-3'); // of a user: nothing to join
    const { value: joined } = await payloads.next();
    await payloads.return(null);
    expect(joined?.data?.auditEvents?.nodes).toEqual([{ id: 'event-3', actor: { apiKey: null } }]);
    expect(joined?.errors ?? []).toHaveLength(forwarded.joinError === 'once' ? 0 : 1);
  });

  it('returns every character of large payloads', async () => {
    const trail = createTrail();
    await using graph = await startGraph(start, trail.respond, pauseShortly());
    const fields = 'raw(pointer: "/note")';
    const { payloads } = await subscribe<{ readonly raw: string }>(graph.router, {
      ...ANN,
      fields,
    });
    await payloads.next();
    const note = '語'.repeat(4000);
    const raws: string[] = [];
    for (let event = 2; event < 12; event += 1) trail.add(`event-${event}`, {}, { note });
    while (raws.length < 10)
      for (const { raw } of (await payloads.next()).value?.data?.auditEvents?.nodes ?? [])
        raws.push(raw);
    await payloads.return(null);
    expect(raws.every((raw) => raw === note)).toBe(true);
  });
});

describe('Apollo Gateway', () => {
  const { start, forwarded } = ROUTERS['Apollo Gateway'] ?? {};

  it('has no subscriptions: returns an error without a request to Keytrail', async () => {
    if (start === undefined) throw new TypeError('It is in ROUTERS.');
    await using graph = await startGraph(start);
    const result = await ask(graph.router, 'subscription { auditEvents { checkpoint } }', ANN);
    expect(codeOf(result)).toBe(forwarded?.subscription);
    expect((await subscribe(graph.router, ANN)).status).toBe(406);
    expect(graph.keytrailRequests()).toEqual([]);
  });
});
