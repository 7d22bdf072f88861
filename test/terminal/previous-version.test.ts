import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digest } from '../../src/util/digest.ts';
import { ask, gatewayOver, type Result } from '../helpers/gateway.ts';
import { type Order, startPagedTrail } from '../helpers/paged-trail.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { PAGING_CONVENTIONS, RECORDS } from '../helpers/published-paging.ts';
import { startService } from '../helpers/service.ts';
import { subscribe } from '../helpers/subscribe.ts';

/** What the last version whose cursors name no next page has written. */
type Fixture = {
  /** By convention and by record: the cursors of edges. */
  readonly cursors: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By order and number of events: the checkpoint of a stream that begins. */
  readonly streams: Readonly<Record<string, string>>;
  readonly exports: Readonly<
    Record<string, { readonly order: Order; readonly count: number; readonly content: object }>
  >;
  readonly session: object;
};

const PATH = new URL('../fixtures/previous-version.json', import.meta.url);
const { cursors, streams, exports, session }: Fixture = JSON.parse(await readFile(PATH, 'utf8'));

/** Events on a page of the trails. */
const SIZE = 10;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-previous-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(url: string, args: readonly string[], token?: string) {
  const environment = { UPSTREAM_URL: url, ...(token && { KEYTRAIL_TOKEN: token }) };
  await using command = keytrailInProcess(['audit', ...args], environment);
  const status = await command.status;
  const lines = command.output.stdout.split('\n').slice(0, -1);
  return { status, ids: lines.map((line): string => JSON.parse(line).id) };
}

type Audit = { readonly audit: { readonly nodes: readonly { readonly id: string }[] } | null };

describe('what the previous version has written', () => {
  it.each(Object.keys(cursors))('is read: each cursor with paging as in %s', async (name) => {
    const convention = PAGING_CONVENTIONS.find((one) => one.name === name);
    if (convention === undefined) throw new Error(name);
    await using service = await startService(({ url, headers }) => {
      const base = `http://${headers.host}`;
      return convention.respond(new URL(url, base), base);
    });
    const { paging } = convention;
    const contract = typeof paging === 'object' && paging !== null ? { audit: { paging } } : {};
    await using gateway = gatewayOver(service.url, { contract });
    for (const [id, after] of Object.entries(cursors[name] ?? {})) {
      const query = 'query ($after: String) { audit(first: 1, after: $after) { nodes { id } } }';
      const { data }: Result<Audit> = await ask(gateway, query, { after }, { token: 't' });
      const index = RECORDS.findIndex((record) => record.id === id);
      if (data?.audit)
        expect(data.audit.nodes).toEqual(
          RECORDS.slice(index + 1, index + 2).map(({ id: next }) => ({ id: next })),
        );
      else expect(typeof paging).toBe('string'); // no contract can say how to read on
    }
  });

  it.each(Object.entries(streams))('is continued: a stream of a trail, %s', async (name, after) => {
    const [order = '', count] = name.split(' ');
    await using trail = await startPagedTrail(order as Order, Number(count), undefined, SIZE);
    await using gateway = gatewayOver(trail.url);
    trail.add(3);
    await using stream = await subscribe(gateway, { after });
    const { nodes, missed } = await stream.nextBatch();
    const expected = [1, 2, 3].map((number) => ({ id: `e${Number(count) + number}` }));
    expect([nodes, missed]).toEqual([expected, false]);
  });

  it.each(Object.entries(exports))('is continued: an export, %s', async (name, saved) => {
    const { order, count, content } = saved;
    const written = /broken off/.test(name) ? 10 * SIZE : count;
    await using trail = await startPagedTrail(order, count, undefined, SIZE);
    const own = join(folder, 'own');
    await run(trail.url, ['--checkpoint', own], 't');
    const { of } = JSON.parse(await readFile(own, 'utf8')); // it has the port of the service
    await rm(own);
    const file = join(folder, 'export');
    await writeFile(file, JSON.stringify({ ...content, of }));
    trail.add(3);
    const { status, ids } = await run(trail.url, ['--checkpoint', file], 't');
    const all = trail.ids();
    const rest =
      order === 'newest-first' ? all.slice(0, count - written) : all.slice(written, count);
    expect(status).toBe(0);
    expect(ids.toSorted()).toEqual([...rest, ...all.slice(count)].toSorted());
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
