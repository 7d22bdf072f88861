import { setTimeout as sleep } from 'node:timers/promises';

/** A clock that only pauses move on. */
export function fakeTime() {
  const start = Date.parse('2026-01-01T10:00:00Z');
  const pauses: number[] = [];
  let ms = 0;
  return {
    pauses,
    passed: () => ms,
    timers: {
      now: () => new Date(start + ms),
      clock: () => ms,
      random: () => 0,
      pause: async (pauseMs: number) => {
        pauses.push(pauseMs);
        ms += pauseMs;
        await sleep(1);
      },
    },
  };
}
