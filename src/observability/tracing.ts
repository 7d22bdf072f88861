import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { CallTrace, Route, Trace, TracedCall, TraceHeaders } from '../upstream/types.ts';
import type { CompletedRequest } from './observer.ts';

/** The span of one operation. */
export type OperationSpan = {
  /** What calls to the service are part of. */
  readonly trace: Trace;
  /** The operation was answered. */
  end(record: CompletedRequest): void;
};

/** What a request says of itself before it is looked at. */
export type TracedRequest = {
  readonly requestId: string;
  readonly headers: { get(name: string): string | null };
};

/** How the attributes of a span name a route: OpenTelemetry's `url.template`. */
const TEMPLATES: Readonly<Record<Route, string>> = {
  login: '/api/v1/auth/login',
  audit: '/api/v1/audit',
  secrets: '/api/v1/secrets/{client_id}',
};

/**
 * Makes the spans of operations, each in the trace of its caller (W3C Trace Context) or of what is active around it.
 * Their attributes are what the log has, and names of routes: never a value of a caller or a text of the service.
 * Without an SDK nothing is recorded, and the caller's trace is passed on.
 */
export function createTracing(
  tracer: Tracer,
  upstream: URL,
): (request: TracedRequest) => OperationSpan {
  const server: Attributes = {
    'server.address': upstream.hostname,
    'server.port': Number(upstream.port || (upstream.protocol === 'https:' ? 443 : 80)),
  };

  const beginCall = (
    requestId: string,
    { method, route, isRetry }: TracedCall,
    parent: Context,
  ) => {
    const template = route === null ? {} : { 'url.template': TEMPLATES[route] };
    const attributes: Attributes = {
      ...server,
      ...template,
      'http.request.method': method,
      ...(isRetry && { 'http.request.resend_count': 1 }),
    };
    const name = [method, ...Object.values(template)].join(' ');
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
    const end: CallTrace['end'] = ({ status, failure }) => {
      if (status !== undefined) span.setAttribute('http.response.status_code', status);
      fail(span, failure ?? (status !== undefined && status >= 400 ? String(status) : undefined));
      span.end();
    };
    return { headers: { 'x-request-id': requestId, ...toHeaders(span.spanContext()) }, end };
  };

  return ({ requestId, headers }) => {
    const around = context.active();
    const parent = trace.getSpanContext(around) === undefined ? readParent(headers) : around;
    const span = tracer.startSpan('graphql', { kind: SpanKind.SERVER }, parent);
    if (!span.isRecording())
      return passOn({ 'x-request-id': requestId, ...toHeaders(span.spanContext()) });
    const inside = trace.setSpan(parent, span);
    return {
      trace: { begin: (call) => beginCall(requestId, call, inside) },
      end: ({ operation, fields, codes, status }) => {
        span.setAttributes({
          'keytrail.request_id': requestId,
          'http.response.status_code': status,
          ...(operation !== undefined && { 'graphql.operation.type': operation }),
          ...(fields !== undefined && { 'keytrail.fields': fields }),
        });
        if (operation !== undefined) span.updateName(`${operation} ${fields ?? ''}`.trimEnd());
        fail(span, codes);
        span.end();
      },
    };
  };
}

/** Of what nobody records the service is told all the same. */
function passOn(headers: TraceHeaders): OperationSpan {
  return { trace: { begin: () => ({ headers, end: () => {} }) }, end: () => {} };
}

/** `error.type` is OpenTelemetry's name for a code or a status. */
function fail(span: Span, type: string | undefined): void {
  if (type === undefined) return;
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** W3C Trace Context, section 3.2.2; of later versions, which may be longer, what this one has (section 4.3). */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** W3C Trace Context, section 3.3.1: what may stand in a list, and as much of it as must be passed on. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

function readParent(headers: TracedRequest['headers']): Context {
  const match = TRACEPARENT.exec(headers.get('traceparent') ?? '');
  if (match === null) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = match;
  const state = headers.get('tracestate') ?? '';
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(TRACESTATE.test(state) && { traceState: createTraceState(state) }),
  });
}

function toHeaders(span: SpanContext): TraceHeaders {
  if (!isSpanContextValid(span)) return {};
  const flags = span.traceFlags.toString(16).padStart(2, '0');
  const tracestate = span.traceState?.serialize() ?? '';
  return {
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(tracestate !== '' && { tracestate }),
  };
}
