/** How late the event loop is. */
export type EventLoop = Disposable & {
  /** By how many milliseconds the last look at the clock came late, or the next one is late already. */
  lagMs(): number;
};

const LOOK_MS = 100;

/** Looks at the clock ten times a second, and keeps no process running. `clock` counts milliseconds from anywhere. */
export function watchEventLoop(clock: () => number): EventLoop {
  let lookedAt = clock();
  let late = 0;
  const timer = setInterval(() => {
    const now = clock();
    late = now - lookedAt - LOOK_MS;
    lookedAt = now;
  }, LOOK_MS);
  timer.unref();
  return {
    lagMs: () => Math.max(late, clock() - lookedAt - LOOK_MS, 0),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
