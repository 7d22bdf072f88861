import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { GatewayError, readRetryAfter } from '../../../src/errors.ts';
import { parseJson } from '../../../src/gateway/upstream/parse-json.ts';
import { ask, codeOf, gatewayOver, type Result } from '../../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

/** Part of every body that the service sends; it must never be returned or logged. */
const CANARY = 'internal-host-7f3a';

const NOON = Date.UTC(2026, 10, 21, 12);

type Operation = (gateway: ReturnType<typeof gatewayOver>) => Promise<Result<unknown>>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  login: (gateway) =>
    ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } }),
  audit: (gateway) => ask(gateway, AuditDocument, {}, { token: 't' }),
  deleteApiKey: (gateway) => ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' }),
};

/** Kinds of bodies that a failing service, or a proxy before it, may send. */
const BODIES: Readonly<Record<string, ServiceResponse>> = {
  empty: { body: '' },
  'JSON object': { body: { message: CANARY, error: { code: CANARY } } },
  'JSON array': { body: [{ message: CANARY }] },
  text: { body: CANARY, headers: { 'content-type': 'text/plain' } },
  HTML: { body: `<html><h1>${CANARY}</h1>`, headers: { 'content-type': 'text/html' } },
  'truncated JSON': { body: `{"message": "${CANARY}` },
  'JSON that says it is HTML': {
    body: { message: CANARY },
    headers: { 'content-type': 'text/html' },
  },
  'RFC 9457': {
    body: { type: 'about:blank', title: CANARY, detail: CANARY },
    headers: { 'content-type': 'application/problem+json' },
  },
};

const STATUSES: Readonly<Record<number, string>> = {
  300: 'UPSTREAM_BAD_RESPONSE',
  301: 'UPSTREAM_BAD_RESPONSE',
  302: 'UPSTREAM_BAD_RESPONSE',
  304: 'UPSTREAM_BAD_RESPONSE',
  307: 'UPSTREAM_BAD_RESPONSE',
  400: 'BAD_USER_INPUT',
  401: 'UNAUTHENTICATED',
  402: 'UPSTREAM_ERROR',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'UPSTREAM_ERROR',
  408: 'UPSTREAM_ERROR',
  409: 'CONFLICT',
  410: 'NOT_FOUND',
  418: 'UPSTREAM_ERROR',
  422: 'BAD_USER_INPUT',
  429: 'RATE_LIMITED',
  500: 'UPSTREAM_ERROR',
  502: 'UPSTREAM_ERROR',
  503: 'UPSTREAM_ERROR',
  504: 'UPSTREAM_TIMEOUT',
  599: 'UPSTREAM_ERROR',
};

/** The gateway repeats a read once after one of these. */
const REPEATED: ReadonlySet<number> = new Set([502, 503, 504]);

describe.each(Object.entries(OPERATIONS))('%s', (operation, send) => {
  it.each(Object.entries(STATUSES))(
    'maps status %s to %s, whatever the body, and returns nothing of the body',
    async (status, code) => {
      let body: ServiceResponse = {};
      await using service = await startService(() => ({ ...body, status: Number(status) }));
      await using gateway = gatewayOver(service.url);
      for (body of Object.values(BODIES)) {
        const result = await send(gateway);
        expect(codeOf(result)).toBe(code);
        expect(result.errors?.[0]?.extensions.upstream).toEqual({ status: Number(status) });
        expect(result.errors?.[0]?.path).toEqual([operation]);
        expect(result.status).toBe(200);
        expect(result.text).not.toContain(CANARY);
      }
      expect(gateway.logged.join()).not.toContain(CANARY);
      const attempts = operation === 'audit' && REPEATED.has(Number(status)) ? 2 : 1;
      expect(service.seen).toHaveLength(Object.keys(BODIES).length * attempts);
    },
  );

  it.each([502, 503, 504, 408])('is retryable after %s only if it is a read', async (status) => {
    await using service = await startService({ status });
    await using gateway = gatewayOver(service.url);
    const { errors } = await send(gateway);
    expect(errors?.[0]?.extensions.retryable).toBe(operation === 'audit');
  });

  it.each([
    ['7', 7],
    ['0', 0],
    ['1.5', 2],
    ['0.001', 1],
    ['3.0', 3],
    ['2147483646.5', 2 ** 31 - 1],
    ['2147483647.5', 2_147_483_647],
    ['soon', undefined],
    ['-1', undefined],
    ['1.', undefined],
    ['.5', undefined],
    ['1,5', undefined],
    ['1e3', undefined],
    ['1.5.0', undefined],
  ])('forwards Retry-After: %s as %s seconds', async (header, seconds) => {
    await using service = await startService({ status: 429, headers: { 'retry-after': header } });
    await using gateway = gatewayOver(service.url);
    const { errors } = await send(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
    expect(errors?.[0]?.extensions.retryAfterSeconds).toBe(seconds);
  });

  it.each([
    ['30 s later', NOON, NOON + 30_000, 30],
    ['of the same second', NOON, NOON, 0],
    ['before that', NOON, NOON - 3_600_000, 0],
    ['of a clock that is an hour behind', NOON - 3_600_000, NOON - 3_600_000 + 30_000, 30],
    ['of a clock that is a day ahead', NOON + 86_400_000, NOON + 86_400_000 + 7000, 7],
    ['without a Date', null, NOON + 30_000, 30],
    ['of the past, without a Date', null, NOON - 3_600_000, 0],
    ['with a Date that is none', 'yesterday', NOON + 30_000, 30],
  ])('measures a Retry-After %s', async (_, date, time, seconds) => {
    await using service = await startService((_, response) => {
      response.sendDate = false;
      const sent = typeof date === 'number' ? new Date(date).toUTCString() : date;
      const headers = { 'retry-after': new Date(time).toUTCString() };
      return { status: 429, headers: { ...headers, ...(sent !== null && { date: sent }) } };
    });
    await using gateway = gatewayOver(service.url, { now: () => new Date(NOON) });
    const { errors } = await send(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
    expect(errors?.[0]?.extensions.retryAfterSeconds).toBe(seconds);
  });

  it.each(['HTML', 'truncated JSON'])('rejects a 200 response that is %s', async (kind) => {
    await using service = await startService(BODIES[kind] ?? {});
    await using gateway = gatewayOver(service.url);
    const result = await send(gateway);
    expect(codeOf(result)).toBe('UPSTREAM_BAD_RESPONSE');
    expect(result.text).not.toContain(CANARY);
    expect(gateway.logged.join()).not.toContain(CANARY);
  });

  it('rejects bytes that are not UTF-8', async () => {
    await using service = await startService((_, response) => {
      response.end(Buffer.from('{"access_token":"\xff"}', 'latin1'));
      return undefined;
    });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await send(gateway))).toBe('UPSTREAM_BAD_RESPONSE');
  });
});

describe('a 2xx response', () => {
  it.each(['login', 'audit'])(
    'with an error whose code is one of success, but not its text, is a failed %s',
    async (operation) => {
      const error = { code: 200, message: 'Server Error', request_id: 'x' };
      await using service = await startService({ body: { error, events: [] } });
      await using gateway = gatewayOver(service.url);
      const result = await OPERATIONS[operation]?.(gateway);
      expect(result?.errors?.[0]?.extensions.reason).toBe('SAYS_IT_FAILED');
    },
  );

  it.each([
    ['login', 'empty', 'UPSTREAM_BAD_RESPONSE'],
    ['login', 'text', 'UPSTREAM_BAD_RESPONSE'],
    ['login', 'JSON object', 'UPSTREAM_ERROR'],
    ['login', 'JSON array', 'UPSTREAM_BAD_RESPONSE'],
    ['audit', 'empty', ''],
    ['audit', 'text', 'UPSTREAM_BAD_RESPONSE'],
    ['audit', 'JSON object', 'UPSTREAM_ERROR'],
    ['audit', 'JSON array', ''],
    ['deleteApiKey', 'empty', ''],
    ['deleteApiKey', 'text', 'OUTCOME_UNKNOWN'],
    ['deleteApiKey', 'JSON array', 'OUTCOME_UNKNOWN'],
    ['deleteApiKey', 'JSON that says it is HTML', 'OUTCOME_UNKNOWN'],
  ])('to %s with body %s gives the code %j', async (operation, kind, code) => {
    await using service = await startService(BODIES[kind] ?? {});
    await using gateway = gatewayOver(service.url);
    expect(codeOf((await OPERATIONS[operation]?.(gateway)) ?? {})).toBe(code);
  });

  it.each([
    { success: false },
    { ok: false },
    { result: 'failed' },
    { status: 'Error' },
    { Success: 'false' },
    { success: 0 },
    { deleted: 'no' },
    { isSuccess: false },
    { data: { success: false } },
    { error: 'x' },
    { errors: [{}] },
    { errorCode: 'E17' },
    { errorMessage: 'x' },
    { failed: true },
    { deleted: [], failed: ['k'] },
    { deletedCount: 0 },
    { error: { code: 7, message: '' } },
    { error: { code: 0, message: 'in use', log_id: 'x' } },
    { data: { id: 'k', deleted: false } },
    { result: { request_id: 'r', status: 'failed' } },
    { client: { client_id: 'k', status: 'failed' } },
    { status: 'not_deleted' },
    { status: 40_401 },
    { code: '40101', success: false },
    { status: 500 },
    { code: 504 },
    { status: 401, code: 404 },
    { status: 401, statusCode: 500 },
    { error: 'The key could not be deleted successfully' },
    { error: 'Unable to delete: no success' },
    { data: { clientId: 'k', status: 'notDeleted' } },
    { result: { id: 'k', status: 'forbidden' } },
    { deleted: 'not yet' },
    { success: 'notPossible' },
    { result: 'not supported' },
    { client_id: 'k', status: 'invalid', message: 'x' },
    false,
  ])('with body %j is a failed deletion', async (body) => {
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(codeOf(result)).toBe('UPSTREAM_ERROR');
    expect(result.errors?.[0]?.extensions).toMatchObject({
      reason: 'SAYS_IT_FAILED',
      upstream: { status: 200 },
    });
  });

  it.each([
    { status: 'not_found' },
    { code: 'KEY_NOT_FOUND' },
    { data: { client_id: 'k', status: 'not_found' } },
    { status: 'NOT_EXIST' },
  ])('with body %j is a deletion of a key that does not exist', async (body) => {
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(codeOf(result)).toBe('NOT_FOUND');
    expect(result.errors?.[0]?.extensions.reason).toBe('SAYS_IT_FAILED');
  });

  it.each<readonly [string, object, string]>([
    ['deleteApiKey', { type: 'about:blank', status: 404 }, 'NOT_FOUND'],
    ['deleteApiKey', { code: 404, message: 'x' }, 'NOT_FOUND'],
    ['deleteApiKey', { data: { clientId: 'k', statusCode: 409 } }, 'CONFLICT'],
    ['deleteApiKey', { meta: { success: false, code: 404 }, data: null }, 'NOT_FOUND'],
    ['deleteApiKey', { id: 'k', status: '404' }, 'NOT_FOUND'],
    ['deleteApiKey', { status: 401, error: { code: 401 } }, 'UNAUTHENTICATED'],
    ['deleteApiKey', { httpStatus: '403' }, 'FORBIDDEN'],
    ['deleteApiKey', { statusCode: 429 }, 'RATE_LIMITED'],
    ['deleteApiKey', { code: 408 }, 'UPSTREAM_ERROR'],
    ['login', { success: false, code: 401 }, 'UNAUTHENTICATED'],
    ['login', { error: { code: 429 } }, 'RATE_LIMITED'],
    ['login', { status: 400, message: 'x' }, 'BAD_USER_INPUT'],
    ['audit', { code: 401, message: 'x' }, 'UNAUTHENTICATED'],
    ['audit', { status: '403', items: [], error: 'x' }, 'FORBIDDEN'],
    ['audit', { code: 425 }, 'UPSTREAM_ERROR'],
  ])('to %s with body %j fails with %s, as if that were its status', async (name, body, code) => {
    const send = OPERATIONS[name] ?? expect.fail();
    await using service = await startService({ status: 202, body });
    await using gateway = gatewayOver(service.url);
    const { errors } = await send(gateway);
    const status = JSON.stringify(body).match(/4\d\d/)?.[0];
    await using real = await startService({ status: Number(status) });
    await using other = gatewayOver(real.url);
    const [expected] = (await send(other)).errors ?? [];
    expect(errors?.[0]?.message).toBe(expected?.message);
    expect(errors?.[0]?.extensions).toEqual({
      ...{ code, retryable: expected?.extensions.retryable, reason: 'SAYS_IT_FAILED' },
      ...{ upstream: { status: 202 }, requestId: expect.any(String) },
    });
    expect(service.seen).toHaveLength(1);
  });

  it.each([
    { result: 1 },
    { error: 'none', errorCode: 0 },
    { error: { code: 0, message: '' }, failed: [] },
    { deleted: ['k'], deletedCount: 1, failed: 0 },
    { api_key: { id: 'k', status: 'blocked' } },
    { errorCode: 200, errorMessage: 'Deleted successfully' },
    { stats: { success: 0 } },
    { error: { code: 0, message: 'Successful. Not an error.' } },
    { errorMessage: '1 deleted with success, 0 failed' },
    { id: 'k', name: 'CI', status: 'not_active' },
  ])('with body %j is a successful deletion', async (body) => {
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const { data } = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(data?.deleteApiKey?.outcome).toBe('DELETED');
  });

  it.each([
    [{ status: 200, body: { success: true } }, 'DELETED', { success: true }],
    [
      { status: 200, body: { errors: [], error: null, status: 0 } },
      'DELETED',
      { errors: [], error: null, status: 0 },
    ],
    [{ status: 200, body: 'OK', headers: { 'content-type': 'text/plain' } }, 'DELETED', 'OK'],
    [{ status: 200, body: '' }, 'DELETED', null],
    [{ status: 200, body: '\n' }, 'DELETED', null],
    [{ status: 201, body: 'true' }, 'DELETED', true],
    [{ status: 202, body: '' }, 'ACCEPTED', null],
    [{ body: { id: 'task', status: 'notStarted' } }, 'ACCEPTED', expect.anything()],
    [
      { body: { job: { state: 'queued', result: 'not_available' } } },
      'ACCEPTED',
      expect.anything(),
    ],
    [{ status: 202, body: { task: 1 } }, 'ACCEPTED', { task: 1 }],
    [{ status: 204 }, 'DELETED', null],
  ])('%j gives a deletion the outcome %s', async (response, outcome, raw) => {
    await using service = await startService(response);
    await using gateway = gatewayOver(service.url);
    const { data } = await ask(
      gateway,
      DeleteApiKeyDocument,
      { clientId: 'k', withRaw: true },
      { token: 't' },
    );
    expect(data?.deleteApiKey).toMatchObject({ outcome, raw });
  });
});

describe('parseJson', () => {
  it('returns what JSON.parse returns, if no number could lose digits', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, maxDepth: 10 }), (text) => {
        fc.pre(!/\d{16}|[eE]/.test(text));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps every digit of every integer, as a number if that is exact', () => {
    fc.assert(
      fc.property(fc.bigInt(), (integer) => {
        const [value] = parseJson(`[${integer}]`) as unknown[];
        const isExact =
          BigInt(Number(integer)) === integer && Number.isSafeInteger(Number(integer));
        expect(value).toBe(isExact ? Number(integer) : String(integer));
      }),
    );
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['1'.repeat(400), '1'.repeat(400)],
    ['1e400', '1e400'],
    ['-1E+400', '-1E+400'],
    ['1e300', 1e300],
    ['0.1234567890123456789', 0.12345678901234568],
    ['"1234567890123456789"', '1234567890123456789'],
    ['"\\":12345678901234567890"', '":12345678901234567890'],
  ])('parses %s as %j', (text, value) => {
    expect(parseJson(text)).toBe(value);
  });

  it.each(['', ' ', '{', '[1,]', 'NaN', '{"a":Infinity}', "{'a':1}", '1 2', '\u0000'])(
    'rejects %j without quoting it',
    (text) => {
      let message = '';
      try {
        parseJson(text);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        message = String(error);
      }
      expect(message).not.toBe('');
      expect(message).not.toContain('JSON at position');
    },
  );

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('parses 64 levels of %s and rejects more, with long numbers in them too', (open, close) => {
    const nest = (depth: number, core: string) => open.repeat(depth) + core + close.repeat(depth);
    for (const core of ['1', '12345678901234567890', '"[{12345678901234567890"']) {
      expect(parseJson(nest(64, core))).toBeDefined();
      for (const depth of [65, 1000, 100_000]) {
        expect(() => parseJson(nest(depth, core))).toThrow(GatewayError);
      }
    }
  });
});

describe('Retry-After', () => {
  const now = () => NOON;

  it('is the least whole number of seconds that is not too early', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 2), fc.stringMatching(/^\d{0,9}$/), (whole, digits) => {
        const text = digits === '' ? String(whole) : `${whole}.${digits}`;
        const seconds = readRetryAfter({ 'retry-after': text }, now);
        expect(seconds).toBe(whole + Number(/[1-9]/.test(digits)));
      }),
    );
  });

  it('as a date is the time after that of Date, whatever the clock of the gateway is', () => {
    const second = fc.nat(4_000_000_000);
    fc.assert(
      fc.property(second, fc.nat(2 ** 31 - 1), fc.nat(), (sent, delay, clock) => {
        const [date, later] = [sent, sent + delay].map((each) =>
          new Date(1000 * each).toUTCString(),
        );
        const headers = { 'retry-after': later, date };
        expect(readRetryAfter(headers, () => 1000 * clock)).toBe(delay);
      }),
    );
  });

  it('of any text is undefined or a whole number from 0 to 2^31 - 1', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'0123456789.-+e, ') }),
      fc.string().map((start) => `${start}GMT`),
    );
    fc.assert(
      fc.property(text, fc.option(text, { nil: undefined }), (header, date) => {
        const seconds = readRetryAfter({ 'retry-after': header, date }, now);
        if (seconds === undefined) return;
        expect(Number.isSafeInteger(seconds) && seconds >= 0 && seconds < 2 ** 31).toBe(true);
      }),
    );
  });
});
