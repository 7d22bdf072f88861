import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/testing/create-sandbox.ts';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { type Order, startPagedTrail, trailEvent } from '../helpers/paged-trail.ts';
import { COMPILE_CACHE, keytrailInProcess, startInTerminal } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOKEN = 'canary-access-token';
const [, { clientId, secret }] = DEMO_CLIENTS;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-audit-'));
});
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (name = 'file') => {
  files += 1;
  return join(folder, `${name}-${files}`);
};

/** Runs a command to its end. */
async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  stdin = '',
) {
  await using command = keytrailInProcess(args, environment, stdin);
  const status = await command.status;
  return { status, ...command.output };
}

/** Runs `audit` with a token. */
const readWith = (url: string, ...args: readonly string[]) =>
  runCommand(['audit', ...args], { UPSTREAM_URL: url, KEYTRAIL_TOKEN: TOKEN });

const eventsOf = (stdout: string): readonly { readonly id: string; readonly key: string }[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const idsOf = (stdout: string) => eventsOf(stdout).map(({ id }) => id);

describe('keytrail audit', () => {
  it('prints 50 events, page by page as many as --limit says, and all with --limit all', async () => {
    await using trail = await startPagedTrail('newest-first', 2100);
    const lengths = [];
    for (const args of [[], ['--limit', '1500'], ['--limit', 'all']])
      lengths.push(idsOf((await readWith(trail.url, ...args)).stdout).length);
    expect(lengths).toEqual([50, 1500, 2100]);
  });

  it.each<Order>(['newest-first', 'oldest-first'])(
    'prints all events since an instant, and stops there if the trail is %s',
    async (order) => {
      await using trail = await startPagedTrail(order, 4000);
      const since = trailEvent(3901).at;
      const { status, stdout } = await readWith(trail.url, '--since', since);
      expect(status).toBe(0);
      expect(new Set(idsOf(stdout))).toEqual(new Set(trail.ids().slice(3900)));
      expect(trail.seen.length).toBeLessThan(order === 'newest-first' ? 20 : 60);
    },
  );

  it('compares all digits of --since and --until, also at a running gateway', async () => {
    const ends = ['00.000499Z', '00.0005Z', '00.000500001Z', '00.001Z', '01Z'];
    const body = ends.map((end, index) => ({ id: `e${index}`, at: `2026-01-01T00:00:${end}` }));
    await using service = await startService({ body });
    await using server = await onPort(gatewayOver(service.url));
    const since = ['--since', '2026-01-01T01:00:00.000500+01:00'];
    const until = ['--until', '2026-01-01T00:00:00.0009999Z'];
    for (const [args, expected] of [
      [since, ['e1', 'e2', 'e3', 'e4']],
      [until, ['e0', 'e1', 'e2']],
      [
        [...since, ...until],
        ['e1', 'e2'],
      ],
      [['--since', '2026-01-01T00:00:00.00050000001Z', ...until], ['e2']],
      [
        ['--since', '0001-01-01', ...until],
        ['e0', 'e1', 'e2'],
      ],
      [
        ['--since', '0001-01-01T00:00:00+01:00'],
        ['e0', 'e1', 'e2', 'e3', 'e4'],
      ],
    ] as const) {
      expect(idsOf((await readWith(service.url, ...args)).stdout)).toEqual(expected);
      const command = ['audit', '--gateway', server.url, ...args];
      const { stdout } = await runCommand(command, { KEYTRAIL_TOKEN: TOKEN });
      expect(idsOf(stdout)).toEqual(expected);
    }
  });

  it('finds the last event since an instant with six digits', async () => {
    const toEvent = (number: number) => {
      const digits = `999${String(number % 1000).padStart(3, '0')}`;
      const at = `2026-01-01T00:00:0${Math.floor(number / 1000)}.${digits}Z`;
      return { ...trailEvent(number), at };
    };
    await using trail = await startPagedTrail('newest-first', 1500, toEvent);
    const args = ['--since', toEvent(301).at];
    const { status, stdout } = await readWith(trail.url, ...args);
    expect(status).toBe(0);
    expect(new Set(idsOf(stdout))).toEqual(new Set(trail.ids().slice(300)));
  });

  it('sends its filters to the graph', async () => {
    await using trail = await startPagedTrail('newest-first', 300);
    const args = ['--actor', 'user-7', '--outcome', 'success', '--action', 'key.rotate,key.x'];
    const { stdout } = await readWith(trail.url, ...args, '--target', 'key-1');
    const expected = trail.ids().filter((id) => {
      const number = Number(id.slice(1));
      return number % 50 === 7 && number % 7 === 1;
    });
    expect(new Set(idsOf(stdout))).toEqual(new Set(expected));
  });

  it('requests smaller pages if a response would have too many values', async () => {
    await using trail = await startPagedTrail('newest-first', 500, (number) => ({
      ...trailEvent(number),
      note: 'x'.repeat(50_000),
    }));
    const { status, stdout, stderr } = await readWith(trail.url, '--limit', 'all', '--raw');
    expect([status, stderr]).toEqual([0, '']);
    expect(idsOf(stdout)).toHaveLength(500);
  });
});

describe('the exit status', () => {
  it('is 0 for a trail without events', async () => {
    await using service = await startService({ body: { events: [], total: 0 } });
    expect(await readWith(service.url)).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('is 1 if a page fails after others were written, which are whole lines', async () => {
    await using trail = await startPagedTrail('newest-first', 3000);
    trail.intercept(({ url }) => (/page=15$/.test(url) ? { status: 500 } : undefined));
    const { status, stdout, stderr } = await readWith(trail.url, '--limit', 'all');
    expect(status).toBe(1);
    expect(idsOf(stdout)).toEqual(trail.ids().toReversed().slice(0, 1400)); // up to the page that fails
    const message = stderr.replaceAll(/\n +/g, ' ');
    expect(message).toContain('GET /api/v1/audit failed with HTTP 500 on page 15');
    expect(message).toContain('1,400 events were written.');
  });

  it.each([
    ['a time that cannot be read', ['--since', 'last week']],
    ['a time without a zone', ['--since', '2026-11-24T10:00:00']],
    ['--until with --follow', ['--follow', '--until', '1h']],
    ['--limit with --checkpoint', ['--checkpoint', 'x', '--limit', '5']],
    ['a beginning after the end', ['--since', '1h', '--until', '2h']],
    [
      'a beginning less than a millisecond after the end',
      ['--since', '2026-01-01T00:00:00.0009Z', '--until', '2026-01-01T00:00:00.000Z'],
    ],
    ['an end in the year 1', ['--until', '0001-01-01T00:00:00Z']],
    ['a field that there is not', ['--fields', 'time,nobody']],
    ['a word', ['today']],
    ['a URL of the service beside a gateway', ['--gateway', 'http://127.0.0.1:1']],
  ])('is 2 for %s, and nothing is sent', async (_, args) => {
    await using service = await startService({ body: [] });
    const own = ['audit', ...args, '--upstream-url', service.url];
    const { status, stdout } = await runCommand(own, { KEYTRAIL_TOKEN: TOKEN });
    expect([status, stdout, service.seen.length]).toEqual([2, '', 0]);
  });

  it('is 6 without a login, and says which command logs in', async () => {
    const environment = { UPSTREAM_URL: 'http://127.0.0.1:1', XDG_STATE_HOME: newPath() };
    const { status, stderr } = await runCommand(['audit'], environment);
    expect(status).toBe(6);
    expect(stderr).toContain('keytrail login CLIENT_ID');
  });

  it('is 2 for a checkpoint that cannot be written, before anything is', async () => {
    await using trail = await startPagedTrail('newest-first', 30);
    const { status, stdout, stderr } = await readWith(trail.url, '--checkpoint', '/none/file');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('--checkpoint "/none/file" cannot be written');
  });

  it('is 2 for a checkpoint of another service, of other filters, and for a file that is none', async () => {
    await using trail = await startPagedTrail('newest-first', 5);
    const checkpoint = newPath();
    expect((await readWith(trail.url, '--checkpoint', checkpoint)).status).toBe(0);
    const before = await readFile(checkpoint, 'utf8');
    const other = await readWith(trail.url, '--checkpoint', checkpoint, '--actor', 'ann');
    expect([other.status, other.stdout]).toEqual([2, '']);
    const none = newPath();
    await writeFile(none, '{"events": []}');
    expect((await readWith(trail.url, '--checkpoint', none)).status).toBe(2);
    expect(await readFile(checkpoint, 'utf8')).toBe(before);
  });

  it('is 3 if the service or the gateway is not reached, refuses, or its token is rejected', async () => {
    await using service = await startService({ status: 403 });
    await using closed = await startService({ body: [] });
    await closed[Symbol.asyncDispose]();
    const results = [
      await readWith(service.url),
      await readWith(closed.url),
      await runCommand(['audit', '--gateway', closed.url], { KEYTRAIL_TOKEN: TOKEN }),
      await runCommand(['audit', '--gateway', service.url], { KEYTRAIL_TOKEN: TOKEN }),
    ];
    expect(results.map(({ status, stdout }) => [status, stdout])).toEqual(
      results.map(() => [3, '']),
    );
    expect(results.map(({ stderr }) => stderr)).toMatchObject([
      expect.stringContaining('FORBIDDEN'),
      expect.stringContaining('UPSTREAM_UNAVAILABLE'),
      expect.stringContaining('The gateway could not be reached (ECONNREFUSED)'),
      expect.stringContaining('The response is not GraphQL (HTTP 403)'),
    ]);
  });

  it('is 5 if the last events that were written are gone, and all there are were written', async () => {
    await using trail = await startPagedTrail('newest-first', 100);
    const checkpoint = newPath();
    await readWith(trail.url, '--checkpoint', checkpoint);
    trail.intercept(() => ({
      body: {
        events: [...Array(80).keys()].map((at) => ({ ...trailEvent(5000 - at), id: `x${at}` })),
      },
    }));
    const { status, stdout, stderr } = await readWith(trail.url, '--checkpoint', checkpoint);
    expect([status, idsOf(stdout).length]).toEqual([5, 80]);
    expect(stderr).toContain('events may have been missed');
    expect(await readWith(trail.url, '--checkpoint', checkpoint)).toMatchObject({
      ...{ status: 0, stdout: '' },
    });
  });

  it('is 5 at once if the records differ in each response, and the advice is audit.identity', async () => {
    let reads = 0;
    await using trail = await startPagedTrail('newest-first', 100);
    trail.intercept(() => {
      reads += 1;
      const events = [...Array(80).keys()].map((at) => ({ ...trailEvent(80 - at), seen: reads }));
      return { body: { events } };
    });
    const checkpoint = newPath();
    await readWith(trail.url, '--checkpoint', checkpoint);
    const { status, stderr } = await readWith(trail.url, '--checkpoint', checkpoint);
    expect(status).toBe(5);
    expect(stderr).toContain('audit.identity');
  });

  it('is 4 if the outcome of a login is not known, which is not sent again', async () => {
    let isLost = false;
    await using service = await startService(({ url }, response) => {
      if (!url.endsWith('/login')) return { body: [] };
      if (isLost) {
        response.destroy();
        return undefined;
      }
      return { body: { access_token: 'a', refresh_token: 'r', expires_in: 3600 } };
    });
    const session = newPath('session');
    const environment = { UPSTREAM_URL: service.url };
    await runCommand(['login', clientId, '--session', session], environment, secret);
    await endToken(session);
    isLost = true;
    const { status, stderr } = await runCommand(['audit', '--session', session], environment);
    expect(status).toBe(4);
    expect(stderr).toMatch(/its refresh token may be used\s+up/);
    expect(service.seen.map(({ url }) => url)).toEqual(Array(2).fill('/api/v1/auth/login'));
  });
});

/** Makes the access token of a session one that has ended. */
async function endToken(session: string): Promise<void> {
  const saved = JSON.parse(await readFile(session, 'utf8'));
  await writeFile(session, JSON.stringify({ ...saved, expiresAt: '2026-01-01T00:00:00Z' }));
}

describe('a process', () => {
  /** Starts the command with a token. */
  const start = (url: string, command: string) =>
    spawn('sh', ['-c', `exec "$0" src/main.ts audit ${command}`, process.execPath], {
      cwd: ROOT,
      env: { ...COMPILE_CACHE, UPSTREAM_URL: url, KEYTRAIL_TOKEN: TOKEN },
    });

  it('ends with 0 and no message if its reader needs no more', async () => {
    await using trail = await startPagedTrail('newest-first', 20_000);
    const child = start(trail.url, '--limit all');
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await closed).toEqual([0, null]);
    expect(await stderr).toBe('');
    expect(trail.seen.length).toBeLessThan(200);
  });

  it.each(['ndjson', 'csv', 'ecs', 'ndjson --follow', 'ndjson --raw'])(
    'ends with 1 and a message if the reader of an export has gone, and the next run writes the rest: %s',
    async (output) => {
      // A page is larger than what a pipe holds.
      const toEvent = (number: number) => ({ ...trailEvent(number), action: 'x'.repeat(1000) });
      await using trail = await startPagedTrail('newest-first', 2500, toEvent);
      const checkpoint = newPath();
      const child = start(trail.url, `--checkpoint ${checkpoint} --output ${output}`);
      const closed = once(child, 'close');
      const stderr = text(child.stderr);
      await once(child.stdout, 'data');
      child.stdout.destroy();
      expect(await closed).toEqual([1, null]);
      expect(JSON.parse(await stderr)).toMatchObject({
        code: 'LOCAL_FAILURE',
        message:
          'The output could not be written (EPIPE): what was written is a part. The next run with this checkpoint writes the rest.',
      });
      const rest = await readWith(trail.url, '--checkpoint', checkpoint);
      expect(idsOf(rest.stdout)).toEqual(trail.ids().toReversed());
    },
  );

  it('ends with 1 if the reader of an export ends after a page, which the next run does not write', async () => {
    await using trail = await startPagedTrail('newest-first', 3000);
    const held = Promise.withResolvers<void>();
    trail.intercept(async ({ url }) => {
      if (/page=15$/.test(url)) await held.promise;
      return undefined;
    });
    const checkpoint = newPath();
    const child = start(trail.url, `--checkpoint ${checkpoint}`);
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    await expect.poll(() => stdout.split('\n').length).toBe(1001);
    await expect.poll(() => trail.seen.at(-1)?.url).toContain('page=15');
    child.stdout.destroy();
    held.resolve();
    expect(await closed).toEqual([1, null]);
    expect(await stderr).toContain('EPIPE');
    const rest = await readWith(trail.url, '--checkpoint', checkpoint);
    expect(idsOf(stdout + rest.stdout)).toEqual(trail.ids().toReversed());
  });

  it.each([
    ['--limit all', 0],
    ['--limit all --output csv', 0],
    ['--since 2026-01-01 --follow', 0],
    ['--checkpoint FILE', 1],
    ['--checkpoint FILE --output csv', 1],
  ])('%s in a pipe to head ends with %i', async (args, status) => {
    const toEvent = (number: number) => ({ ...trailEvent(number), action: 'x'.repeat(1000) });
    await using trail = await startPagedTrail('newest-first', 2500, toEvent);
    const file = newPath('status');
    const command = `"$0" src/main.ts audit ${args.replace('FILE', newPath())}; echo $? > ${file}`;
    const child = spawn('sh', ['-c', `{ ${command}; } | head -n 1`, process.execPath], {
      cwd: ROOT,
      env: { ...COMPILE_CACHE, UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: TOKEN },
    });
    const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
    await once(child, 'close');
    expect((await stdout).split('\n')).toHaveLength(2);
    expect(await readFile(file, 'utf8')).toBe(`${status}\n`);
    expect((await stderr) === '').toBe(status === 0);
  });

  it('ends with 130 after Ctrl-C, and the next run goes on after what was written', async () => {
    await using trail = await startPagedTrail('newest-first', 3000);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    trail.intercept(async ({ url }) => {
      if (/page=15$/.test(url)) await held;
      return undefined;
    });
    const checkpoint = newPath();
    const child = start(trail.url, `--checkpoint ${checkpoint}`);
    const closed = once(child, 'close');
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    await expect.poll(() => stdout.split('\n').length).toBe(1001);
    await expect.poll(() => trail.seen.at(-1)?.url).toContain('page=15');
    child.kill('SIGINT');
    expect(await closed).toEqual([130, null]);
    release();
    const rest = await readWith(trail.url, '--checkpoint', checkpoint);
    expect(idsOf(stdout + rest.stdout)).toEqual(trail.ids().toReversed());
  });

  it('ends with 1 if the disk is full, and its checkpoint has not what was not written', async () => {
    await using trail = await startPagedTrail('newest-first', 30);
    const checkpoint = newPath();
    const child = start(trail.url, `--checkpoint ${checkpoint} > /dev/full`);
    const stderr = text(child.stderr);
    expect((await once(child, 'close'))[0]).toBe(1);
    expect(await stderr).toContain('The output could not be written (ENOSPC)');
    const { stdout } = await readWith(trail.url, '--checkpoint', checkpoint);
    expect(idsOf(stdout)).toHaveLength(30);
  });
});

describe('an export', () => {
  it('closes a gap of more than ten pages between two runs, without a repetition', async () => {
    await using trail = await startPagedTrail('newest-first', 300);
    const checkpoint = newPath();
    const first = await readWith(trail.url, '--checkpoint', checkpoint);
    trail.add(2500);
    const second = await readWith(trail.url, '--checkpoint', checkpoint);
    expect(second.status).toBe(0);
    expect(idsOf(second.stdout).toSorted()).toEqual(trail.ids().slice(300).toSorted());
    expect(idsOf(first.stdout)).toHaveLength(300);
  });

  it('closes several gaps, one after the other, without a repetition', async () => {
    await using trail = await startPagedTrail('newest-first', 300);
    const checkpoint = newPath();
    const lengths = [];
    for (const more of [0, 2500, 1100, 1300]) {
      trail.add(more);
      const { status, stdout } = await readWith(trail.url, '--checkpoint', checkpoint);
      expect(status).toBe(0);
      lengths.push(idsOf(stdout).length);
    }
    expect(lengths).toEqual([300, 2500, 1100, 1300]);
  });

  it('that is broken off before the last known events knows them the next time', async () => {
    await using trail = await startPagedTrail('oldest-first', 1020);
    const checkpoint = newPath();
    const exportAll = () => readWith(trail.url, '--checkpoint', checkpoint);
    await exportAll();
    trail.add(3);
    trail.intercept(({ url }) => (/page=11$/.test(url) ? { status: 403 } : undefined));
    expect((await exportAll()).status).toBe(3);
    trail.intercept(() => undefined);
    expect(idsOf((await exportAll()).stdout)).toEqual(['e1021', 'e1022', 'e1023']);
  });

  it.each<Order>(['newest-first', 'oldest-first'])(
    'writes what arrives while it runs once, %s',
    async (order) => {
      await using trail = await startPagedTrail(order, 2500);
      let isAdded = false;
      trail.intercept(({ url }) => {
        if (/page=12$/.test(url) && !isAdded) {
          isAdded = true;
          trail.add(7);
        }
        return undefined;
      });
      const checkpoint = newPath();
      const { stdout } = await readWith(trail.url, '--checkpoint', checkpoint);
      const more = await readWith(trail.url, '--checkpoint', checkpoint);
      expect(idsOf(stdout + more.stdout).toSorted()).toEqual(trail.ids().toSorted());
    },
  );

  it('begins at --since, which a later run refuses', async () => {
    await using trail = await startPagedTrail('newest-first', 500);
    const args = ['--checkpoint', newPath()];
    const since = ['--since', trailEvent(491).at];
    expect(idsOf((await readWith(trail.url, ...args, ...since)).stdout)).toHaveLength(10);
    trail.add(20);
    const requests = trail.seen.length;
    const refused = await readWith(trail.url, ...args, ...since);
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /--since is for the first run .*: remove --since, or name a new file\./,
    );
    expect(trail.seen).toHaveLength(requests);
    expect(idsOf((await readWith(trail.url, ...args)).stdout)).toHaveLength(20);
  });

  it('begins at --since with a file that is empty', async () => {
    await using trail = await startPagedTrail('newest-first', 50);
    const checkpoint = newPath();
    await writeFile(checkpoint, '');
    const args = ['--checkpoint', checkpoint, '--since', trailEvent(41).at];
    expect(idsOf((await readWith(trail.url, ...args)).stdout)).toHaveLength(10);
  });

  it('gives equal records without an ID keys that differ, and the same ones when it is repeated', async () => {
    const record = { at: '2026-01-01T00:00:00Z', action: 'x', actor: { id: 'ann' } };
    await using service = await startService({ body: { events: [record, record, record] } });
    const keys = async () => eventsOf((await readWith(service.url)).stdout).map(({ key }) => key);
    const [first = '', ...others] = await keys();
    expect(others).toEqual([`${first}.2`, `${first}.3`]);
    expect(await keys()).toEqual([first, ...others]);
  });
});

describe('the keys of an export', () => {
  /** Records without IDs, of which seven in a row are equal. */
  const repeated = (number: number) => ({
    ...{ at: trailEvent(Math.floor(number / 7)).at, action: 'heartbeat', actor: { id: 'ann' } },
  });

  it('are the same for equal records without IDs if it is broken off and goes on', async () => {
    await using trail = await startPagedTrail('newest-first', 3000, repeated);
    const whole = eventsOf((await readWith(trail.url, '--limit', 'all')).stdout);
    const checkpoint = newPath();
    trail.intercept(({ url }) => (/page=15$/.test(url) ? { status: 500 } : undefined));
    const first = await readWith(trail.url, '--checkpoint', checkpoint);
    expect(first.status).toBe(1);
    trail.intercept(() => undefined);
    const second = await readWith(trail.url, '--checkpoint', checkpoint);
    const keys = eventsOf(first.stdout + second.stdout).map(({ key }) => key);
    expect(keys).toEqual(whole.map(({ key }) => key));
    expect(new Set(keys).size).toBe(3000);
  });

  it.each<Order>(['newest-first', 'oldest-first'])(
    'are each written once if events arrive meanwhile and no record has a time, %s',
    async (order) => {
      const timeless = (number: number) => ({ ...trailEvent(number), at: null });
      await using trail = await startPagedTrail(order, 500, timeless);
      let isAdded = false;
      trail.intercept(({ url }) => {
        if (/page=3$/.test(url) && !isAdded) {
          isAdded = true;
          trail.add(2);
        }
        return undefined;
      });
      const contract = newPath('contract');
      await writeFile(contract, JSON.stringify({ audit: { order } }));
      const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: TOKEN };
      const args = ['audit', '--checkpoint', newPath()];
      const run = () => runCommand(args, { ...environment, KEYTRAIL_CONTRACT: contract });
      const { stdout } = await run();
      const keys = eventsOf(stdout + (await run()).stdout).map(({ key }) => key);
      expect(keys).toHaveLength(502);
      expect(new Set(keys).size).toBe(502);
    },
  );

  it('follow audit.identity, so that a member that differs in each response changes nothing', async () => {
    let reads = 0;
    await using trail = await startPagedTrail('newest-first', 200, (number) => {
      reads += 1;
      return { ...trailEvent(number), seen: reads };
    });
    const contract = newPath('contract');
    await writeFile(contract, JSON.stringify({ audit: { identity: '/id' } }));
    const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: TOKEN };
    const run = (args: readonly string[]) =>
      runCommand(['audit', ...args], { ...environment, KEYTRAIL_CONTRACT: contract });
    const args = ['--checkpoint', newPath()];
    await run(args);
    trail.add(1500);
    const { status, stdout } = await run(args);
    expect([status, idsOf(stdout).length]).toEqual([0, 1500]);
  });
});

describe('what is wrong', () => {
  it.each(['audit', 'audit --follow', 'delete-key --yes a'])(
    'with KEYTRAIL_TOKEN is an invalid setting of %s: nothing is sent',
    async (line) => {
      await using service = await startService({ body: [] });
      for (const token of [
        'one\ntwo',
        'one\r\nx: y',
        'a b',
        'Bearer a',
        'é',
        '\u0000',
        'a'.repeat(9000),
      ])
        for (const args of [[], ['--gateway', service.url]]) {
          const { status, stderr } = await runCommand([...line.split(' '), ...args], {
            KEYTRAIL_TOKEN: token,
            ...(args.length === 0 && { UPSTREAM_URL: service.url }),
          });
          expect(stderr).toContain('KEYTRAIL_TOKEN must be an access token, without Bearer before');
          expect(stderr).not.toContain('one');
          expect(status).toBe(2);
        }
      expect(service.seen).toEqual([]);
    },
  );

  it('in a checkpoint file is named, whatever its members are: nothing is sent', async () => {
    await using trail = await startPagedTrail('newest-first', 5);
    const file = newPath('checkpoint');
    await readWith(trail.url, '--checkpoint', file);
    const checkpoint = JSON.parse(await readFile(file, 'utf8'));
    const requests = trail.seen.length;
    const walk = { cursor: null, known: [], found: 0 };
    const wrong: readonly object[] = [
      ...['since', 'checkpoint', 'walk', 'recent', 'overlap', 'keys'].flatMap((name) =>
        [5, true, {}, [5], undefined].map((value) => ({ [name]: value })),
      ),
      ...[{ cursor: 5 }, { known: 'a' }, { known: [null] }, { found: '1' }].map((member) => ({
        walk: { ...walk, ...member },
      })),
    ];
    for (const members of wrong) {
      await writeFile(file, JSON.stringify({ ...checkpoint, ...members }));
      const { status, stderr } = await readWith(trail.url, '--checkpoint', file);
      expect([status, stderr], JSON.stringify(members)).toEqual([
        2,
        expect.stringContaining('is no checkpoint: name a new file'),
      ]);
    }
    expect(trail.seen).toHaveLength(requests);
    await writeFile(file, JSON.stringify({ ...checkpoint, walk }));
    expect((await readWith(trail.url, '--checkpoint', file)).status).toBe(0);
  });

  it('is no byte order mark at the start of a checkpoint: the export goes on', async () => {
    await using trail = await startPagedTrail('newest-first', 5);
    const file = newPath('checkpoint');
    await readWith(trail.url, '--checkpoint', file);
    await writeFile(file, `\ufeff${(await readFile(file, 'utf8')).replace('\n', '\r\n')}`);
    trail.add(2);
    const { status, stdout, stderr } = await readWith(trail.url, '--checkpoint', file);
    expect([status, stderr]).toEqual([0, '']);
    expect(idsOf(stdout).toSorted()).toEqual(['e6', 'e7']);
    expect((await readFile(file, 'utf8')).startsWith('{')).toBe(true);
  });

  it.each(['audit --checkpoint FILE', 'audit --session FILE', 'login ann --session FILE'])(
    'is UTF-16 in the file of %s: nothing is sent',
    async (line) => {
      await using service = await startService({ body: [] });
      const file = newPath();
      await writeFile(file, Buffer.from('\ufeff{}', 'utf16le'));
      const environment = {
        UPSTREAM_URL: service.url,
        ...(line.includes('checkpoint') && { KEYTRAIL_TOKEN: TOKEN }),
      };
      const { status, stderr } = await runCommand(
        line.replace('FILE', file).split(' '),
        environment,
      );
      expect([status, stderr]).toEqual([2, expect.stringMatching(/is in UTF-16.*save the file/)]);
      expect(service.seen).toEqual([]);
    },
  );

  it.each(['', '\ufeff', '\n', '\ufeff\r\n', ' \t\n'])(
    'is nothing in a checkpoint file that is %j: the run is the first, and says so in one line',
    async (content) => {
      await using trail = await startPagedTrail('newest-first', 5);
      const file = newPath('checkpoint');
      await writeFile(file, content);
      const first = await readWith(trail.url, '--checkpoint', file);
      expect([first.status, idsOf(first.stdout).length]).toEqual([0, 5]);
      expect(first.stderr).toMatch(
        /^keytrail audit: --checkpoint ".+" is empty: this run is the first with it\.\n$/,
      );
      const second = await readWith(trail.url, '--checkpoint', file);
      expect(second).toEqual({ status: 0, stdout: '', stderr: '' });
    },
  );

  it('is no checkpoint file: the first run says nothing', async () => {
    await using trail = await startPagedTrail('newest-first', 5);
    const { status, stderr } = await readWith(trail.url, '--checkpoint', newPath('none'));
    expect([status, stderr]).toEqual([0, '']);
  });

  const EVENT = { id: 'a', occurredAt: null, action: 'a', outcome: null, raw: {} };
  const PAGE = {
    nodes: [EVENT],
    pageInfo: { hasNextPage: false, endCursor: 'c' },
  };

  it.each<[string, unknown]>([
    ['nodes that are null', { ...PAGE, nodes: null }],
    ['nodes that are no list', { ...PAGE, nodes: {} }],
    ['a node that is null', { ...PAGE, nodes: [null] }],
    ['no nodes', { pageInfo: PAGE.pageInfo }],
    ['no pageInfo', { nodes: [] }],
    ['no hasNextPage', { nodes: [], pageInfo: {} }],
    ['a cursor that is a number', { nodes: [], pageInfo: { hasNextPage: true, endCursor: 5 } }],
    ['a trail that is a text', 'audit'],
    ['a trail that is a list', []],
  ])('in a page of a gateway is reported: %s', async (_, audit) => {
    await using gateway = await startService(({ body }) => {
      const { query } = JSON.parse(body);
      const auditEvents = { checkpoint: 'c', previous: null, missed: false, hasMore: false };
      return { body: { data: query.includes('auditEvents') ? { auditEvents } : { audit } } };
    });
    const lines = ['audit', 'audit --since 1d', 'delete-key --yes --unless-active-since 1d a'];
    for (const line of [...lines, `audit --checkpoint ${newPath()}`]) {
      const { status, stderr } = await runCommand([...line.split(' '), '--gateway', gateway.url], {
        KEYTRAIL_TOKEN: TOKEN,
      });
      expect([status, stderr.replaceAll(/\n +/g, ' ')], line).toEqual([
        3,
        expect.stringContaining('does not match the schema of Keytrail: check --gateway'),
      ]);
    }
  });

  it.each<[string, (after: string | null) => object]>([
    ['without nodes and without a cursor', () => ({ nodes: [], endCursor: null })],
    ['without a cursor', () => ({ nodes: [EVENT], endCursor: null })],
    ['with the cursor that was sent', () => ({ nodes: [EVENT], endCursor: 'c' })],
    [
      'without nodes, with two cursors in turns',
      (after) => ({ nodes: [], endCursor: after === 'c' ? 'd' : 'c' }),
    ],
  ])('is a next page %s: audit ends with an error', async (_, pageAfter) => {
    await using gateway = await startService(({ body }) => {
      const { nodes, endCursor } = Object(pageAfter(JSON.parse(body).variables.after));
      return { body: { data: { audit: { nodes, pageInfo: { hasNextPage: true, endCursor } } } } };
    });
    const args = ['audit', '--limit', 'all', '--gateway', gateway.url];
    const { status, stderr } = await runCommand(args, { KEYTRAIL_TOKEN: TOKEN });
    expect(stderr.replaceAll(/\n +/g, ' ')).toContain(
      'The gateway says that a page follows, but not where it begins: report that to those who run it.',
    );
    expect([1, 3]).toContain(status);
    expect(gateway.seen.length).toBeLessThan(4);
  });

  it('is no page without nodes that has a new cursor: audit goes on', async () => {
    await using gateway = await startService(({ body }) => {
      const number = Number(JSON.parse(body).variables.after ?? 0);
      const pageInfo = { hasNextPage: number < 5, endCursor: `${number + 1}` };
      return { body: { data: { audit: { nodes: number < 5 ? [] : [EVENT], pageInfo } } } };
    });
    const args = ['audit', '--gateway', gateway.url];
    const { status, stdout } = await runCommand(args, { KEYTRAIL_TOKEN: TOKEN });
    expect([status, idsOf(stdout)]).toEqual([0, ['a']]);
  });
});

describe('a session', () => {
  it.each([
    ['another service', clientId, (other: string) => other],
    ['another client', 'someone-else', (_: string, own: string) => own],
  ])('of a login is not renewed at, nor replaced by a login of %s', async (_, client, urlOf) => {
    const tokens = { access_token: 'a', refresh_token: 'canary-refresh-token', expires_in: 3600 };
    await using service = await startService({ body: tokens });
    await using other = await startService({ body: tokens });
    const session = newPath('session');
    const login = (id: string, url: string) =>
      runCommand(['login', id, '--session', session], { UPSTREAM_URL: url }, secret);
    await login(clientId, service.url);
    const before = await readFile(session, 'utf8');
    const { status } = await login(client, urlOf(other.url, service.url));
    expect([status, other.seen.length, service.seen.length]).toEqual([2, 0, 1]);
    expect(await readFile(session, 'utf8')).toBe(before);
  });

  it.each([
    ['login c', 307, 3],
    ['login c', 302, 4],
    ['audit', 307, 3],
    ['audit', 301, 3],
    ['audit --follow', 302, 3],
    ['audit --checkpoint FILE', 308, 3],
    ['delete-key --yes a b', 307, 3],
    ['delete-key --yes a b', 303, 4],
  ])('of %s sends nothing where a %i of the gateway leads to', async (line, status, expected) => {
    await using other = await startService({ body: {} });
    const location = `http://user:x@${other.url.slice('http://'.length)}/graphql?token=x`;
    await using gateway = await startService({ status, headers: { location } });
    const { status: exit, ...output } = await runCommand(
      [...line.replace('FILE', newPath()).split(' '), '--gateway', gateway.url],
      {
        XDG_STATE_HOME: newPath('state'),
        ...(!line.startsWith('login') && { KEYTRAIL_TOKEN: TOKEN }),
      },
      secret,
    );
    expect([exit, other.connections(), gateway.seen.length]).toEqual([expected, 0, 1]);
    const text = (output.stdout + output.stderr).replaceAll(/\n +/g, ' ');
    expect(text).toContain(
      `The URL redirects to ${other.url} (HTTP ${status}), which is not followed: use the URL of the gateway itself.`,
    );
    expect(text).not.toMatch(/user:|token=/);
  });

  it.each(['learn', 'record --to FILE'])('of %s is not redirected either', async (line) => {
    await using other = await startService({ body: [] });
    await using service = await startService({ status: 307, headers: { location: other.url } });
    const environment = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: TOKEN };
    await runCommand(line.replace('FILE', newPath()).split(' '), environment);
    expect(service.seen.length).toBeGreaterThan(0);
    expect(other.connections()).toBe(0);
  });

  it('is not begun with an empty secret', async () => {
    await using service = await startService({ body: {} });
    const environment = { UPSTREAM_URL: service.url, XDG_STATE_HOME: newPath('state') };
    const { status, stderr } = await runCommand(['login', clientId], environment, '\n');
    expect([status, service.seen]).toEqual([2, []]);
    expect(stderr).toContain('The client secret is empty');
  });

  it('that another process has kept locked is reported with what to do', async () => {
    await using service = await startService({ body: {} });
    const session = newPath('session');
    await writeFile(`${session}.lock`, 'x');
    await utimes(`${session}.lock`, new Date(0), new Date(0));
    const args = ['login', clientId, '--session', session];
    const { status, stderr } = await runCommand(args, { UPSTREAM_URL: service.url }, secret);
    expect([status, service.seen]).toEqual([1, []]);
    expect(stderr).toMatch(/Then\s+remove/);
  });

  it('of several clients is named by its whole path', async () => {
    await using service = await startService({
      body: { access_token: 'a', refresh_token: 'r', expires_in: 3600 },
    });
    const state = newPath('state');
    const environment = { UPSTREAM_URL: service.url, XDG_STATE_HOME: state };
    for (const id of ['ann', 'bob']) await runCommand(['login', id], environment, secret);
    const { status, stderr } = await runCommand(['audit'], environment);
    expect(status).toBe(2);
    for (const name of await readdir(join(state, 'keytrail')))
      expect(stderr).toContain(`--session ${join(state, 'keytrail', name)}`);
  });

  it('keeps its tokens in one file of mode 0600, and prints no secret', async () => {
    await using sandbox = await createSandbox();
    const state = newPath('state');
    const environment = { UPSTREAM_URL: sandbox.url, XDG_STATE_HOME: state };
    const login = await runCommand(['login', clientId], environment, `${secret}\n`);
    expect(login).toMatchObject({ status: 0, stdout: '' });
    expect(login.stderr).toMatch(/^Logged in as \S+ until \S+Z\. The tokens are in /);
    const [name = '', ...others] = await readdir(join(state, 'keytrail'));
    expect(others).toEqual([]);
    const file = join(state, 'keytrail', name);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { accessToken, refreshToken } = JSON.parse(await readFile(file, 'utf8'));
    const audit = await runCommand(['audit', '--raw', '--explain'], environment);
    expect(audit.status).toBe(0);
    const printed = login.stderr + audit.stdout + audit.stderr;
    for (const one of [secret, accessToken, refreshToken]) expect(printed).not.toContain(one);
  });

  it('is renewed by login with its refresh token, and asks for the secret if that is refused', async () => {
    let isRefused = false;
    await using service = await startService(({ body }) =>
      isRefused && body.includes('refresh_token')
        ? { status: 401 }
        : { body: { access_token: 'a', refresh_token: 'r', expires_in: 3600 } },
    );
    const args = ['login', clientId, '--session', newPath('session')];
    const environment = { UPSTREAM_URL: service.url };
    await runCommand(args, environment, secret);
    await runCommand(args, environment);
    isRefused = true;
    expect((await runCommand(args, environment, secret)).status).toBe(0);
    const sent = service.seen.map(({ body }) => body.includes('refresh_token'));
    expect(sent).toEqual([false, true, true, false]);
  });

  it.each(['audit', 'delete-key --yes a', 'login demo-reports'])(
    'with a byte order mark at its start is read by %s, and renewed',
    async (line) => {
      await using sandbox = await createSandbox({ strictLogin: true });
      const session = newPath('session');
      const environment = { UPSTREAM_URL: sandbox.url };
      const login = ['login', clientId, '--session', session];
      await runCommand(login, environment, secret);
      await endToken(session);
      const saved = await readFile(session, 'utf8');
      await writeFile(session, `\ufeff${saved}\r\n`);
      const args = [...line.replace('demo-reports', clientId).split(' '), '--session', session];
      expect((await runCommand(args, environment)).status).toBe(0);
      const renewed = JSON.parse(await readFile(session, 'utf8'));
      expect(renewed).toMatchObject({ clientId, owner: JSON.parse(saved).owner });
      expect(renewed.refreshToken).not.toBe(JSON.parse(saved).refreshToken);
    },
  );

  it('of two processes whose token has ended logs in once', async () => {
    await using sandbox = await createSandbox({ strictLogin: true });
    const session = newPath('session');
    const environment = { UPSTREAM_URL: sandbox.url };
    await runCommand(['login', clientId, '--session', session], environment, secret);
    await endToken(session);
    const results = await Promise.all(
      [1, 2].map(() => runCommand(['audit', '--session', session], environment)),
    );
    expect(results.map(({ status }) => status)).toEqual([0, 0]);
  });

  it('is not sent to another service', async () => {
    await using sandbox = await createSandbox();
    await using other = await startService({ body: [] });
    const session = newPath('session');
    const own = { UPSTREAM_URL: sandbox.url };
    await runCommand(['login', clientId, '--session', session], own, secret);
    const environment = { UPSTREAM_URL: other.url };
    const { status } = await runCommand(['audit', '--session', session], environment);
    expect([status, other.seen]).toEqual([2, []]);
  });

  it('says that a login returned no refresh token, and where it may be', async () => {
    await using service = await startService({
      body: { token: 'c4n4ry', offline_token: 'c4n4ry-2' },
    });
    const environment = { UPSTREAM_URL: service.url, XDG_STATE_HOME: newPath('state') };
    const login = await runCommand(['login', 'c'], environment, 's\n');
    expect(login).toMatchObject({ status: 0, stdout: '' });
    expect(login.stderr).toMatch(
      /^keytrail: The login returned no refresh token .* \/\* \(8 characters\)\.\nLogged in as c\./,
    );
    expect(login.stderr).not.toContain('c4n4ry');
  });

  it('asks for the secret at a terminal, and echoes nothing', async () => {
    await using sandbox = await createSandbox();
    const environment = { UPSTREAM_URL: sandbox.url, XDG_STATE_HOME: newPath('state') };
    await using terminal = startInTerminal(environment, ['login', clientId]);
    await terminal.until(/not shown\): /);
    terminal.child.stdin.write(`${secret}x\u007f\r`); // with a correction
    expect(await terminal.status).toBe(0);
    expect(terminal.output.stdout).toContain('Logged in as');
    expect(terminal.output.stdout).not.toContain(secret.slice(-6));
  });

  it('is not begun after Ctrl-C at the prompt', async () => {
    await using service = await startService({ body: {} });
    const environment = { UPSTREAM_URL: service.url, XDG_STATE_HOME: newPath('state') };
    await using terminal = startInTerminal(environment, ['login', clientId]);
    await terminal.until(/not shown\): /);
    terminal.child.stdin.write('canary\u0003');
    expect(await terminal.status).toBe(130);
    expect(service.seen).toEqual([]);
  });

  it('takes no secret as an argument, and does not repeat it', async () => {
    const { status, stderr } = await runCommand(['login', clientId, 'canary-secret']);
    expect(status).toBe(2);
    expect(stderr).not.toContain('canary-secret');
  });
});
