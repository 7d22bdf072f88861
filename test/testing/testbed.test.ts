import { deepStrictEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
  type Result,
  request,
} from '../../src/client/index.ts';
import type { SandboxEvent } from '../../src/testing/sandbox/event.ts';
import type { ScriptedResponse } from '../../src/testing/sandbox/script.ts';
import { createTestbed, type TestbedOptions } from '../../src/testing/testbed.ts';

const errorOf = ({ errors }: Result<unknown>) => errors?.[0]?.extensions;

describe('a testbed', () => {
  it('is logged in, and records the requests that the service receives after that', async () => {
    await using testbed = await createTestbed();
    expect(testbed.requests).toEqual([]);
    await testbed.request(AuditDocument, {
      parameters: [
        { name: 'a', value: 'b c' },
        { name: 'action', value: 'x' },
        { name: 'action', value: 'y' },
      ],
    });
    await request(
      LoginDocument,
      { clientId: testbed.clientId, credential: { refreshToken: testbed.refreshToken } },
      { url: testbed.url },
    );
    expect(testbed.requests).toMatchObject([
      {
        method: 'GET',
        path: '/api/v1/audit',
        query: { a: 'b c', action: ['x', 'y'] },
        headers: { authorization: `Bearer ${testbed.accessToken}` },
        body: undefined,
      },
      {
        method: 'POST',
        path: '/api/v1/auth/login',
        body: { client_id: testbed.clientId, refresh_token: testbed.refreshToken },
      },
    ]);
    expect(testbed.requests[1]?.headers.authorization).toBeUndefined();
  });

  it.each([
    [{}, 'UNAUTHENTICATED'],
    [{ strictLogin: false }, undefined],
  ])(
    'with the options %j, a second login with one refresh token gets %s',
    async (options, code) => {
      await using testbed = await createTestbed(options);
      const { clientId, refreshToken } = testbed;
      const logIn = () =>
        testbed.request(LoginDocument, { clientId, credential: { refreshToken } }, { token: null });
      expect((await logIn()).errors).toBeUndefined();
      expect(errorOf(await logIn())?.code).toBe(code);
    },
  );

  it('sends another token, or none', async () => {
    await using testbed = await createTestbed();
    const other = await testbed.request(AuditDocument, {}, { token: 'other' });
    expect(errorOf(other)).toMatchObject({ code: 'UNAUTHENTICATED', upstream: { status: 401 } });
    const none = await testbed.request(AuditDocument, {}, { token: null });
    expect(errorOf(none)).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'TOKEN_MISSING' });
    expect(testbed.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer other']);
  });

  it.each<[ScriptedResponse, object]>([
    [{ status: 418 }, { code: 'UPSTREAM_ERROR', upstream: { status: 418 } }],
    [
      { status: 429, headers: { 'retry-after': '3' } },
      { code: 'RATE_LIMITED', retryAfterSeconds: 3 },
    ],
    [{ body: '<p>' }, { code: 'UPSTREAM_BAD_RESPONSE', reason: 'NOT_JSON' }],
    [{ body: {} }, { code: 'UPSTREAM_BAD_RESPONSE', reason: 'NO_RECORDS' }],
    [
      { headers: { location: '/' }, status: 302 },
      { code: 'UPSTREAM_BAD_RESPONSE', reason: 'REDIRECT' },
    ],
    [{ delayMs: 5000 }, { code: 'UPSTREAM_TIMEOUT' }],
    [{ status: 200, delayMs: 5000 }, { code: 'UPSTREAM_TIMEOUT' }],
    [{ lost: 'within' }, { code: 'UPSTREAM_BAD_RESPONSE', reason: 'TRUNCATED' }],
    [
      { body: [], lost: 'within' },
      { code: 'UPSTREAM_BAD_RESPONSE', reason: 'TRUNCATED' },
    ],
  ])('lets the service respond with %j once', async (response, expected) => {
    const timeoutMs = 'delayMs' in response ? 1000 : undefined;
    await using testbed = await createTestbed({ upstream: { timeoutMs } });
    testbed.respondNext(response);
    expect(errorOf(await testbed.request(AuditDocument, {}))).toMatchObject(expected);
    const { data } = await testbed.request(AuditDocument, { first: 1 });
    expect(data?.audit?.totalCount).toBeGreaterThan(300);
  });

  it.each<ScriptedResponse>([{ lost: 'before' }, { status: 500, lost: 'before' }, { status: 503 }])(
    'lets the service respond to a read with %j once, which the gateway retries, or twice',
    async (response) => {
      await using testbed = await createTestbed();
      testbed.respondNext(response);
      expect(errorOf(await testbed.request(AuditDocument, { first: 1 }))).toBeUndefined();
      expect(testbed.requests).toHaveLength(2);
      testbed.respondNext(response, response);
      expect(errorOf(await testbed.request(AuditDocument, { first: 1 }))?.code).toMatch(
        /^UPSTREAM_/,
      );
      expect(testbed.requests).toHaveLength(4);
    },
  );

  it('sends scripted responses in order, and the sandbox’s own where they specify none', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext(
      { body: [{ action: 'first' }] },
      { body: { items: [{ action: 'second' }] } },
    );
    testbed.respondNext({ delayMs: 1 });
    const actions: unknown[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { data } = await testbed.request(AuditDocument, { first: 1 });
      actions.push(data?.audit?.nodes[0]?.action);
    }
    expect(actions).toEqual(['first', 'second', 'client.login']);
  });

  it.each<[ScriptedResponse, string | undefined]>([
    [{ lost: 'before' }, 'NOT_FOUND'],
    [{ lost: 'within' }, 'NOT_FOUND'],
    [{ status: 204, lost: 'before' }, undefined],
    [{ body: {}, lost: 'before' }, undefined],
    [{ headers: {}, lost: 'before' }, undefined],
  ])(
    'loses the response to a deletion with %j, after the deletion or instead of it',
    async (response, next) => {
      await using testbed = await createTestbed();
      const variables = { clientId: 'demo-old-ci' };
      testbed.respondNext(response);
      const lost = await testbed.request(DeleteApiKeyDocument, variables);
      expect(errorOf(lost)).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      expect(errorOf(await testbed.request(DeleteApiKeyDocument, variables))?.code).toBe(next);
    },
  );

  it('records nothing but what a request has, and forgets it after clear()', async () => {
    await using testbed = await createTestbed();
    await testbed.request(DeleteApiKeyDocument, { clientId: 'a/b' });
    expect(testbed.requests.map(({ headers: _, ...rest }) => rest)).toStrictEqual([
      { method: 'DELETE', path: '/api/v1/secrets/a%2Fb', query: {}, body: undefined },
    ]);
    testbed.requests.clear();
    expect(testbed.requests).toStrictEqual([]);
    deepStrictEqual(testbed.requests, []);
    await testbed.request(AuditDocument, {});
    expect(testbed.requests).toHaveLength(1);
  });

  it('explains a request that asks for it', async () => {
    await using testbed = await createTestbed({ events: [{ action: 'key.create' }] });
    const { extensions } = await testbed.request(AuditDocument, {}, { explain: true });
    const { calls, mapping } = extensions?.explain ?? {};
    expect(calls).toMatchObject([{ field: 'audit', method: 'GET', attempts: 1, status: 200 }]);
    expect(mapping?.event?.action.found).toBe('1 of 1');
    expect(mapping?.event?.userAgent.why).toBe(
      'no field has the name or the format of a user agent',
    );
    expect(await testbed.request(AuditDocument, {})).not.toHaveProperty('extensions');
    const off = { gateway: { explain: false } };
    await using without = await createTestbed(off);
    const result = await without.request(AuditDocument, {}, { explain: true });
    expect(result).not.toHaveProperty('extensions');
  });

  it('has the given clients and events, and nothing else', async () => {
    const clients = [
      { clientId: 'ann', secret: 's1' },
      { clientId: 'bob', secret: 's2' },
    ];
    await using testbed = await createTestbed({
      now: () => new Date('2026-11-21T12:00:00Z'),
      clients,
      events: [
        {
          action: 'key.create',
          actor: 'ann',
          target: 'k',
          occurredAt: '2026-11-20T13:00:00+01:00',
        },
        { action: 'key.delete', outcome: 'FAILURE', ipAddress: '192.0.2.1', userAgent: 'curl/8' },
      ],
    });
    expect(testbed.clientId).toBe('ann');
    const nobody = { identifier: null, name: null };
    const { data } = await testbed.request(AuditDocument, {});
    expect(data?.audit?.nodes).toMatchObject([
      {
        action: 'key.delete',
        outcome: 'FAILURE',
        occurredAt: '2026-11-21T12:00:00.000Z',
        ipAddress: '192.0.2.1',
        userAgent: 'curl/8',
        actor: nobody,
        target: nobody,
      },
      {
        action: 'key.create',
        outcome: 'SUCCESS',
        occurredAt: '2026-11-20T12:00:00.000Z',
        ipAddress: null,
        userAgent: null,
        actor: { identifier: 'ann' },
        target: { identifier: 'k' },
      },
    ]);
    const credential = { clientSecret: 's2' };
    const login = await testbed.request(LoginDocument, { clientId: 'bob', credential });
    expect(login.errors).toBeUndefined();
    const stranger = await testbed.request(LoginDocument, {
      clientId: 'demo-reports',
      credential: { clientSecret: 'demo-reports-secret-c07b43de' },
    });
    expect(errorOf(stranger)?.code).toBe('UNAUTHENTICATED');
    testbed.sandbox.addEvents([{ action: 'later', occurredAt: new Date('2027-01-01') }]);
    const later = await testbed.request(AuditDocument, { first: 1 });
    expect(later.data?.audit).toMatchObject({ totalCount: 5, nodes: [{ action: 'later' }] });
  });

  it.each<[TestbedOptions, RegExp]>([
    [{ clients: [] }, /needs a client/],
    [{ clients: [{ clientId: 'a', secret: '' }] }, /a clientId and a secret/],
    [{ clients: ['a', 'a'].map((clientId) => ({ clientId, secret: 's' })) }, /the same clientId/],
    [{ events: [{ action: 'a', occurredAt: 'yesterday' }] }, /such as 2026-11-21T08:00:00Z/],
    [{ events: [{ action: 'a', occurredAt: '2026-13-01T00:00:00Z' }] }, /such as 2026/],
    [{ events: [{} as SandboxEvent] }, /needs an action/],
    [{ events: [{ action: 'a', actor: 7 } as unknown as SandboxEvent] }, /The actor of an event/],
    [{ events: [{ action: 'a', outcome: 'success' } as unknown as SandboxEvent] }, /SUCCESS or/],
    [{ events: [{ action: 'a', when: 1 } as SandboxEvent] }, /when is not a member of an event/],
  ])('rejects the options %j', async (options, expected) => {
    await expect(createTestbed(options)).rejects.toThrow(expected);
  });

  it('sends a response with `to` only to a request that it matches, in order', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext(
      { to: 'DELETE /api/v1/secrets/{client_id}', status: 409 },
      { to: 'POST /api/v1/auth/login', status: 403 },
      { to: ({ query }) => query['action'] === 'b', body: [{ action: 'of b' }] },
      { body: [{ action: 'of any' }] },
    );
    const read = async (value: string) => {
      const parameters = [{ name: 'action', value }];
      return (await testbed.request(AuditDocument, { parameters })).data?.audit?.nodes[0]?.action;
    };
    expect([await read('a'), await read('b'), await read('key.create')]).toEqual([
      'of any',
      'of b',
      'key.create',
    ]);
    const deletion = () => testbed.request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' });
    expect(errorOf(await deletion())?.code).toBe('CONFLICT');
    expect(errorOf(await deletion())).toBeUndefined();
    expect(() => testbed.assertDone()).toThrow(
      'No request received these scripted responses:\n- to POST /api/v1/auth/login: status 403',
    );
  });

  it('lists the scripted responses that are left, without what they contain', async () => {
    await using testbed = await createTestbed();
    testbed.assertDone();
    testbed.respondNext(
      { status: 200, body: { secret: 'c4n4ry' }, headers: { a: 'c4n4ry' } },
      { to: () => false, delayMs: 5 },
      { to: 'GET /api/v1/audit', lost: 'before' },
      {},
    );
    await testbed.request(AuditDocument, {});
    expect(() => testbed.assertDone()).toThrow(
      new Error(`No request received these scripted responses:
- to a request that \`to\` matches: delayed by 5 ms
- to GET /api/v1/audit: lost before it
- to any request: the sandbox’s own response`),
    );
    testbed.respondNext({ body: 'c4n4ry', headers: { a: 'c4n4ry' } });
    expect(() => testbed.assertDone()).not.toThrow('c4n4ry');
  });

  it('sends a response several times, or until the script is cleared', async () => {
    await using testbed = await createTestbed();
    const codes = async (count: number) => {
      const results: unknown[] = [];
      for (let index = 0; index < count; index += 1)
        results.push(errorOf(await testbed.request(AuditDocument, { first: 1 }))?.code);
      return results;
    };
    testbed.respondNext({ status: 403, times: 2 }, { to: 'GET /api/v1/audit', status: 404 });
    expect(await codes(4)).toEqual(['FORBIDDEN', 'FORBIDDEN', 'NOT_FOUND', undefined]);
    testbed.respondNext(
      { status: 409, times: 3 },
      { status: 401, times: Number.POSITIVE_INFINITY },
    );
    expect(await codes(1)).toEqual(['CONFLICT']);
    expect(() => testbed.assertDone()).toThrow(
      'responses:\n- to any request: status 409, 2 times\n- to any request: status 401',
    );
    expect(await codes(4)).toEqual(['CONFLICT', 'CONFLICT', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
    testbed.assertDone();
    testbed.clearResponses();
    expect(await codes(1)).toEqual([undefined]);
  });

  it('moves its clock instead of waiting before a retry', async () => {
    await using testbed = await createTestbed({ now: () => new Date(0) });
    const response = { status: 503, headers: { 'retry-after': '1' } };
    testbed.respondNext(response);
    expect(errorOf(await testbed.request(AuditDocument, { first: 1 }))).toBeUndefined();
    const login = await testbed.request(LoginDocument, {
      clientId: testbed.clientId,
      credential: { refreshToken: testbed.refreshToken },
    });
    expect(login.data?.login?.expiresAt).toBe('1970-01-01T00:15:01.000Z');
    testbed.respondNext({ ...response, headers: { 'retry-after': '3' } });
    const tooLate = await testbed.request(AuditDocument, { first: 1 });
    expect(errorOf(tooLate)).toMatchObject({ code: 'UPSTREAM_ERROR', retryAfterSeconds: 3 });
    expect(testbed.requests).toHaveLength(4);
  });

  it('closes the circuit breaker after its clock has moved', async () => {
    await using testbed = await createTestbed();
    const read = () => testbed.request(AuditDocument, { first: 1 });
    const remove = () => testbed.request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' });
    const failures = Array.from({ length: 20 }, () => ({ status: 503 }));
    testbed.respondNext(...failures);
    for (const _ of failures) expect(errorOf(await remove())?.code).toBe('UPSTREAM_ERROR');
    testbed.assertDone();
    testbed.requests.clear();
    const rejected = errorOf(await read());
    expect(rejected).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });
    expect(testbed.requests).toEqual([]);
    testbed.advance(1000 * (rejected?.retryAfterSeconds ?? 0));
    expect(errorOf(await read())).toBeUndefined();
    expect(errorOf(await remove())).toBeUndefined();
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('does not advance by %d', async (ms) => {
    await using testbed = await createTestbed();
    expect(() => testbed.advance(ms)).toThrow(RangeError);
  });

  it('lets tokens expire by its clock', async () => {
    await using testbed = await createTestbed({ now: () => new Date(Date.UTC(2026, 10, 21)) });
    expect(errorOf(await testbed.request(AuditDocument, {}))).toBeUndefined();
    const again = await testbed.request(LoginDocument, {
      clientId: testbed.clientId,
      credential: { refreshToken: testbed.refreshToken },
    });
    expect(again.data?.login?.expiresAt).toBe('2026-11-21T00:15:00.000Z');
    testbed.advance(15 * 60_000);
    expect(errorOf(await testbed.request(AuditDocument, {}))?.code).toBe('UNAUTHENTICATED');
  });

  it('accepts options for its gateway', async () => {
    const contract = { audit: { event: { action: '/outcome' } } };
    await using testbed = await createTestbed({ gateway: { contract, introspection: false } });
    const { data } = await testbed.request(AuditDocument, { first: 1 });
    expect(data?.audit?.nodes[0]?.action).toBe('success');
    const schema = await testbed.request('{ __schema { __typename } }', {});
    expect(errorOf(schema)?.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  it.each<[ScriptedResponse, RegExp]>([
    [{ status: 99 }, /status from 200 to 599/],
    [{ status: Number.NaN }, /status from 200 to 599/],
    [{ headers: { 'x-a': 'b\r\nx: 1' } }, /Invalid character in header content/],
    [{ headers: { 'no name': 'b' } }, /valid HTTP token/],
    [{ body: 1n }, /BigInt/],
    [{ staus: 500 } as ScriptedResponse, /staus is not a member of a scripted response\./], // JavaScript allows it
    [{ to: 'GET /audit' } as unknown as ScriptedResponse, /one of these routes: POST \/api/],
    [{ lost: true } as unknown as ScriptedResponse, /`before` or `within`/],
    [{ times: 0 } as ScriptedResponse, /1 or more, or Infinity/],
    [{ times: 1.5 } as ScriptedResponse, /1 or more, or Infinity/],
    [{ delayMs: -1 }, /0 to 2147483647 milliseconds/],
    [{ delayMs: Number.NaN }, /0 to 2147483647 milliseconds/],
  ])('rejects the script %s, and ignores it', async (response, expected) => {
    await using testbed = await createTestbed();
    expect(() => testbed.respondNext({}, response)).toThrow(expected);
    expect(errorOf(await testbed.request(AuditDocument, {}))).toBeUndefined();
  });

  it('sends a scripted header instead of its own, in any case', async () => {
    await using testbed = await createTestbed();
    testbed.respondNext({ headers: { 'Content-Type': 'text/plain' }, body: 'x' });
    const response = await fetch(`${testbed.sandbox.url}/api/v1/audit`);
    expect(response.headers.get('content-type')).toBe('text/plain');
  });

  it('responds although the tests have blocked the event loop for seconds', async () => {
    await using testbed = await createTestbed();
    await testbed.request(AuditDocument, {});
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    expect((await testbed.request(AuditDocument, {})).errors).toBeUndefined();
  });

  it('shares nothing with another testbed', async () => {
    await using one = await createTestbed();
    await using other = await createTestbed();
    one.respondNext({ status: 500 });
    await other.request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' });
    expect(errorOf(await other.request(AuditDocument, {}))).toBeUndefined();
    expect(one.requests).toEqual([]);
    const foreign = await one.request(AuditDocument, {}, { token: other.accessToken });
    expect(errorOf(foreign)?.code).toBe('UPSTREAM_ERROR');
  });

  it('does not keep the process running after it is disposed', async () => {
    const url = new URL('../../src/testing/testbed.ts', import.meta.url);
    const program = `
      const { createTestbed } = await import('${url}');
      await using testbed = await createTestbed({ upstream: { timeoutMs: 1000 } });
      testbed.respondNext({ delayMs: 600_000 });
      await testbed.request('{ audit { totalCount } }', {});`;
    await promisify(execFile)(process.execPath, ['--eval', program], { timeout: 30_000 });
  });

  it('can be disposed while a response is delayed', async () => {
    const testbed = await createTestbed();
    testbed.respondNext({ delayMs: 60_000 });
    const late = testbed.request(AuditDocument, {});
    await testbed[Symbol.asyncDispose]();
    expect(errorOf(await late)?.code).toMatch(/^UPSTREAM_(?:TIMEOUT|UNAVAILABLE)$/);
    await expect(fetch(testbed.url)).rejects.toThrow('fetch failed');
  });
});
