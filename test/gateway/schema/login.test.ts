import { describe, expect, it } from 'vitest';
import { LoginDocument } from '../../../src/client/operations.generated.ts';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

type LoginEntries = NonNullable<ConfiguredContract['login']>;

const NOW = new Date('2026-11-21T12:00:00.000Z');

/** Expires an hour later. */
const JWT = `e30.${btoa(JSON.stringify({ exp: NOW.getTime() / 1000 + 3600 }))}.`;

async function read(
  body: unknown,
  { contract, ...rest }: ServiceResponse & { readonly contract?: LoginEntries } = {},
) {
  await using service = await startService({ ...rest, body });
  await using gateway = gatewayOver(service.url, {
    now: () => NOW,
    contract: contract === undefined ? {} : { login: contract },
  });
  return await ask(gateway, LoginDocument, {
    clientId: 'c',
    credential: { clientSecret: 's' },
    withRaw: true,
  });
}

describe('the response to a login', () => {
  it.each([
    [
      { access_token: 'a', refresh_token: 'r', token_type: 'bearer', expires_in: 3600 },
      {
        accessToken: 'a',
        refreshToken: 'r',
        tokenType: 'bearer',
        expiresAt: '2026-11-21T13:00:00.000Z',
      },
    ],
    [
      { accessToken: 'a', refreshToken: 'r', expiresAt: '2026-11-21T12:30:00Z' },
      {
        accessToken: 'a',
        refreshToken: 'r',
        tokenType: 'Bearer',
        expiresAt: '2026-11-21T12:30:00.000Z',
      },
    ],
    [
      { data: { token: 'a', expiresIn: '60' }, success: true },
      {
        accessToken: 'a',
        refreshToken: null,
        tokenType: 'Bearer',
        expiresAt: '2026-11-21T12:01:00.000Z',
      },
    ],
    [
      { Token: 'a', expires: 1_800_000_000 },
      {
        accessToken: 'a',
        refreshToken: null,
        tokenType: 'Bearer',
        expiresAt: '2027-01-15T08:00:00.000Z',
      },
    ],
    [
      { jwt: 'a', refresh_token: '' },
      { accessToken: 'a', refreshToken: null, expiresAt: null },
    ],
    [
      { access_token: 'a', expires_in: 'soon' },
      { accessToken: 'a', expiresAt: null },
    ],
    [
      { access_token: 'a', expires_in: -1 },
      { accessToken: 'a', expiresAt: null },
    ],
    [
      { access_token: 'a', expires_in: 1e300 },
      { accessToken: 'a', expiresAt: null },
    ],
    [
      { access_token: 'a', expires_in: 99_999_999_999 },
      { accessToken: 'a', expiresAt: null },
    ],
    [
      { access_token: 'a', expires_in: 1_795_221_600 },
      { accessToken: 'a', expiresAt: null },
    ],
    [
      { access_token: 'a', expiresInMillis: 60_000 },
      { accessToken: 'a', expiresAt: '2026-11-21T12:01:00.000Z' },
    ],
    [
      { access_token: 'a', token_ttl_ms: 2_592_000_000 },
      { accessToken: 'a', expiresAt: '2026-12-21T12:00:00.000Z' },
    ],
    [
      { ext_expires_in: 7, client_secret_expires_at: 1_800_000_000, token: 'a', expires_in: 60 },
      { accessToken: 'a', expiresAt: '2026-11-21T12:01:00.000Z' },
    ],
    [
      { user: { contract_expires_at: 1_800_000_000 }, access_token: JWT },
      { accessToken: JWT, expiresAt: '2026-11-21T13:00:00.000Z' },
    ],
    [
      { login: { token: 'a', expiresAt: '2026-11-21T12:30:00Z' } },
      { accessToken: 'a', expiresAt: '2026-11-21T12:30:00.000Z' },
    ],
    [
      { loginResult: { token: 'a' }, expires_in_ms: { access: 60_000 } },
      { accessToken: 'a', expiresAt: '2026-11-21T12:01:00.000Z' },
    ],
    [
      { auth: { client_token: 'a', lease_duration: 2_592_000 }, lease_duration: 0 },
      { accessToken: 'a', expiresAt: '2026-12-21T12:00:00.000Z' },
    ],
    [{ auth: { client_token: 'a', lease_duration: 0 } }, { accessToken: 'a', expiresAt: null }],
    [
      { token: 'a', expires: 172_800 },
      { accessToken: 'a', expiresAt: '2026-11-23T12:00:00.000Z' },
    ],
    [
      { token: 'a', expires: 900_000 },
      { accessToken: 'a', expiresAt: null },
    ],
    [
      { token: JWT, expires: 900_000 },
      { accessToken: JWT, expiresAt: '2026-11-21T13:00:00.000Z' },
    ],
    [
      { token: 'a', expires_in: 900_000 },
      { accessToken: 'a', expiresAt: '2026-12-01T22:00:00.000Z' },
    ],
    [{ auth: { client_token: 'a' }, request_token: 'r' }, { accessToken: 'a' }],
    [{ private_token: 'a' }, { accessToken: 'a' }],
    [
      { session: { access_token: 'a', expires_in: 60 } },
      { accessToken: 'a', expiresAt: '2026-11-21T12:01:00.000Z' },
    ],
    [
      { data: { token: 'a' }, continuation_token: 'c', push_token: 'p' },
      { accessToken: 'a', refreshToken: null },
    ],
  ])('%j is read', async (body, expected) => {
    const { data } = await read(body);
    expect(data?.login).toMatchObject({ ...expected, raw: body });
  });

  it('may have a member called __proto__, which pollutes nothing', async () => {
    const { data } = await read('{"__proto__":{"polluted":1},"access_token":"a"}');
    expect(data?.login?.accessToken).toBe('a');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('is read if the response has the same one twice', async () => {
    const { data } = await read({ access_token: 'a', data: { access_token: 'a' } });
    expect(data?.login?.accessToken).toBe('a');
  });

  it('is read without a refresh token if the response has two that differ', async () => {
    const body = { access_token: 'a', refresh_token: 'b', user: { refresh_token: 'c' } };
    expect((await read(body)).data?.login).toMatchObject({ accessToken: 'a', refreshToken: null });
  });

  it.each([
    {},
    [],
    'null',
    '"a"',
    { access_token: '' },
    { access_token: 12 },
    { access_token: 'a\nb' },
    { access_token: null },
    { a: { b: { c: { access_token: 'too deep' } } } },
    [{ access_token: 'a' }],
    { status: 'MFA_REQUIRED', stateToken: 's' },
    { challenge_token: 'c' },
    { challenge: { token: 'c' } },
    { requires_2fa: true, '2fa_token': 't' },
    { twoFaToken: 't' },
    { pending_token: 't' },
    { session_token: '', intermediate_session_token: 't' },
    { sms_token: 't', setupToken: 'u' },
    { signIn: { token: 't' } },
    { secret: { access_token: 't', expires_in: 60 } },
    { session_token: 'a', user_session_token: 'b' },
    { accessKey: 'AKIA', secretKey: 's' },
    { id_token: 'i', ticket: 't' },
    { access_token: 'a', accessToken: 'b' },
    { access_token: 'a', user: { access_token: 'b' } },
    { data: { token: 'a' }, result: { token: 'b' } },
  ])('%j contains no token, or two that differ', async (body) => {
    const result = await read(body);
    expect(codeOf(result)).toBe('UPSTREAM_BAD_RESPONSE');
    expect(result.errors?.[0]?.extensions.reason).toBe('NO_TOKEN');
    expect(result.errors?.[0]?.message).toMatch(/`keytrail learn.*KEYTRAIL_CONTRACT/);
  });
});

describe('the contract of a login', () => {
  const HEADER: LoginEntries = { accessToken: { header: 'X-Auth-Token' } };
  const HTML = '<html><h1>Welcome</h1>';

  it.each([
    ['', null],
    [' ', null],
    ['Welcome', 'Welcome'],
    [HTML, null],
    ['{"truncated": ', null],
    [{ user: 'ann' }, { user: 'ann' }],
  ])('reads the token from a header, whatever the body: %j', async (body, raw) => {
    const { data } = await read(body, {
      contract: HEADER,
      headers: { 'x-auth-token': 'Bearer a' },
    });
    expect(data?.login).toMatchObject({ accessToken: 'a', tokenType: 'Bearer', raw });
  });

  it('reads the token from a header if the body is not UTF-8', async () => {
    await using service = await startService((_, response) => {
      response.setHeader('x-auth-token', 'a').end(Buffer.from('Angemeldet für Ann', 'latin1'));
      return undefined;
    });
    await using gateway = gatewayOver(service.url, { contract: { login: HEADER } });
    const credential = { clientSecret: 's' };
    const { data } = await ask(gateway, LoginDocument, { clientId: 'c', credential });
    expect(data?.login?.accessToken).toBe('a');
  });

  it.each([
    ['eyJ.a-b_c.d', 'eyJ.a-b_c.d'],
    ['a\n', 'a'],
    ['Bearer a', 'a'],
    ['"a"', 'a'],
    ['4711', '4711'],
    ['00', '00'],
  ])('reads the body as the token: %j', async (body, accessToken) => {
    for (const type of ['text/plain', 'application/json']) {
      const { data } = await read(body, {
        contract: { accessToken: '' },
        headers: { 'content-type': type },
      });
      expect(data?.login?.accessToken).toBe(accessToken);
    }
  });

  it.each(['', HTML, { access_token: 'a' }, 'a\nb', '{"token": "a'])(
    'reads no token from a body that is no text of one line: %j',
    async (body) => {
      const result = await read(body, { contract: { accessToken: '' } });
      expect(result.errors?.[0]?.extensions).toMatchObject({
        ...{ code: 'UPSTREAM_BAD_RESPONSE', reason: 'NO_TOKEN' },
      });
    },
  );

  it.each([undefined, { accessToken: '/token' }, { tokenType: '' }])(
    'requires JSON if it says anything else: %j',
    async (contract) => {
      for (const body of ['', 'a', HTML]) {
        const headers = { 'x-auth-token': 'a', 'content-type': 'text/plain' };
        const result = await read(body, { headers, ...(contract && { contract }) });
        expect(result.errors?.[0]?.extensions).toMatchObject({
          ...{ code: 'UPSTREAM_BAD_RESPONSE', reason: 'NOT_JSON' },
        });
      }
    },
  );

  it('reads an expiry without a zone, and one in a format of its own', async () => {
    for (const [expires_at, as] of [
      ['2026-11-21 14:30', 'iso8601'],
      ['21.11.2026 14:30', { pattern: 'dd.MM.yyyy HH:mm' }],
    ] as const) {
      const expires = { at: '/expires_at', as, zone: 'Europe/Berlin' };
      const { data } = await read({ token: 'a', expires_at }, { contract: { expires } });
      expect(data?.login?.expiresAt).toBe('2026-11-21T13:30:00.000Z');
    }
  });
});
