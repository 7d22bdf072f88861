import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

/** Headers that the gateway may send; any other was forwarded from the client. */
const OWN_HEADERS = [
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'user-agent',
  'via',
  'x-request-id',
];

const NOISE = {
  cookie: 'session=1',
  'x-forwarded-for': '192.0.2.1',
  'x-api-key': 'k',
  'user-agent': 'client/1',
  'accept-language': 'de',
  'x-request-id': 'from-the-client',
};

describe('login', () => {
  it('posts the client id with the secret, and never the client’s Authorization', async () => {
    await using service = await startService({ body: { access_token: 'a', refresh_token: 'r' } });
    await using gateway = gatewayOver(service.url);
    const { data } = await ask(
      gateway,
      LoginDocument,
      { clientId: 'c 1', credential: { clientSecret: 's"é' } },
      { token: 'from-the-client', headers: NOISE },
    );
    expect(data?.login).toMatchObject({ accessToken: 'a', refreshToken: 'r', tokenType: 'Bearer' });
    expect(service.seen).toHaveLength(1);
    const [seen] = service.seen;
    expect(seen).toMatchObject({ method: 'POST', url: '/api/v1/auth/login' });
    expect(JSON.parse(seen?.body ?? '')).toEqual({ client_id: 'c 1', client_secret: 's"é' });
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(
      [...OWN_HEADERS, 'content-type'].sort(),
    );
    expect(seen?.headers['content-type']).toBe('application/json');
  });

  it('posts the refresh token if that is the credential', async () => {
    await using service = await startService({ body: { access_token: 'a' } });
    await using gateway = gatewayOver(service.url);
    const { data } = await ask(gateway, LoginDocument, {
      clientId: 'c',
      credential: { refreshToken: 'r' },
    });
    expect(data?.login).toMatchObject({ accessToken: 'a', refreshToken: null, expiresAt: null });
    expect(JSON.parse(service.seen[0]?.body ?? '')).toEqual({ client_id: 'c', refresh_token: 'r' });
  });

  it.each(['{}', '{clientSecret: "a", refreshToken: "b"}', '{clientSecret: null}'])(
    'rejects the credential %s, and nothing is sent',
    async (credential) => {
      await using service = await startService({ body: {} });
      await using gateway = gatewayOver(service.url);
      const result = await ask(
        gateway,
        `mutation { login(clientId: "c", credential: ${credential}) { accessToken } }`,
      );
      expect(codeOf(result)).toBe('GRAPHQL_VALIDATION_FAILED');
      expect(service.seen).toHaveLength(0);
    },
  );
});

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const LONG = 'x'.repeat(200);
const MEMBERS = Array.from({ length: 40 }, (_, i) => `k${i}=1`);

describe('the trace of a request', () => {
  it('is forwarded to the service: x-request-id, given or created, and the W3C trace headers', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const traced = {
      'x-request-id': 'from-the-client',
      traceparent: TRACEPARENT,
      tracestate: 'a=1,b=2',
    };
    await ask(gateway, AuditDocument, {}, { token: 't', headers: traced });
    const { headers } = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(service.seen[0]?.headers).toMatchObject(traced);
    expect(service.seen[1]?.headers['x-request-id']).toBe(headers.get('x-request-id'));
    expect(service.seen[1]?.headers).not.toHaveProperty('traceparent');
  });

  it.each([
    { traceparent: 'c4n4ry', tracestate: 'a=1' },
    { traceparent: TRACEPARENT.toUpperCase() },
    { tracestate: 'a=1' },
    { traceparent: `${TRACEPARENT}-more`, tracestate: 'a=1' },
  ])('is not forwarded if its headers are %j', async (headers) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await ask(gateway, AuditDocument, {}, { token: 't', headers });
    const [seen] = service.seen;
    expect(Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith('trace'))).toEqual([]);
  });

  it('is forwarded without a tracestate that is too long', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const headers = { traceparent: TRACEPARENT, tracestate: 'a'.repeat(513) };
    await ask(gateway, AuditDocument, {}, { token: 't', headers });
    expect(service.seen[0]?.headers['traceparent']).toBe(TRACEPARENT);
    expect(service.seen[0]?.headers).not.toHaveProperty('tracestate');
  });

  it.each([
    ['in 512 characters', `a=${LONG},b=${LONG},c=${LONG},d=1`, `a=${LONG},b=${LONG},d=1`],
    ['that are 32', MEMBERS.join(), MEMBERS.slice(0, 32).join()],
    ['that are valid', 'a=1, B=2,\tc=3,,=4', 'a=1,c=3'],
  ])('has the members of its tracestate %s', async (_, tracestate, forwarded) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const headers = { traceparent: TRACEPARENT, tracestate };
    await ask(gateway, AuditDocument, {}, { token: 't', headers });
    expect(service.seen[0]?.headers['tracestate']).toBe(forwarded);
  });
});

describe('audit', () => {
  it('gets the trail with the client’s token and no other header of the client', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await ask(gateway, AuditDocument, {}, { token: 'abc', headers: NOISE });
    const [seen] = service.seen;
    expect(seen).toMatchObject({ method: 'GET', url: '/api/v1/audit', body: '' });
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(
      [...OWN_HEADERS, 'authorization'].filter((name) => name !== 'content-length').sort(),
    );
    expect(seen?.headers['accept-encoding']).toBe('identity');
  });

  it('forwards parameters encoded, in order, with repeated names', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const parameters = [
      { name: 'a b', value: 'c&d=e' },
      { name: 'tag', value: 'é+%' },
      { name: 'tag', value: '#?/' },
      { name: 'empty', value: '' },
    ];
    await ask(gateway, AuditDocument, { parameters }, { token: 't' });
    expect(service.seen[0]?.url).toBe(
      '/api/v1/audit?a%20b=c%26d%3De&tag=%C3%A9%2B%25&tag=%23%3F%2F&empty=',
    );
    const { searchParams } = new URL(`${service.url}${service.seen[0]?.url}`);
    expect([...searchParams].map(([name, value]) => ({ name, value }))).toEqual(parameters);
  });

  it('rejects a parameter with a lone surrogate, and nothing is sent', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const parameters = [{ name: 'q', value: '\ud800' }];
    const result = await ask(gateway, AuditDocument, { parameters }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
    expect(service.seen).toHaveLength(0);
  });
});

describe('deleteApiKey', () => {
  it.each([
    ['plain', 'plain'],
    ['a/b', 'a%2Fb'],
    ['a?x=1', 'a%3Fx%3D1'],
    ['a#f', 'a%23f'],
    ['%2e%2e', '%252e%252e'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
    ['...', '...'],
    ['a b+c', 'a%20b%2Bc'],
    ['🔑'.repeat(256), encodeURIComponent('🔑'.repeat(256))],
  ])('deletes the key %j as one path segment', async (clientId, segment) => {
    await using service = await startService({ status: 204 });
    await using gateway = gatewayOver(service.url);
    const { data } = await ask(
      gateway,
      DeleteApiKeyDocument,
      { clientId, withRaw: true },
      { token: 'abc', headers: NOISE },
    );
    expect(data?.deleteApiKey).toEqual({ outcome: 'DELETED', raw: null, apiKey: { clientId } });
    expect(service.seen).toHaveLength(1);
    const [seen] = service.seen;
    expect(seen).toMatchObject({ method: 'DELETE', url: `/api/v1/secrets/${segment}`, body: '' });
    expect(seen?.headers.authorization).toBe('Bearer abc');
    expect(Object.keys(seen?.headers ?? {})).not.toContain('cookie');
  });

  it.each(['', '.', '..', 'a\u0000b', 'a\nb', 'a\u0085b', '\ud800', 'x\udc00', 'k'.repeat(257)])(
    'rejects the client id %j, and nothing is sent',
    async (clientId) => {
      await using service = await startService({ status: 204 });
      await using gateway = gatewayOver(service.url);
      const result = await ask(gateway, DeleteApiKeyDocument, { clientId }, { token: 'abc' });
      expect(codeOf(result)).toBe('BAD_USER_INPUT');
      expect(service.seen).toHaveLength(0);
    },
  );
});

describe('the base URL', () => {
  it.each(['', '/', '/prefix', '/prefix/', '/two/steps', '/with%20blank'])(
    'keeps its path prefix %j',
    async (prefix) => {
      await using service = await startService({ status: 204 });
      await using gateway = gatewayOver(`${service.url}${prefix}`);
      await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
      expect(service.seen[0]?.url).toBe(`${prefix.replace(/\/$/, '')}/api/v1/secrets/k`);
    },
  );
});

describe('the bearer token', () => {
  const operations = [
    ['audit', (gateway, headers) => ask(gateway, AuditDocument, {}, { headers })],
    [
      'deleteApiKey',
      (gateway, headers) => ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { headers }),
    ],
  ] as const satisfies readonly [
    string,
    (gateway: ReturnType<typeof gatewayOver>, headers: Record<string, string>) => unknown,
  ][];

  describe.each(operations)('of %s', (_, send) => {
    it.each(['Bearer abc', 'bearer abc==', 'BEARER a.b-c_d~e+f/g', `Bearer ${'x'.repeat(8185)}`])(
      'is forwarded byte for byte',
      async (authorization) => {
        await using service = await startService({ body: [] });
        await using gateway = gatewayOver(service.url);
        await send(gateway, { authorization });
        expect(service.seen.map(({ headers }) => headers.authorization)).toEqual([authorization]);
      },
    );

    it.each([
      undefined,
      'Basic x',
      'Bearer',
      'Bearer ',
      'Bearer a b',
      "Bearer 'a'",
      'Bearer "a"',
      'Bearer a,Bearer b',
      'Bearer ä',
      'abc',
      `Bearer ${'x'.repeat(8186)}`,
    ])('%j is rejected, and nothing is sent', async (authorization) => {
      await using service = await startService({ body: [] });
      await using gateway = gatewayOver(service.url);
      const result = await send(gateway, authorization === undefined ? {} : { authorization });
      expect(codeOf(result)).toBe('UNAUTHENTICATED');
      expect(result.status).toBe(200);
      expect(service.seen).toHaveLength(0);
    });
  });

  it('of 200 interleaved requests stays with its own request, whatever the delays', async () => {
    await using service = await startService(async ({ headers }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      return { body: [{ id: headers.authorization }] };
    });
    await using gateway = gatewayOver(service.url, {
      upstream: { connections: 16 },
      maxInFlight: 2000, // one network with new tokens gets three eighths
    });
    const tokens = Array.from({ length: 200 }, (_, index) => `token-${index}`);
    const results = await Promise.all(
      tokens.map((token) => ask(gateway, AuditDocument, {}, { token })),
    );
    expect(results.map(({ data }) => data?.audit?.nodes[0]?.id)).toEqual(
      tokens.map((token) => `Bearer ${token}`),
    );
    expect(service.seen).toHaveLength(200);
  });
});
