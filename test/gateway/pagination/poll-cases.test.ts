import { describe, expect, it } from 'vitest';
import { decodeCheckpoint } from '../../../src/gateway/tail/checkpoint.ts';
import {
  type LiveTrail,
  PAGED,
  paged,
  record,
  records,
  startLiveTrail,
} from '../../helpers/live-trail.ts';
import type { Handler } from '../../helpers/service.ts';
import { subscribe } from '../../helpers/subscribe.ts';

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
  it('only what is not older than filter.since is new', async () => {
    await using live = await startLiveTrail();
    live.list(4, 3, 2, 1);
    const since = await receive(live, null, { since: record(3).time });
    expect(since).toMatchObject({ ids: ['r3', 'r4'], missed: false });
    expect(await receive(live, null)).toMatchObject({ ids: [], missed: false });
  });

  it('events may have been missed if no record that was read is older than filter.since', async () => {
    const audit = { ...PAGED, order: 'newest-first', event: { occurredAt: '/time' } } as const;
    await using live = await startLiveTrail({ contract: { audit } });
    const untimed = record(0, { time: 'unknown' }); // is not after any instant
    const newer = range(2099, 1120);
    live.respond(paged([...records(...newer), untimed, ...records(...range(1119, 1))], 200));
    await using stream = await subscribe(live.gateway, { filter: { since: record(1).time } });
    const first = await stream.nextBatch();
    expect(first.nodes.map(({ id }) => id)).toEqual(idsOf(range(101, 1100)));
    expect(first.missed).toBe(true);
    expect((await receive(live, first.checkpoint)).ids).toEqual(idsOf(range(1101, 2099)));
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
