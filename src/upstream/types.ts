import type { Path } from './path.ts';

/** A route of the service, without what stands in it. */
export type Route = 'login' | 'audit' | 'secrets';

/** The class of the status that came; `left` when the caller did; `none` when no answer came that could be taken, in time and whole. */
export type CallOutcome = '2xx' | '3xx' | '4xx' | '5xx' | 'left' | 'none';

/** `open`: calls are refused; `half-open`: a read is under way to see whether the service is back. */
export type CircuitState = 'closed' | 'open' | 'half-open';

/** Is told what happens on the way to the service, never a value that went there or came back. It must not throw. */
export type UpstreamObserver = {
  /** A try has ended: one for each request that was made, so two for a call that was retried. */
  onCall(route: Route, outcome: CallOutcome, seconds: number): void;
  /** A second try begins. */
  onRetry(route: Route): void;
  /** The circuit breaker changed; it begins closed. */
  onBreaker(state: CircuitState): void;
  /** A call was refused without asking the service. */
  onRejected(route: Route): void;
};

/** Tells the route from the shape of a path; null for a path that has none of these shapes, which is not observed. */
export function routeOf(path: Path): Route | null {
  return SHAPES.find(([shape]) => shape.test(path))?.[1] ?? null;
}

const SHAPES: readonly (readonly [RegExp, Route])[] = [
  [/^\/api\/v1\/auth\/login$/, 'login'],
  [/^\/api\/v1\/audit(?:\?|$)/, 'audit'],
  [/^\/api\/v1\/secrets\/[^/?]+$/, 'secrets'],
];

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

/** A response of the service with a 2xx status, decoded. */
export type UpstreamResponse = {
  readonly status: number;
  /** By lower-case name; a repeated header is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed JSON; a plain text as a string, where one is allowed; `undefined` for an empty body. */
  readonly body: unknown;
  /** Whether the body was truncated after the requested prefix, see `partial-body.ts`. */
  readonly isPartial?: boolean;
};
