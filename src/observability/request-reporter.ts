import type { ExecutionResult } from 'graphql';
import { NO_TRACE } from '../upstream/types.ts';
import type { CompletedRequest, GatewayLog, GatewayObserver, RequestOutcome } from './observer.ts';
import type { OperationSpan, TracedRequest } from './tracing.ts';

/** What a gateway says of itself. None of it is a value of a caller or a text of the service. */
export type RequestReporter = {
  /** A request has come. */
  begin(request: BegunRequest): OngoingRequest;
  /** One line a request, of names out of the schema and the table of codes, numbers, and the id. */
  request(record: CompletedRequest): void;
  /** One more request is under way, or one less. */
  inFlight(change: 1 | -1): void;
  /** Which entries of the contract led to nothing in an answer. */
  drift(entries: readonly string[]): void;
  /** That Redis is lost, or back. */
  fallback(isFallback: boolean): void;
  /** Where a bug is. */
  bug(bug: unknown, requestId: string): void;
};

/** What a request is known by when it comes. */
type BegunRequest = TracedRequest & {
  /** Whether it asks for GraphQL. */
  readonly isAsked: boolean;
};

/** What is told of one request. */
export type OngoingRequest = Pick<OperationSpan, 'trace'> & {
  /** It was answered, with these errors, which are coded. */
  end(outcome: RequestOutcome, errors: ExecutionResult['errors']): void;
};

/** To whom is reported. */
export type ReporterOptions = {
  readonly log: GatewayLog;
  readonly observer?: Partial<GatewayObserver> | undefined;
  /** Begins the span of an operation. */
  readonly beginSpan: (request: TracedRequest) => OperationSpan;
  /** Milliseconds from anywhere, never going back. */
  readonly clock: () => number;
};

/** Reports to a log and to whoever counts. What the log throws is dropped: it must not take an answer along. */
export function createRequestReporter({
  log,
  observer = {},
  beginSpan,
  clock,
}: ReporterOptions): RequestReporter {
  const write = (level: keyof GatewayLog, record: object, message: string) => {
    try {
      const written: unknown = log[level](record, message);
      if (written instanceof Promise) written.catch(() => {});
    } catch {}
  };
  const drifted = new Map<string, number>(); // as many as the contract has entries
  const request = (record: CompletedRequest) => {
    observer.onRequest?.(record);
    write('info', record, 'request');
  };
  return {
    begin: ({ requestId, headers, isAsked }) => {
      const begun = clock();
      const span = isAsked ? beginSpan({ requestId, headers }) : UNTRACED;
      return {
        trace: span.trace,
        end: (outcome, errors = []) => {
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
    drift: (entries) => {
      observer.onDrift?.(entries);
      for (const entry of entries) drifted.set(entry, (drifted.get(entry) ?? 0) + 1);
      const answers = Object.fromEntries(entries.map((entry) => [entry, drifted.get(entry)]));
      write('warn', { answers }, 'entries of the contract lead to nothing');
    },
    fallback: (isFallback) => {
      observer.login?.onFallback?.(isFallback);
      if (isFallback)
        write('warn', {}, 'Redis does not answer: each replica counts logins by itself');
      else write('info', {}, 'Redis answers again: replicas share the count of logins');
    },
    bug: (bug, requestId) => write('error', { requestId, ...describeBug(bug) }, 'bug'),
  };
}

/** What went wrong, in words of ours and of Node's. */
function describeErrors(errors: NonNullable<ExecutionResult['errors']>) {
  const list = (words: readonly unknown[]) => [...new Set(words)].filter(Boolean).join();
  const codes = list(errors.map(({ extensions }) => extensions['code']));
  const reason = list(errors.map(({ extensions }) => extensions['reason']));
  const cause = list(errors.map(({ originalError }) => originalError?.cause));
  return { codes, ...(reason && { reason }), ...(cause && { cause }) };
}

/** Probes of health would hide the traces that somebody looks for. */
const UNTRACED: OperationSpan = { trace: NO_TRACE, end: () => {} };

/** Where a bug is, without its message: that may quote what was being worked on. */
function describeBug(bug: unknown): { readonly bug: string; readonly at: string } {
  if (!(bug instanceof Error)) return { bug: typeof bug, at: '' };
  const frames = bug.stack?.match(/^ {4}at .*$/gm) ?? [];
  return {
    bug: bug.name,
    at: frames
      .slice(0, 5)
      .map((frame) => frame.trim())
      .join(' < '),
  };
}
