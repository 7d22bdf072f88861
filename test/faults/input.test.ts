import { describe, expect, it } from 'vitest';
import { CANARY } from '../helpers/canary.ts';
import { run, runFaultCase } from '../helpers/fault-bench.ts';

const DELETE = 'mutation ($c: ID!) { deleteApiKey(clientId: $c) { outcome } }';

describe('a client ID', () => {
  it.each([
    ['A22', '..'],
    ['A22', '.'],
    ['A22', ''],
    ['A24', `${CANARY.clientId}\ud800`],
  ])('%s: %j is BAD_USER_INPUT, and nothing is sent', (_, c) =>
    runFaultCase(null, async ({ ask, seen }) => {
      expect((await ask(DELETE, { c })).code).toBe('BAD_USER_INPUT');
      expect(seen()).toHaveLength(0);
    }),
  );

  it.each([
    ['a/b', 'a%2Fb'],
    ['a?x=1', 'a%3Fx%3D1'],
    ['a#f', 'a%23f'],
    ['%2e%2e', '%252e%252e'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
  ])('A23: %j is sent as the path segment %s, once', (c, segment) =>
    runFaultCase(
      () => ({ status: 204 }),
      async ({ ask, seen }) => {
        expect((await ask(DELETE, { c })).data).toEqual({ deleteApiKey: { outcome: 'DELETED' } });
        expect(seen().map(({ method, url }) => `${method} ${url}`)).toEqual([
          `DELETE /api/v1/secrets/${segment}`,
        ]);
      },
    ),
  );
});

describe('a token', () => {
  it('A25: in the first of two headers gets 400, and nothing is sent', () =>
    runFaultCase(null, async ({ raw, seen }) => {
      const response = await raw(
        [
          'GET /graphql?query={audit{totalCount}} HTTP/1.1',
          'Host: a',
          `Authorization: Bearer ${CANARY.accessToken}`,
          `Authorization: Bearer ${CANARY.refreshToken}`,
          'connection: close\r\n\r\n',
        ].join('\r\n'),
      );
      expect(response).toMatch(/^HTTP\/1.1 400 .*"BAD_REQUEST"/s);
      expect(seen()).toHaveLength(0);
    }));

  it.each([`Basic ${CANARY.accessToken}`, 'Basic x', 'Bearer', 'Bearer '])(
    'A25: given as %j is UNAUTHENTICATED, and nothing is sent',
    (authorization) =>
      runFaultCase(null, async ({ ask, seen }) => {
        for (const query of ['{ audit { totalCount } }', DELETE]) {
          const { code } = await ask(query, { c: CANARY.clientId }, { authorization });
          expect(code).toBe('UNAUTHENTICATED');
        }
        expect(seen()).toHaveLength(0);
      }),
  );

  it('A26: missing in an audit request is UNAUTHENTICATED, and nothing is sent', () =>
    runFaultCase(null, async ({ send, seen }) => {
      const body = '{"query": "{ audit { totalCount } }"}';
      const headers = { 'content-type': 'application/json' };
      const { code, errors } = await send({ method: 'POST', headers, body });
      expect(code).toBe('UNAUTHENTICATED');
      expect(errors[0]?.extensions.reason).toBe('TOKEN_MISSING');
      expect(seen()).toHaveLength(0);
    }));

  it('A26: is forwarded byte for byte, and never with a login', () =>
    runFaultCase(
      () => ({ body: [{ access_token: 'granted' }] }),
      async (bench) => {
        await run(bench, 'audit');
        await run(bench, 'login');
        expect(bench.seen().map(({ headers }) => headers.authorization)).toEqual([
          `Bearer ${CANARY.accessToken}`,
          undefined,
        ]);
      },
    ));
});
