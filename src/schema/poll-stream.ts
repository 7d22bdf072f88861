import { addAbortListener } from 'node:events';
import { GatewayError } from '../errors.ts';

/** The time of streams. */
export type StreamTimers = {
  /** Monotonic time in milliseconds. */
  readonly clock: () => number;
  /** Waits for milliseconds. It rejects, or resolves early, if the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
};

/** What one poll found. */
export type Polled<Payload> = {
  /** One or none, usually. */
  readonly payloads: readonly Payload[];
  /** Whether there is more to find now. */
  readonly isBehind: boolean;
};

/** An item of a stream. An error is an item: one that the iterator throws would break the connection instead of being sent. */
export type StreamItem<Payload> = { readonly payload: Payload } | { readonly error: unknown };

/** How to poll. */
export type PollStreamOptions<Payload> = {
  readonly poll: (signal: AbortSignal) => Promise<Polled<Payload>>;
  /** Milliseconds between a poll and the next one. */
  readonly everyMs: number;
  readonly timers: StreamTimers;
  /** Each of them ends the stream: of the client's connection, and of the gateway's shutdown. */
  readonly signals: readonly AbortSignal[];
  /** Called once when the stream has ended. */
  readonly onEnd: () => void;
};

/** The longest pause after a failed poll, in milliseconds. */
const MAX_PAUSE_MS = 60_000;

/** A stream fails after this time without a successful poll, in milliseconds. */
const MAX_OUTAGE_MS = 300_000;

/**
 * Creates a stream of what polls find. It polls when an item is requested and the last one was taken: nothing queues up.
 * After a failure that may pass, it goes on. After any other the error is the last item. Not an async generator: its
 * `return()` would wait for the pause.
 */
export function createPollStream<Payload>({
  poll,
  everyMs,
  timers: { clock, pause },
  signals,
  onEnd,
}: PollStreamOptions<Payload>): AsyncIterableIterator<StreamItem<Payload>> {
  const stop = new AbortController();
  const { signal } = stop;
  const items: StreamItem<Payload>[] = [];
  let pauseMs = 0;
  let succeededAt = clock();
  let isFailed = false;
  const listeners = new DisposableStack();
  const end = () => {
    if (signal.aborted) return;
    stop.abort();
    listeners.dispose();
    onEnd();
  };
  for (const each of signals) listeners.use(addAbortListener(each, end));

  const pollOnce = async () => {
    if (pauseMs > 0) await pause(pauseMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const { payloads, isBehind } = await poll(signal);
      items.push(...payloads.map((payload) => ({ payload })));
      pauseMs = isBehind ? 0 : everyMs;
      succeededAt = clock();
    } catch (error) {
      const delayMs = retryDelay(error, everyMs);
      isFailed = delayMs === null || clock() - succeededAt >= MAX_OUTAGE_MS;
      pauseMs = delayMs ?? 0;
      if (isFailed) items.push({ error });
    }
  };
  const done = { done: true, value: undefined } as const;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      while (items.length === 0 && !isFailed && !signal.aborted) await pollOnce();
      const value = signal.aborted ? undefined : items.shift();
      if (value !== undefined) return { done: false, value };
      end();
      return done;
    },
    return: async () => {
      end();
      return done;
    },
  };
}

/** Milliseconds to wait after a failed poll; null if it would fail again. */
function retryDelay(error: unknown, everyMs: number): number | null {
  if (!(error instanceof GatewayError)) return null;
  const { retryable, retryAfterSeconds, upstream } = error.extensions;
  if (!retryable && !(upstream !== undefined && upstream.status >= 500)) return null;
  const delayMs = retryAfterSeconds === undefined ? 2 * everyMs : 1000 * retryAfterSeconds;
  return Math.min(Math.max(delayMs, 1000), MAX_PAUSE_MS);
}
