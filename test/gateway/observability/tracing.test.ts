import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { ask, gatewayOver, onPort } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';
import { createTelemetry, type Telemetry } from '../../helpers/telemetry.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const GRAPHQL_TYPE = 'application/graphql-response+json';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

/** The spans in the order of their ends: attempts before their operation. */
function spansOf({ spans }: Telemetry) {
  return spans().map(({ name, kind, attributes, status }) => ({
    name,
    kind,
    attributes,
    isError: status.code === SpanStatusCode.ERROR,
  }));
}

describe('a trace', () => {
  it('has a span for the operation, with a child span for each request to the service', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? { status: service.seen.length === 1 ? 503 : 200, body: [] } : {},
    );
    const telemetry = createTelemetry();
    await using gateway = gatewayOver(service.url, telemetry.parts);
    const headers = { traceparent: TRACEPARENT, tracestate: 'a=1', 'x-request-id': 'r1' };
    await ask(gateway, AuditDocument, {}, { token: 't', headers });

    const server = {
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(service.url).port),
    };
    const call = {
      ...server,
      'http.request.method': 'GET',
      'url.template': '/api/v1/audit',
    };
    expect(spansOf(telemetry)).toEqual([
      {
        name: 'GET /api/v1/audit',
        kind: SpanKind.CLIENT,
        attributes: { ...call, 'http.response.status_code': 503, 'error.type': '503' },
        isError: true,
      },
      {
        name: 'GET /api/v1/audit',
        kind: SpanKind.CLIENT,
        attributes: { ...call, 'http.request.resend_count': 1, 'http.response.status_code': 200 },
        isError: false,
      },
      {
        name: 'query audit',
        kind: SpanKind.SERVER,
        attributes: {
          'keytrail.request_id': 'r1',
          'graphql.operation.type': 'query',
          'keytrail.fields': 'audit',
          'http.response.status_code': 200,
        },
        isError: false,
      },
    ]);
    const [first, second, operation] = telemetry.spans();
    expect(operation?.parentSpanContext).toMatchObject({
      spanId: 'b7ad6b7169203331',
      isRemote: true,
    });
    for (const span of [first, second, operation]) {
      expect(span?.spanContext().traceId).toBe(TRACE_ID);
    }
    for (const [index, span] of [first, second].entries()) {
      expect(span?.parentSpanContext?.spanId).toBe(operation?.spanContext().spanId);
      expect(service.seen[index]?.headers).toMatchObject({
        traceparent: `00-${TRACE_ID}-${span?.spanContext().spanId}-01`,
        tracestate: 'a=1',
        'x-request-id': 'r1',
      });
    }
  });

  it('contains the code of a failure, and no client id', async () => {
    await using service = await startService((_, response) => void response.destroy());
    const telemetry = createTelemetry();
    await using gateway = gatewayOver(service.url, telemetry.parts);
    await ask(gateway, DeleteApiKeyDocument, { clientId: 'c4n4ry' }, { token: 'c4n4ry' });
    await ask(gateway, '{ c4n4ry }');
    expect(spansOf(telemetry)).toMatchObject([
      {
        name: 'DELETE /api/v1/secrets/{client_id}',
        attributes: { 'error.type': 'OUTCOME_UNKNOWN' },
        isError: true,
      },
      {
        name: 'mutation deleteApiKey',
        attributes: {
          'error.type': 'OUTCOME_UNKNOWN',
          'keytrail.codes': 'OUTCOME_UNKNOWN',
          'http.response.status_code': 200,
        },
        isError: true,
      },
      {
        name: 'graphql',
        attributes: { 'keytrail.codes': 'GRAPHQL_VALIDATION_FAILED' },
        isError: false,
      },
    ]);
    expect(await telemetry.text()).not.toContain('c4n4ry');
  });

  it.each<[string, string, number, Readonly<Record<string, string>>?]>([
    ['{ nope }', 'GRAPHQL_VALIDATION_FAILED', 200],
    ['{ nope }', 'GRAPHQL_VALIDATION_FAILED', 400, { accept: GRAPHQL_TYPE }],
    ['{', 'GRAPHQL_PARSE_FAILED', 200],
    ['{ audit(first: 0) { totalCount } }', 'BAD_USER_INPUT', 200],
    ['query A { __typename } query B { __typename }', 'BAD_REQUEST', 400],
    ['{ __typename }', 'BAD_REQUEST', 415, { 'content-type': 'text/plain' }],
    ['{ __typename }', 'BAD_REQUEST', 406, { accept: 'text/css' }],
    [`{ ${'__typename '.repeat(3000)} }`, 'OPERATION_TOO_COMPLEX', 200],
    ['{ audit { totalCount } }', 'UNAUTHENTICATED', 200, { authorization: 'malformed' }],
  ])(
    'with a mistake of the caller is no error: %s, %s, %i',
    async (query, code, status, headers) => {
      await using service = await startService({ body: [] });
      const telemetry = createTelemetry();
      await using gateway = gatewayOver(service.url, telemetry.parts);
      await ask(gateway, query, {}, { token: 't', headers: headers ?? {} });
      const [span, ...others] = telemetry.spans();
      expect(others).toEqual([]);
      expect(span?.status).toEqual({ code: SpanStatusCode.UNSET });
      expect(span?.attributes).toMatchObject({
        'keytrail.codes': code,
        'http.response.status_code': status,
      });
      expect(span?.attributes).not.toHaveProperty('error.type');
    },
  );

  it.each([
    [400, 'BAD_USER_INPUT'],
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [429, 'RATE_LIMITED'],
  ])('with a %i of the service is an error of that request alone: %s', async (status, code) => {
    await using service = await startService({ status });
    const telemetry = createTelemetry();
    await using gateway = gatewayOver(service.url, telemetry.parts);
    await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(spansOf(telemetry)).toMatchObject([
      { kind: SpanKind.CLIENT, attributes: { 'error.type': `${status}` }, isError: true },
      { kind: SpanKind.SERVER, attributes: { 'keytrail.codes': code }, isError: false },
    ]);
    expect(telemetry.spans()[1]?.attributes).not.toHaveProperty('error.type');
  });

  it.each([
    ['{ a: audit(first: 0) { totalCount } b: audit { totalCount } }', 'UPSTREAM_BAD_RESPONSE'],
    ['{ b: audit { totalCount } a: audit(first: 0) { totalCount } }', 'UPSTREAM_BAD_RESPONSE'],
  ])('has one error type, that of a failure, if there is a mistake too: %s', async (...of) => {
    const [query, type] = of;
    await using service = await startService({ body: '<p>' });
    const telemetry = createTelemetry();
    await using gateway = gatewayOver(service.url, telemetry.parts);
    const { errors } = await ask(gateway, query, {}, { token: 't' });
    const codes = errors?.map(({ extensions }) => extensions.code);
    expect(codes?.toSorted()).toEqual(['BAD_USER_INPUT', type]);
    expect(spansOf(telemetry).at(-1)).toMatchObject({
      attributes: { 'error.type': type, 'keytrail.codes': codes?.join() },
      isError: true,
    });
  });

  it('with a bug is an error', async () => {
    await using service = await startService({ body: { access_token: 'a', expires_in: 1 } });
    const telemetry = createTelemetry();
    const now = () => {
      throw new Error('broken');
    };
    await using gateway = gatewayOver(service.url, { ...telemetry.parts, now });
    await ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
    expect(spansOf(telemetry).at(-1)).toMatchObject({
      attributes: { 'error.type': 'INTERNAL_SERVER_ERROR' },
      isError: true,
    });
  });

  it('of a query whose client disconnects is no error, as in the log', async () => {
    const disconnect = new AbortController();
    await using service = await startService((_, response) => {
      disconnect.abort();
      response.destroy();
      return undefined;
    });
    const telemetry = createTelemetry();
    await using gateway = gatewayOver(service.url, telemetry.parts);
    await using server = await onPort(gateway);
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: '{"query": "{ audit { totalCount } }"}',
      signal: disconnect.signal,
    };
    await expect(fetch(`${server.url}/graphql`, init)).rejects.toThrow();
    await expect.poll(() => gateway.logged.length).toBe(1);
    expect(JSON.parse(gateway.logged[0] ?? '')).toMatchObject({ level: 30, aborted: true });
    expect(spansOf(telemetry).at(-1)).toMatchObject({ kind: SpanKind.SERVER, isError: false });
  });

  it('starts in the gateway if the client sends none, and continues in the service', async () => {
    await using service = await startService({ body: [] });
    const telemetry = createTelemetry();
    await using gateway = gatewayOver(service.url, telemetry.parts);
    await ask(gateway, AuditDocument, {}, { token: 't' });
    const [call, operation] = telemetry.spans();
    const { traceId, spanId } = call?.spanContext() ?? {};
    expect(operation?.parentSpanContext).toBeUndefined();
    expect(service.seen[0]?.headers['traceparent']).toBe(`00-${traceId}-${spanId}-01`);
  });

  it('that is not sampled is forwarded as not sampled', async () => {
    await using service = await startService({ body: [] });
    const telemetry = createTelemetry(new AlwaysOffSampler());
    await using gateway = gatewayOver(service.url, telemetry.parts);
    const headers = { traceparent: TRACEPARENT };
    await ask(gateway, AuditDocument, {}, { token: 't', headers });
    expect(telemetry.spans()).toEqual([]);
    expect(service.seen[0]?.headers['traceparent']).toMatch(`00-${TRACE_ID}-`);
    expect(service.seen[0]?.headers['traceparent']).toMatch(/-00$/);
  });

  it('has no span for health checks', async () => {
    const telemetry = createTelemetry();
    await using gateway = gatewayOver('http://127.0.0.1:1', telemetry.parts);
    await gateway.fetch('http://gateway.test/health/live');
    await gateway.fetch('http://gateway.test/elsewhere');
    expect(telemetry.spans()).toEqual([]);
  });
});

describe('a traceparent', () => {
  const hex = (length: number) =>
    fc
      .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
      .map((digits) => digits.join(''));
  const isZero = (digits: string) => /^0+$/.test(digits);

  it('that is well-formed is forwarded if nothing records spans, with the two flags that are defined', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await fc.assert(
      fc.asyncProperty(hex(32), hex(16), hex(2), async (traceId, spanId, flags) => {
        fc.pre(!isZero(traceId) && !isZero(spanId));
        const traceparent = `00-${traceId}-${spanId}-${flags}`;
        await ask(gateway, AuditDocument, {}, { token: 't', headers: { traceparent } });
        const defined = Number.parseInt(flags, 16) & 3;
        expect(service.seen.at(-1)?.headers['traceparent']).toBe(
          `00-${traceId}-${spanId}-0${defined}`,
        );
      }),
    );
  });

  it('of a later version is parsed by its first four fields', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    for (const traceparent of ['01', '01-more', '01-'].map(
      (end) => `cc${TRACEPARENT.slice(2, -2)}${end}`,
    )) {
      await ask(gateway, AuditDocument, {}, { token: 't', headers: { traceparent } });
      expect(service.seen.at(-1)?.headers['traceparent']).toBe(TRACEPARENT);
    }
  });

  it('that is malformed is not forwarded', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const anything = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef-') }),
      hex(16).map((spanId) => `00-${'0'.repeat(32)}-${spanId}-01`),
      hex(32).map((traceId) => `00-${traceId}-${'0'.repeat(16)}-01`),
      hex(32).map((traceId) => `ff-${traceId}-b7ad6b7169203331-01`),
      hex(32).map((traceId) => `00-${traceId}-b7ad6b7169203331-01-more`),
      hex(32).map((traceId) => `cc-${traceId}-b7ad6b7169203331-01more`),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (traceparent) => {
        await ask(gateway, AuditDocument, {}, { token: 't', headers: { traceparent } });
        expect(service.seen.at(-1)?.headers).not.toHaveProperty('traceparent');
      }),
    );
  });
});
