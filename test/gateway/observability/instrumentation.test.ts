import { channel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { context, propagation, SpanKind, type TextMapPropagator, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { B3InjectEncoding, B3Propagator } from '@opentelemetry/propagator-b3';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { ask, gatewayOver, type TestGateway } from '../../helpers/gateway.ts';
import { type ReceivedRequest, startService } from '../../helpers/service.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const W3C = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];

/** Sets OpenTelemetry up for this process, as with --import, and removes it at the end. */
function startSdk(propagators: readonly TextMapPropagator[]) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new CompositePropagator({ propagators: [...propagators] }));
  const instrumentation = new UndiciInstrumentation();
  return {
    /** The spans as `scope name`. */
    spans: () =>
      exporter
        .getFinishedSpans()
        .map(({ instrumentationScope: { name: scope }, name }) => `${scope} ${name}`),
    /** The IDs of the spans of requests to the service. */
    clientSpans: () => exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT),
    [Symbol.dispose]: () => {
      instrumentation.disable();
      for (const api of [trace, context, propagation]) api.disable();
    },
  };
}

/** Starts a service, and a gateway whose tracer is that of the process. */
async function start(upstream = {}) {
  const service = await startService(({ method }) =>
    method === 'GET' ? { body: [] } : { body: { access_token: 'a' } },
  );
  const gateway = gatewayOver(service.url, { upstream, tracer: trace.getTracer('keytrail') });
  return {
    service,
    gateway,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Every value of a header. */
function valuesOf({ rawHeaders }: ReceivedRequest, name: string): readonly string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
}

const OPERATIONS: Readonly<
  Record<string, (gateway: TestGateway, headers?: Record<string, string>) => Promise<unknown>>
> = {
  login: (gateway, headers = {}) =>
    ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } }, { headers }),
  audit: (gateway, headers = {}) => ask(gateway, AuditDocument, {}, { token: 't', headers }),
  deleteApiKey: (gateway, headers = {}) =>
    ask(gateway, DeleteApiKeyDocument, { clientId: 'c' }, { token: 't', headers }),
};

describe("beside OpenTelemetry's instrumentation of undici", () => {
  it.each(Object.entries(OPERATIONS))(
    '%s has one traceparent, that of its only client span, each other header once, and no baggage',
    async (_, send) => {
      using sdk = startSdk(W3C);
      await using parts = await start();
      await send(parts.gateway, { traceparent: TRACEPARENT, tracestate: 'a=1', baggage: 'b=2' });
      const [span, ...more] = sdk.clientSpans();
      expect(more).toEqual([]);
      expect(sdk.spans().filter((name) => !name.startsWith('keytrail '))).toEqual([]);
      const [seen] = parts.service.seen;
      expect(seen?.rawHeaders.length).toBe(Object.keys(seen?.headers ?? {}).length * 2);
      expect(seen?.headers).toMatchObject({
        traceparent: `00-${TRACE_ID}-${span?.spanContext().spanId}-01`,
        tracestate: 'a=1',
      });
      expect(seen?.headers).not.toHaveProperty('baggage');
    },
  );

  it('baggage of a server span around the gateway goes to no service either', async () => {
    using _sdk = startSdk(W3C);
    await using parts = await start();
    const headers = { baggage: 'user=ann', traceparent: TRACEPARENT };
    // As an instrumentation of node:http does with the headers of any client.
    const around = propagation.extract(context.active(), headers);
    await context.with(around, () => OPERATIONS['audit']?.(parts.gateway, headers));
    const [seen] = parts.service.seen;
    expect(seen?.headers['traceparent']).toContain(TRACE_ID);
    expect(seen?.headers).not.toHaveProperty('baggage');
  });

  it('a request of the program itself is still traced', async () => {
    using sdk = startSdk(W3C);
    await using parts = await start();
    await OPERATIONS['audit']?.(parts.gateway);
    await (await fetch(parts.service.url)).text();
    await expect
      .poll(sdk.spans)
      .toEqual([
        'keytrail GET /api/v1/audit',
        'keytrail query audit',
        '@opentelemetry/instrumentation-undici GET',
      ]);
    const [own, ofProgram] = parts.service.seen.map((seen) => valuesOf(seen, 'traceparent'));
    expect([own?.length, ofProgram?.length]).toEqual([1, 1]);
  });

  it('requests that wait for a connection have one traceparent each', async () => {
    using sdk = startSdk(W3C);
    await using parts = await start({ connections: 1 });
    await Promise.all(
      Array.from({ length: 12 }, (_, caller) =>
        ask(parts.gateway, AuditDocument, {}, { token: `t${caller}` }),
      ),
    );
    const sent = parts.service.seen.map((seen) => valuesOf(seen, 'traceparent'));
    expect(sent.map((values) => values.length)).toEqual(Array(12).fill(1));
    const spanIds = sdk.clientSpans().map((span) => span.spanContext().spanId);
    expect(sent.flat().map((value) => value.split('-')[2])).toEqual(
      expect.arrayContaining(spanIds),
    );
    expect(spanIds).toHaveLength(12);
  });

  it('a connection keeps no token in its context', async () => {
    using _sdk = startSdk(W3C);
    await using parts = await start();
    const contexts: string[] = [];
    const responses = channel('undici:request:headers'); // published in the context of the socket
    const collect = () => void contexts.push(inspect(context.active(), { depth: 9 }));
    responses.subscribe(collect);
    try {
      await ask(parts.gateway, AuditDocument, {}, { token: 'c4n4ry' });
    } finally {
      responses.unsubscribe(collect);
    }
    expect(contexts).toEqual([expect.stringContaining('SUPPRESS_TRACING')]);
    expect(contexts.join()).not.toContain('c4n4ry');
  });

  it('headers survive an instrumentation that removes trace headers before it adds its own', async () => {
    using sdk = startSdk(W3C);
    const created = channel('undici:request:create');
    const remove = (message: unknown) => {
      const { headers }: { headers: string[] } = Object(message).request;
      for (const name of propagation.fields()) {
        const index = headers.indexOf(name);
        if (index >= 0) headers.splice(index, 2);
      }
    };
    created.subscribe(remove);
    try {
      await using parts = await start();
      await OPERATIONS['deleteApiKey']?.(parts.gateway, {
        tracestate: 'a=1',
        traceparent: TRACEPARENT,
      });
      const [span] = sdk.clientSpans();
      const { traceId, spanId } = span?.spanContext() ?? {};
      const [seen] = parts.service.seen;
      expect(seen?.rawHeaders.length).toBe(Object.keys(seen?.headers ?? {}).length * 2);
      expect(seen?.headers).toMatchObject({
        traceparent: `00-${traceId}-${spanId}-01`,
        tracestate: 'a=1',
        authorization: 'Bearer t',
      });
    } finally {
      created.unsubscribe(remove);
    }
  });
});

describe('the propagator of the process', () => {
  it.each([
    ['b3', B3InjectEncoding.SINGLE_HEADER],
    ['x-b3-traceid', B3InjectEncoding.MULTI_HEADER],
  ])('decides which headers are read and sent: %s', async (name, injectEncoding) => {
    using sdk = startSdk([new B3Propagator({ injectEncoding })]);
    await using parts = await start();
    const headers = { b3: `${TRACE_ID}-b7ad6b7169203331-1`, traceparent: TRACEPARENT };
    for (const send of Object.values(OPERATIONS)) await send(parts.gateway, headers);
    expect(parts.service.seen).toHaveLength(3);
    for (const [index, seen] of parts.service.seen.entries()) {
      const { traceId, spanId } = sdk.clientSpans()[index]?.spanContext() ?? {};
      expect(traceId).toBe(TRACE_ID);
      const [value = '', ...more] = valuesOf(seen, name);
      expect(more).toEqual([]);
      expect(value).toBe(name === 'b3' ? `${TRACE_ID}-${spanId}-1` : TRACE_ID);
      expect(seen.headers).not.toHaveProperty('traceparent');
    }
  });

  it('of W3C forwards the two flags that are defined, in two digits', async () => {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    try {
      await using parts = await start();
      const traceparent = TRACEPARENT.replace(/01$/, 'ff');
      await OPERATIONS['audit']?.(parts.gateway, { traceparent });
      expect(parts.service.seen[0]?.headers['traceparent']).toBe(TRACEPARENT.replace(/01$/, '03'));
    } finally {
      propagation.disable();
    }
  });
});
