import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../src/client/explanation.ts';
import { DIGEST_LENGTH } from '../../src/gateway/pagination/find-item.ts';
import { encodeCheckpoint, MAX_KNOWN } from '../../src/gateway/tail/checkpoint.ts';
import { ask, gatewayOver } from '../helpers/gateway.ts';
import {
  type LiveTrail,
  PAGED,
  paged,
  record,
  records,
  startLiveTrail,
} from '../helpers/live-trail.ts';
import { startService } from '../helpers/service.ts';
import { type Batch, type Subscription, subscribe } from '../helpers/subscribe.ts';

const ids = ({ nodes }: Pick<Batch<{ readonly id: string }>, 'nodes'>) => nodes.map(({ id }) => id);
const range = (from: number, to: number) =>
  Array.from(
    { length: Math.abs(to - from) + 1 },
    (_, index) => from + Math.sign(to - from) * index,
  );
const urls = (live: LiveTrail) => live.service.seen.map(({ url }) => url);
const note = (length: number) => ({ note: 'n'.repeat(length) });
const WITH_RAW = `subscription ($after: String) {
  auditEvents(after: $after) { nodes { id raw } checkpoint previous missed }
}`;

/** The stream polls after its pause. */
async function next<Node>(live: LiveTrail, stream: Subscription<Node>) {
  await live.pauses.paused();
  live.pauses.resume();
  return stream.next();
}

describe('a checkpoint', () => {
  it('knows two records apart whose digests share 42 bits', async () => {
    await using live = await startLiveTrail();
    const actions = ['a3639874', 'a3865972'];
    const [known, other] = actions.map((action) => record(2, { action }));
    live.respond({ body: [known, record(1)] });
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    live.respond({ body: [other, known, record(1)] });
    const payload = await next(live, stream);
    expect(payload?.data?.auditEvents).toMatchObject({ nodes: [{ id: 'r2' }], missed: false });
  });

  it('of another version is BAD_USER_INPUT, which says so, and nothing is sent', async () => {
    await using live = await startLiveTrail();
    const head = Buffer.from('[1,0,""]').toString('base64url');
    await using stream = await subscribe(live.gateway, {
      after: `${head}.${'abcdefg'.repeat(64)}`,
    });
    const [payload] = await stream.rest();
    expect(payload?.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(payload?.errors?.[0]?.message).toContain('another version');
    expect(live.service.seen).toEqual([]);
  });
});

describe('a forged checkpoint', () => {
  const known = range(1, MAX_KNOWN).map((number) => `${number}`.padEnd(DIGEST_LENGTH, 'x'));
  const forge = (page: number) =>
    encodeCheckpoint({
      known,
      isWhole: false,
      order: 'oldest-first',
      start: { parameter: 'page', value: String(page), preceding: { pages: page - 1, records: 0 } },
      selection: '',
    });

  it.each([1, 2, 40])(
    'that turns the order of a long trail round at page %i reads 20 pages, then pauses',
    async (page) => {
      await using live = await startLiveTrail({ contract: { audit: PAGED } });
      live.respond(paged(records(...range(3000, 1)), 10));
      await using stream = await subscribe(live.gateway, { after: forge(page) });
      expect((await stream.nextBatch()).missed).toBe(true);
      void stream.next().catch(() => {});
      await live.pauses.paused();
      expect(live.service.seen.length).toBeLessThanOrEqual(20);
      live.respond(paged(records(...range(3001, 1)), 10));
      live.service.forget();
      await live.poll();
      expect(live.service.seen.length).toBeLessThanOrEqual(10);
    },
  );

  it('for a service that returns the same pages in circles pauses, too', async () => {
    await using live = await startLiveTrail({
      contract: { audit: { ...PAGED, order: 'oldest-first' } },
    });
    const all = records(...range(1, 40));
    live.respond(({ url }) => {
      const page = Number(new URL(url, 'http://a').searchParams.get('page') ?? 1);
      const at = ((page - 1) * 5) % 40;
      return { body: { events: all.slice(at, at + 5), total: 100_000 } };
    });
    await using stream = await subscribe(live.gateway, { after: forge(2) });
    void stream.rest().catch(() => {});
    await live.pauses.paused();
    expect(live.service.seen.length).toBeLessThanOrEqual(200);
  });
});

describe('a list that turns round', () => {
  it.each([
    ['newest first', range(200, 1), range(1, 202)],
    ['oldest first', range(1, 200), range(202, 1)],
  ])('from %s: missed, the new events come, and nothing known', async (_, before, after) => {
    await using live = await startLiveTrail();
    live.list(...before);
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    live.list(...after);
    const turned = (await next(live, stream))?.data?.auditEvents;
    expect(turned).toMatchObject({ missed: true });
    expect(ids(turned ?? { nodes: [] })).toEqual(['r201', 'r202']);
    live.list(...(after[0] === 1 ? range(1, 203) : range(203, 1)));
    const later = (await next(live, stream))?.data?.auditEvents;
    expect(later).toMatchObject({ nodes: [{ id: 'r203' }], missed: false });
  });

  it.each([
    ['newest first', range(300, 1), range(1, 302)],
    ['oldest first', range(1, 95), range(97, 1)],
  ])('from %s, in pages: the same', async (_, before, after) => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(paged(records(...before), 100));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    live.respond(paged(records(...after), 100));
    const turned = (await next(live, stream))?.data?.auditEvents;
    expect(turned).toMatchObject({ missed: true });
    expect(ids(turned ?? { nodes: [] })).toEqual(
      after.length > 100 ? ['r301', 'r302'] : ['r96', 'r97'],
    );
  });

  it('is not assumed because 31 late records come first', async () => {
    await using live = await startLiveTrail();
    live.list(...range(300, 101));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    live.list(...range(10, 40), ...range(300, 101));
    const late = (await next(live, stream))?.data?.auditEvents;
    expect(late).toMatchObject({ missed: false });
    expect(late?.nodes).toHaveLength(31);
  });
});

describe('a payload above graphqlMaxBytes', () => {
  it('is cut into several, and no event is lost', async () => {
    await using live = await startLiveTrail({ graphqlMaxBytes: 20_000 });
    live.list(0);
    await using stream = await subscribe(live.gateway, {}, { query: WITH_RAW });
    let { checkpoint } = await stream.nextBatch();
    live.respond({ body: [...range(30, 1).map((number) => record(number, note(900))), record(0)] });
    await live.pauses.paused();
    live.pauses.resume();
    const delivered: string[] = [];
    let payloads = 0;
    while (delivered.length < 30) {
      const batch = await stream.nextBatch();
      expect(batch.previous).toBe(checkpoint);
      ({ checkpoint } = batch);
      delivered.push(...ids(batch));
      payloads += 1;
    }
    expect(payloads).toBeGreaterThan(1);
    expect(delivered).toEqual(range(1, 30).map((number) => `r${number}`));
  });

  it('by one record comes without the field that is too large, which the error names, and the stream goes on', async () => {
    await using live = await startLiveTrail({ graphqlMaxBytes: 20_000 });
    live.list(0);
    await using stream = await subscribe(live.gateway, {}, { query: WITH_RAW });
    const { checkpoint } = await stream.nextBatch();
    live.respond({ body: [record(3), record(2, note(20_000)), record(1), record(0)] });
    await live.pauses.paused();
    live.pauses.resume();
    expect(ids(await stream.nextBatch())).toEqual(['r1']);
    const large = await stream.next();
    expect(large?.data?.auditEvents).toMatchObject({
      nodes: [{ id: 'r2', raw: null }],
      missed: false,
    });
    expect(large?.errors).toMatchObject([
      {
        path: ['auditEvents', 'nodes', 0, 'raw'],
        extensions: {
          code: 'OPERATION_TOO_COMPLEX',
          requestId: stream.response.headers.get('x-request-id'),
        },
      },
    ]);
    expect(large?.errors?.[0]?.message).toContain('larger than 32 MiB');
    const last = await stream.nextBatch();
    expect([ids(last), last.previous]).toEqual([['r3'], large?.data?.auditEvents?.checkpoint]);
    const after = large?.data?.auditEvents?.checkpoint;
    expect(after).not.toBe(checkpoint);
    await using resumed = await subscribe(live.gateway, { after }, { query: WITH_RAW });
    expect(ids(await resumed.nextBatch())).toEqual(['r3']);
  });

  it('by the aliases of its fields and of its list comes without the largest of them', async () => {
    await using live = await startLiveTrail({ graphqlMaxBytes: 20_000 });
    live.list(0);
    const query = `subscription { a: auditEvents {
      n: nodes { id x: userAgent y: userAgent } m: nodes { id ${'z'.repeat(5000)}: action raw } checkpoint previous missed } }`;
    await using stream = await subscribe(live.gateway, {}, { query });
    await stream.next();
    live.respond({ body: [record(1, { userAgent: 'u'.repeat(6000) }), record(0)] });
    const payload = await next(live, stream);
    const { n, m } = Object(payload?.data)['a'] ?? {};
    expect(JSON.stringify(payload?.data).length).toBeLessThan(20_000);
    expect([n[0].id, m[0].id]).toEqual(['r1', 'r1']);
    expect(payload?.errors?.map(({ path }) => path?.join('.'))).toEqual(['a.m.0.raw']);
  });
});

describe('a burst above maxBytesPerRequest', () => {
  const large = (from: number, to: number) =>
    range(from, to).map((number) => record(number, note(1000)));
  const limits = { upstream: { maxBytesPerRequest: 25_000 } };

  it('ends a poll as the tenth page does: missed, and the newest come', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED }, ...limits });
    live.respond(paged(large(5, 1), 5));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    live.respond(paged(large(60, 1), 5));
    const burst = (await next(live, stream))?.data?.auditEvents;
    expect(burst).toMatchObject({ missed: true });
    const delivered = ids(burst ?? { nodes: [] });
    expect(delivered).toEqual(range(61 - delivered.length, 60).map((number) => `r${number}`));
    expect(delivered.length).toBeGreaterThan(10);
    live.respond(paged(large(61, 1), 5));
    const later = (await next(live, stream))?.data?.auditEvents;
    expect(later).toMatchObject({ nodes: [{ id: 'r61' }], missed: false });
  });

  it('in a list with the oldest first is read in several polls, and nothing is missed', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED }, ...limits });
    live.respond(paged(large(1, 4), 2));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    live.respond(paged(large(1, 60), 2));
    await live.pauses.paused();
    live.pauses.resume();
    const delivered: string[] = [];
    while (delivered.length < 56) {
      const batch = await stream.nextBatch();
      expect(batch.missed).toBe(false);
      delivered.push(...ids(batch));
    }
    expect(delivered).toEqual(range(5, 60).map((number) => `r${number}`));
  });
});

it('explain on a stream with `after` shows the poll of its first payload', async () => {
  await using live = await startLiveTrail();
  live.list(1);
  await using begun = await subscribe(live.gateway);
  const { checkpoint: after } = await begun.nextBatch();
  await begun[Symbol.asyncDispose]();
  const headers = { 'x-keytrail-explain': '1' };
  await using stream = await subscribe(live.gateway, { after }, { headers });
  const { explain }: { readonly explain: Explanation } = Object(await stream.next()).extensions;
  expect(urls(live)).toHaveLength(2);
  expect(explain.calls).toHaveLength(1);
  expect(explain.mapping?.event?.action).toMatchObject({ found: '1 of 1' });
});

describe('a trail of 20,000 records without pages', () => {
  /** Sends it in chunks as long as the gateway reads. Counts the responses that it read to their end. */
  async function startLong({
    isAnnounced = true,
    isReversed = false,
    maxBytesPerRequest = 2 ** 24,
  } = {}) {
    let newest = 20_000;
    let whole = 0;
    const live = await startLiveTrail({ upstream: { maxBytes: 2 ** 25, maxBytesPerRequest } });
    live.respond(async (_, response) => {
      const numbers = isReversed ? range(1, newest) : range(newest, 1);
      // 12 MB: the buffers of the sockets do not hold it.
      const bytes = Buffer.from(JSON.stringify(numbers.map((number) => record(number, note(500)))));
      response.writeHead(200, isAnnounced ? { 'content-length': bytes.length } : {});
      const chunks = Array.from({ length: Math.ceil(bytes.length / 2 ** 16) }, (_, index) =>
        bytes.subarray(index * 2 ** 16, (index + 1) * 2 ** 16),
      );
      const isWhole = await pipeline(Readable.from(chunks), response).then(
        () => true,
        () => false,
      );
      whole += Number(isWhole);
      return undefined;
    });
    const add = (count: number) => {
      newest += count;
      whole = 0;
    };
    return {
      live,
      add,
      whole: () => whole,
      [Symbol.asyncDispose]: () => live[Symbol.asyncDispose](),
    };
  }

  it.each([
    ['with its length', { isAnnounced: true }],
    ['in chunks of unknown length', { isAnnounced: false }],
  ])('%s: a poll reads its beginning, and all of it only if that is not enough', async (_, how) => {
    await using long = await startLong(how);
    await using stream = await subscribe(long.live.gateway);
    await stream.nextBatch();
    const receive = async (count: number) => {
      long.add(count);
      const batch = (await next(long.live, stream))?.data?.auditEvents;
      expect(batch?.missed).toBe(false);
      return ids(batch ?? { nodes: [] });
    };
    expect(await receive(3)).toEqual(['r20001', 'r20002', 'r20003']);
    expect(long.whole()).toBe(0);
    expect(await receive(500)).toEqual(range(20_004, 20_503).map((number) => `r${number}`));
    expect(long.whole()).toBe(1);
    expect(await receive(1)).toEqual(['r20504']);
    expect(long.whole()).toBe(0);
  });

  it('of more bytes than one request may read after its first response: all of it is read, too', async () => {
    await using long = await startLong({ maxBytesPerRequest: 2 ** 20 });
    await using stream = await subscribe(long.live.gateway);
    await stream.nextBatch();
    long.add(500);
    const batch = (await next(long.live, stream))?.data?.auditEvents;
    expect(batch).toMatchObject({ missed: false });
    expect(batch?.nodes).toHaveLength(500);
  });

  it('that begins with its oldest record is read to its end', async () => {
    await using long = await startLong({ isReversed: true });
    await using stream = await subscribe(long.live.gateway);
    await stream.nextBatch();
    long.add(2);
    const batch = (await next(long.live, stream))?.data?.auditEvents;
    expect(ids(batch ?? { nodes: [] })).toEqual(['r20001', 'r20002']);
    expect(long.whole()).toBe(1);
  });
});

describe('20,000 records', () => {
  const FORMATS = [
    ['RFC 3339', {}, (ms: number) => new Date(ms).toISOString()],
    ['RFC 2822', { as: 'rfc2822' }, (ms: number) => new Date(ms).toUTCString()],
    ['an epoch', { as: 'epoch-seconds' }, (ms: number) => String(ms / 1000)],
    [
      'a pattern with a zone',
      { as: { pattern: 'yyyy-MM-dd HH:mm:ss' }, zone: 'Europe/Berlin' },
      (ms: number) => new Date(ms).toISOString().slice(0, 19).replace('T', ' '),
    ],
    [
      'ISO 8601 with a zone',
      { as: 'iso8601', zone: 'America/New_York' },
      (ms: number) => new Date(ms).toISOString().slice(0, 19),
    ],
  ] as const;

  it.each(FORMATS)(
    'with times in %s: ten conditions and their totals leave turns to others',
    async (_, notation, format) => {
      const body = JSON.stringify(
        range(20_000, 1).map((number) => ({
          id: `r${number}`,
          time: format(Date.UTC(2026, 0) + 1000 * number),
          action: 'a',
        })),
      );
      await using service = await startService({ body });
      const occurredAt = 'as' in notation ? { at: '/time', ...notation } : '/time';
      await using gateway = gatewayOver(service.url, {
        upstream: { maxBytes: 2 ** 23 },
        contract: { audit: { event: { occurredAt } } },
      });
      const fields = range(0, 9).map(
        (at) =>
          `a${at}: audit(first: 1, filter: { until: "19${80 + at}-01-01T00:00:00Z" }) { totalCount nodes { id } }`,
      );
      let iterations = 0;
      let isDone = false;
      const answering = ask(gateway, `{ ${fields.join(' ')} }`, {}, { token: 't' });
      void answering.finally(() => {
        isDone = true;
      });
      while (service.seen.length === 0) await nextIteration();
      while (!isDone) {
        await nextIteration();
        iterations += 1;
      }
      const { data } = await answering;
      expect(Object.values(data ?? {})).toEqual(
        range(0, 9).map(() => ({ totalCount: 0, nodes: [] })),
      );
      // In one go there would be few, of sockets: a list has ten turns to select from and ten to be counted in.
      expect(iterations).toBeGreaterThanOrEqual(18);
      expect(service.seen).toHaveLength(1);
    },
  );
});
