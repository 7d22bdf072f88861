import type { Route } from './observer.ts';

/** The trace that a request belongs to. */
export type Trace = {
  /** A try begins, which is a part of it. */
  begin(call: TracedCall): CallTrace;
};

/** What a trace is told of a try before it is made. */
export type TracedCall = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** null for a path that no route is known for. */
  readonly route: Route | null;
  readonly isRetry: boolean;
};

/** One try in a trace. */
export type CallTrace = {
  /** By which it is found again in the logs and traces of the service. */
  readonly headers: TraceHeaders;
  /** It has ended: with a status, or without an answer that could be taken. */
  end(result: { readonly status?: number; readonly failure?: string }): void;
};

/** What the service is told of the request that a try is made for. */
export type TraceHeaders = Readonly<
  Partial<Record<'x-request-id' | 'traceparent' | 'tracestate', string>>
>;

/** Of calls that nobody asked for by a request. */
export const NO_TRACE: Trace = { begin: () => ({ headers: {}, end: () => {} }) };
