import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gql } from '@urql/core';
import { describe, expect, it } from 'vitest';
import { createApolloClient } from '../examples/clients/apollo-client.ts';
import { createUrqlClient } from '../examples/clients/urql.ts';
import { createSession, type Session } from '../src/client/index.ts';
import { DEMO_CLIENTS } from '../src/testing/sandbox/seed.ts';
import { createTestbed, type Testbed } from '../src/testing/testbed.ts';
import { COMPILE_CACHE } from './helpers/process.ts';
import { startService } from './helpers/service.ts';

const run = promisify(execFile);
const EXAMPLES = fileURLToPath(new URL('../examples', import.meta.url));
const RESOLVE_TO_SOURCES = new URL('helpers/resolve-to-sources.ts', import.meta.url).href;
const [, { clientId, secret }, toDelete] = DEMO_CLIENTS;

/** Runs Node on an example, with the sources as the package, and not this process's environment: a test runner sets variables that `node --test` reads. */
async function node(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { ...COMPILE_CACHE, NODE_OPTIONS: `--import ${RESOLVE_TO_SOURCES}`, ...environment };
  return run(process.execPath, args, { cwd: EXAMPLES, env });
}

/** Runs an example against a testbed and returns its output. */
async function runExample(name: string, { url }: Pick<Testbed, 'url'>): Promise<string> {
  const environment = { KEYTRAIL_URL: url, CLIENT_ID: clientId, CLIENT_SECRET: secret };
  return (await node([name], environment)).stdout;
}

const count = ({ requests }: Testbed, method: string) =>
  requests.filter((request) => request.method === method).length;

describe('the examples', () => {
  it.each(['clients/plain-fetch.ts', 'clients/urql.ts', 'clients/apollo-client.ts'])(
    '%s logs in and prints the newest events',
    async (name) => {
      await using testbed = await createTestbed();
      const output = await runExample(name, testbed);
      expect(output.trim().split('\n')).toHaveLength(3);
      expect(output).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z client\.login demo-reports\n/);
      expect([count(testbed, 'POST'), count(testbed, 'GET')]).toEqual([1, 1]);
    },
  );

  it('clients/plain-fetch.ts retries a retryable error', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext({ status: 429, headers: { 'retry-after': '1' } });
    await runExample('clients/plain-fetch.ts', testbed);
    expect([count(testbed, 'POST'), count(testbed, 'GET')]).toEqual([2, 1]);
  });

  it('clients/plain-fetch.ts sends its secret to no server that it is redirected to', async () => {
    await using other = await startService({ body: {} });
    await using gateway = await startService({ status: 307, headers: { location: other.url } });
    await expect(runExample('clients/plain-fetch.ts', gateway)).rejects.toThrow();
    expect([gateway.seen.length, other.connections()]).toEqual([1, 0]);
  });

  it('clients/plain-fetch.ts does not retry other errors', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext({ status: 401 });
    await expect(runExample('clients/plain-fetch.ts', testbed)).rejects.toThrow('UNAUTHENTICATED');
    expect(testbed.requests).toHaveLength(1);
  });

  it.each([
    ['below it', ['login', 'raw'], { accessToken: 't' }],
    ['below it that is null', ['login', 'raw'], null],
    ['without a path', undefined, { accessToken: 't' }],
  ])('clients/plain-fetch.ts repeats no login for a retryable error %s', async (_, path, login) => {
    const extensions = { code: 'RATE_LIMITED', retryable: true, retryAfterSeconds: 0 };
    const errors = [{ message: 'Wait.', path, extensions }];
    const body = { data: { login }, errors };
    await using gateway = await startService({ body });
    await expect(runExample('clients/plain-fetch.ts', gateway)).rejects.toThrow('RATE_LIMITED');
    expect(gateway.seen).toHaveLength(1);
  });

  it('clients/typed-client.ts says that the key may be deleted if the gateway loses the connection', async () => {
    const login = { accessToken: 't', tokenType: 'Bearer', refreshToken: null, expiresAt: null };
    await using gateway = await startService(({ body }, response) => {
      if (body.includes('login(')) return { body: { data: { login } } };
      response.destroy();
      return undefined;
    });
    const output = await runExample('clients/typed-client.ts', gateway);
    expect(output).toContain('may have been deleted');
    expect(gateway.seen).toHaveLength(2);
  });

  it.each([
    [{}, `${toDelete.clientId} DELETED`],
    [{ status: 404 }, 'nothing to do'],
    [{ status: 429, headers: { 'retry-after': '9' } }, 'can be deleted in 9 seconds'],
    [{ lost: 'before' as const }, 'may have been deleted'],
  ])('clients/typed-client.ts handles the code of %j', async (response, expected) => {
    await using testbed = await createTestbed();
    testbed.respondNext({}, response); // the login gets the sandbox's own response
    expect(await runExample('clients/typed-client.ts', testbed)).toContain(expected);
  });

  it.each(['plain-fetch', 'typed-client', 'urql', 'apollo-client'])(
    'clients/%s.ts ends with one sentence if Keytrail does not run, or the URL is wrong',
    async (name) => {
      const page = { headers: { 'content-type': 'text/html' }, body: '<p>Hello' };
      const service = await startService(page);
      const expected = {
        code: 1,
        stdout: '',
        stderr: `Keytrail does not respond at ${service.url}: start it with npm start, or correct KEYTRAIL_URL.\n`,
      };
      await expect(runExample(`clients/${name}.ts`, service)).rejects.toMatchObject(expected);
      await service[Symbol.asyncDispose]();
      await expect(runExample(`clients/${name}.ts`, service)).rejects.toMatchObject(expected);
    },
  );

  it('library.ts and testing.test.ts run as written', async () => {
    const library = await node(['library.ts']);
    expect(library.stdout).toBe('200 UNAUTHENTICATED\n200\n');
    const { stdout } = await node(['--test', 'testing.test.ts']);
    expect(stdout).toMatch(/pass 3\n.*fail 0\n/);
  });
});

/** Creates a client of some library; returns a function that reads that many events with it. */
type CreateReader = (session: Session, url: string) => (first: number) => Promise<unknown>;

const AUDIT = gql`query ($first: Int) { audit(first: $first) { nodes { action } } }`;

const CLIENTS: readonly (readonly [string, CreateReader])[] = [
  [
    'urql',
    (session, url) => {
      const client = createUrqlClient(url, session);
      return async (first) => {
        const { data, error } = await client.query(AUDIT, { first }).toPromise();
        if (error) throw error;
        return data.audit.nodes.length;
      };
    },
  ],
  [
    'Apollo Client',
    (session, url) => {
      const client = createApolloClient(url, session);
      return async (first) => {
        const { data } = await client.query<{ audit: { nodes: unknown[] } }>({
          query: AUDIT,
          variables: { first },
          fetchPolicy: 'no-cache',
        });
        return data?.audit.nodes.length;
      };
    },
  ],
];

describe.each(CLIENTS)('a login of %s', (_, create) => {
  const TWENTY = Array.from({ length: 20 }, (_, index) => index + 1);

  it('is renewed once when twenty requests are rejected together', async () => {
    let time = Date.now();
    await using testbed = await createTestbed({ now: () => new Date(time) });
    const read = create(
      createSession({ url: testbed.url, clientId, clientSecret: secret }),
      testbed.url,
    );
    await read(1);
    time += 16 * 60_000; // the token has expired
    const before = testbed.requests.length;

    expect(await Promise.all(TWENTY.map(read))).toEqual(TWENTY);

    const since = testbed.requests.slice(before);
    const logins = since.filter(({ method }) => method === 'POST');
    expect(logins.map(({ body }) => Object.keys(Object(body)))).toEqual([
      ['client_id', 'refresh_token'],
    ]);
    expect(since).toHaveLength(20 + 1 + 20);
  });

  it('is renewed once when some rejections arrive after the renewal', async () => {
    let time = Date.now();
    await using testbed = await createTestbed({ now: () => new Date(time) });
    const read = create(
      createSession({ url: testbed.url, clientId, clientSecret: secret }),
      testbed.url,
    );
    await read(1);
    time += 16 * 60_000;
    const before = testbed.requests.length;
    testbed.respondNext({}, { status: 401, delayMs: 300 }, { status: 401, delayMs: 300 });

    expect(await Promise.all([1, 2, 3].map(read))).toEqual([1, 2, 3]);

    const since = testbed.requests.slice(before);
    expect(since.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('is renewed only once for a request that is rejected again', async () => {
    await using testbed = await createTestbed();
    const read = create(
      createSession({ url: testbed.url, clientId, clientSecret: secret }),
      testbed.url,
    );
    await read(1);
    const before = testbed.requests.length;
    testbed.respondNext({ status: 401 }, {}, { status: 401 });
    await expect(read(1)).rejects.toThrow();
    expect(testbed.requests.slice(before).map(({ method }) => method)).toEqual([
      'GET',
      'POST',
      'GET',
    ]);
  });

  it('fails all waiting requests when the login fails, after one login', async () => {
    await using testbed = await createTestbed({ upstream: { timeoutMs: 20_000 } });
    const read = create(
      createSession({ url: testbed.url, clientId, clientSecret: secret }),
      testbed.url,
    );
    await read(1);
    const before = testbed.requests.length;
    testbed.respondNext(
      { to: 'GET /api/v1/audit', times: TWENTY.length, status: 401, delayMs: 1000 }, // all requests have arrived by then
      { to: 'POST /api/v1/auth/login', status: 403, delayMs: 5000 }, // arrives after the last rejection
    );
    const results = await Promise.allSettled(TWENTY.map(read));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(testbed.requests.slice(before)).toHaveLength(20 + 1);
  });
});
