import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from '@opentelemetry/api';
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

/** Whether the process has a propagator, as an SDK sets one. Without, the API's own does nothing. */
function hasPropagator(): boolean {
  return propagation.fields().length > 0;
}

const GETTER: TextMapGetter<IncomingRequest['headers']> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: () => [], // only Jaeger's baggage has names that are not fixed
};

function extract(parent: Context, headers: IncomingRequest['headers']): Context {
  return hasPropagator()
    ? propagation.extract(parent, headers, GETTER)
    : extractTraceContext(parent, headers);
}

function toHeaders(requestId: string, own: Context): TraceHeaders {
  const headers = {};
  if (hasPropagator()) propagation.inject(own, headers);
  else injectTraceContext(own, headers);
  return { ...headers, 'x-request-id': requestId };
}

/** W3C Trace Context, section 3.2.2. Later versions may append fields, which are ignored (section 4.3). */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** W3C Trace Context, section 3.3.1: the characters of a list, and the length that must be forwarded. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

function extractTraceContext(parent: Context, headers: IncomingRequest['headers']): Context {
  const match = TRACEPARENT.exec(headers.get('traceparent') ?? '');
  if (match === null) return parent;
  const [, traceId = '', spanId = '', flags = ''] = match;
  const state = headers.get('tracestate') ?? '';
  return trace.setSpanContext(parent, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(TRACESTATE.test(state) && { traceState: createTraceState(state) }),
  });
}

function injectTraceContext(own: Context, headers: Record<string, string>): void {
  const spanContext = trace.getSpanContext(own);
  if (spanContext === undefined || !isSpanContextValid(spanContext)) return;
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  headers['traceparent'] = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const state = traceState?.serialize();
  if (state) headers['tracestate'] = state;
}
