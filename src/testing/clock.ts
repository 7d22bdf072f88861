import { setTimeout as sleep } from 'node:timers/promises';
import type { CallTimers } from '../api/gateway-options.ts';

/** A clock that a test can move. */
export type TestClock = {
  readonly now: () => Date;
  readonly timers: Required<CallTimers>;
  /** @throws RangeError for a negative number of milliseconds, or none. */
  readonly advance: (ms: number) => void;
};

/** Milliseconds between two polls of a subscription, so that a test need not wait for seconds. */
const POLL_MS = 20;

/** Creates a clock that runs as `now`, and is moved by `advance`, and by each wait before a retry. */
export function createClock(now: () => Date): TestClock {
  let offsetMs = 0;
  const time = () => now().getTime() + offsetMs;
  return {
    now: () => new Date(time()),
    timers: {
      clock: time,
      wait: async (ms) => {
        offsetMs += ms;
      },
      pause: (_, signal) => sleep(POLL_MS, undefined, { signal }),
    },
    advance: (ms) => {
      if (!(ms >= 0 && Number.isFinite(ms)))
        throw new RangeError('Advance the clock by a number of milliseconds, 0 or more.');
      offsetMs += ms;
    },
  };
}
