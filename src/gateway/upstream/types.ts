import type { ErrorCode } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { EncodedPath, Path } from './path.ts';

/** Names of the service's routes: labels of metrics and spans. */
export const ROUTES = ['login', 'audit', 'secrets'] as const;

/** A route of the service, without parameters. */
export type Route = (typeof ROUTES)[number];

/** One HTTP request to the service, reported when it has completed. A call that is retried makes two. */
export type Attempt = {
  readonly route: Route;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With values of the client: for no log, metric or span of a server. */
  readonly path: EncodedPath;
  readonly isRetry: boolean;
  /** Duration, including the wait for a connection. */
  readonly seconds: number;
  /**
   * The class of the response's status; `left`: the client disconnected first; `none`: no usable response, because the
   * connection or the deadline failed, or because the response is malformed, truncated or too large.
   */
  readonly outcome: '2xx' | '3xx' | '4xx' | '5xx' | 'left' | 'none';
  /** The response's HTTP status, if a response was accepted. */
  readonly status?: number;
  /** Why no response was accepted. */
  readonly code?: ErrorCode;
  /** Node's code of what failed, such as ECONNREFUSED. */
  readonly cause?: string | undefined;
  /** The `location` of a redirect. For no log, metric or span of a server either. */
  readonly location?: string;
  /** Length of the body that was read; 0 for a partial one, or one that was not needed. */
  readonly bytes: number;
  /** Whether the service may have received the request. */
  readonly isSent: boolean;
};

/** `open`: calls are rejected; `half-open`: one trial request checks whether the service has recovered. */
export type CircuitState = 'closed' | 'open' | 'half-open';

/** The circuit breakers: that of reads and deletions rejects logins as well, that of logins nothing else. */
export type Circuit = 'reads' | 'logins';

/** Receives events about calls to the service, without any value sent or received. It must not throw. */
export type UpstreamObserver = {
  /** An attempt has completed. */
  onAttempt(attempt: Attempt): void;
  /** A circuit breaker changed its state; it starts closed. */
  onCircuitState(state: CircuitState, circuit: Circuit): void;
  /** A call was rejected before it was sent: a circuit breaker is open, or too many calls are in progress. */
  onRejected(route: Route): void;
};

/** The trace of one GraphQL request, in which every attempt is a span. */
export type Trace = {
  /** Begins a call, which may have no attempt, one or two. */
  beginCall(method: Attempt['method'], path: Path): CallTrace;
};

/** Starts the span of an attempt. Its headers identify it to the service. */
export type CallTrace = (isRetry: boolean) => {
  readonly headers: TraceHeaders;
  end(attempt: Attempt): void;
};

/** Headers that link a request to its trace and to the gateway's log: `x-request-id`, `traceparent` or others. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** For calls outside a GraphQL request: sends no headers and records nothing. */
export const NO_TRACE: Trace = { beginCall: () => () => ({ headers: {}, end: () => {} }) };

/**
 * Reads a response. It throws if the body says that the request failed, or is not what was requested. Otherwise the
 * service has accepted the request, and its token.
 */
export type Read<T> = (response: UpstreamResponse) => T;
