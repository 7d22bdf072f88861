import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { REFUSALS, STYLES, startCursorTrail } from '../helpers/cursor-trail.ts';
import { type Order, trailEvent } from '../helpers/paged-trail.ts';
import { keytrailInProcess } from '../helpers/process.ts';

// The end of a trail of more than ten pages cannot be reached by the live tail: it is read by cursor.
describe.each([
  ['a live tail', 500],
  ['a walk by cursor', 2500],
])('exports of %s, of a service whose cursors live for one run,', (_, count) => {
  it.each(STYLES)('write each event once, with paging by %s', async (style) => {
    await using trail = await startCursorTrail(count, { style });
    const runs = [];
    for (let run = 0; run < 3; run += 1) runs.push(await trail.export());
    expect(runs.map(({ status, stderr }) => [status, stderr])).toEqual(Array(3).fill([0, '']));
    expect(runs.map(({ ids }) => ids.length)).toEqual([count, 0, 0]);
    trail.add(130);
    runs.push(await trail.export());
    trail.addLate(20);
    trail.add(1);
    runs.push(await trail.export());
    expect(runs.map(({ status }) => status)).toEqual(Array(5).fill(0));
    expect(runs.map(({ ids }) => ids.length)).toEqual([count, 0, 0, 130, 2]);
    expect(new Set(runs.flatMap(({ ids }) => ids))).toEqual(new Set(trail.ids()));
  });

  it.each(Object.entries(REFUSALS))(
    'write each event once if an expired cursor gets %s',
    async (_name, refusal) => {
      await using trail = await startCursorTrail(count, { refusal });
      const runs = [];
      for (const more of [0, 7, 0, 150]) {
        trail.add(more);
        runs.push(await trail.export());
      }
      expect(runs.map(({ status, ids }) => [status, ids.length])).toEqual(
        [count, 7, 0, 150].map((length) => [0, length]),
      );
      expect(runs.flatMap(({ ids }) => ids)).toEqual(trail.ids());
    },
  );

  it('write each event once if equal records without IDs are among those that were written', async () => {
    const toEvent = (number: number) => ({
      ...{ at: trailEvent(Math.floor(number / 3)).at, action: 'heartbeat', actor: { id: 'ann' } },
    });
    await using trail = await startCursorTrail(count, { toEvent });
    const lengths = [];
    for (const more of [0, 8, 0]) {
      trail.add(more);
      lengths.push((await trail.export()).ids.length);
    }
    expect(lengths).toEqual([count, 8, 0]);
  });

  it('end with 3 or 6 if the request itself is refused, and the next one writes what is new', async () => {
    await using trail = await startCursorTrail(count);
    await trail.export();
    const before = await readFile(trail.checkpoint, 'utf8');
    trail.add(3);
    for (const [status, code] of [
      [400, 'BAD_USER_INPUT'],
      [404, 'NOT_FOUND'],
      [401, 'UNAUTHENTICATED'],
      [403, 'FORBIDDEN'],
    ] as const) {
      trail.intercept(() => ({ status }));
      const refused = await trail.export();
      expect([refused.status, refused.ids]).toEqual([status === 401 ? 6 : 3, []]);
      expect(refused.stderr).toContain(code);
      expect(refused.stderr).not.toContain('new checkpoint file');
    }
    expect(await readFile(trail.checkpoint, 'utf8')).toBe(before);
    trail.intercept(() => undefined);
    const last = await trail.export();
    expect([last.status, last.ids]).toEqual([0, trail.ids().slice(-3)]);
  });

  it('end with 5 if no known event is in the trail any more, and write all that it has, once', async () => {
    await using trail = await startCursorTrail(count);
    await trail.export();
    trail.replace(count);
    const lost = await trail.export();
    expect([lost.status, lost.ids.toSorted()]).toEqual([5, trail.ids().toSorted()]);
    expect(lost.stderr).toContain('events may have been missed');
    expect(lost.stderr).toContain('run the export more often');
    trail.add(4);
    const next = await trail.export();
    expect([next.status, next.ids]).toEqual([0, trail.ids().slice(-4)]);
  });

  it('change nothing if the trail is empty for a while, as on a replica that has not caught up', async () => {
    await using trail = await startCursorTrail(count);
    await trail.export();
    trail.intercept(() => ({ body: { events: [], next: null } }));
    const empty = await trail.export();
    expect([empty.status, empty.ids]).toEqual([0, []]);
    trail.intercept(() => undefined);
    trail.add(5);
    const next = await trail.export();
    expect([next.status, next.ids]).toEqual([0, trail.ids().slice(-5)]);
  });
});

describe('a saved cursor', () => {
  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [429, 'RATE_LIMITED'],
    [500, 'UPSTREAM_ERROR'],
    [503, 'UPSTREAM_ERROR'],
  ])(
    'is not taken for expired after a %i: the export ends, and does not begin again',
    async (status, code) => {
      await using trail = await startCursorTrail(2500);
      await trail.export({ keepsCursors: true });
      const requests = trail.seen.length;
      const headers = status === 429 ? { 'retry-after': '600' } : {}; // longer than it waits
      trail.intercept(({ url }) => (url.includes('cursor=') ? { status, headers } : undefined));
      const failed = await trail.export({ keepsCursors: true });
      expect([failed.status, failed.ids]).toEqual([status === 401 ? 6 : 3, []]);
      expect(failed.stderr).toContain(code);
      expect(trail.cursors().slice(requests)).not.toContain(null);
    },
  );

  it('that is valid is used: the trail is not read from its beginning', async () => {
    await using trail = await startCursorTrail(2500);
    await trail.export({ keepsCursors: true });
    const requests = trail.seen.length;
    trail.add(4);
    const { ids } = await trail.export({ keepsCursors: true });
    expect(ids).toEqual(trail.ids().slice(-4));
    expect(trail.cursors().slice(requests)).not.toContain(null);
  });

  it('of a live tail that has expired is passed over more than 160 pages', async () => {
    await using trail = await startCursorTrail(90, { size: 10 });
    await trail.export();
    trail.add(1620);
    expect((await trail.export()).ids).toHaveLength(1620);
    trail.add(5);
    expect((await trail.export()).ids).toEqual(trail.ids().slice(-5)); // after a pause of 5 seconds
  });

  it('of a running gateway that has expired is passed over as well', async () => {
    await using trail = await startCursorTrail(2500);
    await using gateway = keytrailInProcess([], { ...trail.environment, PORT: '0' });
    const [, url = ''] = await gateway.until(/GraphQL +(http:\/\/\S+)\/graphql/);
    const ids = [];
    for (const more of [0, 6, 0]) {
      trail.add(more);
      const args = ['--gateway', url];
      const run = await trail.export({ args, environment: { UPSTREAM_URL: '' } });
      expect(run.status).toBe(0);
      ids.push(...run.ids);
    }
    expect(ids).toEqual(trail.ids());
  });

  it.each<Order>(['newest-first', 'oldest-first'])(
    'of an export that was broken off is passed over: the rest is written once, %s',
    async (order) => {
      await using trail = await startCursorTrail(950, { order, size: 10 });
      trail.intercept(({ url }) => (/~50[01]$/.test(url) ? { status: 500 } : undefined));
      const first = await trail.export();
      expect(first.status).toBe(1);
      expect(first.ids.length).toBeGreaterThan(0);
      expect(first.ids.length).toBeLessThan(900);
      trail.intercept(() => undefined);
      trail.add(12);
      const ids = [...first.ids];
      for (let run = 0; run < 2; run += 1) {
        const { status, ids: more } = await trail.export();
        expect(status).toBe(0);
        ids.push(...more);
      }
      expect(ids.toSorted()).toEqual(trail.ids().toSorted());
    },
  );
});
