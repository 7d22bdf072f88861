import type { GatewayLog } from './gateway-types.ts';
import type { AnsweredRequest, GatewayObserver } from './observer.ts';

/** What a gateway says of itself. None of it is a value of a caller or a text of the service. */
export type Reports = {
  /** One line a request, of names out of the schema and the table of codes, numbers, and the id. */
  request(record: AnsweredRequest): void;
  /** One more request is under way, or one less. */
  inFlight(change: 1 | -1): void;
  /** Which entries of the contract led to nothing in an answer. */
  drift(entries: readonly string[]): void;
  /** That Redis is lost, or back. */
  fallback(isFallback: boolean): void;
  /** Where a bug is. */
  bug(bug: unknown, requestId: string): void;
};

/** Reports to a log and to whoever counts. What the log throws is dropped: it must not take an answer along. */
export function createReports(log: GatewayLog, observer: Partial<GatewayObserver> = {}): Reports {
  const write = (level: keyof GatewayLog, record: object, message: string) =>
    void new Promise((resolve) => resolve(log[level](record, message))).catch(() => {});
  const drifted = new Map<string, number>(); // as many as the contract has entries
  return {
    request: (record) => {
      observer.onRequest?.(record);
      write('info', record, 'request');
    },
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
