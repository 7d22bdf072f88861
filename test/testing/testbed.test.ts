import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
  type Result,
  request,
} from '../../src/client/request.ts';
import type { ScriptedResponse } from '../../src/sandbox/script.ts';
import { createTestbed } from '../../src/testing/testbed.ts';

const errorOf = ({ errors }: Result<unknown>) => errors?.[0]?.extensions;

describe('a testbed', () => {
  it('is logged in, and records the requests that the service receives after that', async () => {
    await using testbed = await createTestbed();
    expect(testbed.requests).toEqual([]);
    await testbed.request(AuditDocument, { parameters: [{ name: 'a', value: 'b c' }] });
    await request(
      LoginDocument,
      { clientId: testbed.clientId, credential: { refreshToken: testbed.refreshToken } },
      { url: testbed.url },
    );
    expect(testbed.requests).toMatchObject([
      {
        method: 'GET',
        path: '/api/v1/audit?a=b%20c',
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
    [{ body: null }, { code: 'UPSTREAM_BAD_RESPONSE', reason: 'NO_RECORDS' }],
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

  it('lets tokens expire by its clock', async () => {
    let time = Date.UTC(2026, 10, 21);
    await using testbed = await createTestbed({ now: () => new Date(time) });
    expect(errorOf(await testbed.request(AuditDocument, {}))).toBeUndefined();
    const again = await testbed.request(LoginDocument, {
      clientId: testbed.clientId,
      credential: { refreshToken: testbed.refreshToken },
    });
    expect(again.data?.login?.expiresAt).toBe('2026-11-21T00:15:00.000Z');
    time += 15 * 60_000;
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
    [{ staus: 500, headrs: {} } as ScriptedResponse, /A scripted response has no staus, headrs\./], // JavaScript allows it
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
      await using testbed = await createTestbed({ upstream: { timeoutMs: 300 } });
      testbed.respondNext({ delayMs: 600_000 });
      await testbed.request('{ audit { totalCount } }', {});`;
    await promisify(execFile)(process.execPath, ['--eval', program], { timeout: 10_000 });
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
