/** The time and the randomness of a session. */
export type Timers = {
  /** The current time, in milliseconds since 1970. */
  now(): number;
  /** A number from 0 up to, not including, 1: jitter between the attempts to reconnect. */
  random(): number;
  /** Waits for milliseconds, or until the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
};

/** Those of the platform. */
export const TIMERS: Timers = {
  now: Date.now,
  random: Math.random,
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    }),
};

/** A longer timer of the platform ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
