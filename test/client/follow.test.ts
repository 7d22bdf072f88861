import { getEventListeners } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AuditEventsDocument,
  createSession,
  OperationError,
  type Session,
  type SessionOptions,
} from '../../src/client/index.ts';
import { listen } from '../../src/gateway/http/http-server.ts';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import { createTestbed, type Testbed } from '../../src/testing/testbed.ts';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { startCutter } from '../helpers/cut-connections.ts';
import type { Overrides } from '../helpers/gateway.ts';
import { gatewayOver } from '../helpers/gateway.ts';
import { PAGED, paged, record } from '../helpers/live-trail.ts';
import { type ReceivedRequest, type ServiceResponse, startService } from '../helpers/service.ts';

const [, { clientId, secret: clientSecret }] = DEMO_CLIENTS;

/** A session that reconnects at once, and of which no connection is ever silent for too long. */
const sessionOf = ({ url }: Pick<Testbed, 'url'>, options: Partial<SessionOptions> = {}) =>
  createSession({ url, clientId, clientSecret, timers: { setTimeout: atOnce }, ...options });

/** A timer that ends at once, but for the silence of a connection: that never ends. */
const atOnce = (run: () => void, ms: number) => setTimeout(run, ms === 30_000 ? 2 ** 31 - 1 : 1);

const EVENT_STREAM = 'text/event-stream';

type Batch = { readonly nodes: readonly { readonly action: string | null }[] };

/** Reads batches until they have a number of events in all. Returns the actions. */
async function readActions(batches: AsyncIterator<Batch>, count: number): Promise<unknown[]> {
  const actions: unknown[] = [];
  while (actions.length < count) {
    const { done, value } = await batches.next();
    if (done) break;
    actions.push(...value.nodes.map(({ action }: Batch['nodes'][number]) => action));
  }
  return actions;
}

const events = (...actions: readonly string[]) => actions.map((action) => ({ action }));

/** A service whose trail a test writes, newest first. */
async function startTrail() {
  const records: object[] = [];
  const service = await startService({ body: records });
  const add = (...actions: readonly string[]) => {
    for (const action of actions) {
      const occurredAt = new Date(1_790_000_000_000 + 1000 * records.length).toISOString();
      records.unshift({ id: `e${records.length}`, action, occurred_at: occurredAt });
    }
  };
  add('old.one', 'old.two');
  return Object.assign(service, { add });
}

/** A store with a token that does not expire, for a service without logins. */
const TOKENS = {
  load: () => ({ accessToken: 'token', refreshToken: null, expiresAt: null }),
  save: () => {},
};

/** Serves a gateway that polls often, on a port. */
function serveGateway(serviceUrl: string, port = 0, overrides: Overrides = {}) {
  const draining = new AbortController();
  const pause = (_ms: number, signal: AbortSignal) => sleep(10, undefined, { signal });
  const gateway = gatewayOver(serviceUrl, { pause, draining: draining.signal, ...overrides });
  const own = { host: '127.0.0.1', port, draining, drainMs: 0, timeoutMs: 1000, corsOrigins: [] };
  return listen(gateway, own);
}

/** A payload as a server-sent event. */
const next = (payload: unknown) => `event: next\ndata: ${JSON.stringify(payload)}\n\n`;
const batch = (
  checkpoint: string,
  previous: string | null | undefined,
  ...actions: readonly string[]
) =>
  next({
    data: { auditEvents: { checkpoint, previous, missed: false, nodes: events(...actions) } },
  });
const failure = (extensions: object) =>
  next({ data: { auditEvents: null }, errors: [{ message: 'failed', extensions }] });

/** A gateway that sends one scripted stream after another. One that ends with `open` is left open. */
async function startStreams(...streams: readonly string[]) {
  const left = [...streams];
  const firstClosed = Promise.withResolvers<void>();
  const service = await startService((_, response) => {
    const text = left.shift() ?? batch('unscripted', null);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (!text.endsWith('open')) response.end(text);
    else response.once('close', firstClosed.resolve).write(text.slice(0, -4));
    return undefined;
  });
  /** Resolves when the client has closed a stream that was left open. */
  return Object.assign(service, { closed: firstClosed.promise });
}

const variablesOf = ({ body }: ReceivedRequest) => JSON.parse(body).variables;

/** The labels of the polls that the service has received. */
const polls = ({ requests }: Testbed, name: string) =>
  requests.filter(({ query }) => query['stream'] === name).length;
const labelled = (value: string) => ({ parameters: [{ name: 'stream', value }] });

/** Waits until a new stream has polled five times: one that is open has polled by then. */
async function waitForPolls(testbed: Testbed): Promise<void> {
  const before = polls(testbed, 'probe');
  const batches = testbed.follow(labelled('probe'));
  await batches.next();
  while (polls(testbed, 'probe') < before + 5) {
    testbed.addEvents(events('probe'));
    await batches.next();
  }
  await batches.return?.();
}

describe('a session that follows the trail', () => {
  it('gets a checkpoint at once, and then each new event', async () => {
    await using testbed = await createTestbed();
    const batches = sessionOf(testbed).follow(AuditEventsDocument, {});
    expect((await batches.next()).value).toEqual({
      nodes: [],
      checkpoint: expect.any(String),
      previous: null,
      missed: false,
      hasMore: false,
    });
    testbed.addEvents(events('one', 'two'));
    expect(await readActions(batches, 2)).toEqual(['one', 'two']);
    await batches.return?.();
  });

  it('begins after a checkpoint, also that of another session', async () => {
    await using testbed = await createTestbed();
    const first = testbed.follow();
    const after = (await first.next()).value.checkpoint;
    await first.return?.();
    testbed.addEvents(events('between'));
    const session = sessionOf(testbed);
    await session.token(); // adds an event
    const batches = session.follow(AuditEventsDocument, {}, { after });
    expect(await readActions(batches, 2)).toEqual(['between', 'client.login']);
    await batches.return?.();
  });

  it('gets each event once when the gateway is restarted', async () => {
    await using service = await startTrail();
    const first = await serveGateway(service.url);
    const url = `${first.url}/graphql`;
    const batches = sessionOf({ url }, { tokens: TOKENS }).follow(AuditEventsDocument, {});
    await batches.next();
    service.add('one', 'two');
    expect(await readActions(batches, 2)).toEqual(['one', 'two']);
    const reading = readActions(batches, 2);
    await first[Symbol.asyncDispose](); // as at SIGTERM: the stream completes
    service.add('three', 'four');
    await using _second = await serveGateway(service.url, first.port);
    expect(await reading).toEqual(['three', 'four']);
    service.add('five');
    expect(await readActions(batches, 1)).toEqual(['five']);
    await batches.return?.();
  });

  it.each([
    ['newest-first', 'has no time', null],
    ['newest-first', 'is older than filter.since', record(0).time],
    ['oldest-first', 'has no time', null],
    ['oldest-first', 'is older than filter.since', record(0).time],
  ] as const)(
    'gets each of 2,000 events once over connections that are cut, %s, if the newest %s',
    async (order, _, time) => {
      const others = Array.from({ length: 1999 }, (_, index) => record(1999 - index));
      const list = [record(2000, { time }), ...others];
      const ordered = order === 'newest-first' ? list : list.toReversed();
      await using service = await startService(paged(ordered, 250));
      const audit = { ...PAGED, order, event: { occurredAt: '/time' } };
      await using gateway = await serveGateway(service.url, 0, { contract: { audit } });
      const cuts = [
        { payloads: 1, bytes: 40 },
        { payloads: 1, bytes: null },
        { payloads: 1, bytes: 40 },
      ];
      await using cutter = await startCutter(gateway.url, () => cuts.shift() ?? null);
      const session = sessionOf({ url: `${cutter.url}/graphql` }, { tokens: TOKENS });
      const filter = { since: record(1).time };
      const ids: unknown[] = [];
      for await (const { nodes, missed, hasMore } of session.follow(AuditEventsDocument, {
        filter,
      })) {
        expect(missed).toBe(false);
        ids.push(...nodes.map(({ id }) => id));
        if (!hasMore) break;
      }
      expect(ids).toEqual(others.map(({ id }) => id).toReversed());
      expect(cuts).toEqual([]);
    },
  );

  it('logs in once when its token expires, and gets each event once', async () => {
    let time = Date.now();
    await using testbed = await createTestbed({ now: () => new Date(time) });
    const retries: unknown[] = [];
    const onRetry = (error: unknown) => retries.push(error);
    // The clock of the session does not show that the token has expired.
    const batches = sessionOf(testbed).follow(AuditEventsDocument, {}, { onRetry });
    await batches.next();
    testbed.addEvents(events('one'));
    expect(await readActions(batches, 1)).toEqual(['one']);
    time += 16 * 60_000;
    testbed.addEvents(events('two'));
    expect(await readActions(batches, 2)).toEqual(['two', 'client.login']);
    testbed.addEvents(events('three'));
    expect(await readActions(batches, 1)).toEqual(['three']);
    await batches.return?.();
    const logins = testbed.requests.filter(({ method }) => method === 'POST');
    expect(logins.map(({ body }) => Object.keys(Object(body))[1])).toEqual([
      'client_secret',
      'refresh_token',
    ]);
    expect(retries).toEqual([]);
  });

  it('ends with the error if a new token is rejected at once', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext({ to: 'GET /api/v1/audit', status: 401, times: Infinity });
    const reading = sessionOf(testbed).follow(AuditEventsDocument, {}).next();
    await expect(reading).rejects.toMatchObject({ extensions: { code: 'UNAUTHENTICATED' } });
    expect(testbed.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST', 'GET']);
  });

  it('ends with the error of a login that fails', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed, { clientSecret: 'wrong' });
    const reading = session.follow(AuditEventsDocument, {}).next();
    await expect(reading).rejects.toThrow('The login failed (UNAUTHENTICATED)');
    expect(testbed.requests).toHaveLength(1);
  });

  it.each([
    [{ every: 1 }, {}, 'BAD_USER_INPUT'],
    [{}, { after: 'made up' }, 'BAD_USER_INPUT'],
  ])(
    'with %j and %j, ends with an error that is not retryable: %s',
    async (variables, options, code) => {
      await using testbed = await createTestbed();
      const batches = sessionOf(testbed).follow(AuditEventsDocument, variables, options);
      const error = await batches.next().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OperationError);
      expect(error).toMatchObject({ extensions: { code } });
      expect(await batches.next()).toEqual({ done: true, value: undefined });
      expect(testbed.requests).toHaveLength(1); // the login
    },
  );

  it('polls no more after `break`, after `return` and after the signal', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    for await (const _ of session.follow(AuditEventsDocument, labelled('break'))) break;

    const returned = session.follow(AuditEventsDocument, labelled('return'));
    await returned.next();
    await returned.return?.();

    const stopping = new AbortController();
    const { signal } = stopping;
    const aborted = session.follow(AuditEventsDocument, labelled('signal'), { signal });
    await aborted.next();
    const waiting = aborted.next();
    const idle = session.follow(AuditEventsDocument, labelled('idle'), { signal });
    await idle.next();
    stopping.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });

    await waitForPolls(testbed);
    const names = ['break', 'return', 'signal', 'idle'];
    const counts = () => names.map((name) => polls(testbed, name));
    const before = counts();
    await waitForPolls(testbed);
    expect(counts()).toEqual(before);
  });

  it('sends nothing if the signal was aborted before, or ends while it waits for a login', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    const signal = AbortSignal.abort();
    for await (const _ of session.follow(AuditEventsDocument, {}, { signal })) expect.unreachable();
    expect(testbed.requests).toEqual([]);

    const stopping = new AbortController();
    testbed.respondNext({ delayMs: 1500 });
    const options = { signal: stopping.signal };
    const waiting = session.follow(AuditEventsDocument, {}, options).next();
    while (testbed.requests.length === 0) await sleep(5);
    stopping.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(testbed.requests).toHaveLength(1);
  });

  it('continues in a stream of the testbed, which ends with the testbed', async () => {
    const testbed = await createTestbed();
    const batches = testbed.follow({ filter: { actions: ['wanted'] } });
    expect((await batches.next()).value?.nodes).toEqual([]);
    testbed.addEvents(events('other'));
    testbed.addEvents(events('wanted'));
    expect(await readActions(batches, 1)).toEqual(['wanted']);
    const waiting = batches.next();
    await testbed[Symbol.asyncDispose]();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});

/** Follows with a token that is never checked. */
const followAt = (
  { url }: { readonly url: string },
  options: Parameters<Session['follow']>[2] = {},
  timers: SessionOptions['timers'] = { setTimeout: atOnce },
) =>
  sessionOf({ url }, { tokens: TOKENS, timers }).follow(AuditEventsDocument, { every: 7 }, options);

describe('a connection', () => {
  it('is opened again with the last checkpoint when it ends, however it ends', async () => {
    await using gateway = await startStreams(
      `:\n\n${batch('1', null, 'one')}event: complete\ndata:\n\n`,
      batch('2', '1', 'two'), // without `complete`
      failure({ code: 'UPSTREAM_TIMEOUT', retryable: true }),
      failure({ code: 'RATE_LIMITED' }), // a federation router may drop the rest
      batch('3', '2', 'three'),
    );
    expect(await readActions(followAt(gateway), 3)).toEqual(['one', 'two', 'three']);
    expect(gateway.seen.map(variablesOf)).toEqual(
      [null, '1', '2', '2', '2'].map((after) => ({ every: 7, after })),
    );
    expect(gateway.seen[0]?.headers).toMatchObject({
      accept: 'text/event-stream',
      authorization: 'Bearer token',
    });
  });

  it('is opened again when a proxy responds instead of the gateway', async () => {
    const pages = [502, 503, 429];
    await using gateway = await startService((_, response) => {
      const status = pages.shift();
      if (status !== undefined) return { status, body: '<p>Not now' };
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.end(batch('1', null, 'one'));
      return undefined;
    });
    expect(await readActions(followAt(gateway), 1)).toEqual(['one']);
    expect(gateway.seen).toHaveLength(4);
  });

  it.each([408, 425, 429, 500, 502, 503, 504])(
    'is opened again when a proxy responds with %i',
    async (status) => {
      const pages = [status, status];
      await using gateway = await startService((_, response) => {
        const next = pages.shift();
        if (next !== undefined) return { status: next, body: '<p>Not now' };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(batch('1', null, 'one'));
        return undefined;
      });
      expect(await readActions(followAt(gateway), 1)).toEqual(['one']);
      expect(gateway.seen).toHaveLength(3);
    },
  );

  it.each([400, 404, 409, 410, 413, 431])(
    'ends with the error when a proxy responds with %i',
    async (status) => {
      await using gateway = await startService({ status, headers: { 'retry-after': '1' } });
      await expect(followAt(gateway).next()).rejects.toThrow(`HTTP ${status}`);
      expect(gateway.seen).toHaveLength(1);
    },
  );

  /** The seconds after which a connection is opened again that got these responses. */
  const delaysAfter = async (responses: readonly ServiceResponse[], now = 0) => {
    const left = [...responses];
    await using gateway = await startService((_, response) => {
      const next = left.shift();
      if (next !== undefined) return next;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(batch('1', null, 'one'));
      return undefined;
    });
    const delays: number[] = [];
    const onRetry = (_: unknown, delayMs: number) => delays.push(delayMs / 1000);
    const timers = { setTimeout: atOnce, random: () => 0, now: () => now };
    expect(await readActions(followAt(gateway, { onRetry }, timers), 1)).toEqual(['one']);
    return delays;
  };
  const TIME = Date.UTC(2026, 10, 24, 12);
  const dateIn = (seconds: number) => new Date(TIME + 1000 * seconds).toUTCString();

  it.each([
    ['7', 7],
    ['3600', 3600],
    ['3601', 3600],
    ['9'.repeat(30), 3600],
    ['0', 1],
    [dateIn(90), 90],
    [dateIn(7200), 3600],
    [dateIn(-60), 1],
    ['-5', 1],
    ['1.5', 2],
    ['soon', 1],
    ['', 1],
  ])('is opened again after the Retry-After of a proxy: %j is %d s', async (value, seconds) => {
    const headers = { 'retry-after': value, date: dateIn(0) };
    const page = { headers, body: '<p>Not now' };
    expect(
      await delaysAfter(
        [
          { status: 429, ...page },
          { status: 503, ...page },
        ],
        TIME,
      ),
    ).toEqual([seconds, seconds]);
  });

  it('is opened again after the Retry-After of a result if a router dropped `retryAfterSeconds`', async () => {
    const result = (extensions: object) => ({
      status: 503,
      headers: { 'retry-after': '40' },
      body: { errors: [{ message: 'no', extensions: { code: 'OVERLOADED', ...extensions } }] },
    });
    const responses = [
      result({}),
      result({ retryAfterSeconds: 5 }),
      { ...result({}), status: 200 },
    ];
    expect(await delaysAfter(responses)).toEqual([40, 5, 1]);
  });

  it('is opened again after 1 second to 1 hour, whatever the Retry-After of a proxy is', async () => {
    const value = fc.oneof(
      fc.integer().map(String),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.stringMatching(/^[\x21-\x7e]{0,20}$/),
    );
    const values = fc.array(
      value.filter((text) => Number(text) !== 30), // the timer takes it for the silence
      { maxLength: 20 },
    );
    const page = (header: string) => ({ status: 503, headers: { 'retry-after': header } });
    const property = fc.asyncProperty(values, async (headers) => {
      const delays = await delaysAfter(headers.map(page), TIME);
      expect(delays).toHaveLength(headers.length);
      for (const delay of delays) {
        expect(delay).toBeGreaterThanOrEqual(1);
        expect(delay).toBeLessThanOrEqual(3600);
      }
    });
    await fc.assert(property, { numRuns: 20 });
  });

  it('is a stream if its media type is text/event-stream, in any case and with any parameters', async () => {
    const name = fc
      .array(fc.boolean(), { minLength: EVENT_STREAM.length, maxLength: EVENT_STREAM.length })
      .map((flags) =>
        [...EVENT_STREAM].map((one, index) => (flags[index] ? one.toUpperCase() : one)).join(''),
      );
    const parameters = fc.constantFrom('', ';charset=utf-8', '; Charset=UTF-8', ' ; a="b"');
    const property = fc.asyncProperty(name, parameters, async (type, rest) => {
      await using gateway = await startService((_, response) => {
        response.writeHead(200, { 'content-type': `${type}${rest}` });
        response.end(batch('1', null, 'one'));
        return undefined;
      });
      expect(await readActions(followAt(gateway), 1)).toEqual(['one']);
    });
    await fc.assert(property, { numRuns: 30 });
  });

  it.each(['text/event-streams', 'application/json', 'text/plain; x=text/event-stream'])(
    'is no stream if its media type is %s',
    async (type) => {
      await using gateway = await startService({
        headers: { 'content-type': type },
        body: batch('1', null, 'one'),
      });
      await expect(followAt(gateway).next()).rejects.toThrow('not GraphQL (HTTP 200)');
    },
  );

  it.each([
    ['a page', { status: 404, body: CANARY.upstreamBody }, 'not GraphQL (HTTP 404)'],
    ['JSON', { body: { errors: [{ message: 'no', extensions: { code: 'FORBIDDEN' } }] } }, 'no'],
    ['no data', { body: { data: { auditEvents: null } } }, 'has no data'],
    [
      'an event that is not JSON',
      {
        headers: { 'content-type': 'text/event-stream' },
        body: `event: next\ndata: ${CANARY.upstreamBody}\n\n`,
      },
      'not GraphQL',
    ],
  ])('that gets %s ends with an error without its text', async (_, response, message) => {
    await using gateway = await startService(response);
    const error = await followAt(gateway)
      .next()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining(message) });
    expectNoCanary(inspect(error, { depth: Infinity }));
    expect(gateway.seen).toHaveLength(1);
  });

  it('whose payload was lost on the way is opened again, and gets it then', async () => {
    await using gateway = await startStreams(
      `${batch('1', null, 'one')}${batch('3', '2', 'three')}open`,
      batch('2', '1', 'two') + batch('3', '2', 'three'),
    );
    const retries: unknown[] = [];
    const batches = followAt(gateway, { onRetry: (error) => retries.push(error) });
    expect(await readActions(batches, 3)).toEqual(['one', 'two', 'three']);
    await gateway.closed;
    expect(gateway.seen.map(variablesOf)).toMatchObject([{ after: null }, { after: '1' }]);
    expect(String(retries)).toBe('OperationError: A payload was lost on the way.');
  });

  it('leaves no listener on the signal when it is opened again', async () => {
    const streams = ['one', 'two', 'three'].map((action) => batch('1', undefined, action));
    await using gateway = await startStreams(...streams);
    const { signal } = new AbortController();
    const batches = followAt(gateway, { signal });
    for (const action of ['one', 'two', 'three']) {
      expect(await readActions(batches, 1)).toEqual([action]);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
  });

  it('of a document without `previous` is not checked for that', async () => {
    await using gateway = await startStreams(
      batch('1', null, 'one') + batch('3', undefined, 'three'),
    );
    expect(await readActions(followAt(gateway), 2)).toEqual(['one', 'three']);
  });

  it('that is silent for 30 seconds is closed and opened again', async () => {
    await using gateway = await startStreams(
      `${batch('1', null, 'one')}:\n\nopen`,
      batch('2', '1', 'two'),
    );
    const silences: (() => void)[] = [];
    const timer = (run: () => void, ms: number) => {
      if (ms === 30_000) silences.push(run);
      return atOnce(run, ms);
    };
    const batches = followAt(gateway, {}, { setTimeout: timer });
    expect(await readActions(batches, 1)).toEqual(['one']);
    const reading = readActions(batches, 1);
    await sleep(0);
    silences.at(-1)?.();
    expect(await reading).toEqual(['two']);
    await gateway.closed;
    expect(gateway.seen).toHaveLength(2);
  });

  it('is opened again after 1 to 30 seconds, twice as late each time, and sooner after a batch', async () => {
    const fails = failure({ code: 'OVERLOADED', retryable: true });
    const late = failure({ code: 'OVERLOADED', retryable: true, retryAfterSeconds: 90 });
    const done = failure({ code: 'FORBIDDEN', retryable: false });
    for (const [random, expected] of [
      [0, [1, 1, 1, 1, 1, 1, 1, 90]],
      [0.999_999, [2, 4, 8, 16, 30, 30, 2, 90]],
    ] as const) {
      await using gateway = await startStreams(
        ...Array(6).fill(fails),
        batch('1', null, 'one'),
        late,
        done,
      );
      const delays: number[] = [];
      const onRetry = (_: unknown, delayMs: number) => delays.push(Math.round(delayMs / 1000));
      const timers = { setTimeout: atOnce, random: () => random };
      const batches = followAt(gateway, { onRetry }, timers);
      expect(await readActions(batches, 1)).toEqual(['one']);
      await expect(batches.next()).rejects.toThrow('failed');
      expect(delays).toEqual(expected);
    }
  });

  it('is opened again after 1 second to 1 hour, whatever `retryAfterSeconds` is', async () => {
    const values = ['"soon"', '-5', '1e999', '1e12', 'null', '{}', '[]', '"9"', '3600', '0.5'];
    const fails = values.map((value) =>
      failure({ code: 'OVERLOADED', retryable: true, retryAfterSeconds: 0 }).replace(
        ':0}',
        `:${value}}`,
      ),
    );
    await using gateway = await startStreams(...fails, batch('1', null, 'one'));
    const delays: number[] = [];
    const onRetry = (_: unknown, delayMs: number) => delays.push(delayMs / 1000);
    const batches = followAt(gateway, { onRetry }, { setTimeout: atOnce, random: () => 0 });
    expect(await readActions(batches, 1)).toEqual(['one']);
    expect(delays).toEqual([1, 1, 3600, 3600, 1, 1, 1, 1, 3600, 1]);
  });

  it('whose event does not end is closed after 67,108,864 characters, and opened again later', async () => {
    let sent = 0;
    const endless = function* () {
      yield 'event: next\ndata: ';
      for (; ; sent += 1) yield 'a'.repeat(2 ** 20);
    };
    const streams = [endless(), [batch('1', null, 'one')]];
    await using gateway = await startService(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      await pipeline(streams.shift() ?? [], response).catch(() => {}); // the client closes it
      return undefined;
    });
    const retries: unknown[] = [];
    const onRetry = (error: unknown, delayMs: number) => retries.push(String(error), delayMs);
    const timers = { setTimeout: atOnce, random: () => 0 };
    expect(await readActions(followAt(gateway, { onRetry }, timers), 1)).toEqual(['one']);
    expect(retries).toEqual([expect.stringContaining('longer than 67108864 characters'), 1000]);
    expect(sent).toBeLessThan(100);
  });

  it('has its token renewed each time that it was accepted for 30 seconds, even without a batch', async () => {
    const rejected = failure({ code: 'UNAUTHENTICATED' });
    let count = 0;
    let time = 0;
    await using gateway = await startService(({ body }, response) => {
      if (body.includes('mutation')) {
        count += 1;
        const login = {
          accessToken: `t${count}`,
          tokenType: '',
          refreshToken: null,
          expiresAt: null,
        };
        return { body: { data: { login } } };
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(count < 4 ? `:\n\n${rejected}` : batch('1', null, 'one'));
      time += 30_001;
      return undefined;
    });
    const timers = { now: () => time, setTimeout: atOnce };
    const batches = sessionOf(gateway, { timers }).follow(AuditEventsDocument, {});
    expect(await readActions(batches, 1)).toEqual(['one']);
    const tokens = gateway.seen.map(({ headers }) => headers.authorization);
    expect(tokens.filter((token) => token !== undefined)).toEqual(
      ['t1', 't2', 't3', 't4'].map((token) => `Bearer ${token}`),
    );
  });

  it('delivers a payload with the errors of its fields', async () => {
    const data = { auditEvents: { checkpoint: '1', previous: null, missed: false, nodes: [] } };
    const errors = [{ message: 'no owner', path: ['auditEvents', 'nodes', 0, 'owner'] }];
    await using gateway = await startStreams(next({ data, errors }));
    expect((await followAt(gateway).next()).value).toEqual({ ...data.auditEvents, errors });
  });

  it('may be cut within a character', async () => {
    const bytes = Buffer.from(batch('1', null, 'gelöscht'));
    await using gateway = await startService((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(bytes.subarray(0, bytes.indexOf('ö') + 1));
      setTimeout(() => response.end(bytes.subarray(bytes.indexOf('ö') + 1)), 20);
      return undefined;
    });
    expect(await readActions(followAt(gateway), 1)).toEqual(['gelöscht']);
  });
});
