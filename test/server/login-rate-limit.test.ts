import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { AuditDocument, DeleteApiKeyDocument, LoginDocument } from '../../src/client/graphql.ts';
import { createLoginRateLimiter } from '../../src/server/login-rate-limit.ts';
import type { Gateway } from '../../src/server/types.ts';
import { ask, codeOf, gatewayOver, onPort, type Result } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const TOKEN = { body: { access_token: 'a' } };
const SECRET = 'canary-secret';

/** Sends an operation over HTTP, so that there is a remote address. */
function over(url: string): Pick<Gateway, 'fetch'> {
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
  return { admitted: codes.filter((code) => code === '').length, refused: codes.filter(Boolean) };
}

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

describe('the limit of logins', () => {
  it('lets the first of a burst through, and refuses the rest without sending them', async () => {
    await using service = await startService(TOKEN);
    const refused: string[] = [];
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: { perMinute: 10 },
      observer: { login: { onRefused: (by) => void refused.push(by) } },
    });
    const burst = await codesOf(times(30, () => logIn(gateway, 'c')));
    expect(burst.admitted).toBe(10);
    expect(new Set(burst.refused)).toEqual(new Set(['RATE_LIMITED']));
    expect(service.seen).toHaveLength(10);
    expect(refused).toEqual(times(20, () => 'client'));

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

  it('is for each client id, and for nothing but logins', async () => {
    await using service = await startService(({ method }) =>
      method === 'POST' ? TOKEN : { body: [] },
    );
    await using gateway = gatewayOver(service.url, { loginRateLimit: { perMinute: 1 } });
    expect(codeOf(await logIn(gateway, 'c'))).toBe('');
    expect(codeOf(await logIn(gateway, 'c'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, 'd'))).toBe('');
    for (const _ of times(5, () => 0)) {
      expect(codeOf(await ask(gateway, AuditDocument, {}, { token: 't' }))).toBe('');
      const deletion = ask(gateway, DeleteApiKeyDocument, { clientId: 'c' }, { token: 't' });
      expect(codeOf(await deletion)).toBe('');
    }
  });

  it('is for each address, whatever the client id and the header', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: { perMinute: 3 } });
    await using server = await onPort(gateway);
    const http = over(server.url);
    for (const client of ['a', 'b', 'c']) expect(codeOf(await logIn(http, client))).toBe('');
    const { errors } = await logIn(http, 'd', '203.0.113.1');
    expect(errors?.[0]?.message).toMatch(/^Too many logins from this IP address/);
    expect(service.seen).toHaveLength(3);
    // Without a socket only the client id counts, and those refused by address used up none of it.
    for (const _ of times(3, () => 0)) expect(codeOf(await logIn(gateway, 'd'))).toBe('');
  });

  it('counts by the address that trusted proxies tell', async () => {
    await using service = await startService(TOKEN);
    const loginGuard = { perMinute: 1 };
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: loginGuard,
      trustedProxies: 1,
    });
    await using server = await onPort(gateway);
    const http = over(server.url);
    expect(codeOf(await logIn(http, 'a', '203.0.113.1'))).toBe('');
    expect(codeOf(await logIn(http, 'b', '203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(http, 'b', '203.0.113.9, 203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(http, 'b', '203.0.113.1, 203.0.113.2'))).toBe('');
  });

  it('takes nothing of an address for the logins that it refused by client id', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: { perMinute: 3 } });
    await using server = await onPort(gateway);
    for (const _ of times(3, () => 0)) await logIn(gateway, 'busy');
    const http = over(server.url);
    const busy = await codesOf(times(20, () => logIn(http, 'busy')));
    expect(busy.refused).toHaveLength(20);
    for (const client of ['a', 'b', 'c']) expect(codeOf(await logIn(http, client))).toBe('');
    expect(codeOf(await logIn(http, 'd'))).toBe('RATE_LIMITED');
  });

  it('is none at 0', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: { perMinute: 0 } });
    expect((await codesOf(times(50, () => logIn(gateway, 'c')))).admitted).toBe(50);
  });

  it('leaves no client id, address or secret in the log or in an error', async () => {
    await using service = await startService(TOKEN);
    const loginGuard = { perMinute: 1 };
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: loginGuard,
      trustedProxies: 1,
    });
    await using server = await onPort(gateway);
    const results = times(3, () => logIn(over(server.url), 'canary-id', '203.0.113.77'));
    const errors = (await Promise.all(results)).map((result) => JSON.stringify(result.errors));
    expect(gateway.logged.join()).toContain('RATE_LIMITED');
    expect([...gateway.logged, ...errors].join()).not.toMatch(/canary|203\.0\.113/);
  });

  it('holds no more memory for 100,000 clients and addresses, nor forgets one that goes on', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    await using guard = createLoginRateLimiter({ perMinute: 1 });
    await guard.admit('busy', '198.51.100.1');
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 100_000; index += 1) {
      await guard.admit(
        `client ${index} ${'x'.repeat(200)}`,
        index % 2 ? `address ${index}` : null,
      );
      if (index % 1000 === 0) await expect(guard.admit('busy', null)).rejects.toThrow();
    }
    collect();
    const grown = process.memoryUsage().heapUsed - before;
    expect(grown).toBeLessThan(20 * 2 ** 20);
  }, 60_000);
});
