import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  createSession,
  DeleteApiKeyDocument,
  OperationError,
  request,
  SessionLost,
  type SessionOptions,
  type TokenStore,
  type Tokens,
} from '../../src/client/index.ts';
import { createGateway } from '../../src/index.ts';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import { createTestbed, type Testbed } from '../../src/testing/testbed.ts';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { startService } from '../helpers/service.ts';

const [, { clientId, secret: clientSecret }] = DEMO_CLIENTS;

/** A session of a client that the testbed has not logged in. */
const sessionOf = ({ url }: Pick<Testbed, 'url'>, options: Partial<SessionOptions> = {}) =>
  createSession({ url, clientId, clientSecret, ...options });

/** What the service received: each login with its credential, or the method. */
const sentTo = ({ requests }: Testbed) =>
  requests.map(({ method, body }) => (body ? Object.keys(Object(body))[1] : method));

/** A store that begins with some tokens, and lists what it saved. */
function storeOf(first: Tokens | null = null) {
  const saved: Tokens[] = [];
  const store = {
    saved,
    load: () => saved.at(-1) ?? first,
    save: (tokens: Tokens): void | Promise<void> => void saved.push(tokens),
  };
  return store satisfies TokenStore;
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.unreachable(`It has succeeded with ${inspect(value)}.`),
    (error) => error,
  );

describe('a session', () => {
  it('sends nothing before the first request, then logs in once for twenty', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    expect(testbed.requests).toEqual([]);
    const reads = Array.from({ length: 20 }, () => session.request(AuditDocument, { first: 1 }));
    for (const { data } of await Promise.all(reads)) expect(data?.audit?.nodes).toHaveLength(1);
    expect(sentTo(testbed)).toEqual(['client_secret', ...Array(20).fill('GET')]);
  });

  it('logs in with the refresh token 30 seconds before the token expires, and not sooner', async () => {
    let time = Date.now();
    const now = () => time;
    await using testbed = await createTestbed({ now: () => new Date(time) });
    const session = sessionOf(testbed, { timers: { now } });
    await session.request(AuditDocument, {});
    time += 15 * 60_000 - 30_001;
    await session.request(AuditDocument, {});
    expect(sentTo(testbed)).toEqual(['client_secret', 'GET', 'GET']);
    time += 1;
    expect((await session.request(AuditDocument, {})).errors).toBeUndefined();
    expect(sentTo(testbed).slice(3)).toEqual(['refresh_token', 'GET']);
  });

  it.each([
    ['lasts less than a minute', 59],
    ['has expired by a clock that is wrong', -1],
  ])('uses a token that %s until it is rejected', async (_, seconds) => {
    const expiresAt = new Date(Date.now() + 1000 * seconds).toISOString();
    const login = { accessToken: 't', tokenType: 'Bearer', refreshToken: null, expiresAt };
    await using gateway = await startService(({ body }) => ({
      body: { data: body.includes('login') ? { login } : { audit: null } },
    }));
    const session = sessionOf(gateway);
    for (let count = 0; count < 3; count += 1) await session.request(AuditDocument, {});
    expect(gateway.seen).toHaveLength(1 + 3);
  });

  it('logs in again when the token is rejected, and sends the operation once more', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    await session.request(AuditDocument, {});
    testbed.respondNext({ status: 401 });
    const variables = { clientId: 'demo-old-ci' };
    const deletion = await session.request(DeleteApiKeyDocument, variables);
    expect(deletion.data?.deleteApiKey?.outcome).toBe('DELETED');
    expect(sentTo(testbed).slice(2)).toEqual(['DELETE', 'refresh_token', 'DELETE']);
  });

  it('logs in before the next request if it could not send a deletion again', async () => {
    let count = 0;
    const errors = [{ message: 'no', extensions: { code: 'UNAUTHENTICATED' } }]; // of a router, without a path
    await using gateway = await startService(({ body, headers }) => {
      if (body.includes('login(')) count += 1;
      const login = {
        accessToken: `t${count}`,
        tokenType: '',
        refreshToken: null,
        expiresAt: null,
      };
      const isRejected = headers.authorization === 'Bearer t1';
      return { body: isRejected ? { data: null, errors } : { data: { login, deleteApiKey: {} } } };
    });
    const session = sessionOf(gateway);
    const remove = () => session.request(DeleteApiKeyDocument, { clientId: 'a' });
    expect((await remove()).errors).toEqual(errors);
    expect((await remove()).errors).toBeUndefined();
    const tokens = gateway.seen.map(({ headers }) => headers.authorization);
    expect(tokens).toEqual([undefined, 'Bearer t1', undefined, 'Bearer t2']);
  });

  it('sends a query once more if only a part of it was rejected', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext({}, {}, { status: 401 });
    const parameters = '[{ name: "n", value: "1" }]';
    const query = `{ one: audit { totalCount } two: audit(parameters: ${parameters}) { totalCount } }`;
    const { errors } = await sessionOf(testbed).request(query, {});
    expect(errors).toBeUndefined();
    expect(testbed.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  });

  it('returns the error if the new token is rejected, too', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    testbed.respondNext({}, { status: 401 }, {}, { status: 401 });
    const { errors } = await session.request(AuditDocument, {});
    expect(errors?.[0]?.extensions?.code).toBe('UNAUTHENTICATED');
    expect(sentTo(testbed)).toEqual(['client_secret', 'GET', 'refresh_token', 'GET']);
  });

  it('returns other errors, and repeats nothing', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    testbed.respondNext({}, { status: 403 });
    const { errors } = await session.request(AuditDocument, {});
    expect(errors?.[0]?.extensions?.code).toBe('FORBIDDEN');
    expect(sentTo(testbed)).toEqual(['client_secret', 'GET']);
  });

  it('keeps its refresh token if a login returns none', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    await session.token();
    testbed.respondNext({ body: { access_token: 'one' } }, { body: { access_token: 'two' } });
    expect(await session.token(await session.token())).toBe('one');
    expect(await session.token('one')).toBe('two');
    const [first, ...later] = testbed.requests.map(({ body }) => Object(body));
    expect(first).toHaveProperty('client_secret');
    expect(later).toHaveLength(2);
    expect(later[0]).toHaveProperty('refresh_token');
    expect(later[1]).toEqual(later[0]);
  });

  it.each<readonly [string, object, RegExp | null]>([
    ['a refresh token', { token: 'a', refresh_token: 'r' }, null],
    [
      'no other text',
      { token: 'a', token_type: 'Bearer', name: 'Ann' },
      /needs the client secret again\.$/,
    ],
    [
      'texts that may be one',
      {
        token: 'a',
        offline_token: 'c4n4ry',
        c4n4ry: { id: 'x'.repeat(20) + 1 },
        at: '2026-11-27T10:00:00Z',
      },
      /add `login\.refreshToken` .*: \/\* \(6 characters\), \/\*\/id \(21 characters\)\.$/,
    ],
  ])(
    'says once that it has no refresh token, and where it may be: %s',
    async (_, body, expected) => {
      await using service = await startService({ body });
      await using gateway = createGateway({ upstream: { url: service.url } });
      const warnings: string[] = [];
      const onWarning = (message: string) => void warnings.push(message);
      const session = createSession({
        ...{ clientId: 'c', clientSecret: 's', fetch: gateway.fetch, onWarning },
      });
      const first = await session.token();
      await session.token(first);
      const credentials = service.seen.map((request) => Object.keys(JSON.parse(request.body))[1]);
      expect(credentials).toEqual(['client_secret', expected ? 'client_secret' : 'refresh_token']);
      if (expected === null) return expect(warnings).toEqual([]);
      expect(warnings).toEqual([expect.stringMatching(expected)]);
      expect(warnings.join()).not.toContain('c4n4ry');
    },
  );

  it('says that a renewal returned texts that may be a new refresh token', async () => {
    await using service = await startService({ body: { token: 'a', next_token: 'n' } });
    await using gateway = createGateway({ upstream: { url: service.url } });
    const tokens = storeOf({ accessToken: 'x', refreshToken: 'r', expiresAt: null });
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const session = createSession({ clientId: 'c', fetch: gateway.fetch, tokens, onWarning });
    await session.token('x');
    expect(warnings).toEqual([expect.stringContaining('/* (1 character)')]);
    expect(tokens.saved).toEqual([{ accessToken: 'a', refreshToken: 'r', expiresAt: null }]);
  });

  it('does not log in for a token that was already renewed', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    const first = await session.token();
    const second = await session.token(first);
    expect(await session.token(first)).toBe(second);
    expect(testbed.requests).toHaveLength(2);
  });

  it('says that it needs a secret if it has none and no refresh token is saved', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed, { clientSecret: undefined });
    await expect(session.token()).rejects.toThrow('the login needs `clientSecret`');
    await expect(session.token()).rejects.toMatchObject({ needsSecret: true });
    expect(testbed.requests).toEqual([]);
  });
});

describe('the token store', () => {
  it('gets the tokens of each login', async () => {
    await using testbed = await createTestbed();
    const tokens = storeOf();
    const session = sessionOf(testbed, { tokens });
    const first = await session.token();
    const second = await session.token(first);
    expect(tokens.saved).toEqual(
      [first, second].map((accessToken) => ({
        accessToken,
        refreshToken: expect.any(String),
        expiresAt: expect.stringMatching(/Z$/),
      })),
    );
  });

  it('has tokens that a new session uses without a login, while they last', async () => {
    await using testbed = await createTestbed();
    const { accessToken, refreshToken } = testbed;
    const tokens = storeOf({ accessToken, refreshToken, expiresAt: null });
    const session = sessionOf(testbed, { tokens, clientId: testbed.clientId });
    expect(await session.token()).toBe(accessToken);
    expect(testbed.requests).toEqual([]);
    await session.token(accessToken);
    expect(sentTo(testbed)).toEqual(['refresh_token']);
  });

  it('has a refresh token that is used instead of the secret', async () => {
    await using testbed = await createTestbed();
    const { accessToken, refreshToken } = testbed;
    const expiresAt = new Date(Date.now() + 30_000).toISOString();
    const tokens = storeOf({ accessToken, refreshToken, expiresAt });
    const session = sessionOf(testbed, { tokens, clientId: testbed.clientId });
    expect((await session.request(AuditDocument, {})).errors).toBeUndefined();
    expect(testbed.requests.map(({ body }) => body)).toEqual([
      { client_id: testbed.clientId, refresh_token: refreshToken },
      undefined,
    ]);
  });

  it('has a secret tried in no case if its refresh token is rejected', async () => {
    await using testbed = await createTestbed();
    const tokens = storeOf({ accessToken: 'a', refreshToken: 'wrong', expiresAt: null });
    const session = sessionOf(testbed, { tokens });
    const failure = await failureOf(session.request(AuditDocument, {}));
    expect(failure).toMatchObject({ extensions: { code: 'UNAUTHENTICATED' } });
    expect(sentTo(testbed)).toEqual(['GET', 'refresh_token']);
    expect(tokens.saved).toEqual([]);
  });

  it('has saved the tokens before one of them is sent', async () => {
    await using testbed = await createTestbed();
    const saving = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const tokens = {
      ...storeOf(),
      save: () => {
        begun.resolve();
        return saving.promise;
      },
    };
    const session = sessionOf(testbed, { tokens });
    const reads = [session.request(AuditDocument, {}), session.request(AuditDocument, {})];
    await begun.promise;
    // Another client's requests, one after the other: the session's would have arrived before the last of them.
    const { url, accessToken } = testbed;
    const parameters = [{ name: 'other', value: 'client' }];
    for (let count = 0; count < 5; count += 1)
      await request(AuditDocument, { first: 1, parameters }, { url, token: accessToken });
    const sent = () => testbed.requests.filter(({ query }) => query['other'] === undefined);
    expect(sent().map(({ method }) => method)).toEqual(['POST']);
    saving.resolve();
    await Promise.all(reads);
    expect(sent().map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
  });

  it('saves again after a failure, before anything is sent, and without another login', async () => {
    await using testbed = await createTestbed();
    const tokens = storeOf();
    const isFull = [true, true];
    const { save } = tokens;
    tokens.save = (next) => {
      if (isFull.pop()) throw new Error('The disk is full.');
      return save(next);
    };
    const session = sessionOf(testbed, { tokens });
    await expect(session.request(AuditDocument, {})).rejects.toThrow('The disk is full.');
    await expect(session.request(AuditDocument, {})).rejects.toThrow('The disk is full.');
    expect(sentTo(testbed)).toEqual(['client_secret']);
    expect((await session.request(AuditDocument, {})).errors).toBeUndefined();
    expect(sentTo(testbed)).toEqual(['client_secret', 'GET']);
    expect(tokens.saved).toHaveLength(1);
  });

  it('prevents a login if it cannot be read, until it can', async () => {
    await using testbed = await createTestbed();
    const tokens = storeOf();
    const { load } = tokens;
    let isBroken = true;
    tokens.load = () => {
      if (isBroken) throw new Error('The file is damaged.');
      return load();
    };
    const session = sessionOf(testbed, { tokens });
    await expect(session.token()).rejects.toThrow('The file is damaged.');
    expect(testbed.requests).toEqual([]);
    isBroken = false;
    await session.token();
    expect(sentTo(testbed)).toEqual(['client_secret']);
  });

  it('lets two sessions share one login by its lock', async () => {
    await using testbed = await createTestbed();
    let last: Promise<unknown> = Promise.resolve();
    const lock = <Value>(work: () => Promise<Value>) => {
      const result = last.then(work);
      last = result.catch(() => {});
      return result;
    };
    const tokens = { ...storeOf(), lock };
    const sessions = [sessionOf(testbed, { tokens }), sessionOf(testbed, { tokens })];
    const [first, second] = await Promise.all(sessions.map((session) => session.token()));
    expect(second).toBe(first);
    const [third, fourth] = await Promise.all(sessions.map((session) => session.token(first)));
    expect(fourth).toBe(third);
    expect(sentTo(testbed)).toEqual(['client_secret', 'refresh_token']);
  });
});

describe('a login', () => {
  it('whose outcome is unknown is never repeated', async () => {
    await using testbed = await createTestbed();
    const tokens = storeOf();
    const session = sessionOf(testbed, { tokens });
    const token = await session.token();
    testbed.respondNext({ lost: 'before' });
    const failures = await Promise.all([session.token(token), session.token(token)].map(failureOf));
    failures.push(await failureOf(session.token(token)));
    for (const failure of failures) expect(failure).toBeInstanceOf(SessionLost);
    expect(sentTo(testbed)).toEqual(['client_secret', 'refresh_token']);
    expect(tokens.saved).toHaveLength(1);
  });

  it.each([
    ['a lost connection', undefined],
    ['a page of a proxy', { status: 502, body: '<p>Bad gateway' }],
  ])('that gets %s instead of a response is never repeated', async (_, page) => {
    await using proxy = await startService((_seen, response) => {
      if (page === undefined) response.destroy();
      return page;
    });
    const session = sessionOf(proxy);
    for (let count = 0; count < 3; count += 1)
      expect(await failureOf(session.token())).toBeInstanceOf(SessionLost);
    expect(proxy.seen).toHaveLength(1);
  });

  it.each<[object, boolean]>([
    [{ status: 400, body: { error: 'invalid_grant' } }, true],
    [{ status: 401 }, true],
    [{ status: 403 }, true],
    [{ status: 404 }, true],
    [{ status: 422 }, true],
    [{ status: 498 }, true],
    [{ body: { error: 'bad_refresh_token' } }, true],
    [{ status: 425 }, false],
    [{ status: 429 }, false],
    [{ status: 400, headers: { 'retry-after': '7' } }, false],
    [{ status: 503, headers: { 'retry-after': '7' } }, false],
  ])('that gets %j: whether it needs the secret is %s', async (response, expected) => {
    await using testbed = await createTestbed();
    const { accessToken, refreshToken } = testbed;
    const store = storeOf({ accessToken, refreshToken, expiresAt: null });
    const session = sessionOf(testbed, { tokens: store, clientId: testbed.clientId });
    testbed.respondNext(response);
    const failure = await failureOf(session.token(accessToken));
    expect(failure).toBeInstanceOf(OperationError);
    expect(failure).toHaveProperty('needsSecret', expected);
    await session.token(accessToken); // with the same refresh token
    expect(sentTo(testbed)).toEqual(['refresh_token', 'refresh_token']);
  });

  it('that was not sent is repeated by the next request', async () => {
    const service = await startService({});
    const { url } = service;
    await service[Symbol.asyncDispose]();
    const session = sessionOf({ url });
    const failure = await failureOf(session.token());
    expect(failure).toBeInstanceOf(OperationError);
    expect(failure).toMatchObject({ isRetryable: true });
    const login = { accessToken: 't', tokenType: 'Bearer', refreshToken: null, expiresAt: null };
    const port = Number(new URL(url).port);
    await using _gateway = await startService({ body: { data: { login } } }, port);
    expect(await session.token()).toBe('t');
  });

  it('fails all requests that wait for it', async () => {
    await using testbed = await createTestbed();
    const session = sessionOf(testbed);
    testbed.respondNext({ status: 429, headers: { 'retry-after': '7' } });
    const reads = Array.from({ length: 5 }, () => failureOf(session.request(AuditDocument, {})));
    for (const failure of await Promise.all(reads))
      expect(failure).toMatchObject({
        message: expect.stringMatching(/^The login failed \(RATE_LIMITED\): /),
        extensions: { code: 'RATE_LIMITED', retryAfterSeconds: 7 },
        isRetryable: true,
      });
    expect(sentTo(testbed)).toEqual(['client_secret']);
  });

  it.each([
    { status: 401 },
    { status: 500, body: { note: CANARY.upstreamBody } },
    { lost: 'before' as const },
    { body: CANARY.upstreamBody },
  ])('that fails after %j throws an error without a secret', async (response) => {
    await using testbed = await createTestbed();
    const secrets = { clientId: CANARY.clientId, clientSecret: CANARY.clientSecret };
    const { accessToken, refreshToken } = CANARY;
    const expiresAt = new Date(0).toISOString();
    for (const tokens of [storeOf(), storeOf({ accessToken, refreshToken, expiresAt })]) {
      testbed.respondNext(response);
      const failure = await failureOf(sessionOf(testbed, { ...secrets, tokens }).token());
      expect(failure).toBeInstanceOf(Error);
      expectNoCanary(inspect(failure, { depth: Infinity, showHidden: true }));
    }
    expect(testbed.requests).toHaveLength(2);
  });

  it('whose response is not GraphQL, or that finds no gateway, throws an error without a secret', async () => {
    const secrets = { clientId: CANARY.clientId, clientSecret: CANARY.clientSecret };
    const proxy = await startService(({ body }) => ({ status: 404, body }));
    const failure = await failureOf(sessionOf(proxy, secrets).token());
    await proxy[Symbol.asyncDispose]();
    const unreachable = await failureOf(sessionOf(proxy, secrets).token());
    for (const error of [failure, unreachable])
      expectNoCanary(inspect(error, { depth: Infinity, showHidden: true }));
  });
});
