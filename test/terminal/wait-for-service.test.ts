import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeTime } from '../helpers/fake-time.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { type Order, startPagedTrail } from '../helpers/paged-trail.ts';
import { keytrailInProcess, startKeytrail } from '../helpers/process.ts';
import {
  type Handler,
  type Service,
  type ServiceResponse,
  startService,
} from '../helpers/service.ts';

const TOKEN = 'canary-access-token';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-wait-'));
});
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = () => {
  files += 1;
  return join(folder, `file-${files}`);
};

const settingsFor = (url: string) => ({ UPSTREAM_URL: url, KEYTRAIL_TOKEN: TOKEN });

/** Runs a command to its end, without real pauses. */
async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  time = fakeTime(),
) {
  await using command = keytrailInProcess(args, environment, '', {}, time.timers);
  const status = await command.status;
  const { stdout, stderr } = command.output;
  expect(stdout + stderr).not.toContain(TOKEN);
  return { status, stdout, stderr, lines: stderr.split('\n').slice(0, -1), pauses: time.pauses };
}

const idsOf = (stdout: string): readonly string[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id);

/** Responds with this to the last two of each twelve requests. The first of them ends a page of the gateway early, the second fails. */
function twoOfTwelve(failure: ServiceResponse | Handler): Handler {
  let requests = 0;
  return (...args) => {
    requests += 1;
    if ((requests - 1) % 12 < 10) return undefined;
    return typeof failure === 'function' ? failure(...args) : failure;
  };
}

const reset: Handler = (_, response) => {
  response.destroy();
  return undefined;
};
const cutOff: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
  response.write('{"events": [{"id": "e1"');
  setTimeout(() => response.destroy(), 20);
  return undefined;
};
const asks = (status: number, value: string) => ({ status, headers: { 'retry-after': value } });

const FAILURES: readonly (readonly [string, ServiceResponse | Handler])[] = [
  ['429 with Retry-After: 1', asks(429, '1')],
  ['429 with Retry-After: 0', asks(429, '0')],
  ['429 with Retry-After: 120', asks(429, '120')],
  ['429 with a fraction of a second', asks(429, '0.4')],
  ['429 with a date', () => asks(429, new Date(Date.now() + 30_000).toUTCString())],
  ['429 without Retry-After', { status: 429 }],
  ['429 with a Retry-After that means nothing', asks(429, 'soon')],
  ['403 with Retry-After', asks(403, '20')],
  ['500', { status: 500 }],
  ['500 with Retry-After', asks(500, '20')],
  ['503 with Retry-After', asks(503, '20')],
  ['a response that is cut off', cutOff],
];

describe('two of twelve requests of a trail of 3,000 events', () => {
  it.each(FAILURES)('gets %s: each event is printed once', async (_, failure) => {
    await using trail = await startPagedTrail('newest-first', 3000);
    trail.intercept(twoOfTwelve(failure));
    const { status, stdout, lines } = await runCommand(
      ['audit', '--limit', 'all'],
      settingsFor(trail.url),
    );
    expect(status).toBe(0);
    expect(idsOf(stdout)).toEqual(trail.ids().toReversed());
    const waits =
      /^(?:(?:keytrail audit: (?:the service answered HTTP|GET \/api\/v1\/audit failed).+: waiting \d+ s, until \d\d:\d\d:\d\d\.\n)+keytrail audit: going on\.\n?)+$/;
    expect(lines.join('\n')).toMatch(waits);
  });

  it.each(FAILURES.slice(0, 6))('gets %s: each event is exported once', async (_, failure) => {
    await using trail = await startPagedTrail('newest-first', 3000);
    trail.intercept(twoOfTwelve(failure));
    const args = ['audit', '--checkpoint', newPath()];
    const first = await runCommand(args, settingsFor(trail.url));
    expect([first.status, idsOf(first.stdout)]).toEqual([0, trail.ids().toReversed()]);
    trail.add(7);
    const second = await runCommand(args, settingsFor(trail.url));
    expect(second.status).toBe(0);
    expect(idsOf(second.stdout)).toHaveLength(7);
  });

  it.each([asks(429, '1'), { status: 429 }, { status: 500 }])(
    'gets %o: each event of a trail from old to new is exported once',
    async (failure) => {
      await using trail = await startPagedTrail('oldest-first', 3000);
      trail.intercept(twoOfTwelve(failure));
      const args = ['audit', '--checkpoint', newPath()];
      const first = await runCommand(args, settingsFor(trail.url));
      expect([first.status, idsOf(first.stdout)]).toEqual([0, trail.ids()]);
      trail.add(7);
      const second = await runCommand(args, settingsFor(trail.url));
      expect([second.status, idsOf(second.stdout)]).toEqual([0, trail.ids().slice(-7)]);
    },
  );

  it('gets 429 behind a running gateway: each event is printed once', async () => {
    await using trail = await startPagedTrail('oldest-first', 3000);
    trail.intercept(twoOfTwelve(asks(429, '1')));
    await using server = await onPort(gatewayOver(trail.url));
    const { status, stdout, lines } = await runCommand(
      ['audit', '--since', '2026-01-01', '--gateway', server.url],
      { KEYTRAIL_TOKEN: TOKEN },
    );
    expect([status, idsOf(stdout)]).toEqual([0, trail.ids()]);
    expect(lines).toContain('keytrail audit: going on.');
  });
});

it('prints a trail up to the first failure that lasts, each event once, whatever fails before', async () => {
  const failure = fc.constantFrom<ServiceResponse | Handler>(
    ...[
      asks(429, '1'),
      { status: 429 },
      { status: 500 },
      asks(503, '30'),
      asks(403, '2'),
      reset,
      cutOff,
    ],
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Order>('newest-first', 'oldest-first'),
      fc.dictionary(fc.integer({ min: 1, max: 30 }).map(String), failure, { maxKeys: 12 }),
      async (order, failures) => {
        await using trail = await startPagedTrail(order, 1200);
        let requests = 0;
        trail.intercept((...args) => {
          requests += 1;
          const each = failures[requests];
          return typeof each === 'function' ? each(...args) : each;
        });
        const { status, stdout, stderr } = await runCommand(
          ['audit', '--limit', 'all'],
          settingsFor(trail.url),
        );
        const all = order === 'newest-first' ? trail.ids().toReversed() : trail.ids();
        const ids = idsOf(stdout);
        expect(ids).toEqual(all.slice(0, ids.length));
        if (status === 0) expect(ids).toHaveLength(1200);
        else expect(stderr).toMatch(/\((?:UPSTREAM_\w+|RATE_LIMITED)/);
      },
    ),
    { numRuns: 12 },
  );
});

describe('a failure that lasts', () => {
  it('of 500 ends audit after three requests with growing pauses', async () => {
    await using service = await startService({ status: 500 });
    const { status, lines, pauses } = await runCommand(['audit'], settingsFor(service.url));
    expect(status).toBe(3);
    expect(service.seen).toHaveLength(3);
    expect(pauses).toEqual([1000, 2000]);
    expect(lines[0]).toMatch(/^keytrail audit: the service answered HTTP 500: waiting 1 s, until /);
    expect(lines[1]).toContain('UPSTREAM_ERROR');
  });

  it('of 429 without Retry-After ends it after pauses that grow to half a minute', async () => {
    await using service = await startService({ status: 429 });
    const { status, lines, pauses } = await runCommand(['audit'], settingsFor(service.url));
    expect(status).toBe(3);
    expect(pauses).toEqual([1, 2, 4, 8, 16].map((seconds) => 1000 * seconds));
    expect(lines.filter((line) => line.includes('waiting'))).toHaveLength(1);
  });

  it('of 429 with Retry-After: 100 ends it within ten minutes', async () => {
    await using service = await startService(asks(429, '100'));
    const { status, pauses } = await runCommand(['audit'], settingsFor(service.url));
    expect([status, pauses.length]).toEqual([3, 6]);
  });

  it.each([
    ['429', asks(429, '600')],
    ['503', asks(503, '121')],
    ['403', asks(403, '3600')],
  ])('of %s with a long Retry-After ends it at once, and says how long', async (_, response) => {
    await using service = await startService(response);
    const { status, lines, pauses } = await runCommand(['audit'], settingsFor(service.url));
    const { 'retry-after': seconds } = response.headers;
    expect([status, pauses, service.seen.length]).toEqual([3, [], 1]);
    expect(lines.join(' ')).toMatch(
      new RegExp(`^keytrail audit: .* HTTP ${response.status} .*Wait ${seconds} seconds`),
    );
  });

  it('ends an export, which the next run goes on with', async () => {
    await using trail = await startPagedTrail('newest-first', 3000);
    trail.intercept(({ url }) => (/page=15$/.test(url) ? asks(429, '600') : undefined));
    const args = ['audit', '--checkpoint', newPath()];
    const first = await runCommand(args, settingsFor(trail.url));
    expect([first.status, idsOf(first.stdout).length]).toEqual([1, 1400]);
    trail.intercept(() => undefined);
    const second = await runCommand(args, settingsFor(trail.url));
    expect(idsOf(first.stdout + second.stdout)).toEqual(trail.ids().toReversed());
  });

  it.each([
    ['401', { status: 401 }],
    ['403', { status: 403 }],
    ['404 with Retry-After', asks(404, '1')],
    ['a redirect', { status: 302, headers: { location: '/elsewhere', 'retry-after': '1' } }],
    ['a body that is no JSON', { body: '<html>' }],
  ])('of %s is not waited for', async (title, response) => {
    await using service = await startService(response);
    const { status, stderr, pauses } = await runCommand(['audit'], settingsFor(service.url));
    expect([status, pauses]).toEqual([title === '401' ? 6 : 3, []]);
    expect(stderr).not.toContain('waiting');
  });
});

describe.concurrent('--follow', () => {
  const follow = async (
    trail: Service & { add(count: number): void },
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    time: ReturnType<typeof fakeTime>,
  ) => {
    await using command = keytrailInProcess(
      ['audit', '--follow', '--checkpoint', newPath(), ...args],
      env,
      '',
      {},
      time.timers,
    );
    await command.until(/"e5"/);
    await command.until(/going on\.\n/);
    trail.add(1);
    await command.until(/"e6"/);
    await command[Symbol.asyncDispose]();
    expect(await command.status).toBe(130);
    expect(idsOf(command.output.stdout).toSorted()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5', 'e6']);
    return command.output.stderr;
  };

  it.each(['the service', 'a running gateway'])(
    'through two minutes of 503 and 500 of %s says why it waits, until when, and when it goes on',
    async (at) => {
      const time = fakeTime();
      await using trail = await startPagedTrail('newest-first', 5);
      let requests = 0;
      trail.intercept(() => {
        requests += 1;
        if (requests < 3 || time.passed() > 120_000) return undefined;
        return { status: time.passed() < 60_000 ? 503 : 500 };
      });
      await using server = await onPort(gatewayOver(trail.url));
      const stderr =
        at === 'the service'
          ? await follow(trail, [], settingsFor(trail.url), time)
          : await follow(trail, ['--gateway', server.url], { KEYTRAIL_TOKEN: TOKEN }, time);
      const answered = (status: number) =>
        `keytrail audit: the service answered HTTP ${status}: waiting \\d+ s, until \\d\\d:\\d\\d:\\d\\d\\.\n`;
      expect(stderr).toMatch(
        new RegExp(`^${answered(503)}(?:${answered(500)}){1,2}keytrail audit: going on\\.\n$`),
      );
    },
  );

  it('waits for a Retry-After of ten minutes, and for the circuit breaker', async () => {
    const time = fakeTime();
    const { pause } = time.timers;
    const timers = {
      ...time.timers,
      // Those of the circuit breaker are real: its clock is.
      pause: (ms: number) => (ms === 600_000 ? pause(ms) : sleep(ms)),
    };
    await using trail = await startPagedTrail('newest-first', 5);
    let requests = 0;
    trail.intercept(() => {
      requests += 1;
      return requests > 2 && requests < 24 ? asks(503, '600') : undefined;
    });
    const stderr = await follow(trail, [], settingsFor(trail.url), { ...time, timers });
    expect(stderr).toMatch(/the service answered HTTP 503: waiting 600 s, until /);
  });

  it('of a trail that is read on by cursor waits as well', async () => {
    const time = fakeTime();
    await using trail = await startPagedTrail('oldest-first', 1500);
    let requests = 0;
    trail.intercept(() => {
      requests += 1;
      return requests > 30 && time.passed() < 120_000 ? { status: 500 } : undefined;
    });
    await using command = keytrailInProcess(
      ['audit', '--follow', '--since', '2026-01-01'],
      ...([settingsFor(trail.url), '', {}, time.timers] as const),
    );
    await command.until(/going on\.\n/);
    trail.add(1);
    await command.until(/"e1501"/);
    expect(new Set(idsOf(command.output.stdout)).size).toBe(1501);
  });
});

describe('a server in front of a gateway', () => {
  /** Answers the first requests, and then is the gateway. */
  async function startProxy(target: string, failures: readonly (ServiceResponse | Handler)[]) {
    const left = [...failures];
    return startService(async (seen, response, request) => {
      const failure = left.shift();
      if (failure !== undefined)
        return typeof failure === 'function' ? failure(seen, response, request) : failure;
      const { 'content-type': type = '', authorization = '' } = seen.headers;
      const headers = { 'content-type': type, authorization, accept: 'application/json' };
      const answer = await fetch(target, { method: 'POST', headers, body: seen.body });
      return { status: answer.status, body: await answer.text() };
    });
  }

  it('is waited for: 429, 502 and a lost connection', async () => {
    await using trail = await startPagedTrail('newest-first', 5);
    await using server = await onPort(gatewayOver(trail.url));
    const html = '<html>canary</html>';
    await using proxy = await startProxy(`${server.url}/graphql`, [
      { ...asks(429, '7'), body: html },
      { status: 502, body: html },
      reset,
    ]);
    const { status, stdout, lines, pauses } = await runCommand(
      ['audit', '--gateway', `${proxy.url}/graphql`],
      { KEYTRAIL_TOKEN: TOKEN },
    );
    expect([status, idsOf(stdout).length]).toEqual([0, 5]);
    expect(pauses).toEqual([7000, 2000, 4000]);
    expect(lines[0]).toMatch(
      /^keytrail audit: the server of --gateway answered HTTP 429: waiting 7 s/,
    );
  });

  it('is not waited for if it asks for ten minutes', async () => {
    await using proxy = await startService({ ...asks(429, '600'), body: 'busy' });
    const { status, stderr, pauses } = await runCommand(
      ['audit', '--gateway', `${proxy.url}/graphql`],
      {
        KEYTRAIL_TOKEN: TOKEN,
      },
    );
    expect([status, pauses]).toEqual([3, []]);
    expect(stderr).toMatch(/[Ww]ait\s+600\s+seconds/);
  });
});

describe('learn, record and check', () => {
  it('wait for the service', async () => {
    await using trail = await startPagedTrail('newest-first', 300);
    const file = newPath();
    for (const [command, ...args] of [
      ['learn'],
      ['record', '--to', file],
      ['check', '--from', file],
    ] as const) {
      const left = [asks(429, '9'), { status: 500 }, asks(503, '60')];
      trail.intercept(() => left.shift());
      const { status, lines, pauses } = await runCommand(
        [command, ...args],
        settingsFor(trail.url),
      );
      expect([command, status]).toEqual([command, 0]);
      expect(pauses).toEqual([9000, 2000, 60_000]);
      expect(lines[0]).toMatch(
        new RegExp(`^keytrail ${command}: the service answered HTTP 429: waiting 9 s, until `),
      );
      expect(lines).toContain(`keytrail ${command}: going on.`);
    }
  });

  it('say how long the service asks to wait if that is too long', async () => {
    await using service = await startService(asks(429, '600'));
    for (const args of [['learn'], ['record', '--to', newPath()]]) {
      const { stderr, pauses } = await runCommand(args, settingsFor(service.url));
      expect(pauses).toEqual([]);
      expect(stderr).toMatch(/[Ww]ait\s+600\s+seconds/);
      expect(stderr).toContain('RATE_LIMITED');
    }
  });
});

describe('delete-key', () => {
  const deletions = async (failures: readonly (ServiceResponse | Handler)[], running = false) => {
    const left = [...failures];
    await using service = await startService((...args) => {
      const failure = left.shift() ?? { body: { deleted: true } };
      return typeof failure === 'function' ? failure(...args) : failure;
    });
    await using server = await onPort(gatewayOver(service.url));
    const at = running ? ['--gateway', server.url] : [];
    const environment = running ? { KEYTRAIL_TOKEN: TOKEN } : settingsFor(service.url);
    const args = ['delete-key', 'one', 'two', '--yes', ...at];
    const ended = await runCommand(args, environment);
    return { ...ended, sent: service.seen.map(({ url }) => url.replace(/.*\//, '')) };
  };

  it.each([false, true])(
    'waits after a 429, which deleted nothing; at a running gateway: %s',
    async (running) => {
      const { status, stdout, lines, pauses, sent } = await deletions(
        [asks(429, '5'), { status: 429 }],
        running,
      );
      expect([status, stdout]).toEqual([0, 'DELETED\tone\nDELETED\ttwo\n']);
      expect(sent).toEqual(['one', 'one', 'one', 'two']);
      expect(pauses).toEqual([5000, 2000]);
      expect(lines[0]).toMatch(/^keytrail delete-key: the service answered HTTP 429: waiting 5 s/);
      expect(lines[1]).toBe('keytrail delete-key: going on.');
    },
  );

  it.each<readonly [string, ServiceResponse | Handler]>([
    ['403 with Retry-After', asks(403, '1')],
    ['408', { status: 408 }],
    ['500', { status: 500 }],
    ['503 with Retry-After', asks(503, '1')],
    ['504', { status: 504 }],
    ['a lost connection', reset],
    ['a response that is cut off', cutOff],
    ['a body that reports 429', { body: { status: 429, error: 'rate limit' } }],
  ])('never waits after %s', async (_, failure) => {
    const { stderr, pauses, sent } = await deletions([failure]);
    expect(pauses).toEqual([]);
    expect(sent.filter((id) => id === 'one')).toHaveLength(1);
    expect(stderr).not.toContain('waiting');
  });

  it('is not kept waiting for ten minutes: the other keys are not tried', async () => {
    const { status, stdout, pauses } = await deletions([asks(429, '600')]);
    expect([status, pauses]).toEqual([3, []]);
    expect(stdout).toMatch(/^RATE_LIMITED\tone\t.*Wait 600 seconds.*\nNOT_TRIED\ttwo\n$/);
  });
});

it('login never waits', async () => {
  for (const response of [asks(429, '1'), { status: 429 }, asks(503, '1'), asks(403, '1')]) {
    await using service = await startService(response);
    const { UPSTREAM_URL } = settingsFor(service.url);
    const args = ['login', 'ann', '--session', newPath()];
    await using command = keytrailInProcess(args, { UPSTREAM_URL }, 'secret');
    expect(await command.status).toBe(3);
    expect(service.seen).toHaveLength(1);
    expect(command.output.stderr).not.toContain('waiting');
  }
});

describe('a signal ends the wait at once', () => {
  it.each([
    ['audit', 'SIGINT', 130],
    ['audit --checkpoint FILE', 'SIGTERM', 143],
    ['audit --follow', 'SIGHUP', 129],
    ['audit --follow --checkpoint FILE', 'SIGINT', 130],
    ['learn', 'SIGINT', 130],
    ['record --to FILE', 'SIGTERM', 143],
    ['delete-key one two --yes', 'SIGHUP', 129],
    ['delete-key one --yes --unless-active-since 7d', 'SIGINT', 130],
  ] as const)('of %s: %s gives %i', async (line, signal, expected) => {
    await using service = await startService(asks(429, '110'));
    const args = line.replace('FILE', newPath()).split(' ');
    await using command = startKeytrail(args, settingsFor(service.url));
    await command.until(/: waiting 110 s, until /);
    command.child.kill(signal);
    expect(await command.status).toBe(expected);
    expect(service.seen).toHaveLength(1);
    expect(command.output.stderr).not.toMatch(/going on|RATE_LIMITED/);
  });

  it('of check: SIGHUP gives 129', async () => {
    await using trail = await startPagedTrail('newest-first', 30);
    const file = newPath();
    await runCommand(['record', '--to', file], settingsFor(trail.url));
    trail.intercept(() => asks(503, '110'));
    await using command = startKeytrail(['check', '--from', file], settingsFor(trail.url));
    await command.until(/: waiting 110 s, until /);
    command.child.kill('SIGHUP');
    expect(await command.status).toBe(129);
  });

  it('between two pages of an export, which the next run goes on with', async () => {
    await using trail = await startPagedTrail('newest-first', 3000);
    trail.intercept(({ url }) => (/page=15$/.test(url) ? asks(429, '110') : undefined));
    const args = ['audit', '--checkpoint', newPath()];
    await using command = startKeytrail(args, settingsFor(trail.url));
    await command.until(/: waiting 110 s, until /);
    command.child.kill('SIGTERM');
    expect(await command.status).toBe(143);
    trail.intercept(() => undefined);
    const next = await runCommand(args, settingsFor(trail.url));
    expect(next.status).toBe(0);
    expect(idsOf(command.output.stdout + next.stdout)).toEqual(trail.ids().toReversed());
  });
});
