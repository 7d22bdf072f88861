import { describe, expect, it, vi } from 'vitest';
import { CANARY } from '../helpers/canary.ts';
import { type FaultBench, run, runFaultCase } from '../helpers/fault-bench.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const TOKEN = `Bearer ${CANARY.accessToken}`;
const DELETION = `mutation { deleteApiKey(clientId: "${CANARY.literal}") { outcome } }`;

const withQuery = (url: string, query: string) => `${url}?${new URLSearchParams({ query })}`;

describe('a request', () => {
  it('A5: with a batch of two is BAD_REQUEST, and nothing is sent', () =>
    runFaultCase(null, async ({ send, seen }) => {
      const body = JSON.stringify([{ query: DELETION }, { query: DELETION }]);
      const { status, code } = await send({ method: 'POST', headers: JSON_TYPE, body });
      expect([status, code]).toEqual([400, 'BAD_REQUEST']);
      expect(seen()).toHaveLength(0);
    }));

  it.each(['{ __schema { queryType { name } } }', '{ __type(name: "Query") { name } }'])(
    'A7: for introspection is GRAPHQL_VALIDATION_FAILED, and __typename works: %s',
    (query) =>
      runFaultCase(null, async ({ ask }) => {
        expect((await ask(query)).code).toBe('GRAPHQL_VALIDATION_FAILED');
        expect((await ask('{ __typename }')).data).toEqual({ __typename: 'Query' });
      }),
  );

  it('A12: for a mutation by GET gets 405, and nothing is sent', () =>
    runFaultCase(null, async ({ send, url, seen }) => {
      const { status, code } = await send(
        { headers: { authorization: TOKEN } },
        withQuery(url, DELETION),
      );
      expect([status, code]).toEqual([405, 'BAD_REQUEST']);
      expect(seen()).toHaveLength(0);
    }));

  it.each([
    ['application/x-www-form-urlencoded', String(new URLSearchParams({ query: DELETION }))],
    ['multipart/form-data; boundary=b', multipart('b', { query: DELETION })],
    [
      'multipart/form-data; boundary=b',
      multipart('b', { operations: `{"query":"${CANARY.literal}"}` }),
    ],
    ['application/graphql', DELETION],
    ['text/plain', JSON.stringify({ query: DELETION })],
  ])('A13: with content type %s gets 415, and nothing is sent', (type, body) =>
    runFaultCase(null, async ({ send, seen }) => {
      const headers = { 'content-type': type, authorization: TOKEN };
      const { status, code } = await send({ method: 'POST', headers, body });
      expect([status, code]).toEqual([415, 'BAD_REQUEST']);
      expect(seen()).toHaveLength(0);
    }),
  );

  it('A14: from another origin gets a response without CORS headers', () =>
    runFaultCase(null, async ({ send }) => {
      const origin = 'https://evil.example';
      const preflightHeaders = { 'access-control-request-method': 'POST', origin };
      const preflight = await send({ method: 'OPTIONS', headers: preflightHeaders });
      const body = '{"query":"{ __typename }"}';
      const post = await send({ method: 'POST', headers: { ...JSON_TYPE, origin }, body });
      for (const { headers } of [preflight, post])
        expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }));

  it('A15: from a browser gets no page', () =>
    runFaultCase(null, async ({ send, url }) => {
      for (const path of ['/graphql', '/', '/graphiql']) {
        const { headers, text } = await send(
          { headers: { accept: 'text/html' } },
          String(new URL(path, url)),
        );
        expect(headers.get('content-type')).not.toContain('html');
        expect(text).not.toMatch(/<html|<script/i);
      }
    }));

  it('A16: that meets a bug gets a fixed message and no stack, in development too', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    try {
      const now = () => {
        throw new Error(CANARY.upstreamBody);
      };
      await runFaultCase(
        () => ({ body: { access_token: 'granted', expires_in: 1 } }),
        async (bench) => {
          const { code, errors, text } = await run(bench, 'login');
          expect(code).toBe('INTERNAL_SERVER_ERROR');
          expect(errors[0]?.message).toBe(
            'Internal error of the gateway: report it with the `requestId`.',
          );
          expect(text).not.toMatch(/\.ts|\.js|stack/);
        },
        { now },
      );
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each<[string, (body: string) => BodyInit]>([
    ['with a Content-Length', (body) => body],
    ['in chunks', (body) => new Blob([body]).stream()],
  ])('A17: of 70 KB %s gets 413, and nothing is sent', (_, toBody) =>
    runFaultCase(null, async ({ send, seen }) => {
      const json = JSON.stringify({ query: DELETION, variables: { pad: 'x'.repeat(70_000) } });
      const { status, code } = await send({
        method: 'POST',
        headers: { ...JSON_TYPE, authorization: TOKEN },
        body: toBody(json),
        duplex: 'half',
      });
      expect([status, code]).toEqual([413, 'BAD_REQUEST']);
      expect(seen()).toHaveLength(0);
    }),
  );

  it.each(['a b', 'evil:99999'])('A18: with the Host %s gets 400 as JSON without a stack', (host) =>
    runFaultCase(null, async ({ raw }) => {
      const response = await raw(request('GET /graphql?query={__typename}', `Host: ${host}`));
      expect(response).toMatch(/^HTTP\/1.1 400 .*content-type: application\/json.*BAD_REQUEST/is);
      expect(response).not.toMatch(/\.ts|\.js|node:/);
    }),
  );

  it('A19: of any kind gets no-store', () =>
    // `withstand` checks the header of every response.
    runFaultCase(null, async ({ ask, send, raw, url }) => {
      const statuses = [
        await ask('{ __typename }'),
        await ask('{ nope }', {}, { accept: 'application/graphql-response+json' }),
        ...(await everyPath({ send, url })),
        await send({ method: 'PUT' }),
        await ask('{ __typename }', {}, { accept: 'text/html' }),
        await send({ method: 'POST', body: 'x' }),
      ].map(({ status }) => status);
      expect(statuses).toEqual([200, 400, 404, 200, 200, 405, 406, 415]);
      expect(await raw(request('OPTIONS *', 'Host: a'))).toMatch(/^HTTP\/1.1 400 /);
      expect(await raw('not HTTP\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    }));

  it('A20: of truncated JSON is BAD_REQUEST, and the response repeats nothing of it', () =>
    runFaultCase(null, async ({ send }) => {
      const body = `{"query": "{ __typename }", "variables": {"client_secret": "${CANARY.clientSecret}"`;
      const { status, code } = await send({ method: 'POST', headers: JSON_TYPE, body });
      expect([status, code]).toEqual([400, 'BAD_REQUEST']);
    }));

  it.each([[[CANARY.clientSecret]], [{ a: CANARY.clientSecret }], [1234567], [true]])(
    'A21: with the clientSecret %j is BAD_USER_INPUT, and nothing is sent',
    (clientSecret) =>
      runFaultCase(null, async ({ ask, seen }) => {
        const query =
          'mutation ($c: LoginCredential!) { login(clientId: "c", credential: $c) { tokenType } }';
        const { code, text } = await ask(query, { c: { clientSecret } });
        expect(code).toBe('BAD_USER_INPUT');
        expect(text).not.toContain('1234567');
        expect(seen()).toHaveLength(0);
      }),
  );
});

async function everyPath({ send, url }: Pick<FaultBench, 'send' | 'url'>) {
  const paths = ['/nowhere', '/health/live', '/health/ready'];
  return Promise.all(paths.map((path) => send({}, String(new URL(path, url)))));
}

function multipart(boundary: string, fields: Readonly<Record<string, string>>): string {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join('')}--${boundary}--\r\n`;
}

function request(line: string, ...headers: readonly string[]): string {
  return `${[`${line} HTTP/1.1`, ...headers, 'connection: close'].join('\r\n')}\r\n\r\n`;
}
