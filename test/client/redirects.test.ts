import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import fc from 'fast-check';
import { Agent, fetch as undiciFetch } from 'undici';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  AuditEventsDocument,
  createSession,
  DeleteApiKeyDocument,
  type Fetch,
  LoginDocument,
  OperationError,
  request,
  type Session,
  SessionLost,
  type SessionOptions,
} from '../../src/client/index.ts';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { startService } from '../helpers/service.ts';

const STATUSES = [301, 302, 303, 307, 308];

/** After these, nothing was carried out. */
const isRefusal = (status: number) => status === 307 || status === 308;

const CREDENTIAL = { clientId: 'c', clientSecret: CANARY.clientSecret };

type Options = Pick<SessionOptions, 'url' | 'fetch' | 'timers'>;

/** A session with a token that does not expire. */
const withToken = (options: Options): Session =>
  createSession({
    ...options,
    clientId: 'c',
    tokens: {
      load: () => ({ accessToken: CANARY.accessToken, refreshToken: null, expiresAt: null }),
      save: () => {},
    },
  });

/** What a client does, and whether that is a mutation. */
const OPERATIONS: Readonly<
  Record<string, readonly [run: (options: Options) => Promise<unknown>, isMutation: boolean]>
> = {
  'the login of a session': [
    (options) => createSession({ ...options, ...CREDENTIAL }).token(),
    true,
  ],
  'a login': [
    (options) => {
      const credential = { clientSecret: CANARY.clientSecret };
      return request(LoginDocument, { clientId: 'c', credential }, options);
    },
    true,
  ],
  'a deletion': [
    (options) =>
      request(DeleteApiKeyDocument, { clientId: 'c' }, { ...options, token: CANARY.accessToken }),
    true,
  ],
  'a deletion of a session': [
    (options) => withToken(options).request(DeleteApiKeyDocument, { clientId: 'c' }),
    true,
  ],
  'a read': [
    (options) => request(AuditDocument, {}, { ...options, token: CANARY.accessToken }),
    false,
  ],
  'a read of a session': [(options) => withToken(options).request(AuditDocument, {}), false],
  'a stream': [
    async (options) => {
      const retries: unknown[] = [];
      const onRetry = (error: unknown) => retries.push(error);
      for await (const _ of withToken(options).follow(AuditEventsDocument, {}, { onRetry })) break;
      return retries;
    },
    false,
  ],
};

/** A `location` of each kind, and what a message has of it. */
const LOCATIONS: readonly (readonly [location: string, shown: (own: string) => string])[] = [
  ['{other}/stolen?token=x#y', () => '{other}'],
  ['http://user:pass@{otherHost}/', () => '{other}'],
  ['//{otherHost}/', () => '{other}'],
  ['/graphql/', (own) => own],
  ['graphql2', (own) => own],
  ['http://[', () => 'elsewhere'],
  ['ftp://user@files.example/secret', () => 'ftp://files.example'],
  ['data:text/plain,secret', () => 'elsewhere'],
  ['', (own) => own],
];

const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    (value) => expect.unreachable(`It has succeeded with ${JSON.stringify(value)}.`),
    (error) => error,
  );

/** Expects an error that says that a redirect was not followed, and what is known of the operation. */
function expectRedirect(
  error: Error,
  [status, to]: readonly [number, string],
  isMutation: boolean,
) {
  const known = `The URL redirects ${to === 'elsewhere' ? to : `to ${to}`} (HTTP ${status}), which is not followed: use the URL of the gateway itself.`;
  if (!isMutation || isRefusal(status)) {
    expect(error).toMatchObject({ name: 'Error', message: known, cause: { status } });
    return;
  }
  expect(error.message).toContain(
    `The mutation may have been carried out: check the audit trail before you repeat it. ${known}`,
  );
  if (error instanceof SessionLost) expect(error.cause).toBeInstanceOf(OperationError);
  else expect(error).toMatchObject({ extensions: { code: 'OUTCOME_UNKNOWN', retryable: false } });
}

describe.each(Object.entries(OPERATIONS))('%s', (name, [run, isMutation]) => {
  it.each(STATUSES)('that is redirected by a %i goes nowhere else', async (status) => {
    await using other = await startService({ body: {} });
    for (const [template, shown] of LOCATIONS) {
      const fill = (text: string) =>
        text
          .replace('{other}', other.url)
          .replace('{otherHost}', other.url.slice('http://'.length));
      const location = fill(template);
      await using gateway = await startService({
        ...{ status, headers: { location, 'x-secret': 'x' } },
        body: CANARY.upstreamBody,
      });
      const error = await failureOf(run({ url: `${gateway.url}/graphql` }));
      expectRedirect(error, [status, fill(shown(gateway.url))], isMutation);
      if (name === 'the login of a session')
        expect(error instanceof SessionLost, location).toBe(!isRefusal(status));
      expectNoCanary(error.message);
      expect(error.message).not.toMatch(/user|pass@|secret|stolen|token=/);
      expect(gateway.seen.map(({ url }) => url)).toEqual(['/graphql']);
    }
    expect(other.connections()).toBe(0);
  });
});

/** A server over TLS that redirects. */
async function startTls(status: number, location: string) {
  const file = (name: string) =>
    readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
  const server = createServer(
    { key: file('service-key'), cert: file('service') },
    (_, response) => void response.writeHead(status, { location }).end(),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dispatcher = new Agent({ connect: { ca: file('ca') } });
  const fetch: Fetch = (url, init) => undiciFetch(url, { ...init, dispatcher });
  return {
    ...{ fetch, url: `https://127.0.0.1:${Object(server.address()).port}/graphql` },
    [Symbol.asyncDispose]: async () => {
      await dispatcher.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('a redirect', () => {
  it.each(Object.entries(OPERATIONS))(
    'from https to http is not followed by %s',
    async (_, [run, isMutation]) => {
      await using other = await startService({ body: {} });
      for (const status of STATUSES) {
        await using gateway = await startTls(status, `${other.url}/graphql`);
        expectRedirect(await failureOf(run(gateway)), [status, other.url], isMutation);
      }
      expect(other.connections()).toBe(0);
    },
  );

  it('that a login gets by a 307 keeps its credential: the next request logs in', async () => {
    let isRedirecting = true;
    const login = { accessToken: 't', tokenType: 'Bearer', refreshToken: null, expiresAt: null };
    await using gateway = await startService(() =>
      isRedirecting
        ? { status: 307, headers: { location: '/graphql2' } }
        : { body: { data: { login } } },
    );
    const session = createSession({ url: `${gateway.url}/graphql`, ...CREDENTIAL });
    await failureOf(session.token());
    isRedirecting = false;
    expect(await session.token()).toBe('t');
    expect(gateway.seen[0]?.body).toBe(gateway.seen[1]?.body);
  });

  it('ends a stream that was connected, after one attempt', async () => {
    const batch = { checkpoint: 'c', previous: null, nodes: [], missed: false, hasMore: false };
    let attempts = 0;
    await using gateway = await startService((_, response) => {
      attempts += 1;
      if (attempts > 1) return { status: 302, headers: { location: '/maintenance' } };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`event: next\ndata: ${JSON.stringify({ data: { auditEvents: batch } })}\n\n`);
      return undefined;
    });
    const retries: unknown[] = [];
    const timers = {
      random: () => 0,
      // Reconnects at once, but no connection is silent for too long.
      setTimeout: (run: () => void, ms: number) => setTimeout(run, ms === 30_000 ? ms : 1),
    };
    const session = withToken({ url: gateway.url, timers });
    const batches = session.follow(
      AuditEventsDocument,
      {},
      { onRetry: (error) => retries.push(error) },
    );
    expect((await batches.next()).value.checkpoint).toBe('c');
    const error = await failureOf(batches.next());
    expectRedirect(error, [302, gateway.url], false);
    expect([retries, attempts]).toEqual([[undefined], 2]); // the stream has ended without an error
  });

  it('without an end has its connection closed', async () => {
    await using gateway = await startService((_, response) => {
      response.writeHead(308, { location: '/' }).write('x');
      return undefined;
    });
    await failureOf(request(AuditDocument, {}, { url: gateway.url }));
    await expect.poll(gateway.sockets).toBe(0);
  });

  it('of any response is an error with at most the origin of its location', async () => {
    const scheme = fc.constantFrom('http:', 'https:', 'HTTP://', '//', 'javascript:', 'blob:', '');
    const location = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.tuple(scheme, fc.string({ unit: 'binary' })).map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...STATUSES),
        fc.option(location),
        async (status, location) => {
          const fetch: Fetch = async () => ({
            ...{ status, headers: { get: () => location }, text: async () => '{"data": {}}' },
          });
          const { message } = await failureOf(request('{ __typename }', {}, { fetch }));
          const [, to = ''] =
            /^The URL redirects to (\S+) \(HTTP 30[12378]\), /.exec(message) ?? [];
          if (to === '') expect(message).toMatch(/^The URL redirects elsewhere \(HTTP 30/);
          else expect(new URL(to).origin).toBe(to);
        },
      ),
    );
  });

  it('whose location a browser hides is one as well', async () => {
    const fetch: Fetch = async () => ({ status: 0, type: 'opaqueredirect', text: async () => '' });
    const message =
      'The URL redirects elsewhere, which is not followed: use the URL of the gateway itself.';
    for (const [run, isMutation] of Object.values(OPERATIONS)) {
      const error = await failureOf(run({ url: '/graphql', fetch }));
      if (isMutation)
        expect(error.message).toMatch(/may have been carried out: .* redirects elsew/);
      else expect(error.message).toBe(message);
    }
    const session = createSession({ url: '/graphql', fetch, ...CREDENTIAL });
    expect(await failureOf(session.token())).toBeInstanceOf(SessionLost);
  });
});
