import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keytrailInProcess } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
});
afterAll(() => rm(folder, { recursive: true }));

const event = (id: number, time: string) => ({ id: `e${id}`, time, action: 'a', actor: 'ann' });
const times = ['2026-11-21T08:00:00Z', '2026-11-21T09:00:00Z', '2026-11-21T10:00:00Z'];

describe('a burst of events with one time', () => {
  it.each([
    ['newest-first', 300],
    ['oldest-first', 300],
    ['newest-first', 1500],
  ] as const)('in a trail from the %s does not end an export: %i events', async (order, size) => {
    let trail = times.map((time, index) => event(index, time));
    await using service = await startService(({ url }) => {
      const { searchParams } = new URL(url, 'http://service.test');
      const page = Number(searchParams.get('page') ?? 1);
      const all = order === 'newest-first' ? trail.toReversed() : trail;
      const next = page * 200 < all.length ? `/api/v1/audit?page=${page + 1}` : null;
      return { body: { events: all.slice((page - 1) * 200, page * 200), next } };
    });
    const checkpoint = join(folder, `${order}-${size}.json`);
    const run = async () => {
      await using command = keytrailInProcess(['audit', '--checkpoint', checkpoint], {
        UPSTREAM_URL: service.url,
        KEYTRAIL_TOKEN: 'a',
      });
      const status = await command.status;
      const ids = command.output.stdout.split('\n').slice(0, -1);
      return { status, ids: ids.map((line) => JSON.parse(line).id) };
    };
    expect((await run()).status).toBe(0);
    const burst = Array.from({ length: size }, (_, index) =>
      event(100 + index, '2026-11-21T11:00:00Z'),
    );
    trail = [...trail, ...burst];
    const second = await run();
    expect(second.ids.toSorted()).toEqual(burst.map(({ id }) => id).toSorted());
    expect(second.status).toBe(0);
    // Those before are removed: nothing but the checkpoint shows the order.
    trail = [...burst, ...burst.map(({ id, ...rest }) => ({ id: `${id}b`, ...rest }))];
    const third = await run();
    expect(third.ids.toSorted()).toEqual(burst.map(({ id }) => `${id}b`).toSorted());
  });
});
