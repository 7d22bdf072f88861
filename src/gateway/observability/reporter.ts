import { type Circuit, type CircuitState, NO_TRACE } from '../upstream/types.ts';
import { failureOf } from './failure.ts';
import type { CompletedRequest, GatewayLog, GatewayObserver, RequestOutcome } from './observer.ts';
import type { IncomingRequest, OperationSpan } from './tracing.ts';

/** Reports the events of a gateway to its log, observer and traces, without any value of a client or text of the service. */
export type Reporter = {
  /** A request arrived. Starts its span, if it is a GraphQL request. */
  begin(request: IncomingRequest & { readonly isGraphql: boolean }): OngoingRequest;
  /** Reports a completed request that was not begun, such as a rejected one: one log record per request. */
  request(record: CompletedRequest): void;
  /** A request started (1) or completed (-1). */
  inFlight(change: 1 | -1): void;
  /** Entries of the contract led to nothing in a response, or to values none of which was understood. */
  drift(entries: Readonly<Record<'nothing' | 'unread', readonly string[]>>): void;
  /** The login rate limit lost Redis (true), or has it back (false). */
  fallback(isFallback: boolean): void;
  /** A circuit breaker changed its state. Logged at the start and the end of an outage only. */
  circuit(state: CircuitState, circuit: Circuit): void;
  /** An unexpected error occurred. */
  bug(bug: unknown, requestId: string): void;
};

/** A request in progress. */
export type OngoingRequest = Pick<OperationSpan, 'trace'> & {
  /** Reports that a subscription has started. */
  start(operation: Omit<RequestOutcome, 'status'>): void;
  /** Reports a payload of a subscription. */
  payload(): void;
  /** Reports that the request has completed, with its errors if it has any. */
  end(outcome: RequestOutcome, errors: readonly ReportedError[] | undefined): void;
};

/** An error of a response: a GatewayError, or a GraphQLError caused by one. */
export type ReportedError = {
  readonly extensions: Readonly<Record<string, unknown>>;
  readonly originalError?: Error | undefined;
};

/** Where events are reported. */
export type ReporterOptions = {
  readonly log: GatewayLog;
  readonly observer?: Partial<GatewayObserver> | undefined;
  /** Starts the span of an operation. */
  readonly beginSpan: (request: IncomingRequest) => OperationSpan;
  /** Monotonic time in milliseconds. */
  readonly clock: () => number;
};

/** Creates a reporter. Errors of the log are ignored: they must not fail a request. */
export function createReporter(options: ReporterOptions): Reporter {
  const { log, observer = {}, beginSpan, clock } = options;
  const write = (level: keyof GatewayLog, record: object, message: string) => {
    try {
      const written: unknown = log[level](record, message);
      if (written instanceof Promise) written.catch(() => {});
    } catch {}
  };
  const driftCounts = new Map<string, number>(); // at most one per entry of the contract
  const outages = new Set<Circuit>();
  const request = (record: CompletedRequest) => {
    observer.onRequest?.(record);
    write(failureOf(record) === undefined ? 'info' : 'warn', record, 'request');
  };
  return {
    begin: ({ requestId, headers, isGraphql }) => {
      const begun = clock();
      const span = isGraphql ? beginSpan({ requestId, headers }) : NO_SPAN;
      return {
        trace: span.trace,
        start: (operation) => {
          observer.onSubscription?.(1);
          write('info', { requestId, ...operation }, 'subscription started');
        },
        payload: () => observer.onPayload?.(),
        end: (outcome, errors = []) => {
          if (outcome.ended !== undefined) observer.onSubscription?.(-1);
          const coded = errors.length === 0 ? outcome : { ...outcome, ...describeErrors(errors) };
          const durationMs = Math.round((clock() - begun) * 10) / 10;
          const record = { requestId, ...coded, durationMs };
          span.end(record);
          request(record);
        },
      };
    },
    request,
    inFlight: (change) => observer.onInFlight?.(change),
    drift: (drift) => {
      for (const [kind, message] of DRIFT) {
        const entries = drift[kind];
        if (entries.length === 0) continue;
        observer.onDrift?.(entries);
        for (const entry of entries) driftCounts.set(entry, (driftCounts.get(entry) ?? 0) + 1);
        const counts = entries.map((entry) => [entry, driftCounts.get(entry)]);
        write('warn', { responses: Object.fromEntries(counts) }, message);
      }
    },
    fallback: (isFallback) => {
      observer.login?.onFallback?.(isFallback);
      if (isFallback)
        write('warn', {}, 'Redis does not respond: each replica counts its own logins');
      else write('info', {}, 'Redis responds again: replicas share the login count');
    },
    circuit: (state, circuit) => {
      observer.upstream?.onCircuitState?.(state, circuit);
      // In an outage `half-open` and `open` alternate every few seconds, until `closed`.
      if (state === 'closed') write('info', {}, CIRCUIT_CLOSED[circuit]);
      else if (!outages.has(circuit)) write('warn', {}, CIRCUIT_OPEN[circuit]);
      if (state === 'closed') outages.delete(circuit);
      else outages.add(circuit);
    },
    bug: (bug, requestId) => write('error', { requestId, ...describeBug(bug) }, 'bug'),
  };
}

const DRIFT = [
  ['nothing', 'contract entries matched nothing in a response'],
  ['unread', 'contract entries lead to values, none of which is understood, in a response'],
] as const;

const CIRCUIT_OPEN: Readonly<Record<Circuit, string>> = {
  reads: 'circuit breaker open: calls are rejected for a few seconds; check the service',
  logins: 'circuit breaker of logins open: they are rejected for a few seconds; check the service',
};
const CIRCUIT_CLOSED: Readonly<Record<Circuit, string>> = {
  reads: 'circuit breaker closed: the service responds again',
  logins: 'circuit breaker of logins closed: the service accepts them again',
};

function describeErrors(errors: readonly ReportedError[]) {
  const list = (words: readonly unknown[]) => [...new Set(words)].filter(Boolean).join();
  const codes = list(errors.map(({ extensions }) => extensions['code']));
  const reason = list(errors.map(({ extensions }) => extensions['reason']));
  const cause = list(errors.map(({ originalError }) => originalError?.cause));
  return { codes, ...(reason && { reason }), ...(cause && { cause }) };
}

/** For health checks, which would outnumber the traces of operations. */
const NO_SPAN: OperationSpan = { trace: NO_TRACE, end: () => {} };

/** The class and stack frames of an unexpected error. Not its message, which may quote a value. */
function describeBug(bug: unknown): Readonly<Record<'bug' | 'at', string>> {
  if (!(bug instanceof Error)) return { bug: typeof bug, at: '' };
  const frames = (bug.stack?.match(/^ {4}at .*$/gm) ?? []).slice(0, 5);
  return { bug: bug.name, at: frames.map((frame) => frame.trim()).join(' < ') };
}
