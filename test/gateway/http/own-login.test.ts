import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import type { Authorize } from '../../../src/gateway/http/gateway-type.ts';
import { createGateway } from '../../../src/index.ts';
import { ask, codeOf, gatewayOver, onPort, type Result } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';
import { subscribe } from '../../helpers/subscribe.ts';

/** The tokens of a program's users, by the cookie of their session. */
const TOKENS: Readonly<Record<string, string>> = {
  'session=ann': 'token-of-ann',
  'session=bob': 'b',
};

/** What a program would write: it reads its own session. */
const authorization: Authorize = async (request) => {
  const { headers } = request;
  const cookie =
    'cookie' in headers ? headers.cookie : new Headers(headers as Headers).get('cookie');
  const token = TOKENS[cookie ?? ''];
  return token === undefined ? null : `Bearer ${token}`;
};

/** Sends an operation to a port twice: the second request takes the fast path. */
async function askTwice(
  url: string,
  query: { toString(): string },
  variables: object,
  headers: Readonly<Record<string, string>>,
): Promise<readonly Pick<Result<Record<string, unknown>>, 'data' | 'errors'>[]> {
  const send = async () => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query: query.toString(), variables }),
    });
    return JSON.parse(await response.text());
  };
  return [await send(), await send()];
}

const ANN = { cookie: 'session=ann' };

describe('a program that gives requests their authorization', () => {
  it('has the token of the session sent to the service, and never the cookie or the header of the client', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { authorization });
    await using server = await onPort(gateway);
    const headers = { ...ANN, authorization: 'Bearer of-the-client' };
    await askTwice(server.url, AuditDocument, {}, headers);
    await askTwice(server.url, DeleteApiKeyDocument, { clientId: 'k' }, headers);
    await ask(gateway, AuditDocument, {}, { headers });
    expect(service.seen.map(({ method }) => method).join()).toBe('GET,GET,DELETE,DELETE,GET');
    for (const { headers: sent } of service.seen) {
      expect(sent.authorization).toBe('Bearer token-of-ann');
      expect(sent).not.toHaveProperty('cookie');
    }
  });

  it.each([
    ['no session', {}, 'TOKEN_MISSING'],
    ['a header of its own without a session', { authorization: 'Bearer t' }, 'TOKEN_MISSING'],
    ['an unknown session', { cookie: 'session=eve', authorization: 'Bearer t' }, 'TOKEN_MISSING'],
  ])('rejects a client with %s, and nothing is sent', async (_, headers, reason) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { authorization });
    await using server = await onPort(gateway);
    const results = [
      ...(await askTwice(server.url, AuditDocument, {}, headers)),
      await ask(gateway, AuditDocument, {}, { headers }),
    ];
    for (const { errors } of results)
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'UNAUTHENTICATED', reason });
    expect(service.seen).toEqual([]);
  });

  it.each(['token without a scheme', 'Bearer a b', 'Bearer a\r\nx: y', 'Bearer ä', '', 7])(
    'that returns %j gives no authorization, and nothing is sent',
    async (returned) => {
      await using service = await startService({ body: [] });
      const invalid = (() => returned) as Authorize; // JavaScript allows a number
      await using gateway = gatewayOver(service.url, { authorization: invalid });
      await using server = await onPort(gateway);
      const results = [
        ...(await askTwice(server.url, AuditDocument, {}, {})),
        await ask(gateway, AuditDocument, {}),
      ];
      for (const { errors } of results)
        expect(errors?.[0]?.extensions).toMatchObject({
          code: 'UNAUTHENTICATED',
          reason: 'TOKEN_MALFORMED',
        });
      expect(service.seen).toEqual([]);
    },
  );

  it.each([
    [
      'throws',
      () => {
        throw new Error('canary');
      },
    ],
    ['rejects', () => Promise.reject(new Error('canary'))],
  ] as const)(
    'that %s fails the request alone, with an error that is logged as a bug',
    async (_, fails) => {
      await using service = await startService({ body: [] });
      await using gateway = gatewayOver(service.url, { authorization: fails });
      await using server = await onPort(gateway);
      const results = [
        ...(await askTwice(server.url, AuditDocument, {}, ANN)),
        await ask(gateway, AuditDocument, {}, { headers: ANN }),
      ];
      for (const result of results) expect(codeOf(result)).toBe('INTERNAL_SERVER_ERROR');
      expect(gateway.logged.map((line) => JSON.parse(line).msg)).toEqual(Array(3).fill('bug'));
      expect(JSON.stringify(results) + gateway.logged.join()).not.toContain('canary');
      expect(service.seen).toEqual([]);
    },
  );

  it('is asked once per request to GraphQL, with the request as it was passed, and never for another path', async () => {
    const asked: (IncomingMessage | Request)[] = [];
    const remember: Authorize = (request) => {
      asked.push(request);
      return 'Bearer t';
    };
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { authorization: remember });
    const request = Object.assign(
      new Request('http://gateway.test/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query": "{ audit { totalCount } }"}',
      }),
      { session: 'of a framework' },
    );
    expect(await (await gateway.fetch(request)).json()).toEqual({
      data: { audit: { totalCount: 0 } },
    });
    await gateway.fetch('http://gateway.test/graphql?query={__typename}', { headers: ANN });
    await gateway.fetch('http://gateway.test/other');
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBe(request);
    expect(asked[1]?.headers).toMatchObject(new Headers(ANN));
    await using server = await onPort(gateway);
    await fetch(`${server.url}/health/live`);
    await askTwice(server.url, '{ audit { totalCount } }', {}, {});
    expect(asked).toHaveLength(4);
  });

  it('is not asked again for a login or while a subscription runs', async () => {
    let asked = 0;
    const count: Authorize = () => {
      asked += 1;
      return 'Bearer t';
    };
    let polls = 0;
    const records = () => {
      polls += 1;
      return Array.from({ length: polls }, (_, index) => ({
        ...{ id: `e${index}`, time: new Date(1000 * (polls - index)).toISOString(), action: 'a' },
      })).reverse();
    };
    await using service = await startService(({ method }) => ({
      body: method === 'POST' ? { access_token: 'a' } : records(),
    }));
    await using gateway = gatewayOver(service.url, {
      authorization: count,
      pause: () => setImmediate(),
    });
    const login = { clientId: 'c', credential: { clientSecret: 's' } };
    expect((await ask(gateway, LoginDocument, login)).errors).toBeUndefined();
    expect(service.seen[0]?.headers).not.toHaveProperty('authorization');
    await using stream = await subscribe(gateway, {}, { token: null });
    for (let batch = 0; batch < 3; batch += 1) await stream.nextBatch();
    expect(asked).toBe(2);
    expect(service.seen.length).toBeGreaterThan(3);
    expect(service.seen.at(-1)?.headers.authorization).toBe('Bearer t');
  });

  it('accepts no form and no plain text, which other sites can send with a session cookie', async () => {
    await using service = await startService({ body: {} });
    await using gateway = gatewayOver(service.url, { authorization });
    await using server = await onPort(gateway);
    const query = 'mutation { deleteApiKey(clientId: "k") { outcome } }';
    for (const [type, body] of [
      ['text/plain', JSON.stringify({ query })],
      ['application/x-www-form-urlencoded', new URLSearchParams({ query }).toString()],
      ['multipart/form-data; boundary=x', `--x\r\n\r\n${query}\r\n--x--`],
    ] as const) {
      const init = { method: 'POST', headers: { ...ANN, 'content-type': type }, body };
      expect((await fetch(`${server.url}/graphql`, init)).status).toBe(415);
    }
    const target = `${server.url}/graphql?query=${encodeURIComponent(query)}`;
    expect((await fetch(target, { headers: ANN })).status).toBe(405);
    expect(service.seen).toEqual([]);
  });

  it('shares the connections to the service between its users', async () => {
    const waiting = Promise.withResolvers<void>();
    await using service = await startService(async ({ headers }) => {
      if (headers.authorization === 'Bearer token-of-ann' && service.seen.length > 2)
        await waiting.promise;
      return { body: [] };
    });
    await using gateway = gatewayOver(service.url, { authorization, upstream: { connections: 4 } });
    for (const cookie of Object.keys(TOKENS))
      await ask(gateway, AuditDocument, {}, { headers: { cookie } }); // the service accepts both tokens
    const ofAnn = Array.from({ length: 8 }, () =>
      ask(gateway, AuditDocument, {}, { headers: ANN }),
    );
    const ofBob = await ask(gateway, AuditDocument, {}, { headers: { cookie: 'session=bob' } });
    expect(ofBob.errors).toBeUndefined();
    waiting.resolve();
    for (const { errors } of await Promise.all(ofAnn)) expect(errors).toBeUndefined();
  });

  it('must be a function', () => {
    const options = { upstream: { url: 'http://127.0.0.1:9' }, authorization: 'Bearer canary' };
    expect(() => createGateway(options as never)).toThrow(
      /^authorization must be a function that returns the Authorization header of a request\.$/,
    );
  });
});
