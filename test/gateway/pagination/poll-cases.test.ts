import { describe, expect, it } from 'vitest';
import { decodeCheckpoint, encodeCheckpoint } from '../../../src/gateway/tail/checkpoint.ts';
import {
  type LiveTrail,
  PAGED,
  paged,
  record,
  records,
  startLiveTrail,
} from '../../helpers/live-trail.ts';
import type { Handler } from '../../helpers/service.ts';
import { type Batch, type Subscription, subscribe } from '../../helpers/subscribe.ts';

/** Numbers from one to another, which may be less. */
const range = (from: number, to: number) =>
  Array.from(
    { length: Math.abs(to - from) + 1 },
    (_, index) => from + Math.sign(to - from) * index,
  );
const idsOf = (numbers: readonly number[]) => numbers.map((number) => `r${number}`);

/** Subscribes, and receives all that is new. */
async function receive(live: LiveTrail, after: string | null, filter: object = {}) {
  live.service.forget();
  await using stream = await subscribe(live.gateway, { after, filter });
  const batches = [await stream.nextBatch()];
  while (batches.at(-1)?.hasMore) batches.push(await stream.nextBatch());
  return {
    ids: batches.flatMap(({ nodes }) => nodes.map(({ id }) => id)),
    missed: batches.some(({ missed }) => missed),
    checkpoint: batches.at(-1)?.checkpoint ?? '',
    pages: live.service.seen.map(({ url }) =>
      Number(new URL(url, 'http://service.test').searchParams.get('page') ?? 1),
    ),
  };
}

/** Receives all that is new, in a stream of its own for each payload. */
async function receiveEach(live: LiveTrail, from: string | null, filter: object = {}) {
  const ids: string[] = [];
  let [after, hasMore, missed] = [from, true, false];
  while (hasMore) {
    await using stream: Subscription<{ readonly id: string }> = await subscribe(live.gateway, {
      ...{ after, filter },
    });
    const batch: Batch<{ readonly id: string }> = await stream.nextBatch();
    ids.push(...batch.nodes.map(({ id }) => id));
    [after, hasMore, missed] = [batch.checkpoint, batch.hasMore, missed || batch.missed];
  }
  return { ids, missed };
}

/** Receives all that is new after each change of what the service lists. The first one is where the stream begins. */
async function follow(live: LiveTrail, ...changes: readonly (() => void)[]) {
  const received: Omit<Awaited<ReturnType<typeof receive>>, 'checkpoint'>[] = [];
  let after: string | null = null;
  for (const change of changes) {
    change();
    const { checkpoint, ...rest } = await receive(live, after);
    received.push(rest);
    after = checkpoint;
  }
  return received.slice(1);
}

const oldestFirst = { audit: { ...PAGED, order: 'oldest-first' } } as const;

describe('without a checkpoint', () => {
  const audit = { ...PAGED, order: 'newest-first', event: { occurredAt: '/time' } } as const;
  const untimed = (number: number) => record(number, { time: null });
  const old = (number: number) => record(number, { time: record(0).time });

  it('nothing is new', async () => {
    await using live = await startLiveTrail();
    live.list(4, 3, 2, 1);
    expect(await receive(live, null)).toMatchObject({ ids: [], missed: false });
  });

  it('only what is not older than filter.since is new', async () => {
    await using live = await startLiveTrail();
    live.list(4, 3, 2, 1);
    const since = await receive(live, null, { since: record(3).time });
    expect(since).toMatchObject({ ids: ['r3', 'r4'], missed: false });
  });

  describe.each(['newest-first', 'oldest-first'] as const)(
    '%s, each of 2,000 events comes once to a stream that is resumed after each payload',
    (order) => {
      it.each([
        ['has no time', (number: number) => number === 2000, untimed],
        ['is older than filter.since', (number: number) => number === 2000, old],
        ['has no time, as every third', (number: number) => number % 3 === 2, untimed],
        ['is older, as every third', (number: number) => number % 3 === 2, old],
      ])('if the newest %s', async (_, isOther, create) => {
        await using live = await startLiveTrail({ contract: { audit: { ...audit, order } } });
        const numbers = range(2000, 1);
        const list = numbers.map((number) => (isOther(number) ? create(number) : record(number)));
        live.respond(paged(order === 'newest-first' ? list : list.toReversed(), 250));
        const found = await receiveEach(live, null, { since: record(1).time });
        const ids = idsOf(numbers.toReversed().filter((number) => !isOther(number)));
        expect(found).toEqual({ ids, missed: false });
      });
    },
  );

  it('and without filter.since in the next stream, a newer record without a time comes, too', async () => {
    await using live = await startLiveTrail({ contract: { audit } });
    live.respond(paged([untimed(2000), ...records(...range(1999, 1))], 250));
    const filter = { since: record(1).time };
    await using stream = await subscribe(live.gateway, { filter });
    const { checkpoint } = await stream.nextBatch();
    expect((await receive(live, checkpoint, filter)).ids).toEqual(idsOf(range(1001, 1999)));
    expect((await receive(live, checkpoint)).ids).toEqual(idsOf(range(1001, 2000)));
  });

  it.each([
    ['no record of ten pages is older than filter.since', untimed(0)],
    ['only a late one is', old(0)],
  ])('events may have been missed if %s', async (_, other) => {
    await using live = await startLiveTrail({ contract: { audit } });
    live.respond(
      paged([...records(...range(2099, 110)), other, ...records(...range(109, 1))], 200),
    );
    const found = await receive(live, null, { since: record(1).time });
    expect(found).toMatchObject({ ids: idsOf(range(101, 2099)), missed: true });
  });

  it('none was missed if the last 33 of ten pages that have a time are older', async () => {
    await using live = await startLiveTrail({ contract: { audit } });
    const list = range(2100, 1).map((each) => (each % 10 > 0 ? record(each) : untimed(each)));
    live.respond(paged(list, 200));
    const found = await receive(live, null, { since: record(138).time });
    const ids = idsOf(range(138, 2100).filter((each) => each % 10 > 0));
    expect(found).toMatchObject({ ids, missed: false });
  });
});

describe('if no known record is met', () => {
  it('and the page of the checkpoint was the first of ten, the next poll begins with the first page', async () => {
    await using live = await startLiveTrail({ contract: oldestFirst });
    const [next] = await follow(
      live,
      () => live.respond(paged(records(...range(1, 65)), 7)),
      () => live.respond(paged(records(...range(38, 140)), 7)), // the known ones have moved to earlier pages
    );
    expect(next).toMatchObject({ ids: idsOf(range(66, 140)), missed: false });
    expect(next?.pages.slice(0, 11)).toEqual([...range(5, 14), 1]);
  });

  it('in an empty response, the next poll begins where this one did', async () => {
    await using live = await startLiveTrail({ contract: oldestFirst });
    const [empty, next] = await follow(
      live,
      () => live.respond(paged(records(...range(1, 195)), 20)),
      () => live.respond(paged([], 20)),
      () => live.respond(paged(records(...range(1, 196)), 20)),
    );
    expect(empty).toMatchObject({ ids: [], missed: false });
    expect(next).toEqual({ ids: ['r196'], missed: false, pages: [7, 8, 9, 10] });
  });

  it('and newer pages follow, nothing is new yet, and the next poll begins with the first of them', async () => {
    await using live = await startLiveTrail({ contract: oldestFirst });
    const [next] = await follow(
      live,
      () => live.respond(paged(records(...range(1, 90)), 100)),
      () => live.respond(paged(records(...range(1, 93)), 2)), // smaller pages
    );
    expect(next).toMatchObject({ ids: ['r91', 'r92', 'r93'], missed: false });
    expect(next?.pages.slice(0, 20)).toEqual(range(1, 20));
  });

  it('and none can follow, all that was read is new, and events may have been missed', async () => {
    await using live = await startLiveTrail();
    const [next, later] = await follow(
      live,
      () => live.list(2, 1),
      () => live.list(9, 8),
      () => live.list(10, 9, 8, 2, 1),
    );
    expect(next).toMatchObject({ ids: ['r8', 'r9'], missed: true });
    expect(later).toMatchObject({ ids: ['r10'], missed: false });
  });

  it('and the poll began after them, all that was read is new, and 31 of them stay known', async () => {
    const paging = { style: 'cursor', next: '/next', parameter: 'page' } as const;
    const audit = { paging, order: 'oldest-first' } as const;
    await using live = await startLiveTrail({ contract: { audit } });
    const listed =
      (...pages: readonly (readonly object[])[]): Handler =>
      ({ url }) => {
        const page = Number(new URL(url, 'http://service.test').searchParams.get('page') ?? 1);
        return { body: { events: pages[page - 1], next: page < pages.length ? page + 1 : null } };
      };
    live.respond(listed(records(...range(1, 70))));
    const { checkpoint } = await receive(live, null);
    live.respond(
      listed(records(...range(1, 70)), ...range(1, 10).map(() => []), records(71, 72, 73)),
    );
    const next = await receive(live, checkpoint);
    expect(next).toMatchObject({ ids: ['r71', 'r72', 'r73'], missed: false });
    expect(decodeCheckpoint(next.checkpoint).known).toHaveLength(3 + 31);
  });
});

describe('if a known record is met', () => {
  it('what comes after the last one is old, and those that were not met stay known in their places', async () => {
    await using live = await startLiveTrail();
    const [next, later] = await follow(
      live,
      () => live.list(...range(200, 101)),
      () => live.list(...range(240, 201), ...range(167, 101)), // an incomplete response
      () => live.list(...range(241, 101)),
    );
    expect(next).toMatchObject({ ids: idsOf(range(201, 240)), missed: false });
    expect(later).toMatchObject({ ids: ['r241'], missed: false });
  });

  it.each(['newest-first', 'oldest-first'] as const)(
    'each late record comes, however many are in a row, to a stream that is resumed after each payload, %s',
    async (order) => {
      const contract = { audit: { ...PAGED, order } };
      await using live = await startLiveTrail({ contract, graphqlMaxBytes: 2 ** 16 });
      const list = (all: readonly object[]) =>
        live.respond(paged(order === 'newest-first' ? all : all.toReversed(), 100));
      list(records(...range(200, 1)));
      const { checkpoint } = await receive(live, null);
      const late = range(1800, 1001).map((number) => record(190, { id: `r${number}` }));
      list([...records(...range(200, 191)), ...late, ...records(...range(190, 1))]);
      const found = await receiveEach(live, checkpoint);
      expect(found).toEqual({ ids: idsOf(range(1001, 1800)), missed: false });
    },
  );

  it('events before it that have not come do, after a checkpoint of an earlier version that knows the newest', async () => {
    await using live = await startLiveTrail();
    live.list(...range(2000, 1));
    const [newest = ''] = decodeCheckpoint((await receive(live, null)).checkpoint).known;
    live.list(...range(1000, 1));
    const before = decodeCheckpoint((await receive(live, null)).checkpoint);
    live.list(...range(2000, 1));
    const after = encodeCheckpoint({ ...before, known: [newest, ...before.known.slice(0, 63)] });
    expect(await receive(live, after)).toMatchObject({
      ids: idsOf(range(1001, 1999)),
      missed: false,
    });
  });

  it('and newer pages follow, those that were not met stay known as the newest', async () => {
    await using live = await startLiveTrail({ contract: oldestFirst });
    const late = range(1001, 1190);
    const [next] = await follow(
      live,
      () => live.respond(paged(records(...range(1, 200)), 20)),
      () => live.respond(paged(records(...range(1, 150), ...late, ...range(151, 201)), 20)),
    );
    expect(next).toMatchObject({ ids: idsOf([...late, 201]), missed: false });
  });

  it('and all records that the list has had are known, each other record is new', async () => {
    await using live = await startLiveTrail();
    const [next, later] = await follow(
      live,
      () => live.list(...range(64, 1)),
      () => live.list(...range(96, 65), ...range(31, 0)), // an incomplete response
      () => live.list(...range(97, 0)),
    );
    expect(next).toMatchObject({ ids: idsOf([0, ...range(65, 96)]), missed: false });
    expect(later).toMatchObject({ ids: ['r97'], missed: false });
  });

  it('and all that the list has had are known, and newer pages follow, each other record is new, and those that were not met stay known as the newest', async () => {
    await using live = await startLiveTrail({ contract: oldestFirst });
    const late = range(1001, 1090);
    const [next] = await follow(
      live,
      () => live.respond(paged(records(...range(1, 60)), 10)),
      () => live.respond(paged(records(...range(0, 20), ...late, ...range(21, 61)), 10)),
    );
    expect(next).toMatchObject({ ids: idsOf([0, ...late, 61]), missed: false });
  });
});
