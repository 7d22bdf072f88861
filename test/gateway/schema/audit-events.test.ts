import { describe, expect, it } from 'vitest';
import { encodeCheckpoint } from '../../../src/gateway/tail/checkpoint.ts';
import { ask, type Overrides } from '../../helpers/gateway.ts';
import {
  type LiveTrail,
  PAGED,
  paged,
  record,
  records,
  startLiveTrail,
} from '../../helpers/live-trail.ts';
import type { Handler, ServiceResponse } from '../../helpers/service.ts';
import { type Batch, type Payload, type Subscription, subscribe } from '../../helpers/subscribe.ts';

const FIRST = { nodes: [], previous: null, missed: false };
const ids = ({ nodes }: Pick<Batch<{ readonly id: string }>, 'nodes'>) => nodes.map(({ id }) => id);
const range = (from: number, to: number) =>
  Array.from(
    { length: Math.abs(to - from) + 1 },
    (_, index) => from + Math.sign(to - from) * index,
  );
const queryOf = (url: string) => Object.fromEntries(new URL(url, 'http://a').searchParams);
const failureOf = (payload: Payload | null) => {
  const { code, reason } = payload?.errors?.[0]?.extensions ?? {};
  return { data: payload?.data, code, ...(reason && { reason }) };
};

/** Subscribes, receives the first payload, changes the trail and receives the next one. */
async function receiveAfter(live: LiveTrail, change: () => void, variables: object = {}) {
  await using stream = await subscribe(live.gateway, { ...variables });
  const first = await stream.nextBatch();
  await live.pauses.paused();
  change();
  live.pauses.resume();
  return { first, next: await stream.nextBatch() };
}

describe('a stream', () => {
  it('begins with an empty payload, then sends new events in order of arrival', async () => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    const { first, next } = await receiveAfter(live, () => live.list(4, 3, 2, 1));
    expect(first).toMatchObject(FIRST);
    expect(next).toMatchObject({ previous: first.checkpoint, missed: false });
    expect(ids(next)).toEqual(['r3', 'r4']);
  });

  it('sends nothing if nothing is new, and polls once per interval', async () => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    const next = stream.nextBatch();
    await live.poll();
    await live.poll();
    live.list(3, 2, 1);
    await live.pauses.paused();
    live.pauses.resume();
    expect(ids(await next)).toEqual(['r3']);
    await live.pauses.paused();
    expect(live.service.seen).toHaveLength(4);
    expect(live.pauses.waits).toEqual([10_000, 10_000, 10_000, 10_000]);
  });

  it('continues after a checkpoint, at another gateway', async () => {
    await using live = await startLiveTrail();
    await using other = await startLiveTrail();
    live.list(2, 1);
    other.list(4, 3, 2, 1);
    await using stream = await subscribe(live.gateway);
    const { checkpoint: after } = await stream.nextBatch();
    await using resumed = await subscribe(other.gateway, { after });
    const next = await resumed.nextBatch();
    expect(next).toMatchObject({ previous: after, missed: false });
    expect(ids(next)).toEqual(['r3', 'r4']);
  });

  it('says at once that nothing followed a checkpoint', async () => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    await using begun = await subscribe(live.gateway);
    const { checkpoint: after } = await begun.nextBatch();
    await using stream = await subscribe(live.gateway, { after });
    expect(await stream.nextBatch()).toMatchObject({
      ...{ nodes: [], previous: after, missed: false, hasMore: false },
    });
  });

  it('says with `hasMore` which payload is the last of those that follow at once', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using begun = await subscribe(live.gateway);
    const { checkpoint: after } = await begun.nextBatch();
    live.list(...range(2500, 1));
    await using stream = await subscribe(live.gateway, { after });
    const batches = [];
    do batches.push(await stream.nextBatch());
    while (batches.at(-1)?.hasMore);
    expect(batches.flatMap(ids)).toHaveLength(2499);
    expect(batches.length).toBeGreaterThan(1);
  });

  it('begins at filter.since', async () => {
    await using live = await startLiveTrail();
    live.list(4, 3, 2, 1);
    const filter = { since: record(3).time };
    await using stream = await subscribe(live.gateway, { filter });
    const first = await stream.nextBatch();
    expect(first).toMatchObject({ previous: null, missed: false });
    expect(ids(first)).toEqual(['r3', 'r4']);
  });

  it('reads on to filter.since over records whose time is not readable', async () => {
    const audit = { ...PAGED, order: 'newest-first', event: { occurredAt: '/time' } } as const;
    await using live = await startLiveTrail({ contract: { audit } });
    const untimed = range(300, 202).map((number) => record(number, { time: 'unknown' }));
    const list = [record(301), ...untimed, ...records(...range(201, 1))];
    live.respond(paged(list, 50));
    const filter = { since: record(200).time };
    await using stream = await subscribe(live.gateway, { filter });
    const first = await stream.nextBatch();
    expect(first).toMatchObject({ previous: null, missed: false });
    expect(ids(first)).toEqual(['r200', 'r201', 'r301']);
  });

  it('says that events since filter.since may have been missed if ten pages do not reach it', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(paged(records(...range(60, 1)), 5));
    await using stream = await subscribe(live.gateway, { filter: { since: record(1).time } });
    const first = await stream.nextBatch();
    expect(first).toMatchObject({ previous: null, missed: true });
    expect(ids(first)).toEqual(range(11, 60).map((number) => `r${number}`));
  });

  it('delivers a record that arrives behind 32 newer ones, once, even if 31 of the newest were removed', async () => {
    await using live = await startLiveTrail();
    const known = range(200, 101);
    live.list(...known);
    const late = [...known.slice(0, 32), 5, ...known.slice(32)];
    const { next } = await receiveAfter(live, () => live.list(...late));
    expect(ids(next)).toEqual(['r5']);
    live.list(...known);
    const fewer = [...known.slice(0, 32), 5, ...known.slice(63)];
    expect(ids((await receiveAfter(live, () => live.list(...fewer))).next)).toEqual(['r5']);
  });

  it('does not deliver a record that arrives behind the 64 newest', async () => {
    await using live = await startLiveTrail();
    const known = range(200, 101);
    live.list(...known);
    const later = [300, ...known.slice(0, 64), 5, ...known.slice(64)];
    expect(ids((await receiveAfter(live, () => live.list(...later))).next)).toEqual(['r300']);
  });

  it('reads no second page if the first has all records that are known', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(paged(records(...range(200, 1)), 80));
    await receiveAfter(live, () => live.respond(paged(records(...range(201, 1)), 80)));
    expect(live.service.seen.map(({ url }) => url)).toEqual(['/api/v1/audit', '/api/v1/audit']);
  });

  it('delivers records with equal times, and each of equal records without ids', async () => {
    await using live = await startLiveTrail({ contract: { audit: { order: 'newest-first' } } });
    const { time } = record(1);
    const list = (...actions: readonly string[]) =>
      live.respond({ body: actions.map((action) => ({ time, action })) });
    list('a', 'b');
    const query = `subscription { auditEvents { nodes { action } checkpoint previous missed } }`;
    await using stream = await subscribe<{ readonly action: string }>(live.gateway, {}, { query });
    await stream.nextBatch();
    await live.pauses.paused();
    list('c', 'c', 'a', 'a', 'b');
    live.pauses.resume();
    const { nodes, missed } = await stream.nextBatch();
    expect(nodes.map(({ action }) => action).toSorted()).toEqual(['a', 'c', 'c']);
    expect(missed).toBe(false);
  });

  it('delivers a record that is listed twice once, if it has an id', async () => {
    await using live = await startLiveTrail({ contract: { audit: { event: { id: '/id' } } } });
    live.list(1);
    const { next } = await receiveAfter(live, () => live.list(3, 2, 2, 1));
    expect(ids(next)).toEqual(['r2', 'r3']);
  });

  it.each([
    ['an empty trail', [], [1], ['r1']],
    ['an empty trail, several at once', [], [3, 2, 1], ['r1', 'r2', 'r3']],
    ['a trail with one record', [1], [2, 1], ['r2']],
    ['a trail that its service has shortened', [4, 3, 2, 1], [5, 4], ['r5']],
    ['a trail from which the newest was removed', [3, 2, 1], [4, 2, 1], ['r4']],
    ['a trail in which a late record is the oldest', [3, 2], [3, 2, 1], ['r1']],
  ])('continues after %s, without a gap', async (_, before, after, delivered) => {
    await using live = await startLiveTrail();
    live.list(...before);
    const { next } = await receiveAfter(live, () => live.list(...after));
    expect(ids(next)).toEqual(delivered);
    expect(next.missed).toBe(false);
  });

  it('reports a gap if all known records are gone, once, and goes on', async () => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    const replaced = stream.nextBatch();
    live.list();
    await live.poll(); // an empty response may come from a replica that has not caught up
    live.list(9);
    await live.pauses.paused();
    live.pauses.resume();
    const batch = await replaced;
    expect([ids(batch), batch.missed]).toEqual([['r9'], true]);
    await live.pauses.paused();
    live.list(10, 9);
    live.pauses.resume();
    const next = await stream.nextBatch();
    expect([ids(next), next.missed]).toEqual([['r10'], false]);
  });

  it('reports a gap if ten pages have no known record', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(paged(records(...range(40, 1)), 5));
    const { next } = await receiveAfter(live, () =>
      live.respond(paged(records(...range(140, 1)), 5)),
    );
    expect(next.missed).toBe(true);
    expect(ids(next)).toEqual(range(91, 140).map((number) => `r${number}`));
  });

  it('reports a gap with the first payload of a poll only', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(paged(records(...range(40, 1)), 5));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    await live.pauses.paused();
    live.respond(paged(records(...range(5000, 1)), 200));
    live.pauses.resume();
    const batches = [await stream.nextBatch(), await stream.nextBatch()];
    expect(batches.map(({ nodes, missed }) => [nodes.length, missed])).toEqual([
      [1000, true],
      [1000, false],
    ]);
  });

  it('says in `previous` which payload it follows, also between the payloads of one poll', async () => {
    await using live = await startLiveTrail({ graphqlMaxBytes: 2 ** 24 });
    live.list(1);
    const query = `subscription { auditEvents { nodes { id ${'raw '.repeat(47)} } checkpoint previous missed } }`;
    await using stream = await subscribe(live.gateway, {}, { query });
    let { checkpoint } = await stream.nextBatch();
    await live.pauses.paused();
    live.list(...range(250, 1));
    live.pauses.resume();
    const delivered: string[] = [];
    const lengths: number[] = [];
    while (delivered.length < 249) {
      const batch = await stream.nextBatch();
      expect(batch.previous).toBe(checkpoint);
      delivered.push(...ids(batch));
      lengths.push(batch.nodes.length);
      checkpoint = batch.checkpoint;
    }
    expect(delivered).toEqual(range(2, 250).map((number) => `r${number}`));
    expect(lengths).toEqual([105, 105, 39]);
    expect(live.service.seen).toHaveLength(2);
    expect(stream.received()).not.toContain('OPERATION_TOO_COMPLEX');
  });

  it('continues between two payloads of one poll', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using stream = await subscribe(live.gateway);
    const { checkpoint: after } = await stream.nextBatch();
    live.list(...range(2200, 1));
    await using resumed = await subscribe(live.gateway, { after });
    const { checkpoint, nodes } = await resumed.nextBatch();
    expect(nodes).toHaveLength(1000);
    await using again = await subscribe(live.gateway, { after: checkpoint });
    const next = await again.nextBatch();
    expect([ids(next)[0], next.nodes.length, next.missed]).toEqual(['r1002', 1000, false]);
  });
});

describe('a trail that begins with its oldest record', () => {
  const contract = { audit: PAGED };

  it('is polled from near its end, and delivers new events in order', async () => {
    await using live = await startLiveTrail({ contract });
    live.respond(paged(records(...range(1, 195)), 20));
    const { next } = await receiveAfter(live, () => {
      live.service.forget();
      live.respond(paged(records(...range(1, 198)), 20));
    });
    expect(ids(next)).toEqual(['r196', 'r197', 'r198']);
    expect(live.service.seen.map(({ url }) => queryOf(url)['page'])).toEqual(['7', '8', '9', '10']);
  });

  it('says with an empty payload that it has caught up with pages without events', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(
      paged(
        range(1, 5).map((number) => record(number)),
        5,
      ),
    );
    await using begun = await subscribe(live.gateway);
    const { checkpoint: after } = await begun.nextBatch();
    live.respond(
      paged(
        range(1, 60).map((number) => record(number)),
        5,
      ),
    );
    await using stream = await subscribe(live.gateway, { after, filter: { actions: ['none'] } });
    const batches = [await stream.nextBatch()];
    while (batches.at(-1)?.hasMore) batches.push(await stream.nextBatch());
    expect(batches.map(({ nodes, hasMore }) => [nodes.length, hasMore])).toEqual([
      [0, true],
      [0, false],
    ]);
  });

  it('catches up without a pause if more than ten pages are new', async () => {
    await using live = await startLiveTrail({ contract });
    live.respond(paged(records(...range(1, 20)), 10));
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    await live.pauses.paused();
    live.respond(paged(records(...range(1, 290)), 10));
    live.pauses.resume();
    const delivered: string[] = [];
    while (delivered.length < 270) {
      const batch = await stream.nextBatch();
      expect(batch.missed).toBe(false);
      delivered.push(...ids(batch));
    }
    expect(delivered).toEqual(range(21, 290).map((number) => `r${number}`));
    await live.pauses.paused();
    expect(live.pauses.waits).toHaveLength(2); // before the events, and after all of them
  });

  it('continues after old records were removed', async () => {
    await using live = await startLiveTrail({ contract });
    live.respond(paged(records(...range(1, 95)), 10));
    const { next } = await receiveAfter(live, () =>
      live.respond(paged(records(...range(80, 97)), 10)),
    );
    expect([ids(next), next.missed]).toEqual([['r96', 'r97'], false]);
  });

  it('with more than ten pages is TRAIL_TOO_LONG, which names what to do', async () => {
    await using live = await startLiveTrail({ contract });
    live.respond(paged(records(...range(1, 101)), 10));
    await using stream = await subscribe(live.gateway);
    const [payload, ...others] = await stream.rest();
    expect(others).toEqual([]);
    expect(failureOf(payload ?? null)).toEqual({
      data: { auditEvents: null },
      code: 'UPSTREAM_BAD_RESPONSE',
      reason: 'TRAIL_TOO_LONG',
    });
    expect(payload?.errors?.[0]?.message).toMatch(
      /`filter\.since`.*`audit\.parameters\.since`.*`after`/,
    );
  });

  it('with more than ten pages begins at a filter.since that is forwarded', async () => {
    await using live = await startLiveTrail({
      contract: { audit: { ...PAGED, parameters: { since: 'from' } } },
    });
    live.respond((...request) => {
      const { from } = queryOf(request[0].url);
      const all = range(1, 500).map((number) => record(number));
      return paged(
        all.filter(({ time }) => from === undefined || time >= from),
        10,
      )(...request);
    });
    await using stream = await subscribe(live.gateway, { filter: { since: record(380).time } });
    const delivered: string[] = [];
    while (delivered.length < 121) delivered.push(...ids(await stream.nextBatch()));
    expect(delivered).toEqual(range(380, 500).map((number) => `r${number}`));
  });
});

describe('the cursor of a checkpoint', () => {
  const contract = {
    audit: { paging: { style: 'cursor', next: '/next', parameter: 'cursor' } },
  } as const;
  const SIZE = 10;

  /** A handler that lists records from the oldest on, with cursors that are valid only with their prefix. */
  const listed =
    (all: readonly object[], prefix: string, refusal: ServiceResponse): Handler =>
    ({ url }) => {
      const [of, position = '0'] = (queryOf(url)['cursor'] ?? `${prefix}~0`).split('~');
      if (of !== prefix) return refusal;
      const from = Number(position);
      const next = from + SIZE < all.length ? `${prefix}~${from + SIZE}` : null;
      return { body: { events: all.slice(from, from + SIZE), next } };
    };

  /** A checkpoint with a cursor, of a trail with a number of records. */
  const begin = async (live: LiveTrail, count: number) => {
    live.respond(listed(records(...range(1, 95)), 'a', {}));
    await using stream = await subscribe(live.gateway);
    const first = await stream.nextBatch();
    live.respond(listed(records(...range(1, count)), 'a', {}));
    await using second = await subscribe(live.gateway, { after: first.checkpoint });
    let last = await second.nextBatch();
    while (last.hasMore) last = await second.nextBatch();
    live.service.forget();
    return last.checkpoint;
  };
  const requested = (live: LiveTrail) => live.service.seen.map(({ url }) => queryOf(url)['cursor']);

  it.each<[string, ServiceResponse]>([
    ...[400, 404, 410, 422].map((status): [string, ServiceResponse] => [`${status}`, { status }]),
    ['410 in its body', { body: '{"code":410,"message":"expired"}' }],
    ['an empty page', { body: '{"events":[],"next":null}' }],
  ])(
    'is not needed if it has expired (%s): each new event comes once, after the first page',
    async (_, refusal) => {
      await using live = await startLiveTrail({ contract });
      const after = await begin(live, 195);
      live.respond(listed(records(...range(1, 201)), 'b', refusal));
      await using stream = await subscribe(live.gateway, { after });
      const batches = [await stream.nextBatch()];
      while (batches.at(-1)?.hasMore) batches.push(await stream.nextBatch());
      expect(batches.flatMap(ids)).toEqual(range(196, 201).map((number) => `r${number}`));
      expect(batches.some(({ missed }) => missed)).toBe(false);
      expect(requested(live).slice(0, 3)).toEqual([
        expect.stringMatching(/^a~/),
        undefined,
        'b~10',
      ]);
    },
  );

  it.each([
    [400, 'BAD_USER_INPUT'],
    [410, 'NOT_FOUND'],
  ])(
    'has not expired if the first page gets a %i as well: the stream ends with it',
    async (status, code) => {
      await using live = await startLiveTrail({ contract });
      const after = await begin(live, 195);
      live.respond({ status });
      await using stream = await subscribe(live.gateway, { after });
      const [payload] = await stream.rest();
      expect(failureOf(payload ?? null).code).toBe(code);
      expect(requested(live)).toEqual([expect.stringMatching(/^a~/), undefined]);
    },
  );

  it.each([401, 403, 429, 500, 503])(
    'has not expired if it gets a %i: the first page is not read',
    async (status) => {
      await using live = await startLiveTrail({ contract });
      const after = await begin(live, 195);
      const list = listed(records(...range(1, 201)), 'a', {});
      live.respond((...request) =>
        queryOf(request[0].url)['cursor'] === undefined ? list(...request) : { status },
      );
      await using stream = await subscribe(live.gateway, { after });
      const next = stream.next();
      await Promise.race([next, live.pauses.paused()]);
      expect(requested(live)).not.toContain(undefined);
    },
  );

  it('that has expired is followed by `hasMore` until the known records are met, on any number of pages', async () => {
    await using live = await startLiveTrail({ contract });
    const after = await begin(live, 2000);
    live.respond(listed(records(...range(1, 2003)), 'b', { status: 410 }));
    await using stream = await subscribe(live.gateway, { after });
    const batches: Batch<{ readonly id: string }>[] = [];
    while (batches.at(-1)?.hasMore !== false) {
      const batch = stream.nextBatch();
      while ((await Promise.race([batch, live.pauses.paused()])) === undefined)
        live.pauses.resume();
      batches.push(await batch);
    }
    expect(batches.flatMap(ids)).toEqual(['r2001', 'r2002', 'r2003']);
    expect(live.service.seen.length).toBeLessThan(230);
  });

  it('ends `hasMore` after 160 pages without records, each with a new cursor', async () => {
    await using live = await startLiveTrail({ contract });
    const after = await begin(live, 195);
    const list = listed(records(...range(1, 195)), 'a', {});
    let pages = 0;
    live.respond((...request) => {
      const position = Number(queryOf(request[0].url)['cursor']?.split('~')[1] ?? 0);
      if (position < 190) return list(...request);
      pages += 1;
      const events = position === 190 ? records(...range(191, 195)) : [];
      return { body: { events, next: `a~${1000 + pages}` } };
    });
    await using stream = await subscribe(live.gateway, { after });
    const batch = await stream.nextBatch();
    expect([ids(batch), batch.hasMore]).toEqual([[], false]);
    expect(pages).toBeLessThan(200);
  });
});

describe('the order', () => {
  const listed = async (contract: NonNullable<Overrides['contract']>['audit'], size: number) => {
    const live = await startLiveTrail(contract ? { contract: { audit: contract } } : {});
    live.respond({ body: range(1, size).map((number) => ({ id: `r${number}`, action: 'a' })) });
    return live;
  };

  it('of records without times is ORDER_UNKNOWN, which names audit.order', async () => {
    await using live = await listed(undefined, 2);
    await using stream = await subscribe(live.gateway);
    const [payload] = await stream.rest();
    expect(failureOf(payload ?? null)).toMatchObject({
      data: { auditEvents: null },
      reason: 'ORDER_UNKNOWN',
    });
    expect(payload?.errors?.[0]?.message).toContain('`audit.order`');
  });

  it('is not needed for one record without a time', async () => {
    await using live = await listed(undefined, 1);
    await using stream = await subscribe(live.gateway);
    expect(await stream.nextBatch()).toMatchObject(FIRST);
  });

  it.each([
    ['newest-first', ['r0']],
    ['oldest-first', ['r3']],
  ] as const)('of records without times may be given: %s', async (order, delivered) => {
    await using live = await listed({ order }, 2);
    const { next } = await receiveAfter(live, () => {
      const numbers = order === 'newest-first' ? range(0, 2) : range(1, 3);
      live.respond({ body: numbers.map((number) => ({ id: `r${number}`, action: 'a' })) });
    });
    expect(ids(next)).toEqual(delivered);
  });

  it('is inferred once two times differ', async () => {
    await using live = await startLiveTrail();
    const { time } = record(1);
    const equal = [record(1), record(2, { time }), record(3, { time })];
    live.respond({ body: equal });
    const { next } = await receiveAfter(live, () =>
      live.respond({ body: [...equal, record(4), record(5)] }),
    );
    expect(ids(next)).toEqual(['r4', 'r5']);
  });
});

describe('the arguments', () => {
  it.each([4, 301, 0, -1])('every: %i is BAD_USER_INPUT, and nothing is sent', async (every) => {
    await using live = await startLiveTrail();
    await using stream = await subscribe(live.gateway, { every });
    const [payload, ...others] = await stream.rest();
    expect(failureOf(payload ?? null).code).toBe('BAD_USER_INPUT');
    expect(payload?.errors?.[0]?.message).toContain('5 and 300');
    expect(others).toEqual([]);
    expect(live.service.seen).toEqual([]);
  });

  it.each([
    ['5', 5, 5000],
    ['300', 300, 300_000],
    ['null', null, 10_000],
    ['omitted', undefined, 10_000],
  ])('every: %s sets the interval', async (_, every, ms) => {
    await using live = await startLiveTrail();
    await using stream = await subscribe(live.gateway, { every });
    await stream.nextBatch();
    await live.pauses.paused();
    expect(live.pauses.waits).toEqual([ms]);
  });

  it.each([
    ['a text', 'nonsense'],
    ['empty', ''],
    ['a cursor of `audit`', '1.WyJhIiwwLDFd'],
  ])('after: %s is BAD_USER_INPUT, and nothing is sent', async (_, after) => {
    await using live = await startLiveTrail();
    await using stream = await subscribe(live.gateway, { after });
    const [payload] = await stream.rest();
    expect(failureOf(payload ?? null).code).toBe('BAD_USER_INPUT');
    expect(live.service.seen).toEqual([]);
  });

  it.each([
    'http://192.0.2.1/api/v1/audit?page=2',
    '//192.0.2.1/?page=2',
    '/api/v1/secrets?page=2',
  ])('after: a forged checkpoint with the link %s does not leave the list', async (link) => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    const after = encodeCheckpoint({
      known: [],
      isWhole: false,
      order: 'oldest-first',
      start: { link },
      selection: '',
    });
    await using stream = await subscribe(live.gateway, { after });
    await stream.next();
    for (const { url } of live.service.seen) expect(url).toMatch(/^\/api\/v1\/audit(\?|$)/);
  });

  it('after: of a stream with another forwarded filter is BAD_USER_INPUT, and nothing is sent', async () => {
    await using live = await startLiveTrail({
      contract: { audit: { parameters: { actor: 'user' } } },
    });
    const after = await checkpointOf(live, { filter: { actor: 'ann' } });
    live.service.forget();
    for (const filter of [null, { actor: 'bob' }]) {
      await using stream = await subscribe(live.gateway, { after, filter });
      expect(failureOf(await stream.next()).code).toBe('BAD_USER_INPUT');
    }
    expect(live.service.seen).toEqual([]);
    await using stream = await subscribe(live.gateway, {
      after,
      filter: { actor: 'ann', target: 'k' },
    });
    readOn(stream);
    await live.pauses.paused();
    expect(live.service.seen.map(({ url }) => queryOf(url))).toEqual([{ user: 'ann' }]);
  });

  it('after: of a stream with other parameters is BAD_USER_INPUT', async () => {
    await using live = await startLiveTrail();
    const after = await checkpointOf(live, { parameters: [{ name: 'tenant', value: '1' }] });
    await using stream = await subscribe(live.gateway, {
      after,
      parameters: [{ name: 'tenant', value: '2' }],
    });
    expect(failureOf(await stream.next()).code).toBe('BAD_USER_INPUT');
  });

  it('after: may be used with another filter that is not forwarded', async () => {
    await using live = await startLiveTrail();
    const after = await checkpointOf(live, { filter: { actions: ['login'] } });
    await using stream = await subscribe(live.gateway, { after, filter: { actions: ['logout'] } });
    readOn(stream);
    await live.pauses.paused();
    expect(live.service.seen).toHaveLength(2);
    expect(live.pauses.waits).toHaveLength(2);
  });

  it('parameters are forwarded with every poll', async () => {
    await using live = await startLiveTrail();
    const parameters = [{ name: 'tenant', value: 'a b' }];
    await using stream = await subscribe(live.gateway, { parameters });
    await stream.nextBatch();
    readOn(stream);
    await live.poll();
    expect(live.service.seen.map(({ url }) => url)).toEqual(
      Array(2).fill('/api/v1/audit?tenant=a%20b'),
    );
  });

  it('more than 100 parameters are BAD_USER_INPUT', async () => {
    await using live = await startLiveTrail();
    const parameters = Array(101).fill({ name: 'a', value: 'b' });
    await using stream = await subscribe(live.gateway, { parameters });
    expect(failureOf(await stream.next()).code).toBe('BAD_USER_INPUT');
  });

  it('filter: is applied after comparing, so that a payload without events has a new checkpoint', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    const filter = { actions: ['logout'] };
    const { first, next } = await receiveAfter(live, () => live.list(2, 1), { filter });
    expect(next).toMatchObject({ nodes: [], previous: first.checkpoint, missed: false });
    expect(next.checkpoint).not.toBe(first.checkpoint);
    live.respond({ body: [record(3, { action: 'logout' }), ...records(2, 1)] });
    await using stream = await subscribe(live.gateway, { after: next.checkpoint, filter });
    expect(ids(await stream.nextBatch())).toEqual(['r3']);
  });

  it('filter: on a field that the records do not have ends the stream with FIELD_UNREAD', async () => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    await using stream = await subscribe(live.gateway, { filter: { outcome: 'FAILURE' } });
    const [payload, ...others] = await stream.rest();
    expect(failureOf(payload ?? null)).toMatchObject({ reason: 'FIELD_UNREAD' });
    expect(others).toEqual([]);
  });

  it('a pointer that is no JSON pointer is BAD_USER_INPUT, and nothing is sent', async () => {
    await using live = await startLiveTrail();
    const query = 'subscription { auditEvents { nodes { raw(pointer: "x") } checkpoint } }';
    await using stream = await subscribe(live.gateway, {}, { query });
    expect(failureOf(await stream.next()).code).toBe('BAD_USER_INPUT');
    expect(live.service.seen).toEqual([]);
  });
});

/** Reads on, as a client does: the stream polls. The test ends before there is a payload. */
function readOn(stream: Subscription<unknown>): void {
  stream.next().catch(() => {});
}

/** The checkpoint of the first payload. */
async function checkpointOf(live: LiveTrail, variables: object): Promise<string> {
  await using stream = await subscribe(live.gateway, { ...variables });
  const { checkpoint } = await stream.nextBatch();
  return checkpoint;
}

describe('two streams', () => {
  it('with different tokens never see each other’s events', async () => {
    await using live = await startLiveTrail();
    const trails: Record<string, readonly object[]> = { ann: records(1), bob: records(101) };
    const tokenOf = (authorization = '') => authorization.replace('Bearer ', '');
    live.respond(({ headers }) => ({ body: trails[tokenOf(headers.authorization)] ?? [] }));
    // Each polls without a pause.
    await using other = await startLiveTrail({
      pause: () => new Promise((resume) => setImmediate(resume)),
    });
    other.respond(({ headers }) => ({ body: trails[tokenOf(headers.authorization)] ?? [] }));
    await using ann = await subscribe(other.gateway, {}, { token: 'ann' });
    await using bob = await subscribe(other.gateway, {}, { token: 'bob' });
    await Promise.all([ann.nextBatch(), bob.nextBatch()]);
    for (let number = 2; number < 30; number += 1) {
      trails['ann'] = records(...range(number, 1));
      trails['bob'] = records(...range(100 + number, 101));
      const [ofAnn, ofBob] = await Promise.all([ann.nextBatch(), bob.nextBatch()]);
      expect([ids(ofAnn), ids(ofBob)]).toEqual([[`r${number}`], [`r${100 + number}`]]);
    }
    const tokens = other.service.seen.map(({ headers }) => headers.authorization);
    expect(new Set(tokens)).toEqual(new Set(['Bearer ann', 'Bearer bob']));
  });

  it('in one document are rejected', async () => {
    await using live = await startLiveTrail();
    const query =
      'subscription { one: auditEvents { checkpoint } two: auditEvents { checkpoint } }';
    const { errors, status } = await ask(live.gateway, query, {}, { headers: { accept: '*/*' } });
    expect([status, errors?.[0]?.extensions.code]).toEqual([200, 'GRAPHQL_VALIDATION_FAILED']);
    expect(live.service.seen).toEqual([]);
  });
});
