import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LoginDocument } from '../../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver, onPort, type TestGateway } from '../../helpers/gateway.ts';
import { findPort } from '../../helpers/serve.ts';
import { type Service, startService } from '../../helpers/service.ts';

const isInstalled = spawnSync('redis-server', ['--version']).status === 0;
if (!isInstalled)
  process.stderr.write('Tests with Redis are skipped: redis-server is not installed\n');

describe.skipIf(!isInstalled)('Redis for the limit on logins', () => {
  it('shares the limits between two gateways, and contains no client ID or address', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using one = over(service, redis.url, { perMinute: 3 });
    await using other = over(service, redis.url, { perMinute: 3 });
    await using server = await onPort(one);
    await untilShared(redis, one, other);
    redis.ask('flushall');
    expect(await codes(one, 'canary-id', 2)).toEqual(['', '']);
    expect(await codes(other, 'canary-id', 3)).toEqual(['', 'RATE_LIMITED', 'RATE_LIMITED']);
    expect(await codes(one, 'canary-id', 1)).toEqual(['RATE_LIMITED']);
    const body = JSON.stringify({ query: LoginDocument, variables: variablesOf('canary-id') });
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': ADDRESS };
    const rejection = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
    const { errors } = await rejection.json();
    expect(errors[0].extensions.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(redis.ask('keys', '*').trim().split('\n').sort()).toEqual([
      expect.stringMatching(/^keytrail:login:address:[\w-]{43}$/),
      expect.stringMatching(/^keytrail:login:client:[\w-]{43}$/),
      expect.stringMatching(/^keytrail:login:known:[\w-]{43}$/),
      expect.stringMatching(/^keytrail:login:pair:[\w-]{43}$/),
    ]);
  });

  it('shares the networks of a day, which stay known without it', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using one = over(service, redis.url, { perMinute: 1 });
    await using other = over(service, redis.url, { perMinute: 1 });
    await untilShared(redis, one, other);
    redis.ask('flushall');
    expect(await codes(one, 'victim', 1)).toEqual(['']);
    const known = redis.ask('keys', 'keytrail:login:known:*').trim();
    expect(Number(redis.ask('ttl', known))).toBeGreaterThan(86_300);
    const useUp = async (network: string) => {
      const logins = Array.from({ length: 11 }, (_, index) => `${network}.${index}`);
      const all = [];
      for (const address of logins) all.push(...(await codes(other, 'victim', 1, address)));
      expect(all).toEqual([...Array(10).fill(''), 'RATE_LIMITED']);
    };
    const counters = redis.ask('keys', 'keytrail:login:[^k]*').trim().split('\n');
    expect(counters).toHaveLength(3);
    redis.ask('del', ...counters);
    await useUp('203.0.113');
    expect(await codes(other, 'victim', 1)).toEqual(['']);
    expect(await codes(one, 'victim', 1, '192.0.2.11')).toEqual(['RATE_LIMITED']);

    await redis[Symbol.asyncDispose]();
    await expect.poll(() => other.fallbacks.at(-1)).toBe(true);
    await useUp('192.0.2');
    expect(await codes(other, 'victim', 1)).toEqual(['']);
  });

  it('gets the points of other limits back from a login that is rejected', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using gateway = over(service, redis.url, { perMinute: 1 });
    await untilShared(redis, gateway);
    redis.ask('flushall');
    expect(await codes(gateway, 'a', 9)).toEqual(['', ...Array(8).fill('RATE_LIMITED')]);
    for (const id of ['b', 'c']) expect(await codes(gateway, id, 1)).toEqual(['']);
    expect(await codes(gateway, 'd', 9)).toEqual(Array(9).fill('RATE_LIMITED'));
    for (const index of Array(10).keys())
      expect(await codes(gateway, 'd', 1, `203.0.113.${index}`)).toEqual(['']);
  });

  it('whose clock has jumped back is not a reason to wait for more than a minute', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using gateway = over(service, redis.url, { perMinute: 1 });
    await untilShared(redis, gateway);
    redis.ask('flushall');
    expect(await codes(gateway, 'c', 1)).toEqual(['']);
    redis.ask('pexpire', redis.ask('keys', '*:pair:*').trim(), '18060000');
    const headers = { 'x-forwarded-for': ADDRESS };
    const { errors } = await ask(gateway, LoginDocument, variablesOf('c'), { headers });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 60 });
  });

  it('may go away and come back while gateways serve logins', async () => {
    const port = await findPort();
    await using service = await startService(TOKEN);
    const first = await startRedis(port);
    await using one = over(service, first.url, { perMinute: 2 });
    await using other = over(service, first.url, { perMinute: 2 });
    await untilShared(first, one, other);
    expect(await codes(one, 'a', 2)).toEqual(['', '']);
    expect(await codes(other, 'a', 1)).toEqual(['RATE_LIMITED']);

    await first[Symbol.asyncDispose]();
    await expect
      .poll(() => [one, other].map(({ fallbacks }) => fallbacks.at(-1)))
      .toEqual([true, true]);
    for (const gateway of [one, other]) {
      expect(await codes(gateway, 'b', 3)).toEqual(['', '', 'RATE_LIMITED']);
    }

    await using again = await startRedis(port);
    await untilShared(again, one, other);
    for (const { fallbacks } of [one, other]) expect(fallbacks.slice(-2)).toEqual([true, false]);
    expect(await codes(one, 'c', 2)).toEqual(['', '']);
    expect(await codes(other, 'c', 1)).toEqual(['RATE_LIMITED']);
    const said = one.logged.filter((line) => line.includes('Redis'));
    expect(said.at(-2)).toContain('Redis does not respond: each replica counts its own logins');
    expect(said.at(-1)).toContain('Redis responds again: replicas share the login count');
  }, 30_000);

  it('that hangs delays a login by its timeout at most', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using gateway = over(service, redis.url, { perMinute: 2 });
    await untilShared(redis, gateway);
    redis.child.kill('SIGSTOP');
    expect(await codes(gateway, 'b', 3)).toEqual(['', '', 'RATE_LIMITED']);
    expect(gateway.fallbacks.at(-1)).toBe(true);
    redis.child.kill('SIGCONT');
  });

  it('that hangs while many clients log in is disconnected once, without a warning of Node', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using gateway = over(service, redis.url, { perMinute: 100 });
    await untilShared(redis, gateway);
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => void warnings.push(name);
    process.on('warning', onWarning);
    redis.child.kill('SIGSTOP');
    const logins = await Promise.all(Array.from({ length: 50 }, () => codes(gateway, 'b', 1)));
    expect(logins.flat()).toEqual(Array(50).fill(''));
    redis.child.kill('SIGCONT');
    await new Promise((resolve) => setImmediate(resolve)); // warnings are emitted in the next tick
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect(gateway.fallbacks.filter(Boolean)).toHaveLength(1);
    await untilShared(redis, gateway);
  }, 30_000);

  it('that rejects commands is replaced by the count in memory', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    await using gateway = over(service, redis.url, { perMinute: 2 });
    await untilShared(redis, gateway);
    redis.ask('config', 'set', 'maxmemory', '1');
    expect(await codes(gateway, 'b', 3)).toEqual(['', '', 'RATE_LIMITED']);
    expect(gateway.fallbacks.at(-1)).toBe(true);
  });

  it('is disconnected when the gateway is disposed', async () => {
    await using redis = await startRedis(await findPort());
    await using service = await startService(TOKEN);
    const gateway = over(service, redis.url, { perMinute: 2 });
    await untilShared(redis, gateway);
    const { length } = gateway.fallbacks;
    const clients = () => redis.ask('client', 'list').trim().split('\n').length;
    expect(clients()).toBe(2); // the gateway, and redis-cli itself
    await gateway[Symbol.asyncDispose]();
    await expect.poll(clients).toBe(1);
    expect(gateway.fallbacks).toHaveLength(length);
  });
});

it('a gateway starts, counts logins and is disposed without a reachable Redis', async () => {
  await using service = await startService(TOKEN);
  await using gateway = over(service, `redis://127.0.0.1:${await findPort()}`, { perMinute: 2 });
  expect(await codes(gateway, 'a', 3)).toEqual(['', '', 'RATE_LIMITED']);
  expect(gateway.fallbacks).toEqual([true]);
});

const TOKEN = { body: { access_token: 'a' } };
const ADDRESS = '198.51.100.1';

function variablesOf(clientId: string) {
  return { clientId, credential: { clientSecret: 's' } };
}

/** A gateway, and its `onFallback` events. */
function over(
  service: Service,
  redisUrl: string,
  limits: { readonly perMinute: number },
): TestGateway & { readonly fallbacks: readonly boolean[] } {
  const fallbacks: boolean[] = [];
  const login = { onFallback: (isFallback: boolean) => void fallbacks.push(isFallback) };
  const gateway = gatewayOver(service.url, {
    loginRateLimit: limits.perMinute,
    trustedProxies: 1,
    rateLimitRedisUrl: redisUrl,
    observer: { login },
  });
  return { ...gateway, fallbacks };
}

/** Waits until logins through each gateway are counted in Redis. */
async function untilShared(redis: RedisServer, ...gateways: readonly TestGateway[]): Promise<void> {
  const count = () => Number(redis.ask('dbsize'));
  for (const gateway of gateways) {
    const isShared = async () => {
      const before = count();
      const id = randomUUID();
      await codes(gateway, id, 1, `2001:${id.slice(0, 4)}:${id.slice(4, 8)}::1`);
      return count() > before;
    };
    await expect.poll(isShared).toBe(true);
  }
}

/** Logs in `count` times, one after the other. Returns the code of each. */
async function codes(gateway: TestGateway, clientId: string, count: number, address = ADDRESS) {
  const all: (string | undefined)[] = [];
  while (all.length < count) {
    const headers = { 'x-forwarded-for': address };
    all.push(codeOf(await ask(gateway, LoginDocument, variablesOf(clientId), { headers })));
  }
  return all;
}

type RedisServer = AsyncDisposable & {
  readonly url: string;
  readonly child: ChildProcess;
  /** Runs redis-cli. Returns its output. */
  ask(...command: readonly string[]): string;
};

/** Starts a Redis without persistence. */
async function startRedis(port: number): Promise<RedisServer> {
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const child = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  for await (const line of child.stdout) {
    if (String(line).includes('Ready to accept connections')) break;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    child,
    ask: (...command) =>
      execFileSync('redis-cli', ['-p', String(port), ...command], { encoding: 'utf8' }),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
