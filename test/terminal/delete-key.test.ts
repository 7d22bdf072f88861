import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProblem, parseIds } from '../../src/terminal/read-key-ids.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import {
  keytrailInProcess,
  type RunningCommand,
  startInShell,
  startInTerminal,
  startKeytrail,
} from '../helpers/process.ts';
import {
  type Handler,
  type Service,
  type ServiceResponse,
  startService,
} from '../helpers/service.ts';

const TOKEN = 'canary-token';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileWith(text: string): Promise<string> {
  const path = join(folder, `${Math.random()}.txt`);
  await writeFile(path, text);
  return path;
}

/** What the service does with a deletion: a response, a status, or `lost` for a connection that it closes. */
type Deletion = ServiceResponse | number | 'lost';

/** A service with a trail, and with a response to the deletion of each key. */
function startKeys(deletions: Readonly<Record<string, Deletion>>, trail: Handler | object = []) {
  return startService((seen, response, request) => {
    if (seen.method === 'GET')
      return typeof trail === 'function' ? trail(seen, response, request) : { body: trail };
    const deletion = deletions[idOf(seen.url)] ?? 204;
    if (deletion !== 'lost')
      return typeof deletion === 'number'
        ? { status: deletion, body: deletion === 204 ? '' : { note: 'canary-body' } }
        : deletion;
    request.socket.destroy();
    return undefined;
  });
}

/** It is too long to wait for. */
const LONG_LIMIT = { status: 429, headers: { 'retry-after': '600' } };

const idOf = (url: string) => decodeURIComponent(url.replace(/^.*\//, ''));

/** The keys whose deletion was sent, in order. */
const sentTo = ({ seen }: Service) =>
  seen.filter(({ method }) => method === 'DELETE').map(({ url }) => idOf(url));

const settingsFor = ({ url }: Service) => ({ UPSTREAM_URL: url, KEYTRAIL_TOKEN: TOKEN });

/** Waits until it has ended. */
async function end(command: RunningCommand) {
  const status = await command.status;
  const { stdout, stderr } = command.output;
  expect(stdout + stderr).not.toContain('canary');
  const lines = stdout.split('\n').slice(0, -1);
  return { status, stdout, stderr, lines, outcomes: lines.map((line) => line.split('\t')[0]) };
}

/** Runs it to its end, in this process. */
async function deleteKeys(service: Service, ...args: readonly string[]) {
  await using command = keytrailInProcess(['delete-key', ...args], settingsFor(service));
  return await end(command);
}

/** An event at a number of hours after 2024-05-01. */
const event = (hours: number, actor: unknown = 'ann') => ({
  id: `e${hours}-${Math.random()}`,
  time: new Date(Date.UTC(2024, 4, 1) + hours * 3_600_000).toISOString(),
  action: 'key.read',
  actor,
});

/** Events at each hour from the first to the last. */
function events(first: number, last: number): object[] {
  const step = Math.sign(last - first);
  return Array.from({ length: Math.abs(last - first) + 1 }, (_, index) =>
    event(first + step * index),
  );
}

/** The process that another one has started, once it runs Node. */
async function childOf(pid = Number.NaN): Promise<number> {
  let child = '';
  await expect
    .poll(async () => {
      child = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
      return readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '');
    })
    .toContain('main.ts');
  return Number(child);
}

/** Waits until a process handles SIGHUP, bit 0 of a mask: Node itself handles SIGTERM and SIGINT. */
const untilHandled = (pid = Number.NaN) =>
  expect
    .poll(
      async () => {
        const status = await readFile(`/proc/${pid}/status`, 'utf8');
        return Number.parseInt(/SigCgt:\t(\w+)/.exec(status)?.[1]?.slice(-8) ?? '', 16) & 1;
      },
      { interval: 1, timeout: 10_000 },
    )
    .not.toBe(0);

const SINCE = ['--unless-active-since', '2024-05-01'] as const;

describe('delete-key', () => {
  it('deletes 100 keys one after the other, with a line for every outcome, and none that was active', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `key-${index + 1}`);
    const kinds: readonly Deletion[] = [204, 202, 404, 403, 409, 'lost'];
    const kindOf = (index: number) => (index === 95 ? 401 : (kinds[index % 10] ?? 204));
    const isActive = (index: number) => index % 10 === 6;
    const trail = [
      ...ids.filter((_, index) => isActive(index)).map((id, index) => event(50 - index, id)),
      event(-1, 'key-1'),
    ];
    await using service = await startKeys(
      Object.fromEntries(ids.map((id, index) => [id, kindOf(index)])),
      trail,
    );
    const from = await fileWith(ids.slice(10).join('\n'));
    const options = ['--yes', '--keep-going', ...SINCE, '--from', from];
    const { status, lines } = await deleteKeys(service, ...options, ...ids.slice(0, 10), 'key-1');
    const outcomes = [
      'DELETED',
      'ACCEPTED',
      'NOT_FOUND',
      'FORBIDDEN',
      'CONFLICT',
      'OUTCOME_UNKNOWN',
    ];
    const expected = ids.map((id, index) => {
      if (index === 95) return ['UNAUTHENTICATED', id];
      if (index > 95) return ['NOT_TRIED', id];
      return [isActive(index) ? 'SKIPPED_ACTIVE' : (outcomes[index % 10] ?? 'DELETED'), id];
    });
    expect(lines.map((line) => line.split('\t').slice(0, 2))).toEqual(expected);
    expect(sentTo(service)).toEqual(ids.filter((_, index) => index <= 95 && !isActive(index)));
    expect(service.seen.filter(({ method }) => method === 'GET')).toHaveLength(1);
    expect(lines[6]).toBe('SKIPPED_ACTIVE\tkey-7\tkey-7 acted at 2024-05-03T02:00:00.000Z.');
    expect(lines[95]).toBe(
      'UNAUTHENTICATED\tkey-96\tThe service refused KEYTRAIL_TOKEN (401) for DELETE /api/v1/secrets/key-96 (UNAUTHENTICATED). Set a new access token, or unset it and log in with keytrail login.',
    );
    expect(status).toBe(6);
  });

  it('does the same through a running gateway', async () => {
    await using service = await startKeys({ b: 404, c: 403 }, [event(5, 'd'), event(-1)]);
    const args = ['a', 'b', 'c', 'd', '--yes', ...SINCE];
    const inProcess = await deleteKeys(service, ...args);
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    await using command = keytrailInProcess(['delete-key', ...args, '--gateway', server.url], {
      KEYTRAIL_TOKEN: TOKEN,
    });
    const { outcomes, status } = await end(command);
    expect({ outcomes, status }).toEqual({
      outcomes: inProcess.outcomes,
      status: inProcess.status,
    });
    expect(inProcess.outcomes).toEqual(['DELETED', 'NOT_FOUND', 'FORBIDDEN', 'SKIPPED_ACTIVE']);
    expect(inProcess.status).toBe(3);
    expect(sentTo(service)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it.each<[Deletion, string, string, number, number, string?]>([
    [204, 'DELETED', 'DELETED', 2, 0],
    [202, 'ACCEPTED', 'DELETED', 2, 0],
    [404, 'NOT_FOUND', 'DELETED', 2, 0],
    [{ body: { code: 'API_KEY_NOT_FOUND' } }, 'NOT_FOUND', 'DELETED', 2, 0],
    [403, 'FORBIDDEN', 'DELETED', 2, 3],
    [409, 'CONFLICT', 'DELETED', 2, 3],
    [422, 'BAD_USER_INPUT', 'DELETED', 2, 3],
    [401, 'UNAUTHENTICATED', 'NOT_TRIED', 1, 6],
    [401, 'UNAUTHENTICATED', 'NOT_TRIED', 1, 6, '--keep-going'],
    [LONG_LIMIT, 'RATE_LIMITED', 'NOT_TRIED', 1, 3, '--keep-going'],
    [405, 'UPSTREAM_ERROR', 'NOT_TRIED', 1, 3, '--keep-going'],
    [{ body: { deleted: 0 } }, 'UPSTREAM_ERROR', 'NOT_TRIED', 1, 3, '--keep-going'],
    [
      { status: 302, headers: { location: '/' } },
      ...(['UPSTREAM_BAD_RESPONSE', 'NOT_TRIED', 1, 3, '--keep-going'] as const),
    ],
    ['lost', 'OUTCOME_UNKNOWN', 'NOT_TRIED', 1, 4],
    ['lost', 'OUTCOME_UNKNOWN', 'DELETED', 2, 4, '--keep-going'],
    [500, 'OUTCOME_UNKNOWN', 'NOT_TRIED', 1, 4],
    [500, 'OUTCOME_UNKNOWN', 'DELETED', 2, 4, '--keep-going'],
    [504, 'OUTCOME_UNKNOWN', 'NOT_TRIED', 1, 4],
    [{ body: '{"deleted": tr' }, 'OUTCOME_UNKNOWN', 'NOT_TRIED', 1, 4],
  ])('after %o prints %s, then %s', async (first, outcome, next, sent, status, ...options) => {
    await using service = await startKeys({ first });
    const run = await deleteKeys(
      service,
      'first',
      'second',
      '--yes',
      ...options.filter((one) => one !== undefined),
    );
    expect(run.outcomes).toEqual([outcome, next]);
    expect(sentTo(service)).toEqual(['first', 'second'].slice(0, sent));
    expect(run.status).toBe(status);
  });

  it('says in words why a key was not deleted, and which failure left that unknown', async () => {
    await using service = await startKeys({ b: 403, c: 500 });
    expect((await deleteKeys(service, 'a', 'b', 'c', 'd', '--yes')).stdout).toBe(
      [
        'DELETED\ta',
        'FORBIDDEN\tb\tDELETE /api/v1/secrets/b failed with HTTP 403 (FORBIDDEN). The service does not permit this: ask for the permission, or log in as another client.',
        'OUTCOME_UNKNOWN\tc\tDELETE /api/v1/secrets/c failed with HTTP 500 (OUTCOME_UNKNOWN). The key may be deleted: check with keytrail audit before you delete it again.',
        'NOT_TRIED\td',
        '',
      ].join('\n'),
    );
  });

  it('stops where the service is not reached', async () => {
    const gone = await startKeys({});
    await gone[Symbol.asyncDispose]();
    const { outcomes, status } = await deleteKeys(gone, 'a', 'b', '--yes', '--keep-going');
    expect(outcomes).toEqual(['UPSTREAM_UNAVAILABLE', 'NOT_TRIED']);
    expect(status).toBe(3);
  });

  it('escapes what a terminal would obey', async () => {
    await using service = await startKeys({}, [event(1, 'a\u202eb'), event(-1)]);
    const { lines } = await deleteKeys(service, 'a\u202eb', 'c\u200bd', '--dry-run', ...SINCE);
    expect(lines).toEqual([
      'SKIPPED_ACTIVE\ta\\u202eb\ta\\u202eb acted at 2024-05-01T01:00:00.000Z.',
      'WOULD_DELETE\tc\\u200bd',
    ]);
  });

  it('sends nothing with --dry-run, and asks nothing', async () => {
    await using service = await startKeys({});
    const { lines, status } = await deleteKeys(service, 'a', 'b', '--dry-run');
    expect(lines).toEqual(['WOULD_DELETE\ta', 'WOULD_DELETE\tb']);
    expect(status).toBe(0);
    expect(service.seen).toEqual([]);
  });

  it('reads the trail with --dry-run, and deletes nothing', async () => {
    await using service = await startKeys({}, [event(1, 'a'), event(-1)]);
    const { outcomes, status } = await deleteKeys(
      service,
      'a',
      'b',
      '--dry-run',
      '--yes',
      ...SINCE,
    );
    expect(outcomes).toEqual(['SKIPPED_ACTIVE', 'WOULD_DELETE']);
    expect(status).toBe(1);
    expect(service.seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it.each([
    [[], 'delete-key needs an ID, or --from FILE with one per line.'],
    [['a'], '--yes is required: there is no terminal to ask at.'],
    [['a', '--unless-active-since', '0s'], '--unless-active-since must be a time in the past.'],
    [
      ['a', '--unless-active-since', '2999-01-01'],
      '--unless-active-since must be a time in the past.',
    ],
    [['a', '--unless-active-since', 'tuesday'], '--unless-active-since must be a time:'],
    [
      ['a', '--unless-active-since', '0001-01-01T00:00:00Z'],
      '--unless-active-since must be a time:',
    ],
    [['a', '--yes', '--from', '/nowhere/keys'], '--from "/nowhere/keys" cannot be read.'],
  ])('is wrong usage with %j', async (args, problem) => {
    await using service = await startKeys({});
    const { status, stdout, stderr } = await deleteKeys(service, ...args);
    expect(stderr).toContain(problem);
    expect({ status, stdout, sent: service.seen }).toEqual({ status: 2, stdout: '', sent: [] });
  });

  it('deletes no key unless it was active since before the year 1: no trail reaches back', async () => {
    await using service = await startKeys({}, [event(1), event(-1)]);
    const since = ['--unless-active-since', '999999w'];
    const { outcomes } = await deleteKeys(service, 'a', '--yes', ...since);
    expect(outcomes).toEqual(['SKIPPED_ACTIVE']);
    expect(sentTo(service)).toEqual([]);
  });

  it('counts an event of the same millisecond as active', async () => {
    const acted = { ...event(0, 'a'), time: '2024-05-01T00:00:00.0009Z' };
    await using service = await startKeys({}, [acted, event(-1)]);
    const since = ['--unless-active-since', '2024-05-01T00:00:00.000500Z'];
    const { lines } = await deleteKeys(service, 'a', 'b', '--yes', ...since);
    expect(lines).toEqual([
      'SKIPPED_ACTIVE\ta\ta acted at 2024-05-01T00:00:00.000Z.',
      'DELETED\tb',
    ]);
  });

  it('deletes nothing with an empty file', async () => {
    await using service = await startKeys({});
    const { status } = await deleteKeys(service, '--yes', '--from', await fileWith('\n \r\n'));
    expect(status).toBe(2);
    expect(service.seen).toEqual([]);
  });

  it('waits for the deletion in flight after Ctrl-C, and sends no other', async () => {
    const { promise: isSent, resolve: sent } = Promise.withResolvers<void>();
    const { promise: response, resolve: respond } = Promise.withResolvers<ServiceResponse>();
    await using service = await startService(() => {
      sent();
      return response;
    });
    const command = keytrailInProcess(['delete-key', 'a', 'b', '--yes'], settingsFor(service));
    await isSent;
    const stopped = command[Symbol.asyncDispose]();
    respond({ status: 204 });
    await stopped;
    const { lines, status } = await end(command);
    expect(lines).toEqual(['DELETED\ta', 'NOT_TRIED\tb']);
    expect(status).toBe(130);
    expect(sentTo(service)).toEqual(['a']);
  });

  it('deletes nothing after Ctrl-C while it reads the trail', async () => {
    const { promise: isSent, resolve: sent } = Promise.withResolvers<void>();
    const { promise: response, resolve: respond } = Promise.withResolvers<ServiceResponse>();
    await using service = await startKeys({}, () => {
      sent();
      return response;
    });
    const args = ['delete-key', 'a', '--yes', ...SINCE];
    const command = keytrailInProcess(args, settingsFor(service));
    await isSent;
    const stopped = command[Symbol.asyncDispose]();
    respond({ body: [event(1), event(-1)] });
    await stopped;
    const { lines, status } = await end(command);
    expect(lines).toEqual(['NOT_TRIED\ta']);
    expect(status).toBe(130);
    expect(sentTo(service)).toEqual([]);
  });

  it('deletes no key whose line cannot be written, and prints the rest to stderr', async () => {
    await using service = await startKeys({});
    const args = ['delete-key', 'a', 'b', '--yes'];
    await using command = startKeytrail(args, settingsFor(service));
    command.child.stdout.destroy();
    const { status, stderr } = await end(command);
    expect(stderr).toBe('DELETED\ta\nNOT_TRIED\tb\n');
    expect(status).toBe(1);
    expect(sentTo(service)).toEqual(['a']);
  });
});

describe('delete-key --from', () => {
  it('reads one ID per line, and each once', async () => {
    await using service = await startKeys({});
    const [one, other] = [
      await fileWith('\uFEFFb\r\n\r\na b\n# c\n#\n \t\nb'),
      await fileWith('c/d\na'),
    ];
    const { lines } = await deleteKeys(service, 'a', '--yes', '--from', one, '--from', other);
    expect(lines).toEqual(['a', 'b', 'a b', 'c/d'].map((id) => `DELETED\t${id}`));
    expect(service.seen.map(({ url }) => url.replace('/api/v1/secrets/', ''))).toEqual([
      'a',
      'b',
      'a%20b',
      'c%2Fd',
    ]);
  });

  it('reads every ID again that was written to it, and counts the lines', () => {
    const id = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n]/g, ''));
    const isId = (text: string) => text.trim() !== '' && !text.startsWith('#');
    fc.assert(
      fc.property(fc.array(id), fc.constantFrom('\n', '\r\n'), (lines, end) => {
        const expected = lines.map((each, index) => ({ id: each, line: index + 1 }));
        expect(parseIds(lines.map((line) => line + end).join(''))).toEqual(
          expected.filter((each) => isId(each.id)),
        );
      }),
    );
  });

  it('finds no problem with an ID exactly if its request can be sent as it is', () => {
    const isSendable = (id: string) =>
      id.isWellFormed() &&
      new URL(`http://localhost/a/${encodeURIComponent(id)}`).pathname ===
        `/a/${encodeURIComponent(id)}` &&
      /^\P{Cc}{1,256}$/u.test(id) &&
      id.trim() === id &&
      !id.includes('\ufffd');
    const unit = fc.constantFrom(
      ...['a', '.', '/', ' ', '\0', '\ud800', '\ufffd', '😀', '%', '\t'],
    );
    const ids = fc.oneof(fc.string({ unit, maxLength: 4 }), fc.string({ unit, minLength: 254 }));
    fc.assert(
      fc.property(ids, (id) => {
        expect(findProblem(id) === undefined).toBe(isSendable(id));
      }),
    );
  });

  const LONG = 'k'.repeat(257);
  it.each<[string, string, readonly string[]]>([
    ['a dot', 'a\n.\n', ['line 2: the ID is . or ..,']],
    ['two dots', '..', ['line 1: the ID is . or ..,']],
    ['a space before it', '# keys\n a', ['line 2: the ID has spaces around it.']],
    ['a tab after it', 'a\t\r\n', ['line 1: the ID has spaces around it.']],
    ['a no-break space after it', 'a\u00a0', ['line 1: the ID has spaces around it.']],
    ['257 characters', `b\n${LONG}`, ['line 2: the ID has more than 256 characters.']],
    ['a control character', 'a\u001b[31m', ['line 1: the ID has a control character.']],
    ['two problems', 'a\n\n.\na b\n b', ['line 3: the ID', 'line 5: the ID']],
    ['1,000 problems', '.\n'.repeat(1000), ['line 10: the ID', '990 more of the IDs']],
  ])('sends nothing if an ID has %s', async (_, text, problems) => {
    await using service = await startKeys({});
    const run = await deleteKeys(service, 'first', '--yes', '--from', await fileWith(text));
    for (const problem of problems) expect(run.stderr).toContain(problem);
    expect(run.stderr).not.toContain(LONG);
    expect(run.stderr.length).toBeLessThan(3000);
    expect({ ...run, stderr: '', sent: service.seen }).toMatchObject({
      ...{ status: 2, stdout: '', sent: [] },
    });
  });

  it.each([
    ['an empty ID', "''", 'ID 2 of the command line: the ID is empty.'],
    ['an ID with a space', "' b'", 'ID 2 of the command line: the ID has spaces around it.'],
    ['half of a pair of surrogates', '"$(printf \'b\\355\\240\\200\')"', 'the ID is not in UTF-8.'],
    [
      'bytes of Latin-1',
      '"$(printf \'b\\374\')"',
      'ID 2 of the command line: the ID is not in UTF-8.',
    ],
  ])('sends nothing for %s of a shell', async (_, word, problem) => {
    await using service = await startKeys({});
    await using command = startInShell(
      `$KEYTRAIL delete-key a ${word} --yes`,
      settingsFor(service),
    );
    const { status, stderr, stdout } = await end(command);
    expect(stderr).toContain(problem);
    expect({ status, stdout, sent: service.seen }).toEqual({ status: 2, stdout: '', sent: [] });
  });

  it('takes an ID of 256 characters, and one that begins with # as an argument', async () => {
    await using service = await startKeys({});
    const ids = ['😀'.repeat(256), '#1'];
    const { outcomes } = await deleteKeys(service, '--yes', ...ids);
    expect(outcomes).toEqual(['DELETED', 'DELETED']);
    expect(sentTo(service)).toEqual(ids);
  });

  it('reads standard input', async () => {
    await using service = await startKeys({});
    const script = "printf '# old\\nb\\r\\na\\nb' | $KEYTRAIL delete-key a --from - --from=- --yes";
    await using command = startInShell(script, settingsFor(service));
    const { status, lines } = await end(command);
    expect({ status, lines }).toEqual({ status: 0, lines: ['DELETED\ta', 'DELETED\tb'] });
    expect(sentTo(service)).toEqual(['a', 'b']);
  });

  it.each([
    ['printf "a\\n.\\n"', '--yes', 'standard input, line 2: the ID is . or ..'],
    ['printf "a\\n"', '', '--yes is required: standard input has the IDs.'],
    ['printf ""', '--yes', 'delete-key needs an ID'],
    ['printf "a\\0\\n\\0"', '--yes', 'standard input is in UTF-16'],
  ])('sends nothing of standard input: %s, %s', async (printed, option, problem) => {
    await using service = await startKeys({});
    const script = `${printed} | $KEYTRAIL delete-key --from - ${option}`;
    await using command = startInShell(script, settingsFor(service));
    const { status, stderr } = await end(command);
    expect(stderr).toContain(problem);
    expect({ status, sent: service.seen }).toEqual({ status: 2, sent: [] });
  });

  it('ends at a signal while it reads standard input', async () => {
    await using service = await startKeys({});
    const args = ['delete-key', '--from', '-', '--yes'];
    await using command = startKeytrail(args, settingsFor(service));
    command.child.stdin.write('a\n');
    await untilHandled(command.child.pid);
    command.child.kill('SIGTERM');
    expect(await command.status).toBe(143);
    expect(service.seen).toEqual([]);
  });
});

describe('delete-key --unless-active-since', () => {
  const SKIPPED = 'SKIPPED_ACTIVE\tci-bot\t';

  /** Deletes ci-bot unless it was active. */
  async function deleteFrom(trail: Handler | object, id = 'ci-bot') {
    await using service = await startKeys({}, trail);
    const { stdout, status, stderr } = await deleteKeys(service, id, '--yes', ...SINCE);
    const reads = service.seen.length - sentTo(service).length;
    return { line: stdout.trimEnd(), status, stderr, sent: sentTo(service), reads };
  }

  it.each<[string, readonly object[]]>([
    ['from new to old', [event(2), event(0), event(-1, 'ci-bot')]],
    ['from old to new', [event(-1, 'ci-bot'), event(0), event(2)]],
    ['without an order', [event(1), event(-2, 'ci-bot'), event(2), event(-1)]],
    [
      'with another key of a similar name',
      [event(1, 'ci-bot-2'), event(1, 'my_ci-bot'), event(-1)],
    ],
    [
      'with the key as target',
      [
        { ...event(1), target: 'ci-bot' },
        { ...event(-1), target: 'x' },
      ],
    ],
  ])('deletes a key that did not act, in a trail %s', async (_, trail) => {
    expect(await deleteFrom(trail)).toMatchObject({
      line: 'DELETED\tci-bot',
      sent: ['ci-bot'],
      status: 0,
    });
  });

  it.each<[string, readonly object[]]>([
    ['from new to old', [event(2, 'ci-bot'), event(0, 'ci-bot'), event(-1)]],
    ['from old to new', [event(-1), event(0, 'ci-bot'), event(2, 'ci-bot')]],
    ['without an order', [event(-2), event(2, 'ci-bot'), event(0, 'ci-bot'), event(-1)]],
    ['that does not reach back', [event(2, 'ci-bot'), event(1)]],
    ['with 32 older events before', [event(3), ...events(-1, -32), event(2, 'ci-bot'), event(-33)]],
    ['of 200 events from old to new', [...events(-190, -1), ...events(0, 1), event(2, 'ci-bot')]],
  ])('skips a key that acted, in a trail %s', async (_, trail) => {
    expect(await deleteFrom(trail)).toMatchObject({
      ...{ line: `${SKIPPED}ci-bot acted at 2024-05-01T02:00:00.000Z.`, sent: [], status: 1 },
    });
  });

  it.each([
    ['the instant itself', event(0, 'ci-bot')],
    ['a name', event(2, { id: 'u-1', name: 'ci-bot' })],
    ['an identifier beside a name', event(2, { id: 'ci-bot', name: 'Deployments' })],
    ['its type before it', event(2, 'apikey:ci-bot')],
    ['its type after it', event(2, 'ci-bot@clients')],
    ['a path', event(2, 'projects/7/keys/ci-bot')],
    ['capitals', event(2, 'CI-Bot')],
  ])('skips a key that acted by %s', async (_, own) => {
    const { line, sent } = await deleteFrom([
      own,
      event(-1, own.actor === 'ann' ? 'ann' : own.actor),
    ]);
    expect(line).toMatch(/^SKIPPED_ACTIVE\tci-bot\t.* acted at /);
    expect(sent).toEqual([]);
  });

  it('names the last of several actors that may be the key', async () => {
    const trail = [event(-1), event(1, 'ci-bot'), event(3, 'apikey:ci-bot'), event(2, 'CI-Bot')];
    expect((await deleteFrom(trail)).line).toBe(
      `${SKIPPED}apikey:ci-bot acted at 2024-05-01T03:00:00.000Z.`,
    );
  });

  it('skips a key that is given with its type, which the trail has as a field of its own', async () => {
    const trail = [event(2, 'ci-bot'), event(-1, 'ci-bot')];
    expect(await deleteFrom(trail, 'apikey:ci-bot')).toMatchObject({ sent: [], status: 1 });
  });

  const EXPLAIN = ': keytrail audit --explain says why.';
  it.each<[string, object, string]>([
    ['is empty', [], 'The audit trail does not reach back to 2024-05-01T00:00:00.000Z.'],
    [
      'is too short',
      events(9, 0),
      'The audit trail does not reach back to 2024-05-01T00:00:00.000Z.',
    ],
    [
      'ends before',
      events(-1, -9),
      'The audit trail has no event of anyone since 2024-05-01T00:00:00.000Z, so it may be incomplete.',
    ],
    [
      'may be cut off',
      events(-9, -1),
      'The audit trail has no event of anyone since 2024-05-01T00:00:00.000Z, so it may be incomplete.',
    ],
    [
      'has an event without a time',
      [event(2), { ...event(1), time: null }, event(-1)],
      `An event has no readable time${EXPLAIN}`,
    ],
    [
      'has a time that is not set',
      [event(2), { ...event(1), time: '0001-01-01T00:00:00Z' }, event(-1)],
      `An event has no readable time${EXPLAIN}`,
    ],
    [
      'has an event without an actor',
      [event(2), event(1, null), event(-1)],
      `The event of 2024-05-01T01:00:00.000Z has no readable actor${EXPLAIN}`,
    ],
  ])('skips every key if the trail %s', async (_, trail, reason) => {
    expect(await deleteFrom(trail)).toMatchObject({ line: SKIPPED + reason, sent: [], status: 1 });
  });

  it('takes the target of a failed login without an actor for its actor', async () => {
    const attempt = (id: string) => ({
      ...{ ...event(1, null), action: 'client.login', outcome: 'failure' },
      target: { type: 'api_key', id },
    });
    const trailOf = (id: string) => [event(2), attempt(id), event(-1)];
    expect(await deleteFrom(trailOf('another-key'))).toMatchObject({ sent: ['ci-bot'] });
    expect(await deleteFrom(trailOf('ci-bot'))).toMatchObject({ sent: [], status: 1 });
  });

  it('does not need the actor of an older event', async () => {
    expect(await deleteFrom([event(2), event(-1, null), event(-2)])).toMatchObject({
      sent: ['ci-bot'],
    });
  });

  it.each<[string, ServiceResponse, number, string]>([
    ['is refused', { status: 403 }, 3, 'FORBIDDEN'],
    ['fails', { status: 500 }, 3, 'UPSTREAM_ERROR'],
    ['has no records', { body: { status: 'ok' } }, 3, 'NO_RECORDS'],
    ['is no JSON', { body: '<html>' }, 3, 'UPSTREAM_BAD_RESPONSE'],
    ['needs another token', { status: 401 }, 6, 'UNAUTHENTICATED'],
  ])('deletes nothing if the trail %s', async (_, response, status, code) => {
    const { line, stderr, ...run } = await deleteFrom(() => response);
    expect(run).toMatchObject({ status, sent: [] });
    expect(line).toBe('');
    expect(stderr).toContain(code === 'NO_RECORDS' ? 'UPSTREAM_BAD_RESPONSE' : code);
  });

  /** Serves a trail in pages of 100. */
  const inPages =
    (all: readonly object[], failsAt = Number.POSITIVE_INFINITY): Handler =>
    (seen) => {
      const at = Number(new URL(seen.url, 'http://service.test').searchParams.get('cursor') ?? 0);
      if (at >= failsAt) return { status: 500 };
      const next = at + 100 < all.length ? `/api/v1/audit?cursor=${at + 100}` : null;
      return { body: { events: all.slice(at, at + 100), next } };
    };

  it('deletes nothing if a later page fails', async () => {
    const trail = events(2000, -100);
    const { line, ...run } = await deleteFrom(inPages(trail, 1500));
    expect(run).toMatchObject({ status: 3, sent: [] });
    expect(line).toBe('');
  });

  it('reads a trail from new to old only as far back as it needs to', async () => {
    const trail = [...events(1500, 0), ...events(-1, -5000)];
    const { reads, ...run } = await deleteFrom(inPages(trail));
    expect(run).toMatchObject({ line: 'DELETED\tci-bot', sent: ['ci-bot'] });
    expect(reads).toBeLessThan(25);
  });

  it('reads a trail from old to new to its end', async () => {
    const trail = [...events(-2000, 1), event(2, 'ci-bot')];
    const { line, sent } = await deleteFrom(inPages(trail));
    expect(line).toBe(`${SKIPPED}ci-bot acted at 2024-05-01T02:00:00.000Z.`);
    expect(sent).toEqual([]);
  });

  it('reads on after an old trail whose first record has the wrong year', async () => {
    const trail = [event(90_000), ...events(-2000, 1), event(2, 'ci-bot')];
    expect(await deleteFrom(inPages(trail))).toMatchObject({ sent: [], status: 1 });
  });
});

describe('delete-key with a gateway', () => {
  const payload = { outcome: 'DELETED', apiKey: { clientId: 'a' } };
  const failure = (code: string | undefined, path?: readonly string[]) => ({
    message: 'It failed.',
    ...(path && { path }),
    extensions: { code },
  });

  it.each<[string, ServiceResponse, readonly string[], number]>([
    [
      'an error below the field is still its outcome',
      {
        body: {
          data: { deleteApiKey: payload },
          errors: [failure('FORBIDDEN', ['deleteApiKey', 'apiKey'])],
        },
      },
      ['DELETED', 'DELETED'],
      0,
    ],
    [
      'an error below the field that made it null leaves it unknown',
      {
        body: {
          data: { deleteApiKey: null },
          errors: [failure('NOT_FOUND', ['deleteApiKey', 'apiKey'])],
        },
      },
      ['OUTCOME_UNKNOWN', 'NOT_TRIED'],
      4,
    ],
    [
      'an error of a code that nobody knows leaves it unknown',
      { body: { data: null, errors: [failure('SUBREQUEST_HTTP_ERROR')] } },
      ['OUTCOME_UNKNOWN', 'NOT_TRIED'],
      4,
    ],
    ['no outcome leaves it unknown', { body: { data: null } }, ['OUTCOME_UNKNOWN', 'NOT_TRIED'], 4],
    [
      'no GraphQL after a failure leaves it unknown',
      { status: 502, body: '<html>' },
      ['OUTCOME_UNKNOWN', 'NOT_TRIED'],
      4,
    ],
    [
      'a document that is not valid ends it',
      { body: { errors: [failure('GRAPHQL_VALIDATION_FAILED')] } },
      ['GRAPHQL_VALIDATION_FAILED', 'NOT_TRIED'],
      3,
    ],
    [
      'no GraphQL at the URL ends it',
      { status: 404, body: '<html>' },
      ['NOT_TRIED', 'NOT_TRIED'],
      3,
    ],
  ])('%s', async (_, response, outcomes, status) => {
    await using server = await startService(response);
    const args = ['delete-key', 'a', 'b', '--yes', '--gateway', server.url];
    await using command = keytrailInProcess(args, { KEYTRAIL_TOKEN: TOKEN });
    const run = await end(command);
    expect(run.outcomes).toEqual(outcomes);
    expect(run.status).toBe(status);
    expect(server.seen).toHaveLength(outcomes[1] === 'DELETED' ? 2 : 1);
  });

  it('that is not reached deletes nothing', async () => {
    const gone = await startService({});
    await gone[Symbol.asyncDispose]();
    const args = ['delete-key', 'a', 'b', '--yes', '--keep-going', '--gateway', gone.url];
    await using command = keytrailInProcess(args, { KEYTRAIL_TOKEN: TOKEN });
    const { outcomes, status, stderr } = await end(command);
    expect(outcomes).toEqual(['NOT_TRIED', 'NOT_TRIED']);
    expect(stderr).toMatch(/The gateway could not be reached/);
    expect(status).toBe(3);
  });

  it.each([
    ['NOT_FOUND', 6],
    ['FORBIDDEN', 6],
    ['OUTCOME_UNKNOWN', 4],
  ])('takes %s of a login for no outcome of a key', async (code, status) => {
    const tokens = { accessToken: 'one', tokenType: null, refreshToken: 'two', expiresAt: null };
    let logins = 0;
    await using server = await startService(({ body }) => {
      const field = body.includes('mutation Login') ? 'login' : 'deleteApiKey';
      logins += field === 'login' ? 1 : 0;
      if (field === 'login' && logins === 1) return { body: { data: { login: tokens } } };
      const error = failure(field === 'login' ? code : 'UNAUTHENTICATED', [field]);
      return { body: { data: { [field]: null }, errors: [error] } };
    });
    const saved = join(folder, `${code}.json`);
    await using login = keytrailInProcess(
      ['login', 'ann', '--session', saved, '--gateway', server.url],
      {},
      'secret',
    );
    expect(await login.status).toBe(0);
    await using command = keytrailInProcess([
      'delete-key',
      'a',
      'b',
      '--yes',
      '--session',
      saved,
      '--gateway',
      server.url,
    ]);
    const run = await end(command);
    expect(run.outcomes).toEqual(['NOT_TRIED', 'NOT_TRIED']);
    expect(run.status).toBe(status);
  });
});

describe('delete-key in a terminal', () => {
  it.each([
    [['ci-bot'], 'Type ci-bot to delete this key: ', 'ci-bot', ['ci-bot'], 0],
    [['ci-bot'], 'Type ci-bot to delete this key: ', 'ci-bo', [], 1],
    [['ci-bot'], 'Type ci-bot to delete this key: ', 'y', [], 1],
    [['a', 'b', 'c'], 'Type 3 to delete these 3 keys: ', '3', ['a', 'b', 'c'], 0],
    [['a', 'b', 'c'], 'Type 3 to delete these 3 keys: ', 'a', [], 1],
    [['a', 'b', 'c'], 'Type 3 to delete these 3 keys: ', '', [], 1],
    [['a', '--unless-active-since', '2024-05-01'], 'delete this key: ', 'b', [], 1],
    [['a'], 'Type a to delete this key: ', '\x03', [], 130],
    [['a'], 'Type a to delete this key: ', '\x04', [], 130],
  ] as const)(
    'with %j asks %j, and %j deletes %j',
    async (args, question, answer, sent, status) => {
      await using service = await startKeys({});
      await using process = startInTerminal(settingsFor(service), ['delete-key', ...args]);
      await process.until(new RegExp(question));
      expect(service.seen).toEqual([]);
      process.child.stdin.write(`${answer}\r`);
      expect(await process.status).toBe(status);
      expect(service.seen.map(({ url }) => idOf(url))).toEqual(sent);
      const { stdout } = process.output;
      for (const id of sent) expect(stdout).toContain(`DELETED\t${id}`);
      expect(stdout).not.toContain(TOKEN);
    },
  );

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ] as const)('ends at %s before anything is typed', async (signal, status) => {
    await using service = await startKeys({});
    await using terminal = startInTerminal(settingsFor(service), ['delete-key', 'a']);
    await terminal.until(/Type a/);
    process.kill(await childOf(terminal.child.pid), signal);
    expect(await terminal.status).toBe(status);
    expect(terminal.output.stdout).not.toContain('what was typed');
    expect(service.seen).toEqual([]);
  });

  it('asks nothing after an early Ctrl-C', async () => {
    await using service = await startKeys({});
    await using terminal = startInTerminal(settingsFor(service), ['delete-key', 'a']);
    const pid = await childOf(terminal.child.pid);
    await untilHandled(pid);
    process.kill(pid, 'SIGINT');
    expect(await terminal.status).toBe(130);
    expect(terminal.output.stdout).toBe('');
    expect(service.seen).toEqual([]);
  });

  it('asks nothing with --yes', async () => {
    await using service = await startKeys({});
    await using process = startInTerminal(settingsFor(service), ['delete-key', 'a', '--yes']);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).toMatch(/^DELETED\s+a\r\n$/);
  });

  it('stops by Ctrl-C after the question', async () => {
    const { promise: isSent, resolve: sent } = Promise.withResolvers<void>();
    const { promise: response, resolve: respond } = Promise.withResolvers<ServiceResponse>();
    await using service = await startService(() => {
      sent();
      return response;
    });
    await using process = startInTerminal(settingsFor(service), ['delete-key', 'a', 'b']);
    await process.until(/Type 2/);
    process.child.stdin.write('2\r');
    await isSent;
    process.child.stdin.write('\x03');
    await process.until(/\^C/);
    respond({ status: 204 });
    expect(await process.status).toBe(130);
    expect(process.output.stdout).toMatch(/DELETED\s+a\r\nNOT_TRIED\s+b\r\n$/);
    expect(sentTo(service)).toEqual(['a']);
  });
});
