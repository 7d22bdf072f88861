import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  type LoginCredential,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import type { Gateway } from '../../../src/gateway/http/gateway-type.ts';
import { createLoginRateLimiter } from '../../../src/gateway/http/login-rate-limit.ts';
import {
  ask,
  codeOf,
  gatewayOver,
  type Overrides,
  onPort,
  type Result,
} from '../../helpers/gateway.ts';
import {
  type ReceivedRequest,
  type Service,
  type ServiceResponse,
  startService,
} from '../../helpers/service.ts';

const TOKEN = { body: { access_token: 'a' } };
const SECRET = 'canary-secret';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

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

/** A gateway behind one proxy, which names the address of each client. Its minute does not end on a busy machine. */
function limited(service: Service, loginRateLimit: number, overrides: Overrides = {}) {
  return gatewayOver(service.url, {
    loginRateLimit,
    trustedProxies: 1,
    clock: () => 0,
    ...overrides,
  });
}

function logIn(
  gateway: Pick<Gateway, 'fetch'>,
  clientId: string,
  address?: string,
  credential: LoginCredential = { clientSecret: SECRET },
): Promise<Result<unknown>> {
  const headers = address === undefined ? {} : { 'x-forwarded-for': address };
  return ask(gateway, LoginDocument, { clientId, credential }, { headers });
}

async function codesOf(logins: readonly Promise<Result<unknown>>[]) {
  const codes = (await Promise.all(logins)).map(codeOf);
  return { admitted: codes.filter((code) => code === '').length, rejected: codes.filter(Boolean) };
}

const messageOf = ({ errors }: Result<unknown>) => errors?.[0]?.message;

const times = <T>(count: number, create: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => create(index));

const OWNER = '198.51.100.1';
const WRONG = { clientSecret: 'wrong' };

/** A service that accepts one client secret and one refresh token. */
const accepting = ({ body }: ReceivedRequest): ServiceResponse =>
  [SECRET, 'right'].some((credential) => body.includes(`"${credential}"`))
    ? TOKEN
    : { status: 401 };

/** Fails ten times from each of a hundred addresses. */
async function attack(gateway: Pick<Gateway, 'fetch'>, addressOf: (index: number) => string) {
  for (const index of times(100, (each) => each))
    await Promise.all(times(10, () => logIn(gateway, 'victim', addressOf(index), WRONG)));
}

describe('the limits on logins', () => {
  it('admit the first of a burst, and reject the rest without sending them', async () => {
    await using service = await startService(TOKEN);
    const rejected: string[] = [];
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: 10,
      observer: { login: { onRefused: (by) => void rejected.push(by) } },
    });
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    const burst = await codesOf(times(30, () => logIn(http, 'c')));
    expect(burst.admitted).toBe(10);
    expect(new Set(burst.rejected)).toEqual(new Set(['RATE_LIMITED']));
    expect(service.seen).toHaveLength(10);
    expect(rejected).toEqual(times(20, () => 'pair'));

    const { status, data, errors } = await logIn(http, 'c');
    expect({ status, data }).toEqual({ status: 200, data: { login: null } });
    expect(errors?.[0]).toMatchObject({
      message: expect.stringMatching(
        /^Too many logins of this client from this IP address: .*wait/,
      ),
      extensions: { code: 'RATE_LIMITED', reason: 'LOGIN_LIMIT', retryable: true },
    });
    const { retryAfterSeconds = 0 } = errors?.[0]?.extensions ?? {};
    expect(Number.isInteger(retryAfterSeconds)).toBe(true);
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(service.seen).toHaveLength(10);
  });

  it('are per client ID, and for logins only', async () => {
    await using service = await startService(({ method }) =>
      method === 'POST' ? TOKEN : { body: method === 'GET' ? [] : {} },
    );
    await using gateway = limited(service, 1);
    expect(codeOf(await logIn(gateway, 'c', OWNER))).toBe('');
    expect(codeOf(await logIn(gateway, 'c', OWNER))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, 'd', OWNER))).toBe('');
    const options = { token: 't', headers: { 'x-forwarded-for': OWNER } };
    for (const _ of times(5, () => 0)) {
      expect(codeOf(await ask(gateway, AuditDocument, {}, options))).toBe('');
      const deletion = ask(gateway, DeleteApiKeyDocument, { clientId: 'c' }, options);
      expect(codeOf(await deletion)).toBe('');
    }
  });

  it('are ten times as high for a client ID without an address', async () => {
    await using service = await startService(TOKEN);
    const rejected: string[] = [];
    await using gateway = gatewayOver(service.url, {
      loginRateLimit: 2,
      observer: { login: { onRefused: (by) => void rejected.push(by) } },
    });
    for (const _ of times(20, () => 0)) expect(codeOf(await logIn(gateway, 'c'))).toBe('');
    expect(messageOf(await logIn(gateway, 'c'))).toMatch(/^Too many logins of this client: .*wait/);
    expect(rejected).toEqual(['client']);
    expect(codeOf(await logIn(gateway, 'd'))).toBe('');
  });

  it('let an office of thirty clients with one address log in within a minute', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: 10 });
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    const office = await codesOf(times(30, (index) => logIn(http, `client-${index}`)));
    expect(office.rejected).toEqual([]);
    // Without a trusted proxy, nobody can claim another address.
    const last = await logIn(http, 'client-31', '203.0.113.1');
    expect(codeOf(last)).toBe('RATE_LIMITED');
    expect(messageOf(last)).toMatch(/^Too many logins from this IP address: .*wait/);
    expect(service.seen).toHaveLength(30);
  });

  it('are per address in X-Forwarded-For behind a trusted proxy', async () => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 1);
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    expect(codeOf(await logIn(http, 'a', '203.0.113.1'))).toBe('');
    expect(codeOf(await logIn(http, 'a', '203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(http, 'a', '203.0.113.9, 203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(http, 'a', '203.0.113.1, 203.0.113.2'))).toBe('');
  });

  it.each([
    ['a client ID at an address', ['203.0.113.1']],
    ['a client ID', times(30, (index) => `192.0.2.${index}`)],
  ])('cost an address nothing for logins that exceed the limit of %s', async (_, busy) => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 3);
    for (const address of busy) for (const __ of [1, 2, 3]) await logIn(gateway, 'busy', address);
    const own = busy[1] === undefined ? '203.0.113.1' : '203.0.113.2';
    const refused = await codesOf(times(20, () => logIn(gateway, 'busy', own)));
    expect(refused.rejected).toHaveLength(20);
    const left = busy[1] === undefined ? 6 : 9;
    for (const index of times(left, (each) => each))
      expect(codeOf(await logIn(gateway, `client-${index}`, own))).toBe('');
    expect(codeOf(await logIn(gateway, 'one more', own))).toBe('RATE_LIMITED');
  });

  it('cost a client ID nothing for logins from an address that has tried many', async () => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 1);
    for (const client of ['a', 'b', 'c']) await logIn(gateway, client, '203.0.113.1');
    const tried = await codesOf(times(20, () => logIn(gateway, 'victim', '203.0.113.1')));
    expect(tried.rejected).toHaveLength(20);
    for (const index of times(10, (each) => each))
      expect(codeOf(await logIn(gateway, 'victim', `192.0.2.${index}`))).toBe('');
    expect(codeOf(await logIn(gateway, 'victim', '192.0.2.10'))).toBe('RATE_LIMITED');
  });

  it.each([
    ['back', -18_000_000],
    ['forward', 18_000_000],
  ])(
    'are not changed by a wall clock that jumps %s, and say to wait for a minute at most',
    async (_, ms) => {
      await using service = await startService(TOKEN);
      await using gateway = limited(service, 1);
      expect(codeOf(await logIn(gateway, 'c', OWNER))).toBe('');
      const now = Date.now();
      try {
        vi.spyOn(Date, 'now').mockImplementation(() => now + ms);
        const { errors } = await logIn(gateway, 'c', OWNER);
        expect(errors?.[0]?.extensions.code).toBe('RATE_LIMITED');
        const { retryAfterSeconds = 0 } = errors?.[0]?.extensions ?? {};
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
        expect(retryAfterSeconds).toBeLessThanOrEqual(60);
      } finally {
        vi.restoreAllMocks();
      }
    },
  );

  it('end a minute after the first login, by the monotonic clock', async () => {
    await using service = await startService(TOKEN);
    let elapsed = 0;
    await using gateway = limited(service, 2, { clock: () => elapsed });
    const codes: (string | undefined)[] = [];
    const waits: (number | undefined)[] = [];
    for (const at of [0, 500, 1000, 1500, 59_999, 60_000, 60_000, 60_000]) {
      elapsed = at;
      const result = await logIn(gateway, 'c', OWNER);
      codes.push(codeOf(result));
      waits.push(result.errors?.[0]?.extensions.retryAfterSeconds);
    }
    const limitedTwice = ['', '', 'RATE_LIMITED', 'RATE_LIMITED'];
    expect(codes).toEqual([...limitedTwice, 'RATE_LIMITED', '', '', 'RATE_LIMITED']);
    expect(waits).toEqual([undefined, undefined, 59, 59, 1, undefined, undefined, 60]);
  });

  it('are disabled by 0', async () => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 0);
    expect((await codesOf(times(50, () => logIn(gateway, 'c', OWNER)))).admitted).toBe(50);
  });

  it('put no client ID, address or secret in the log or in an error', async () => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 1);
    await using server = await onPort(gateway);
    const results = times(3, () => logIn(overHttp(server.url), 'canary-id', '203.0.113.77'));
    const errors = (await Promise.all(results)).map((result) => JSON.stringify(result.errors));
    expect(gateway.logged.join()).toContain('RATE_LIMITED');
    expect([...gateway.logged, ...errors].join()).not.toMatch(/canary|203\.0\.113/);
  });

  it('need bounded memory for 40,000 clients and addresses, and keep the count of an active one', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    await using limiter = createLoginRateLimiter({ perMinute: 1, clock: () => performance.now() });
    const admit = (clientId: string, address: string | null) =>
      limiter.admit({ clientId, isRefresh: false, address });
    await admit('busy', OWNER);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 40_000; index += 1) {
      const rememberSuccess = await admit(`client ${index} ${'x'.repeat(200)}`, `address ${index}`);
      await rememberSuccess();
      if (index % 1000 === 0) await expect(admit('busy', OWNER)).rejects.toThrow();
    }
    collect();
    const grown = process.memoryUsage().heapUsed - before;
    expect(grown).toBeLessThan(20 * 2 ** 20);
  }, 60_000);
});

describe('the owner of a client ID logs in while others fail ten times a minute', () => {
  it('from a hundred addresses, where it has logged in before', async () => {
    await using service = await startService(accepting);
    let elapsed = 0;
    await using gateway = limited(service, 10, { clock: () => elapsed });
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    expect(codeOf(await logIn(http, 'victim', OWNER))).toBe('');
    for (const _ of ['a minute', 'another']) {
      const before = service.seen.length;
      await attack(http, (index) => `203.0.113.${index}`);
      expect(service.seen.length - before).toBeLessThanOrEqual(100);
      expect(codeOf(await logIn(http, 'victim', OWNER))).toBe('');
      expect(messageOf(await logIn(http, 'victim', '198.51.100.2'))).toContain('within a day');
      elapsed += MINUTE_MS;
    }
  });

  it('from a hundred networks of one IPv6 /48, also where it has never logged in', async () => {
    await using service = await startService(accepting);
    await using gateway = limited(service, 10);
    await using server = await onPort(gateway);
    const http = overHttp(server.url);
    expect(codeOf(await logIn(http, 'victim', '2001:db8:1::7'))).toBe('');
    await attack(http, (index) => `2001:db8:2:${index.toString(16)}::1`);
    expect(service.seen).toHaveLength(1 + 10);
    expect(codeOf(await logIn(http, 'victim', '2001:db8:1:ffff::8'))).toBe('');
    expect(codeOf(await logIn(http, 'victim', '2001:db8:3::9'))).toBe('');
    expect(codeOf(await logIn(http, 'victim', OWNER))).toBe('');
  });

  it('through one NAT64, which is a network for each IPv4 address', async () => {
    await using service = await startService(accepting);
    await using gateway = limited(service, 10);
    for (const _ of times(11, () => 0)) await logIn(gateway, 'victim', '64:ff9b::203.0.113.1');
    expect(codeOf(await logIn(gateway, 'victim', '203.0.113.1'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, 'victim', '64:ff9b::203.0.113.2'))).toBe('');
    expect(service.seen.at(-1)?.headers['x-forwarded-for']).toBe('64:ff9b::cb00:7102');
  });

  it('for a day after a login of which the gateway has read the token', async () => {
    await using service = await startService((seen) =>
      seen.body.includes('"no token"') ? { body: {} } : accepting(seen),
    );
    let elapsed = 0;
    await using gateway = limited(service, 1, { clock: () => elapsed });
    const [failed, unread] = ['198.51.100.3', '198.51.100.4'];
    expect(codeOf(await logIn(gateway, 'victim', OWNER))).toBe('');
    expect(codeOf(await logIn(gateway, 'victim', failed, WRONG))).toBe('UNAUTHENTICATED');
    const noToken = await logIn(gateway, 'victim', unread, { clientSecret: 'no token' });
    expect(noToken.errors?.[0]?.extensions.reason).toBe('NO_TOKEN');
    for (const [at, code] of [
      [DAY_MS - 1, ''], // which begins another day
      [2 * DAY_MS - 1, 'RATE_LIMITED'],
    ] as const) {
      elapsed = at;
      for (const index of times(10, (each) => each))
        await logIn(gateway, 'victim', `203.0.113.${index}`, WRONG);
      for (const address of [failed, unread])
        expect(codeOf(await logIn(gateway, 'victim', address))).toBe('RATE_LIMITED');
      expect(codeOf(await logIn(gateway, 'victim', OWNER))).toBe(code);
    }
  });
});

describe('logins with a refresh token', () => {
  const REFRESH = { refreshToken: 'right' };
  it.each([
    ['wrong secrets', WRONG, REFRESH],
    ['wrong refresh tokens', { refreshToken: 'wrong' }, { clientSecret: SECRET }],
  ])('are counted apart: %s do not stop the others', async (_, wrong, right) => {
    await using service = await startService(accepting);
    await using gateway = limited(service, 2);
    for (const client of ['victim', 'b', 'c'])
      for (const address of [OWNER, ...times(10, (index) => `203.0.113.${index}`)])
        await codesOf(times(3, () => logIn(gateway, client, address, wrong)));
    const logInRight = (client: string, address: string) => logIn(gateway, client, address, right);
    for (const _ of [1, 2]) expect(codeOf(await logInRight('victim', OWNER))).toBe('');
    expect(messageOf(await logInRight('victim', OWNER))).toContain('this client from this IP');
    for (const client of ['d', 'e', 'f', 'g'])
      expect(codeOf(await logInRight(client, OWNER))).toBe('');
    expect(messageOf(await logInRight('h', OWNER))).toContain('from this IP');
    expect(codeOf(await logInRight('victim', '198.51.100.2'))).toBe('');
  });

  it('are a login from the network for the other credential too', async () => {
    await using service = await startService(accepting);
    await using gateway = limited(service, 1);
    expect(codeOf(await logIn(gateway, 'victim', OWNER, REFRESH))).toBe('');
    await attack(gateway, (index) => `203.0.113.${index}`);
    expect(codeOf(await logIn(gateway, 'victim', '198.51.100.2'))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, 'victim', OWNER))).toBe('');
  });
});

/** Moves ASCII letters, digits and punctuation to their full-width forms (U+FF01 to U+FF5E). */
const toFullWidth = (text: string) =>
  text.replace(/[!-~]/g, (each) => String.fromCharCode(each.charCodeAt(0) + 0xfee0));

describe('spellings of a client ID', () => {
  it.each([
    'VICTIM-ß',
    'Victim-SS',
    'victim-\u1e9e',
    ' victim-ß',
    'victim-ß\t\r\n',
    '\u0085\u00a0\u2003\u3000victim-ß\u2028\ufeff',
    'vic\u200btim-ß',
    'vi\u00adctim-\u2060ß\u200d',
    'victim-ß\u{e0041}\ufe0f',
    'victim-ß\0',
    '\u200b victim-ß \u200b',
    toFullWidth('victim-') + toFullWidth('SS'),
    '\u24e5\u24d8\u24d2\u24e3\u24d8\u24dc-ß',
    '\u{1d42f}ictim-\u017f\u017f',
    `${' '.repeat(2000)}victim-ß`,
  ])('are counted as one, and forwarded as they are: %j', async (spelling) => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 1);
    expect(codeOf(await logIn(gateway, 'victim-ß', OWNER))).toBe('');
    expect(codeOf(await logIn(gateway, spelling, OWNER))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, spelling, '198.51.100.2'))).toBe('');
    expect(service.seen.map(({ body }) => JSON.parse(body).client_id)).toEqual([
      'victim-ß',
      spelling,
    ]);
  });

  it('of different clients are counted apart', async () => {
    await using service = await startService(TOKEN);
    await using gateway = gatewayOver(service.url, { loginRateLimit: 1 });
    for (const clientId of ['a', 'b', 'a b', 'ab', 'a-b', 'a_b', '\u00e9', 'e', '1', '\u0660'])
      expect((await codesOf(times(11, () => logIn(gateway, clientId)))).admitted).toBe(10);
  });

  it('in any case, width and Unicode form, with any white space, are one client', async () => {
    await using service = await startService(TOKEN);
    let elapsed = 0;
    await using gateway = limited(service, 1, { clock: () => elapsed });
    const space = fc.string({
      unit: fc.constantFrom(...' \t\n\u0085\u00a0\u2009\u3000\u200b'),
      maxLength: 4,
    });
    const change = fc.constantFrom<(text: string) => string>(
      (text) => text.toUpperCase(),
      (text) => text.toLowerCase(),
      (text) => text.normalize('NFD'),
      (text) => text.normalize('NFKC'),
      toFullWidth,
    );
    const clientId = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(clientId, space, fc.array(change), space, async (id, before, all, after) => {
        const spelling = before + all.reduce((text, each) => each(text), id) + after;
        elapsed += MINUTE_MS; // the clients of other runs may be the same
        expect(codeOf(await logIn(gateway, spelling, OWNER))).toBe('');
        expect(JSON.parse(service.seen.at(-1)?.body ?? '').client_id).toBe(spelling);
        expect(messageOf(await logIn(gateway, id, OWNER))).toContain(
          'Too many logins of this client',
        );
      }),
    );
  });

  it('count by their first 1000 characters', async () => {
    await using service = await startService(TOKEN);
    await using gateway = limited(service, 1);
    const long = 'a'.repeat(1000);
    expect(codeOf(await logIn(gateway, `${long}b`, OWNER))).toBe('');
    expect(codeOf(await logIn(gateway, `${long}c`, OWNER))).toBe('RATE_LIMITED');
    expect(codeOf(await logIn(gateway, long.slice(1), OWNER))).toBe('');
  });
});
