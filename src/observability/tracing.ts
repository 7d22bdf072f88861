import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Attempt, Trace, TraceHeaders } from '../upstream/types.ts';
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
 * Creates a function that starts the span of an operation: a child of the active span, or of the request's
 * `traceparent` (W3C Trace Context). Attributes contain what the log contains and names of routes, never a value of
 * a client or a text of the service. Without an SDK nothing is recorded, and the request's trace headers are forwarded.
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
          headers: toHeaders(requestId, span),
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
    const parent = trace.getSpanContext(active) === undefined ? readParent(headers) : active;
    const span = tracer.startSpan('graphql', { kind: SpanKind.SERVER }, parent);
    if (!span.isRecording()) {
      const unrecorded = { headers: toHeaders(requestId, span), end: () => {} };
      return { trace: { beginCall: () => () => unrecorded }, end: () => {} };
    }
    return {
      trace: traceIn(trace.setSpan(parent, span), requestId),
      end: ({ operation, fields, codes, status, payloads, ended }) => {
        span.setAttributes({
          'keytrail.request_id': requestId,
          'http.response.status_code': status,
          ...(operation !== undefined && { 'graphql.operation.type': operation }),
          ...(fields !== undefined && { 'keytrail.fields': fields }),
          ...(payloads !== undefined && { 'keytrail.payloads': payloads }),
          ...(ended !== undefined && { 'keytrail.ended': ended }),
        });
        if (operation !== undefined) span.updateName(`${operation} ${fields ?? ''}`.trimEnd());
        setError(span, codes);
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

/** W3C Trace Context, section 3.2.2. Later versions may append fields, which are ignored (section 4.3). */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** W3C Trace Context, section 3.3.1: the characters of a list, and the length that must be forwarded. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

function readParent(headers: IncomingRequest['headers']): Context {
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

function toHeaders(requestId: string, span: Span): TraceHeaders {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const id = { 'x-request-id': requestId };
  if (!isSpanContextValid(span.spanContext())) return id;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return { ...id, traceparent, ...(tracestate && { tracestate }) };
}
