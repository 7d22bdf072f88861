import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Order, startPagedTrail, trailEvent } from '../helpers/paged-trail.ts';
import { keytrailInProcess, startInTerminal } from '../helpers/process.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-table-'));
});
afterAll(() => rm(folder, { recursive: true }));

const FIELDS = ['--fields', 'id'];

const idsIn = (text: string) => [...text.matchAll(/\be(\d+)\b/g)].map(([, id]) => Number(id));
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('a table that follows the trail', () => {
  it.each<readonly [Order, number]>([
    ['newest-first', 250],
    ['newest-first', 2400],
    ['oldest-first', 250],
  ])(
    'prints what was there oldest first, from a trail that is %s with %i events',
    async (order, count) => {
      await using trail = await startPagedTrail(order, count);
      const since = trailEvent(101).at;
      const args = ['audit', '--follow', '--since', since, '--output', 'table', ...FIELDS];
      const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: 't' };
      await using process = keytrailInProcess(args, environment);
      await process.until(new RegExp(`\\be${count}\\b`));
      expect(idsIn(process.output.stdout)).toEqual(range(101, count));
    },
  );

  it('saves its checkpoint once that is printed', async () => {
    await using trail = await startPagedTrail('newest-first', 2400);
    const path = join(folder, 'checkpoint.json');
    let saved = '';
    let pages = 0;
    trail.intercept(async () => {
      pages += 1;
      if (pages === 20) saved = await readFile(path, 'utf8').catch(() => '');
      return undefined;
    });
    const args = ['audit', '-f', '--checkpoint', path, '--since', trailEvent(1).at];
    const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: 't' };
    await using process = keytrailInProcess([...args, '-otable', ...FIELDS], environment);
    await process.until(/\be2400\b/);
    expect(idsIn(process.output.stdout)).toEqual(range(1, 2400));
    expect(JSON.parse(saved)).toMatchObject({ walk: { cursor: null, found: 0 }, keys: [] });
  });

  it('prints other formats in the order of the trail', async () => {
    await using trail = await startPagedTrail('newest-first', 150);
    const args = ['audit', '--follow', '--since', trailEvent(101).at, ...FIELDS];
    const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: 't' };
    await using process = keytrailInProcess(args, environment);
    await process.until(/"e101"/);
    expect(idsIn(process.output.stdout)).toEqual(range(101, 150).toReversed());
  });
});

describe('a table without room for its columns', () => {
  it.each([
    [40, 'action, target, ipAddress'],
    [60, 'ipAddress'],
  ])('of %i columns says on stderr which are left out', async (columns, names) => {
    await using trail = await startPagedTrail('newest-first', 3);
    const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: 't', NO_COLOR: '1' };
    await using process = startInTerminal(environment, ['audit', '2>&1'], columns);
    expect(await process.status).toBe(0);
    const notes = process.output.stdout.match(/^Left out.*$/gm) ?? [];
    expect(notes).toEqual([`Left out for lack of room: ${names}. --fields chooses columns.`]);
  });

  it('of 120 columns says nothing', async () => {
    await using trail = await startPagedTrail('newest-first', 3);
    const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: 't', NO_COLOR: '1' };
    await using process = startInTerminal(environment, ['audit'], 120);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).not.toContain('Left out');
  });
});
