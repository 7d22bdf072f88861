import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/commands/log.ts';
import { loadConfig } from '../../src/config.ts';
import { keytrail, type Process } from '../helpers/keytrail.ts';
import { startService } from '../helpers/service.ts';

/** A process takes its time to start. */
const PATIENTLY = { timeout: 12_000 };

/** The processes that one has started. */
function workersOf({ child }: Process): readonly number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function killWorkers({ child }: Process): void {
  spawnSync('pkill', ['-KILL', '-P', String(child.pid)]);
}

/** Whether somebody answers there. The last connection that a cluster of Node's takes in may hang. */
function isAnswered(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    () => true,
    () => false,
  );
}

/** Asks over a connection of its own: connections go round the workers. */
async function query(url: string, text: string, token = 't') {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      connection: 'close',
    },
    body: JSON.stringify({ query: text }),
  });
  return response.json();
}

/** Starts the program as it is installed, which takes less time than the sources do. */
async function start(environment: Readonly<Record<string, string>>) {
  const primary = keytrail([], { PORT: '0', WORKERS: '2', ...environment }, 'dist/main.js');
  const [, url = ''] = await primary.until(/GraphQL +(http:\S+)/);
  const end = async () => {
    killWorkers(primary);
    await primary[Symbol.asyncDispose]();
  };
  return { primary, url, [Symbol.asyncDispose]: end };
}

/** A service that answers when it is told to. */
async function startHolding() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const service = await startService(async () => {
    await promise;
    return { body: [] };
  });
  return {
    ...service,
    release,
    /** Asks four times, and comes back when all of it is under way. */
    hold: async <Answer>(ask: () => Promise<Answer>): Promise<readonly Promise<Answer>[]> => {
      const answers = Array.from({ length: 4 }, ask);
      await expect.poll(() => service.seen.length, PATIENTLY).toBe(4);
      return answers;
    },
  };
}

/** Code to be imported before the program: a file of its own would have to be found. */
function importing(code: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

describe('two workers', () => {
  let primary: Process;
  let url: string;
  const metrics = async () => {
    const [, place = ''] = await primary.until(/Metrics +(http:\S+)/);
    return (await fetch(place)).text();
  };
  const answered = async () =>
    Number(/requests_total\{operation="__typename",code="OK"\} (\d+)/.exec(await metrics())?.[1]);

  beforeAll(async () => {
    ({ primary, url } = await start({
      METRICS_PORT: '0',
      LOGIN_RATE_LIMIT: '4',
      ...importing("process.on('SIGUSR2', () => { throw new Error() })"),
    }));
  }, 15_000);
  afterAll(() => primary[Symbol.asyncDispose]());

  it('share one port, one sandbox, one limit of logins and one count', async () => {
    expect(workersOf(primary)).toHaveLength(2);
    expect(primary.output.stderr.match(/GraphQL|demo-reports /g)).toHaveLength(2); // one greeting
    const [, id, secret] = await primary.until(/(demo-admin) +(\S+)/);
    const login = (clientId = 'c', clientSecret = 's') =>
      query(
        url,
        `mutation { login(clientId: "${clientId}", credential: {clientSecret: "${clientSecret}"}) { accessToken } }`,
      );
    const { data } = await login(id, secret);
    for (let round = 0; round < 6; round += 1) {
      const { errors } = await query(url, '{ audit { totalCount } }', data.login.accessToken);
      expect(errors).toBeUndefined();
    }
    const codes: string[] = [];
    while (codes.length < 9) codes.push((await login()).errors[0].extensions.code);
    expect(codes.filter((code) => code !== 'RATE_LIMITED')).toHaveLength(3);

    const lines = (await metrics()).split('\n');
    for (const line of [
      'keytrail_requests_total{operation="audit",code="OK"} 6',
      'keytrail_requests_total{operation="login",code="RATE_LIMITED"} 6',
      'keytrail_breaker_state{state="closed"} 2',
    ]) {
      expect(lines).toContain(line);
    }
    const logged = primary.output.stdout.trim().split('\n');
    expect(logged.map((line) => JSON.parse(line).msg)).toEqual(logged.map(() => 'request'));
  });

  it.each([
    ['is killed', 'SIGKILL', '"level":50,.*"signal":"SIGKILL","msg":"a worker ended"'],
    ['has a bug', 'SIGUSR2', '"level":50,.*"exitCode":1,"msg":"a worker ended"'],
  ] as const)(
    'are two again when one %s, and go on answering and counting',
    async (_, signal, line) => {
      const before = workersOf(primary);
      const [gone = 0, stays] = before;
      await query(url, '{ __typename }');
      const count = await answered();
      process.kill(gone, signal);
      await primary.until(new RegExp(line));
      expect((await query(url, '{ __typename }')).data).toEqual({ __typename: 'Query' });
      expect(await answered()).toBe(count + 1);
      await expect.poll(metrics, PATIENTLY).toContain('keytrail_breaker_state{state="closed"} 2');
      const after = workersOf(primary);
      expect(after).toHaveLength(2);
      expect(after).toContain(stays);
      expect(after).not.toContain(gone);
    },
  );

  it('are given up when they are lost too often, with a sentence and exit 1', async () => {
    const ended = primary.status.then(() => true);
    const tick = () => new Promise<false>((resolve) => setTimeout(() => resolve(false), 20));
    while (!(await Promise.race([ended, tick()]))) {
      killWorkers(primary);
    }
    expect(await primary.status).toBe(1);
    expect(primary.output.stderr).toMatch(/\nkeytrail: stopping: 7 workers ended .*\n$/);
    expect(primary.output.stdout.match(/"a worker ended"/g)).toHaveLength(7);
    await expect(fetch(url)).rejects.toThrow();
  });
});

describe('workers', () => {
  it('finish what is under way when one is asked to stop, and a terminal interrupts them all', async () => {
    await using service = await startHolding();
    await using gateway = await start({ UPSTREAM_URL: service.url });
    const { primary, url } = gateway;
    const answers = await service.hold(() => query(url, '{ audit { totalCount } }'));
    const workers = workersOf(primary);
    process.kill(Number(workers[0]), 'SIGTERM');
    await expect.poll(() => workersOf(primary), PATIENTLY).toHaveLength(3); // it is replaced before it ends
    primary.child.kill('SIGINT');
    for (const pid of workers) process.kill(pid, 'SIGINT');
    await expect.poll(() => isAnswered(url), PATIENTLY).toBe(false);
    service.release();
    for (const answer of answers) expect((await answer).data).toEqual({ audit: { totalCount: 0 } });
    expect(await primary.status).toBe(0);
    expect(primary.output.stdout).not.toContain('a worker ended');
  });

  it('finish what is under way when their primary is killed, and end', async () => {
    await using service = await startHolding();
    await using gateway = await start({ UPSTREAM_URL: service.url });
    const { primary, url } = gateway;
    const answers = await service.hold(() => query(url, '{ audit { totalCount } }'));
    primary.child.kill('SIGKILL');
    await expect.poll(() => isAnswered(url), PATIENTLY).toBe(false);
    service.release();
    for (const answer of answers) expect((await answer).data).toEqual({ audit: { totalCount: 0 } });
    await primary.status; // its output is closed when nobody is left who could write there
  });

  it('end at once with a later second signal to their primary', async () => {
    await using gateway = await start({ SHUTDOWN_DRAIN_MS: '500000', SHUTDOWN_FUSE_MS: '600000' });
    const { primary, url } = gateway;
    const ready = async () => (await fetch(new URL('/health/ready', url))).status;
    primary.child.kill('SIGTERM');
    await expect.poll(ready, PATIENTLY).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, 1100)); // sooner it counts as the first
    primary.child.kill('SIGTERM');
    expect(await primary.status).toBe(143);
  });

  it('that end before they listen are no gateway: exit 1', async () => {
    await using primary = keytrail(
      ['--port', '0', '--workers', '2'],
      importing('if (process.env.KEYTRAIL_WORKER) process.exit(7)'),
    );
    expect(await primary.status).toBe(1);
    expect(primary.output.stderr).toMatch(/^keytrail: cannot start: a worker ended .*\n$/);
    expect(primary.output.stdout).toContain('"exitCode":7');
  });

  it('write no more of the log at once than a pipe takes whole, and one piece after the other', async () => {
    const written: { readonly text: string; readonly done: () => void }[] = [];
    const write = (text: string, done = () => {}) => void written.push({ text, done });
    const host = { stdout: { write }, now: () => new Date() };
    const log = await createLog(host, loadConfig({ WORKERS: '2' }));
    const ids = Array.from({ length: 100 }, (_, index) => `é-${index}`);
    for (const requestId of ids) log.info({ requestId }, 'request');
    await new Promise(setImmediate);
    const read: string[] = [];
    for (let count = 1; read.length < ids.length; count += 1) {
      expect(written).toHaveLength(count);
      const { text = '', done } = written.at(-1) ?? {};
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      const lines = text.trimEnd().split('\n');
      expect(lines.length).toBeGreaterThan(1);
      read.push(...lines.map((line) => JSON.parse(line).requestId));
      done?.();
    }
    expect(read).toEqual(ids);
  });

  it('say in the log when it was', async () => {
    const lines: string[] = [];
    const write = (text: string, done = () => {}) => {
      lines.push(text);
      done();
    };
    let millis = 0;
    const now = () => new Date(millis);
    const log = await createLog({ stdout: { write }, now }, loadConfig({ WORKERS: '2' }));
    for (millis of [1000, 2000]) {
      log.info({}, 'request');
      await new Promise(setImmediate);
    }
    expect(lines.map((line) => JSON.parse(line).time)).toEqual([
      '1970-01-01T00:00:01.000Z',
      '1970-01-01T00:00:02.000Z',
    ]);
  });

  it.each(['0', '65', '1.5', 'two'])('are not %s', (WORKERS) => {
    expect(() => loadConfig({ WORKERS })).toThrow('WORKERS must be a whole number, 1 to 64.');
  });
});
