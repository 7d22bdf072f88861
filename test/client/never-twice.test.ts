import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CombinedGraphQLErrors } from '@apollo/client';
import { gql } from '@urql/core';
import { describe, expect, it } from 'vitest';
import { createApolloClient } from '../../examples/clients/apollo-client.ts';
import { createUrqlClient } from '../../examples/clients/urql.ts';
import { fileTokens } from '../../src/client/file-tokens.ts';
import {
  AuditDocument,
  AuditEventsDocument,
  createSession,
  OperationError,
  type Session,
  SessionLost,
  type SessionOptions,
} from '../../src/client/index.ts';
import { FAILURES } from '../../src/errors.ts';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import {
  createTestbed,
  type TestbedOptions,
  type TestbedResponse,
} from '../../src/testing/testbed.ts';
import { startKeytrail } from '../helpers/process.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';

const [, { clientId, secret: clientSecret }] = DEMO_CLIENTS;

const DELETION = `mutation ($clientId: ID!) {
  deleteApiKey(clientId: $clientId) { outcome apiKey { clientId audit { totalCount } } }
}`;
const AUDIT = '{ audit(first: 1) { totalCount } }';
const KEY = { clientId: 'demo-old-ci' };

/** What a client reports: the result, or what was thrown. */
type Report = {
  readonly data?: unknown;
  readonly codes?: readonly unknown[];
  readonly thrown?: unknown;
};

const codesOf = (errors: readonly { readonly extensions?: unknown }[] = []) =>
  errors.map(({ extensions }) => Object(extensions).code);
const orThrown = (report: Promise<Report>): Promise<Report> =>
  report.catch((thrown: unknown) => ({ thrown }));

/** How a client sends operations with a session. */
type Client = {
  readonly read: () => Promise<Report>;
  readonly remove: () => Promise<Report>;
};

const viaSession = (session: Session): Client => ({
  read: async () => {
    const { data, errors } = await session.request(AuditDocument, { first: 1 });
    return { data, codes: codesOf(errors) };
  },
  remove: async () => {
    const { data, errors } = await session.request(DELETION, KEY);
    return { data, codes: codesOf(errors) };
  },
});

const CLIENTS: Readonly<Record<string, (session: Session, url: string) => Client>> = {
  'session.request': viaSession,
  'Apollo Client': (session, url) => {
    const client = createApolloClient(url, session);
    const toReportOf = (error: unknown): Report => {
      if (!CombinedGraphQLErrors.is(error)) throw error;
      return { data: error.data, codes: codesOf(error.errors) };
    };
    const network = { fetchPolicy: 'network-only' } as const;
    return {
      read: () =>
        client
          .query({ query: gql(AUDIT), ...network })
          .then(({ data }): Report => ({ data, codes: [] }), toReportOf),
      remove: () =>
        client
          .mutate({ mutation: gql(DELETION), variables: KEY })
          .then(({ data }): Report => ({ data, codes: [] }), toReportOf),
    };
  },
  urql: (session, url) => {
    const client = createUrqlClient(url, session);
    return {
      read: async () => toReport(await client.query(AUDIT, {}).toPromise()),
      remove: async () => toReport(await client.mutation(DELETION, KEY).toPromise()),
    };
  },
};

function toReport({
  data,
  error,
}: Pick<
  Awaited<ReturnType<ReturnType<typeof createUrqlClient>['query']>>,
  'data' | 'error'
>): Report {
  if (error?.networkError) throw error.networkError;
  return { data, codes: codesOf(error?.graphQLErrors) };
}

/** The same with clients that only read. */
const READERS: typeof CLIENTS = {
  ...CLIENTS,
  'session.follow': (session) => ({
    ...viaSession(session),
    read: async () => {
      const stopping = new AbortController();
      let failure: unknown;
      const onRetry = (error: unknown) => {
        failure = error;
        stopping.abort(); // it would go on
      };
      const options = { signal: stopping.signal, onRetry };
      for await (const data of session.follow(AuditEventsDocument, {}, options)) return { data };
      throw failure;
    },
  }),
};

/** What the service does with a login or a deletion, and what a client reports: the code, or that it is not known. */
type Row = readonly [
  what: string,
  response: TestbedResponse,
  reported: string,
  options?: TestbedOptions,
];

const UNKNOWN = 'not known';
const fast: TestbedOptions = { upstream: { timeoutMs: 1000 } };
const small: TestbedOptions = { upstream: { maxBytes: 2 ** 20 } };

/** Responses that neither a login nor a deletion can use. */
const FAILED: readonly Row[] = [
  ...Object.entries({
    400: 'BAD_USER_INPUT',
    403: 'FORBIDDEN',
    404: 'NOT_FOUND',
    409: 'CONFLICT',
    410: 'NOT_FOUND',
    413: 'UPSTREAM_ERROR',
    422: 'BAD_USER_INPUT',
    425: 'UPSTREAM_ERROR',
    429: 'RATE_LIMITED',
  }).map(([status, code]): Row => [status, { status: Number(status) }, code]),
  ['429 with Retry-After', { status: 429, headers: { 'retry-after': '7' } }, 'RATE_LIMITED'],
  ['503 with Retry-After', { status: 503, headers: { 'retry-after': '7' } }, 'UPSTREAM_ERROR'],
  ...[301, 307, 408, 500, 502, 503, 504].map((status): Row => [`${status}`, { status }, UNKNOWN]),
  ['a connection lost before the response', { lost: 'before' }, UNKNOWN],
  ['a connection lost before the response to nothing', { lost: 'before', status: 200 }, UNKNOWN],
  ['a connection lost within the body', { lost: 'within', body: { a: 1 } }, UNKNOWN],
  ['a late response', { delayMs: 3000 }, UNKNOWN, fast],
  ['a compressed body', { headers: { 'content-encoding': 'gzip' }, body: 'gz' }, UNKNOWN],
  ['a body that is too large', { body: 'a'.repeat(2 ** 20) }, UNKNOWN, small],
  ['a body that is not JSON', { body: '<p>Hello' }, UNKNOWN],
  ['a body that reports a failure', { body: { success: false } }, UNKNOWN],
];

const LOGINS: readonly Row[] = [
  ...FAILED,
  ['401', { status: 401 }, 'UNAUTHENTICATED'],
  ['no token', { body: { hello: 'world' } }, UNKNOWN],
  ['an empty body', { status: 204 }, UNKNOWN],
  [
    'a token that exceeds the limit of the gateway',
    { body: { access_token: 'a'.repeat(2 ** 25) } },
    UNKNOWN,
    { upstream: { maxBytes: 2 ** 26 } },
  ],
];

/** A session of its own, with a file of tokens if it should have one. */
async function createFixture(options: Partial<SessionOptions>, hasFile: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-twice-'));
  const path = join(folder, 'tokens.json');
  const create = () =>
    createSession({
      clientId,
      clientSecret,
      ...options,
      ...(hasFile && { tokens: fileTokens(path) }),
    });
  return {
    session: create(),
    /** Another process. It finds a lock that is a minute old. */
    another: async () => {
      const old = new Date(Date.now() - 60_000);
      if ((await readdir(folder)).includes('tokens.json.lock'))
        await utimes(`${path}.lock`, old, old);
      return create();
    },
    files: () => readdir(folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const READING = [
  ...Object.entries(READERS).map(([name, create]) => ({ name, create, hasFile: false })),
  { name: 'session.request with fileTokens', create: viaSession, hasFile: true },
];

/** Expects that a client reports that its login failed with a code, or may have been carried out. */
function expectLoginFailure({ thrown }: Report, reported: string) {
  if (reported === UNKNOWN) {
    expect(thrown).toBeInstanceOf(SessionLost);
    expect(thrown).toHaveProperty('message', expect.stringContaining('may be used up'));
  } else {
    expect(thrown).toBeInstanceOf(OperationError);
    expect(thrown).toMatchObject({ extensions: { code: reported } });
  }
}

describe.each(READING)('a login of $name', ({ name, create, hasFile }) => {
  it.for(LOGINS)(
    'that gets %s is sent again only if it was refused',
    async ([, response, reported, options]) => {
      await using testbed = await createTestbed({ events: [], ...options });
      await using fixture = await createFixture({ url: testbed.url }, hasFile);
      const client = create(fixture.session, testbed.url);
      testbed.requests.clear();
      await fixture.session.token(); // uses up the secret
      if (name === 'urql') await client.read(); // its first operation is not repeated
      const logins = () => testbed.requests.filter(({ method }) => method === 'POST').length;
      testbed.respondNext({ ...response, to: 'POST /api/v1/auth/login', times: Infinity });
      testbed.advance(16 * 60_000); // the token has expired, and the clock of the session does not show it

      const first = await Promise.all([orThrown(client.read()), orThrown(client.read())]);
      const isLost = reported === UNKNOWN;
      expectLoginFailure(first[0], reported);
      expectLoginFailure(first[1], reported);
      if (isLost) expect(logins()).toBe(2);
      testbed.clearResponses();
      testbed.advance(60_000); // closes the circuit breaker
      if (!isLost) {
        expect((await viaSession(fixture.session).read()).codes).toEqual([]);
        if (hasFile) expect(await fixture.files()).toEqual(['tokens.json']);
        return;
      }
      expectLoginFailure(await orThrown(client.read()), reported);
      if (hasFile) {
        const other = viaSession(await fixture.another());
        const { thrown } = await orThrown(other.remove());
        expect(String(thrown)).toContain('Check whether the saved credential is used up');
      }
      expect(logins()).toBe(2);
    },
  );
});

const DELETED = {
  deleteApiKey: { outcome: 'DELETED', apiKey: { clientId: 'demo-old-ci', audit: null } },
};

/** Codes that say that a deletion was not carried out, or may have been. */
const IN_DOUBT = ['UPSTREAM_BAD_RESPONSE', 'UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'OUTCOME_UNKNOWN'];

describe.each(Object.entries(CLIENTS))('a deletion of %s', (_, create) => {
  const start = async (options?: TestbedOptions) => {
    const testbed = await createTestbed({ events: [], ...options });
    const session = createSession({ url: testbed.url, clientId, clientSecret });
    const client = create(session, testbed.url);
    await client.read();
    testbed.requests.clear();
    const deletions = () => testbed.requests.filter(({ method }) => method === 'DELETE').length;
    return { testbed, client, deletions, [Symbol.asyncDispose]: testbed[Symbol.asyncDispose] };
  };

  it.for(FAILED)('that gets %s is sent once', async ([, response, reported, options]) => {
    await using bench = await start(options);
    const { testbed, client, deletions } = bench;
    testbed.respondNext({ ...response, to: 'DELETE /api/v1/secrets/{client_id}', times: Infinity });
    const { codes } = await client.remove();
    expect(codes).toEqual([
      reported === UNKNOWN ? expect.stringMatching(IN_DOUBT.join('|')) : reported,
    ]);
    expect(deletions()).toBe(1);
  });

  it('that is refused with a 401 is sent again with a new token', async () => {
    await using bench = await start();
    const { testbed, client, deletions } = bench;
    testbed.respondNext({ to: 'DELETE /api/v1/secrets/{client_id}', status: 401 });
    const { data } = await client.remove();
    expect(data).toMatchObject({ deleteApiKey: { outcome: 'DELETED' } });
    expect(deletions()).toBe(2);
  });

  it.for([400, 401, 403, 404, 408, 429, 500, 503, 504])(
    'that was carried out is sent once, and reported as done, if a field below it gets %i',
    async (status) => {
      await using bench = await start();
      const { testbed, client, deletions } = bench;
      testbed.respondNext({ to: 'GET /api/v1/audit', status, times: Infinity });
      const { data, codes } = await client.remove();
      expect(data).toMatchObject(DELETED);
      expect(codes).toHaveLength(1);
      expect(deletions()).toBe(1);
    },
  );

  it('of the key with which it logged in is sent once', async () => {
    await using bench = await start();
    const { testbed, client, deletions } = bench;
    testbed.respondNext({ to: 'GET /api/v1/audit', status: 401, times: Infinity });
    testbed.respondNext({ to: 'POST /api/v1/auth/login', status: 401, times: Infinity });
    expect(await client.remove()).toMatchObject({ data: DELETED, codes: ['UNAUTHENTICATED'] });
    expect(deletions()).toBe(1);
  });
});

/** A response of a gateway, a router or a proxy; a text is what arrives of one before the connection is closed. */
type Reply = ServiceResponse | string;

const failure = (code: string | undefined, extensions: object = {}, path?: readonly string[]) => ({
  message: 'It failed.',
  ...(path && { path }),
  extensions: { ...(code && { code }), ...extensions },
});
const failed = (...errors: readonly object[]): ServiceResponse => ({ body: { errors } });

const TOKENS = { accessToken: 't', tokenType: 'Bearer', refreshToken: 'r', expiresAt: null };

/** A gateway that accepts the first login, and whose further responses to a mutation are scripted. Reads are rejected. */
async function startGateway(mutation: 'login' | 'deleteApiKey', reply: Reply) {
  let count = 0;
  const rejected = failure('UNAUTHENTICATED', {}, ['audit']);
  const gateway = await startService(({ body }, response) => {
    const isLogin = body.includes('login(');
    if (isLogin) count += 1;
    const isScripted = mutation === 'login' ? isLogin && count > 1 : body.includes('deleteApiKey(');
    if (!isScripted)
      return isLogin
        ? { body: { data: { login: { ...TOKENS, accessToken: `t${count}` } } } }
        : { body: { data: { audit: null }, errors: [rejected] } };
    if (typeof reply === 'object') return reply;
    response.socket?.end(reply);
    return undefined;
  });
  const sent = () => gateway.seen.filter(({ body }) => body.includes(`${mutation}(`)).length;
  return Object.assign(gateway, { sent });
}

/** What any server or proxy may respond instead of the gateway, and whether that refuses a mutation. */
const PAGES = [200, 204, 302, 404, 405, 408, 413, 429, 500, 502, 503, 504].map(
  (status) =>
    [
      `a page with ${status}`,
      { status, body: '<p>Hello' },
      status >= 400 && status < 500 && status !== 408,
    ] as const,
);
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const LOST = [
  ['a connection that is closed', '', false],
  ['a head that is cut', `${HEAD}content-`, false],
  ['a head without a body', `${HEAD}content-length: 99\r\n\r\n`, false],
  ['a body that is cut', `${HEAD}content-length: 99\r\n\r\n{"data":`, false],
  ['a chunk that is cut', `${HEAD}transfer-encoding: chunked\r\n\r\n63\r\n{"data":`, false],
  ['a whole chunk without an end', `${HEAD}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`, false],
  ['nothing', {}, false],
  ['no data', { body: { data: null } }, false],
  ['no token', { body: { data: { login: { refreshToken: 'r2' } } } }, false],
] as const;

/** After these codes alone, a credential can be used again. */
const REFUSALS = [
  'BAD_REQUEST',
  'PERSISTED_QUERY_NOT_SUPPORTED',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_TOO_COMPLEX',
  'BAD_USER_INPUT',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'CONFLICT',
  'RATE_LIMITED',
  'OVERLOADED',
  'UPSTREAM_UNAVAILABLE',
];
const status = (code: number, extensions: object = {}) =>
  failed(failure('UPSTREAM_ERROR', { upstream: { status: code }, ...extensions }));

const LOGIN_REPLIES: readonly (readonly [what: string, reply: Reply, isRefused: boolean])[] = [
  ...PAGES,
  ...LOST,
  ...[...Object.keys(FAILURES), 'DOWNSTREAM_SERVICE_ERROR', 'constructor'].map(
    (code) => [code, failed(failure(code)), REFUSALS.includes(code)] as const,
  ),
  ['an error without a code', failed(failure(undefined)), false],
  ['an error without extensions', failed({ message: 'no' }), false],
  ['no errors', failed(), false],
  ['a refusal and a doubt', failed(failure('FORBIDDEN'), failure('OUTCOME_UNKNOWN')), false],
  ['two refusals', failed(failure('FORBIDDEN'), failure('CONFLICT')), true],
  ['a timeout before it was sent', failed(failure('UPSTREAM_TIMEOUT', { retryable: true })), true],
  [
    'a 504 of the service',
    failed(failure('UPSTREAM_TIMEOUT', { retryable: false, upstream: { status: 504 } })),
    false,
  ],
  ...[402, 413, 425, 451].map((code) => [`a ${code}`, status(code), true] as const),
  ...[200, 408, 500, 502, 503].map((code) => [`a ${code}`, status(code), false] as const),
  ['a 503 with Retry-After', status(503, { retryAfterSeconds: 7 }), true],
  ['a 500 with Retry-After', status(500, { retryAfterSeconds: 7 }), false],
];

describe.each(READING)('a login of $name, through any router', ({ create, hasFile }) => {
  it.for(LOGIN_REPLIES)('that gets %s is sent again only if it was refused', async (row) => {
    const [, reply, isRefused] = row;
    await using gateway = await startGateway('login', reply);
    await using fixture = await createFixture({ url: gateway.url }, hasFile);
    await fixture.session.token();
    const client = create(fixture.session, gateway.url);
    const reports = await Promise.all([orThrown(client.read()), orThrown(client.read())]);
    reports.push(await orThrown(client.read()));
    for (const { thrown, codes } of reports) {
      if (codes?.includes('UNAUTHENTICATED')) continue; // urql has no error of a login for its first operation
      if (isRefused) expect(thrown).not.toBeInstanceOf(SessionLost);
      else expectLoginFailure({ thrown }, UNKNOWN);
    }
    const again = await orThrown(viaSession(fixture.session).read());
    if (isRefused) expect(again.thrown).not.toBeInstanceOf(SessionLost);
    else expectLoginFailure(again, UNKNOWN);
    if (isRefused) expect(gateway.sent()).toBeGreaterThan(2);
    else expect(gateway.sent()).toBe(2);
    if (hasFile) expect((await fixture.files()).includes('tokens.json.lock')).toBe(!isRefused);
  });
});

const ROOT = ['deleteApiKey'];
const REFUSED = failure('UNAUTHENTICATED', {}, ROOT);
const NULL = { deleteApiKey: null };
const result = (data: unknown, ...errors: readonly object[]): ServiceResponse => ({
  body: { data, errors },
});

/** What a federation router may return for a deletion, how often that is sent then, and how often by a client that does not see the data. */
const DELETION_REPLIES: readonly (readonly [
  what: string,
  reply: Reply,
  sent: number,
  blind?: number,
])[] = [
  ['a refusal', result(NULL, REFUSED), 2],
  ['a refusal with the name of the type', result({ __typename: 'Mutation', ...NULL }, REFUSED), 2],
  ['a refusal without data', failed(REFUSED), 2],
  ['a refusal without a path', result(NULL, failure('UNAUTHENTICATED')), 1],
  ['a refusal without a path and data', failed(failure('UNAUTHENTICATED')), 1],
  ['a refusal and null for all data', result(null, REFUSED), 1, 2],
  [
    'an error below it',
    result(DELETED, failure('UNAUTHENTICATED', {}, [...ROOT, 'apiKey', 'audit'])),
    1,
  ],
  ['an error below it without its path', result(DELETED, failure('UNAUTHENTICATED')), 1],
  [
    'an error below it that is null',
    result(NULL, failure('UNAUTHENTICATED', {}, [...ROOT, 'apiKey'])),
    1,
  ],
  [
    'an error below it, and no data',
    failed(failure('UNAUTHENTICATED', {}, [...ROOT, 'apiKey'])),
    1,
  ],
  ['a refusal of one of two, one done', result({ other: {}, ...NULL }, REFUSED), 1, 2],
  ['a refusal of one of two, one null', result({ other: null, ...NULL }, REFUSED), 1, 2],
  ['a refusal and another error', result(NULL, REFUSED, failure('OUTCOME_UNKNOWN', {}, ROOT)), 1],
  ['a refusal that has data', result(DELETED, REFUSED), 1, 2],
  ...Object.keys(FAILURES)
    .filter((code) => code !== 'UNAUTHENTICATED')
    .map((code) => [code, result(NULL, failure(code, {}, ROOT)), 1] as const),
];

describe.each(Object.entries(CLIENTS))('a deletion of %s, through any router', (name, create) => {
  const start = async (reply: Reply) => {
    const gateway = await startGateway('deleteApiKey', reply);
    const session = createSession({ url: gateway.url, clientId, clientSecret });
    const client = create(session, gateway.url);
    await client.read();
    return Object.assign(gateway, { client });
  };

  it.for(DELETION_REPLIES)(
    'that gets %s is sent again only if it was refused',
    async ([, reply, sent, blind = sent]) => {
      await using gateway = await start(reply);
      const { codes = [] } = await orThrown(gateway.client.remove());
      expect(codes.length).toBeGreaterThan(0);
      expect(gateway.sent()).toBe(name === 'urql' ? blind : sent);
    },
  );

  it.for([...PAGES, ...LOST.slice(0, 6)])(
    'that gets %s is sent once, and reported',
    async ([, reply, isRefused]) => {
      await using gateway = await start(reply);
      const { thrown } = await orThrown(gateway.client.remove());
      expect(gateway.sent()).toBe(1);
      expect(thrown).toBeInstanceOf(Error);
      if (name !== 'session.request') return; // others throw their own error of the network or of the page
      if (isRefused) expect(thrown).not.toBeInstanceOf(OperationError);
      else
        expect(thrown).toMatchObject({
          message: expect.stringContaining('may have been carried out'),
          extensions: { code: 'OUTCOME_UNKNOWN' },
          isRetryable: false,
          cause: expect.any(Error),
        });
    },
  );
});

describe('a deletion', () => {
  it('whose gateway was not reached is reported as not sent', async () => {
    const gateway = await startService({});
    await gateway[Symbol.asyncDispose]();
    const tokens = { load: () => TOKENS, save: () => {} };
    const session = createSession({ url: gateway.url, clientId, tokens });
    expect(await orThrown(viaSession(session).remove())).toMatchObject({
      thrown: {
        message: 'The gateway could not be reached: the mutation was not sent.',
        isRetryable: true,
      },
    });
  });

  it('during which the gateway is killed is reported as not known', async () => {
    const arrived = Promise.withResolvers<void>();
    await using service = await startService(({ method }) => {
      if (method === 'DELETE') arrived.resolve();
      return method === 'DELETE' ? undefined : { body: { access_token: 't' } };
    });
    await using keytrail = startKeytrail([], { PORT: '0', UPSTREAM_URL: service.url });
    const [url] = await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
    const deleting = orThrown(viaSession(createSession({ url, clientId, clientSecret })).remove());
    await arrived.promise;
    keytrail.child.kill('SIGKILL');
    expect(await deleting).toMatchObject({ thrown: { extensions: { code: 'OUTCOME_UNKNOWN' } } });
    expect(service.seen.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  });
});
