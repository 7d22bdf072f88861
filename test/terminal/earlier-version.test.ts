import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { decodeCursor } from '../../src/gateway/pagination/cursor.ts';
import { decodeCheckpoint } from '../../src/gateway/tail/checkpoint.ts';
import { digest } from '../../src/util/digest.ts';
import { record, startLiveTrail } from '../helpers/live-trail.ts';
import { type Order, startPagedTrail, trailEvent } from '../helpers/paged-trail.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';
import { subscribe } from '../helpers/subscribe.ts';

/** A text, and what was read from it. */
type Saved = Readonly<Record<string, { readonly text: string; readonly decoded: unknown }>>;

/** What the last version whose times had three digits has written. */
type Fixture = {
  readonly cursors: Saved;
  readonly checkpoints: Saved;
  readonly streams: readonly {
    readonly as?: 'epoch-seconds';
    readonly filter: object;
    readonly checkpoint: string;
  }[];
  readonly exports: Readonly<Record<string, object>>;
  readonly session: object;
};

const PATH = new URL('../fixtures/earlier-version.json', import.meta.url);
const { cursors, checkpoints, streams, exports, session }: Fixture = JSON.parse(
  await readFile(PATH, 'utf8'),
);

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-earlier-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(url: string, args: readonly string[], token?: string) {
  const environment = { UPSTREAM_URL: url, ...(token && { KEYTRAIL_TOKEN: token }) };
  await using command = keytrailInProcess(['audit', ...args], environment);
  const status = await command.status;
  const ids = command.output.stdout.split('\n').slice(0, -1);
  return { status, ids: ids.map((line): string => JSON.parse(line).id) };
}

describe('what an earlier version has written', () => {
  it.each(Object.keys(cursors))('is read: a cursor %s', (name) => {
    const { text = '', decoded } = cursors[name] ?? {};
    expect(decodeCursor(text)).toEqual(decoded);
  });

  it.each(Object.keys(checkpoints))('is read: a checkpoint %s', (name) => {
    const { text = '', decoded } = checkpoints[name] ?? {};
    expect(decodeCheckpoint(text)).toEqual(decoded);
  });

  it.each(
    streams.map(({ as, filter, checkpoint }) => [JSON.stringify(filter), as, checkpoint] as const),
  )('is continued: a stream with %s of records with the format %s', async (text, as, after) => {
    const filter: object = JSON.parse(text);
    const event = as === undefined ? {} : { event: { occurredAt: { at: '/time', as } } };
    const contract: ConfiguredContract = {
      audit: { parameters: { since: 'from', until: 'to' }, ...event },
    };
    await using live = await startLiveTrail({ contract });
    live.list(4, 3, 2, 1);
    await using stream = await subscribe(live.gateway, { filter, after });
    const next = await stream.nextBatch();
    expect(next.nodes).toEqual([{ id: 'r4' }]);
    const other = { filter: { ...filter, since: record(2).time }, after: next.checkpoint };
    await using refused = await subscribe(live.gateway, other);
    expect((await refused.next())?.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });

  it.each<readonly [string, Order, number, readonly [number, string], readonly number[]]>([
    ['that was complete', 'newest-first', 5, [0, ''], [6, 7]],
    [
      ...(['that was broken off', 'newest-first', 1205, [3, '00:00:03.1230001']] as const),
      [...Array.from({ length: 203 }, (_, index) => 3 + index), 1206, 1207],
    ],
    [
      ...(['that was broken off', 'newest-first', 1205, [3, '00:00:03.122999']] as const),
      [...Array.from({ length: 202 }, (_, index) => 4 + index), 1206, 1207],
    ],
    ['by cursor', 'oldest-first', 1205, [1200, '00:20:00.50000001'], [1200, 1206, 1207]],
    ['by cursor', 'oldest-first', 1205, [1200, '00:20:00.49999999'], [1206, 1207]],
  ])('is continued: an export %s', async (name, order, count, [number, clock], expected) => {
    const toEvent = (one: number) => {
      const event = trailEvent(one);
      return one === number ? { ...event, at: `2026-01-01T${clock}Z` } : event;
    };
    await using trail = await startPagedTrail(order, count + 2, toEvent);
    const own = join(folder, 'own');
    await run(trail.url, ['--checkpoint', own], 't');
    const { of } = JSON.parse(await readFile(own, 'utf8')); // it has the port of the service
    await rm(own);
    const file = join(folder, 'export');
    await writeFile(file, JSON.stringify({ ...exports[name], of }));
    const { status, ids } = await run(trail.url, ['--checkpoint', file], 't');
    expect(status).toBe(0);
    expect(ids.toSorted()).toEqual(expected.map((one) => `e${one}`).toSorted());
    expect((await run(trail.url, ['--checkpoint', file], 't')).ids).toEqual([]);
  });

  it('is read: the session of a login', async () => {
    await using service = await startService({ body: [{ id: 'a' }] });
    const file = join(folder, 'session');
    const text = JSON.stringify({ ...session, owner: digest(`${service.url}/`, 12) });
    await writeFile(file, text);
    expect(await run(service.url, ['--session', file])).toEqual({ status: 0, ids: ['a'] });
    expect(service.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer saved-access-token',
    ]);
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});
