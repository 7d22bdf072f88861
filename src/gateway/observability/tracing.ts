import {
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Attempt, Trace, TraceHeaders } from '../upstream/types.ts';
import { failureOf } from './failure.ts';
import type { CompletedRequest } from './observer.ts';

/** The span of one operation. */
export type OperationSpan = {
  /** Starts the child spans: one per attempt of a call to the service. */
  readonly trace: Trace;
  end(request: CompletedRequest): void;
};

/** A request that has arrived. */
export type IncomingRequest = {
  readonly requestId: string;
  readonly headers: { get(name: string): string | null };
};

/**
 * Creates a function that starts the span of an operation: a child of the active span, or of the one that the request's
 * headers name. The process's propagator reads and writes headers, but no baggage; without one, W3C Trace Context. Attributes contain
 * what the log contains and names of routes, never a value of a client or a text of the service. Without an SDK nothing
 * is recorded, and the request's trace headers are forwarded.
 */
export function createTracing(
  tracer: Tracer,
  upstream: URL,
): (request: IncomingRequest) => OperationSpan {
  const server = {
    'server.address': upstream.hostname,
    'server.port': Number(upstream.port || (upstream.protocol === 'https:' ? 443 : 80)),
  };

  const traceIn = (parent: Context, requestId: string): Trace => ({
    beginCall:
      (method, { template }) =>
      (isRetry) => {
        const attributes = {
          ...server,
          'url.template': template,
          'http.request.method': method,
          ...(isRetry && { 'http.request.resend_count': 1 }),
        };
        const options = { kind: SpanKind.CLIENT, attributes };
        const span = tracer.startSpan(`${method} ${template}`, options, parent);
        return {
          headers: toHeaders(requestId, trace.setSpan(parent, span)),
          end: ({ status, code }: Attempt) => {
            if (status !== undefined) span.setAttribute('http.response.status_code', status);
            const errorStatus = status !== undefined && status >= 400 ? String(status) : undefined;
            setError(span, code ?? errorStatus);
            span.end();
          },
        };
      },
  });

  return ({ requestId, headers }) => {
    const active = context.active();
    // Any client writes baggage: the service gets none, and no span has it.
    const parent = propagation.deleteBaggage(
      trace.getSpanContext(active) ? active : extract(active, headers),
    );
    const span = tracer.startSpan('graphql', { kind: SpanKind.SERVER }, parent);
    const own = trace.setSpan(parent, span);
    if (!span.isRecording()) {
      const unrecorded = { headers: toHeaders(requestId, own), end: () => {} };
      return { trace: { beginCall: () => () => unrecorded }, end: () => {} };
    }
    return {
      trace: traceIn(own, requestId),
      end: (request) => {
        const { operation, fields, codes, status, payloads, ended } = request;
        span.setAttributes({
          'keytrail.request_id': requestId,
          'http.response.status_code': status,
          ...(operation !== undefined && { 'graphql.operation.type': operation }),
          ...(fields !== undefined && { 'keytrail.fields': fields }),
          ...(codes !== undefined && { 'keytrail.codes': codes }),
          ...(payloads !== undefined && { 'keytrail.payloads': payloads }),
          ...(ended !== undefined && { 'keytrail.ended': ended }),
        });
        if (operation !== undefined) span.updateName(`${operation} ${fields ?? ''}`.trimEnd());
        // A mistake of the caller is no error of a server's span, as a 4xx is none (OpenTelemetry's conventions for HTTP spans).
        setError(span, failureOf(request));
        span.end();
      },
    };
  };
}

/** Marks a span as failed. `type` is a code or a status: OpenTelemetry's `error.type`. */
function setError(span: Span, type: string | undefined): void {
  if (type === undefined) return;
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** For a process without an SDK. */
const W3C = new W3CTraceContextPropagator();

/** The process's propagator, as an SDK sets one: the API's own has no fields, and does nothing. */
function propagator(): Pick<TextMapPropagator, 'extract' | 'inject'> {
  return propagation.fields().length > 0 ? propagation : W3C;
}

const GETTER: TextMapGetter<IncomingRequest['headers']> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: () => [], // only Jaeger's baggage has names that are not fixed
};

const SETTER: TextMapSetter<Record<string, string>> = {
  set: (headers, name, value) => {
    if (value !== '') headers[name] = value; // a tracestate without a valid member
  },
};

function extract(parent: Context, headers: IncomingRequest['headers']): Context {
  const extracted = propagator().extract(parent, headers, GETTER);
  const spanContext = trace.getSpanContext(extracted);
  if (spanContext === undefined) return extracted;
  // Two flags are defined; the others must be 0 (W3C Trace Context 2, section 3.2.2.5.3). Above 15, inject writes three digits.
  const traceFlags = spanContext.traceFlags & 3;
  return trace.setSpanContext(extracted, { ...spanContext, traceFlags });
}

function toHeaders(requestId: string, own: Context): TraceHeaders {
  const headers = {};
  propagator().inject(own, headers, SETTER);
  return { ...headers, 'x-request-id': requestId };
}
