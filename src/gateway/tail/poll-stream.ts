import { addAbortListener } from 'node:events';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { GatewayError } from '../../errors.ts';
import type { OpenStream } from './streams.ts';

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
  /** Releases what a poll has read. Called when its payloads were taken, at once if it has none, and at the end. */
  readonly release: () => void;
  /** Milliseconds between a poll and the next one. */
  readonly everyMs: number;
  /** Whether the stream ends at its first failed poll, whatever the failure is. */
  readonly failsFast: boolean;
  /** It is disposed of when it has ended. */
  readonly stream: Omit<ReturnType<OpenStream>, 'maxPayloadLength'>;
};

/** The longest pause after a failed poll, unless that between two polls is longer; in milliseconds. */
const MAX_PAUSE_MS = 60_000;

/** A stream ends after this time, in milliseconds: its client may have vanished without a sign, and any other resumes. */
const MAX_STREAM_MS = 3_600_000;

/** A stream fails after this number of failed polls if none has succeeded: nothing shows that its token is valid. */
const MAX_FIRST_FAILURES = 3;

/** A stream fails after this time without a successful poll, in milliseconds. */
const MAX_OUTAGE_MS = 300_000;

/**
 * Creates a stream of what polls find. It polls when an item is requested and the last one was taken: nothing queues up.
 * After a failure that may pass, it goes on. After any other the error is the last item. Not an async generator: its
 * `return()` would wait for the pause.
 */
export function createPollStream<Payload>({
  poll,
  release,
  everyMs,
  failsFast,
  stream,
}: PollStreamOptions<Payload>): AsyncIterableIterator<StreamItem<Payload>> {
  const { clock, pause } = stream.timers;
  const stop = new AbortController();
  const { signal } = stop;
  const items: StreamItem<Payload>[] = [];
  const endsAt = clock() + MAX_STREAM_MS;
  let pauseMs = 0;
  let succeededAt = clock();
  let firstFailures = 0; // without a success
  let hasSucceeded = false;
  let isFailed = false;
  const end = () => {
    if (signal.aborted) return;
    stop.abort();
    for (const listener of listeners) listener[Symbol.dispose]();
    release();
    stream[Symbol.dispose]();
  };
  const listeners = stream.signals.map((each) => addAbortListener(each, end));

  const pollOnce = async () => {
    const leftMs = Math.max(0, endsAt - clock());
    if (pauseMs > 0) await pause(Math.min(pauseMs, leftMs), signal).catch(() => {});
    if (!signal.aborted && clock() >= endsAt) {
      stream.expire();
      end();
    }
    if (signal.aborted) return;
    try {
      const { payloads, isBehind } = await poll(signal);
      items.push(...payloads.map((payload) => ({ payload })));
      pauseMs = isBehind ? 0 : everyMs;
      succeededAt = clock();
      hasSucceeded = true;
    } catch (error) {
      const delayMs = retryDelay(error, everyMs);
      if (!hasSucceeded) firstFailures += 1;
      const isOver = clock() - succeededAt >= MAX_OUTAGE_MS || firstFailures >= MAX_FIRST_FAILURES;
      isFailed = delayMs === null || isOver || failsFast;
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
      // Executing a payload takes up to 50 ms, and one poll may have hundreds.
      if (items.length > 0) await nextIteration();
      else release();
      while (items.length === 0 && !isFailed && !signal.aborted) {
        await pollOnce();
        if (items.length === 0) release();
      }
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

/** Milliseconds to wait after a failed poll, at least `everyMs`; null if it would fail again. */
function retryDelay(error: unknown, everyMs: number): number | null {
  if (!(error instanceof GatewayError)) return null;
  const { retryable, retryAfterSeconds, upstream } = error.extensions;
  if (!retryable && !(upstream !== undefined && upstream.status >= 500)) return null;
  const delayMs = retryAfterSeconds === undefined ? 2 * everyMs : 1000 * retryAfterSeconds;
  return Math.max(everyMs, Math.min(delayMs, MAX_PAUSE_MS));
}
