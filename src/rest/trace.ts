/** The headers by which a request is found again in the logs and traces of the service. */
export type Trace = Readonly<
  Partial<Record<'x-request-id' | 'traceparent' | 'tracestate', string>>
>;

/** W3C Trace Context, section 3.2.2. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** W3C Trace Context, section 3.3.1: what may stand in a list, and as much of it as must be passed on. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Takes the caller's trace, if it is well-formed, and gives the request its id. */
export function readTrace(headers: { get(name: string): string | null }, requestId: string): Trace {
  const traceparent = headers.get('traceparent') ?? '';
  const tracestate = headers.get('tracestate') ?? '';
  const isTraced = TRACEPARENT.test(traceparent);
  return {
    'x-request-id': requestId,
    ...(isTraced && { traceparent }),
    ...(isTraced && TRACESTATE.test(tracestate) && { tracestate }),
  };
}
