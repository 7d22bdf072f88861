import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../src/client/operations.generated.ts';
import type { Gateway } from '../../src/http/gateway-type.ts';
import { createLoginRateLimiter } from '../../src/http/login-rate-limit.ts';
import { ask, codeOf, gatewayOver, onPort, type Result } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const TOKEN = { body: { access_token: 'a' } };
const SECRET = 'canary-secret';

/** Sends operations over HTTP, so that they have a remote address. */
function overHttp(url: string): Pick<Gateway, 'fetch'> {
  return {
    fetch: async (input) => {
      const request = new Request(input);
      const { method, headers } = request;
      return fetch(`${url}/graphql`, { method, headers, body: await request.text() });
    },
  };
}

function logIn(
  gateway: Pick<Gateway, 'fetch'>,
  clientId: string,
  forwardedFor?: string,
): Promise<Result<unknown>> {
  const variables = { clientId, credential: { clientSecret: SECRET } };
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return ask(gateway, LoginDocument, variables, { headers });
}

async function codesOf(logins: readonly Promise<Result<unknown>>[]) {
  const codes = (await Promise.all(logins)).map(codeOf);
  return { admitted: codes.filter((code) => code === '').length, rejected: codes.filter(Boolean) };
}

const times = <T>(count: number, create: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => create(index));

describe('the limit on logins', () => {
  it('admits the first of a burst, and rejects the rest without sending them', async () => {
    await using service = await startService(TOKEN);
    const rejected: string[] = [];
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: 10,
      observer: { login: { onRefused: (by) => void rejected.push(by) } },
    });
    const burst = await codesOf(times(30, () => logIn(gateway, 'c')));
    expect(burst.admitted).toBe(10);
    expect(new Set(burst.rejected)).toEqual(new Set(['RATE_LIMITED']));
    expect(service.seen).toHaveLength(10);
    expect(rejected).toEqual(times(20, () => 'client'));

    const { status, data, errors } = await logIn(gateway, 'c');
    expect({ status, data }).toEqual({ status: 200, data: { login: null } });
    expect(errors?.[0]).toMatchObject({
      message: expect.stringMatching(/^Too many logins of this client: .*wait/),
      extensions: { code: 'RATE_LIMITED', reason: 'LOGIN_LIMIT', retryable: true },
    });
    const { retryAfterSeconds = 0 } = errors?.[0]?.extensions ?? {};
    expect(Number.isInteger(retryAfterSeconds)).toBe(true);
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(service.seen).toHaveLength(10);
  });

  it('is per client ID, and for logins only', async () => {
    await using service = await startService(({ method }) =>
      method === 'POST' ? TOKEN : { body: method === 'GET' ? [] : {} },
    );
    await using gateway = gatewayOver(service.url, { loginRateLimit: 1 });
    expect(codeOf(await logIn(gateway, 'c'))).toBe('');
    expect(codeOf(await logIn(gateway, 'c'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, 'd'))).toBe('');
    for (const _ of times(5, () => 0)) {
      expect(codeOf(await ask(gateway, AuditDocument, {}, { token: 't' }))).toBe('');
      const deletion = ask(gateway, DeleteApiKeyDocument, { clientId: 'c' }, { token: 't' });
      expect(codeOf(await deletion)).toBe('');
    }
  });

  it('is per IP address, whatever the client ID and X-Forwarded-For', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: 3 });
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    for (const client of ['a', 'b', 'c']) expect(codeOf(await logIn(http, client))).toBe('');
    const { errors } = await logIn(http, 'd', '203.0.113.1');
    expect(errors?.[0]?.message).toMatch(/^Too many logins from this IP address/);
    expect(service.seen).toHaveLength(3);
    // Without a socket only the client ID counts; the logins rejected by address have not used up its limit.
    for (const _ of times(3, () => 0)) expect(codeOf(await logIn(gateway, 'd'))).toBe('');
  });

  it('is per address in X-Forwarded-For behind a trusted proxy', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: 1,
      trustedProxies: 1,
    });
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    expect(codeOf(await logIn(http, 'a', '203.0.113.1'))).toBe('');
    expect(codeOf(await logIn(http, 'b', '203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(http, 'b', '203.0.113.9, 203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(http, 'b', '203.0.113.1, 203.0.113.2'))).toBe('');
  });

  it('does not count a login by address if it was rejected by client ID', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: 3 });
    await using server = await onPort(gateway);
    for (const _ of times(3, () => 0)) await logIn(gateway, 'busy');
    const http = overHttp(server.url);
    const busy = await codesOf(times(20, () => logIn(http, 'busy')));
    expect(busy.rejected).toHaveLength(20);
    for (const client of ['a', 'b', 'c']) expect(codeOf(await logIn(http, client))).toBe('');
    expect(codeOf(await logIn(http, 'd'))).toBe('RATE_LIMITED');
  });

  it.each([
    ['back', -18_000_000],
    ['forward', 18_000_000],
  ])(
    'is not changed by a wall clock that jumps %s, and says to wait for a minute at most',
    async (_, ms) => {
      await using service = await startService(TOKEN);
      await using gateway = gatewayOver(service.url, { loginRateLimit: 1 });
      expect(codeOf(await logIn(gateway, 'c'))).toBe('');
      const now = Date.now();
      try {
        vi.spyOn(Date, 'now').mockImplementation(() => now + ms);
        const { errors } = await logIn(gateway, 'c');
        expect(errors?.[0]?.extensions.code).toBe('RATE_LIMITED');
        const { retryAfterSeconds = 0 } = errors?.[0]?.extensions ?? {};
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
        expect(retryAfterSeconds).toBeLessThanOrEqual(60);
      } finally {
        vi.restoreAllMocks();
      }
    },
  );

  it('ends a minute after the first login, by the monotonic clock', async () => {
    await using service = await startService(TOKEN);
    let elapsed = 0;
    const clock = () => elapsed;
    await using gateway = gatewayOver(service.url, { loginRateLimit: 2, clock });
    const codes: (string | undefined)[] = [];
    const waits: (number | undefined)[] = [];
    for (const at of [0, 500, 1000, 1500]) {
      elapsed = at;
      const result = await logIn(gateway, 'c');
      codes.push(codeOf(result));
      waits.push(result.errors?.[0]?.extensions.retryAfterSeconds);
    }
    expect(codes).toEqual(['', '', 'RATE_LIMITED', 'RATE_LIMITED']);
    expect(waits).toEqual([undefined, undefined, 59, 59]);
    await using limiter = createLoginRateLimiter({ perMinute: 1, clock });
    await limiter.admit('c', null);
    elapsed += 59_999;
    await expect(limiter.admit('c', null)).rejects.toThrow('Too many logins');
    elapsed += 1;
    await limiter.admit('c', null);
    await expect(limiter.admit('c', null)).rejects.toThrow('Too many logins');
  });

  it('is disabled by 0', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: 0 });
    expect((await codesOf(times(50, () => logIn(gateway, 'c')))).admitted).toBe(50);
  });

  it('puts no client ID, address or secret in the log or in an error', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: 1,
      trustedProxies: 1,
    });
    await using server = await onPort(gateway);
    const results = times(3, () => logIn(overHttp(server.url), 'canary-id', '203.0.113.77'));
    const errors = (await Promise.all(results)).map((result) => JSON.stringify(result.errors));
    expect(gateway.logged.join()).toContain('RATE_LIMITED');
    expect([...gateway.logged, ...errors].join()).not.toMatch(/canary|203\.0\.113/);
  });

  it('needs bounded memory for 100,000 clients and addresses, and keeps the count of an active one', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    await using limiter = createLoginRateLimiter({ perMinute: 1, clock: () => performance.now() });
    await limiter.admit('busy', '198.51.100.1');
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 100_000; index += 1) {
      await limiter.admit(
        `client ${index} ${'x'.repeat(200)}`,
        index % 2 ? `address ${index}` : null,
      );
      if (index % 1000 === 0) await expect(limiter.admit('busy', null)).rejects.toThrow();
    }
    collect();
    const grown = process.memoryUsage().heapUsed - before;
    expect(grown).toBeLessThan(20 * 2 ** 20);
  }, 60_000);
});
