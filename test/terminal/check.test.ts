import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeContract } from '../../src/gateway/inference/complete-contract.ts';
import { EVENT_ENTRIES } from '../../src/gateway/inference/event-entries.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { interpretPointer } from '../../src/gateway/mapping/json-pointer.ts';
import { recordsAt } from '../../src/gateway/mapping/list-page.ts';
import { cutToMillis, parseTime } from '../../src/gateway/mapping/time.ts';
import { createFolder, runFor, TOKEN, withoutLogin } from '../helpers/recording.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';
import { samplesOf } from '../shapes/shapes.ts';

let folder: Awaited<ReturnType<typeof createFolder>>;
beforeAll(async () => {
  folder = await createFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

type Entry = {
  readonly entry: string;
  readonly change: string;
  readonly recorded: readonly { readonly at: string; readonly found?: number }[];
};

type Report = {
  readonly drift: boolean;
  readonly entries: readonly Entry[];
  readonly newKeys: readonly string[];
};

/** Records a service whose response can be changed, and checks it as often as wanted. */
async function startChecking(response: ServiceResponse, contract: ConfiguredContract = {}) {
  let current = response;
  const service = await startService(() => current);
  const options = { contract: await folder.write('check.contract.json', contract) };
  const from = folder.pathOf('service.har');
  const recorded = await runFor(service.url, ['record', '--to', from, '--pages', '1'], options);
  expect(recorded.stderr).toMatch(/^Recorded/);
  return {
    url: service.url,
    from,
    check: async (changed: ServiceResponse, ...args: readonly string[]) => {
      current = changed;
      return await runFor(service.url, ['check', '--from', from, ...args], options);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

type Mutable = Record<string, unknown>;

/** The object or array that holds the value at a pointer, and the key of the value. */
function holderOf(value: unknown, pointer: string): readonly [Mutable | undefined, string] {
  const at = pointer.lastIndexOf('/');
  const holder = interpretPointer(pointer.slice(0, at))(value);
  const key = pointer
    .slice(at + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
  return [typeof holder === 'object' && holder !== null ? (holder as Mutable) : undefined, key];
}

function toOtherFormat(value: unknown): unknown {
  const time = parseTime(value);
  if (typeof value === 'string' && time !== null && !/^\d+$/.test(value))
    return Date.parse(cutToMillis(time)) / 1000;
  return time ?? '20.11.2026 16:07';
}

/** Those of which fields are read: there is nothing to find in the others. */
const samples = samplesOf('audit').filter(({ response, contract }) => {
  const { event } = completeContract(response, contract ?? {}).audit;
  return EVENT_ENTRIES.filter(({ entryOf }) => entryOf(event) !== null).length > 1;
});

describe('keytrail check', () => {
  it.each(samples)('finds each change of $name, and accepts new keys', async (sample) => {
    const { response, contract } = sample;
    await using checking = await startChecking(response, withoutLogin(contract));
    const checkBody = async (change: (body: unknown, records: readonly unknown[]) => unknown) => {
      const body = structuredClone(response.body);
      const records = recordsAt(placesOf('records')[0] ?? null, body) ?? [];
      const headers = { ...response.headers };
      const changed = change(body, records) ?? body;
      return await checking.check({ ...response, headers, body: changed }, '--output', 'json');
    };
    const same = await checking.check(response, '--output', 'json');
    const report: Report = JSON.parse(same.stdout);
    const placesOf = (name: string) =>
      report.entries.find(({ entry }) => entry === name)?.recorded.map(({ at }) => at) ?? [];
    expect(report.entries.filter(({ change }) => change !== 'same')).toEqual([]);
    expect(report).toMatchObject({ drift: false, newKeys: [] });
    expect(same.status).toBe(0);

    const fields = report.entries.filter(({ recorded: [place] }) => place?.found !== undefined);
    expect(fields.length).toBeGreaterThan(1);
    for (const { entry } of fields)
      for (const pointer of placesOf(entry)) {
        const renamed = await checkBody((_, records) => {
          for (const record of records) {
            const [holder, key] = holderOf(record, pointer);
            if (holder === undefined || !(key in holder)) continue;
            holder[Array.isArray(holder) ? '7' : `zz ${key} zz`] = holder[key];
            delete holder[key];
          }
        });
        const entries: readonly Entry[] = JSON.parse(renamed.stdout).entries;
        const change = entries.find((one) => one.entry === entry)?.change;
        expect(`${entry} ${pointer} ${change} ${renamed.status}`).toMatch(
          / (?:lost|moved|format) 1$/,
        );
      }

    const times = placesOf('occurredAt');
    if (times.length > 0) {
      const other = await checkBody((_, records) => {
        for (const record of records)
          for (const pointer of times) {
            const [holder, key] = holderOf(record, pointer);
            if (holder?.[key] != null) holder[key] = toOtherFormat(holder[key]);
          }
      });
      const entries: readonly Entry[] = JSON.parse(other.stdout).entries;
      // Another time of the record may take its place.
      expect(`${entries.find(({ entry }) => entry === 'occurredAt')?.change}`).toMatch(
        /^(?:format|moved)$/,
      );
      expect(other.status).toBe(1);
    }

    const moved = await checkBody((body) =>
      Array.isArray(body) ? { items: body } : { outer: body },
    );
    expect(JSON.parse(moved.stdout).entries[0]).toMatchObject({ entry: 'records' });
    expect(moved.status).toBe(1);

    const added = await checkBody((body, records) => {
      for (const record of records) Object.assign(Object(record), { zzz: true, yyy: false });
      if (!Array.isArray(body)) Object.assign(Object(body), { xxx: true });
    });
    expect(JSON.parse(added.stdout).newKeys).toEqual(expect.arrayContaining(['/zzz', '/yyy']));
    expect(added.status, added.stdout).toBe(0);
  });

  it.each(samples)('finds that the paging of $name is gone', async ({ response, contract }) => {
    await using checking = await startChecking(response, withoutLogin(contract));
    const { stdout } = await checking.check(response, '--output', 'json');
    const { entries }: Report = JSON.parse(stdout);
    const body = structuredClone(response.body);
    const { link = '', ...headers } = response.headers;
    let isChanged = link.includes('next');
    for (const { entry, recorded } of entries)
      for (const { at: pointer } of /^(?:total|paging)$/.test(entry) ? recorded : []) {
        const isHeader = pointer.startsWith('header'); // all are removed
        const [holder, key] = isHeader ? [undefined, ''] : holderOf(body, pointer);
        if (holder !== undefined) delete holder[key];
        isChanged = true;
      }
    const gone = await checking.check(
      { ...response, body, headers: { 'content-type': headers['content-type'] ?? '' } },
      '--output',
      'json',
    );
    expect(gone.status, gone.stdout).toBe(isChanged ? 1 : 0);
  });
});

const events = Array.from({ length: 60 }, (_, index) => ({
  ...{ id: `e${index}`, time: `2026-11-21T08:00:${String(index).padStart(2, '0')}Z` },
  ...{ action: 'key.create', actor: { id: `u${index % 7}` } },
  ...(index === 5 && { ip: '203.0.113.9' }),
}));

describe('an entry that is null in the contract', () => {
  const contract = { audit: { event: { actor: { name: null }, ipAddress: null } } };

  it('is named with the field that records have for it now, which is no drift', async () => {
    await using checking = await startChecking({ body: { events } }, contract);
    const named = events.map((event) => ({ ...event, actor: { ...event.actor, name: 'Ann' } }));
    const json = await checking.check({ body: { events: named } }, '--output', 'json');
    expect(JSON.parse(json.stdout).nullEntries).toEqual([
      { entry: 'ipAddress', at: '/ip' },
      { entry: 'actor.name', at: '/actor/name' },
    ]);
    expect(json.status).toBe(0);
    const { stdout } = await checking.check({ body: { events: named } });
    expect(stdout).toContain('Null in the contract, though records have a field: ipAddress (/ip),');
  });

  it('is not named if no record has a field for it', async () => {
    const plain = events.map(({ id, time, action, actor }) => ({ id, time, action, actor }));
    await using checking = await startChecking({ body: { events: plain } }, contract);
    const { stdout } = await checking.check({ body: { events: plain } }, '--output', 'json');
    expect(JSON.parse(stdout).nullEntries).toEqual([]);
  });
});

describe('the report of keytrail check', () => {
  it('is a table of at most 100 columns, with neither values nor the token', async () => {
    await using checking = await startChecking({ body: { events, total: 60 } });
    const { actor: _, ...rest } = events[0] ?? {};
    const body = {
      data: {
        events: [
          { ...rest, who: 'ann' },
          { ...rest, id: 'e2', verb: TOKEN },
        ],
      },
    };
    const { status, stdout, stderr } = await checking.check({ body });
    expect(stdout.split('\n')).toEqual([
      '  entry             change  recording                           service now',
      '  records           moved   /events                             /data/events',
      '  total             lost    /total                              -',
      '  paging            same    -                                   -',
      '  id                same    /id, in 60                          /id, in 2',
      '  occurredAt        same    /time, iso8601, in 60               /time, iso8601, in 2',
      '  action            same    /action, in 60                      /action, in 2',
      '  actor.identifier  lost    /actor/id, in 60                    -',
      '  actor.name        new     -                                   /who, in 1',
      '  actor.type        same    -                                   -',
      '  target.identifier same    -                                   -',
      '  target.name       same    -                                   -',
      '  target.type       same    -                                   -',
      '  outcome           same    -                                   -',
      '  ipAddress         same    /ip, in 1                           -',
      '  userAgent         same    -                                   -',
      '',
      'New keys, which are no drift: /who, /verb.',
      '',
      'Compared: 60 records on 1 page of the recording, 2 records on 1 page of the service.',
      'Drift: 3 entries.',
      '',
    ]);
    expect(stderr).toBe('');
    expect(status).toBe(1);
  });

  it('counts what was compared in JSON, too', async () => {
    await using checking = await startChecking({ body: { events } });
    const body = { events: events.slice(0, 40) };
    const recording = { records: 60, pages: 1 };
    const same = await checking.check({ body }, '--output', 'json');
    expect(JSON.parse(same.stdout).compared).toEqual({
      ...{ recording, service: { records: 40, pages: 1 } },
    });
    const lost = await checking.check({ body: { state: 'ok' } }, '--output', 'json');
    expect(JSON.parse(lost.stdout)).toMatchObject({
      ...{ drift: true, compared: { recording, service: { records: 0, pages: 0 } } },
    });
  });

  it('needs the contract of the recording, in whatever order its members are', async () => {
    const contract = { audit: { records: '/events', event: { action: '/verb', id: '/id' } } };
    await using checking = await startChecking({ body: { events } }, contract);
    const from = ['check', '--from', checking.from];
    const { event } = contract.audit;
    const equal = {
      audit: { event: { id: event.id, action: event.action }, records: '/events' },
      deletion: { outcome: { at: '/state', map: { ok: 'DELETED' } } },
    };
    const run = async (other: ConfiguredContract | undefined) =>
      await runFor(
        checking.url,
        from,
        other && { contract: await folder.write('other.contract.json', other) },
      );
    expect((await run(equal as ConfiguredContract)).status).toBe(0);
    for (const other of [undefined, {}, { audit: { event: { action: '/action' } } }]) {
      const { status, stdout, stderr } = await run(other);
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toMatch(
        /was recorded with another contract\. .* 0 records and 0 pages were compared/,
      );
    }
  });

  it('compares with a recording of an earlier version, which names no contract', async () => {
    await using checking = await startChecking({ body: { events } });
    const { log } = JSON.parse(await readFile(checking.from, 'utf8'));
    expect(log._keytrail).toEqual({ contract: expect.stringMatching(/^[\w-]{43}$/) });
    const { _keytrail: _, ...earlier } = log;
    for (const before of [
      earlier,
      { ...earlier, _keytrail: null },
      { ...earlier, _keytrail: { contract: 7 } },
    ]) {
      const file = await folder.write('earlier.har', { log: before });
      const contract = await folder.write('any.json', { audit: { records: '/events' } });
      const { status, stderr } = await runFor(checking.url, ['check', '--from', file], {
        contract,
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    }
  });

  it('accepts that a field of one record in sixty is missing, and that there is only one page', async () => {
    const next = '/api/v1/audit?page=2';
    await using checking = await startChecking({ body: { events, next } });
    const body = { events: events.filter((event) => !('ip' in event)), next: null };
    const { status, stdout } = await checking.check({ body });
    expect(stdout).toContain('No drift.');
    expect(status).toBe(0);
  });

  it('finds times in another unit, another style of paging, and a next page at another place', async () => {
    const since2026 = (unitsPerSecond: number) =>
      events.map((event, index) => ({ ...event, time: (1_795_000_000 - index) * unitsPerSecond }));
    const next = '/api/v1/audit?page=2';
    const before = { events: since2026(1), next };
    await using checking = await startChecking({ body: before });
    const changesOf = async (body: object) => {
      const { stdout } = await checking.check({ body: { ...before, ...body } });
      return stdout.match(/^ {2}\S+ +(?:moved|lost|format) .*$/gm)?.map((row) => row.trim());
    };
    expect(await changesOf({})).toBeUndefined();
    expect(await changesOf({ events: since2026(1000) })).toEqual([
      'occurredAt        format  /time, epoch-seconds, in 60         /time, epoch-milliseconds, in 60',
    ]);
    expect(await changesOf({ next: 'c2' })).toEqual([
      'paging            format  /next, next-link                    /next, cursor',
    ]);
    expect(await changesOf({ next: null, nextPage: next })).toEqual([
      'paging            moved   /next, next-link                    /nextPage, next-link',
    ]);
  });

  it('lists no keys that are data, in the service or in the recording', async () => {
    const owned = (keys: readonly string[]) => ({
      events: events.map((event) => ({
        ...event,
        owners: Object.fromEntries(keys.map((key) => [key, { n: 1 }])),
      })),
    });
    const before = owned(['ann@example.org', 'Ann Lee', 'ann/lee~x']);
    await using checking = await startChecking({ body: before });
    for (const body of [before, owned(['bob@example.org', 'Bob Lee', 'bob/lee~x'])]) {
      const { status, stdout } = await checking.check({ body });
      expect(stdout).toMatch(/\n\nCompared: .*\nNo drift\.\n$/);
      expect(stdout).not.toMatch(/New keys|ann|bob/i);
      expect(status).toBe(0);
    }
  });

  it('accepts that a key is missing which inference knows, but from which nothing was read', async () => {
    const both = events.map((event) => ({ ...event, created_at: event.time }));
    await using checking = await startChecking({ body: { events: both } });
    const { status, stdout } = await checking.check({ body: { events } });
    expect(stdout).toContain('No drift.');
    expect(status).toBe(0);
    const other = both.map(({ time: _, ...event }) => event);
    const moved = await checking.check({ body: { events: other } });
    expect(moved.stdout).toMatch(/occurredAt +moved +\/time, .* \/created_at, /);
    expect(moved.status).toBe(1);
  });

  it.each<[string, ServiceResponse, number]>([
    ['a list without records', { body: { events: [] } }, 1],
    ['no list', { body: { ok: 'yes' } }, 1],
    ['401', { status: 401 }, 6],
    ['404', { status: 404 }, 3],
    ['503', { status: 503 }, 3],
    ['a page of HTML', { body: '<html></html>' }, 3],
    ['a failure in a body with 200', { body: { success: false, error: 'maintenance' } }, 3],
  ])('after %s has the right exit status', async (_, response, expected) => {
    await using checking = await startChecking({ body: { events } });
    const { status, stdout, stderr } = await checking.check(response);
    expect(status, stdout + stderr).toBe(expected);
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  it('exits with 3 if the service is not reached, and with 2 for wrong usage', async () => {
    const checking = await startChecking({ body: { events } });
    await checking[Symbol.asyncDispose]();
    const { url, from } = checking;
    expect((await runFor(url, ['check', '--from', from])).status).toBe(3);
    const contract = await folder.write('c.json', { audit: { paging: { size: 'limit' } } });
    expect((await runFor(url, ['check', '--from', from], { contract })).status).toBe(2);
    const other = await folder.write('other.har', { log: { entries: [] } });
    for (const args of [
      [],
      ['--from', folder.pathOf('missing.har')],
      ['--from', other],
      ['--from', from, '--output', 'xml'],
      ['--from', from, '--from', from],
    ])
      expect((await runFor(url, ['check', ...args])).status, args.join(' ')).toBe(2);
    expect((await runFor(url, ['check', '--from', from], { token: '' })).status).toBe(2);
  });
});

describe('the nightly job of examples/recording', () => {
  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 0],
  ])('after status %d of check exits with %d', async (checked, expected) => {
    const workflow = await readFile('examples/recording/check.yml', 'utf8');
    const [, script = ''] = /run: \|\n((?: {10}.*\n)+)/.exec(workflow) ?? [];
    const bash = ['--noprofile', '--norc', '-eo', 'pipefail', '-c']; // as GitHub runs it
    const npx = `npx() { echo "$@"; return ${checked}; }\n`;
    const { status, stdout } = spawnSync('bash', [...bash, npx + script], { encoding: 'utf8' });
    expect(status).toBe(expected);
    expect(stdout).toMatch(/^keytrail check --from test\/service\.har\n/);
    expect(stdout.includes('::warning::')).toBe(checked === 3);
  });
});
