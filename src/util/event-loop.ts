import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { createCallerQueue } from './caller-queue.ts';
import type { Caller } from './fair-share.ts';

/** Does work when it is the caller's turn. */
export type Turns = <Result>(caller: Caller, work: () => Promise<Result>) => Promise<Result>;

/** How many times as long as a turn the pause after it is: before the same caller's next turn, and before another's. */
const [OWN_PAUSE, OTHER_PAUSE] = [3, 1];
const MAX_PAUSE_MS = 500;

/**
 * Creates turns for large pieces of work: one at a time, and the callers one after the other, whatever number of them one
 * caller has. After a turn is a pause if others have requests in progress. Without it, large responses of one or twelve
 * callers cut the throughput of others to a quarter: each step of their requests waits for a step of the turn.
 * @param clock monotonic time in milliseconds.
 * @param hasOthers whether callers other than this one have requests in progress.
 */
export function createTurns(clock: () => number, hasOthers: (caller: Caller) => boolean): Turns {
  const waiting = createCallerQueue<Turn>();
  let isRunning = false;
  let last: Caller | undefined;
  let [endedAt, lastMs] = [0, 0]; // of the last turn
  const run = async () => {
    isRunning = true;
    for (let turn = waiting.take(); turn !== undefined; turn = waiting.take()) {
      const factor = turn.caller === last ? OWN_PAUSE : OTHER_PAUSE;
      const pauseMs = endedAt + Math.min(factor * lastMs, MAX_PAUSE_MS) - clock();
      if (pauseMs > 0 && hasOthers(turn.caller)) await sleep(pauseMs, undefined, { ref: false });
      await nextIteration();
      const begun = clock();
      await turn.work();
      await nextIteration(); // its result is used
      endedAt = clock();
      lastMs = endedAt - begun;
      last = turn.caller;
    }
    isRunning = false;
  };
  return (caller, work) =>
    new Promise((resolve, reject) => {
      waiting.add(caller, { caller, work: () => work().then(resolve, reject) });
      if (!isRunning) void run();
    });
}

type Turn = {
  readonly caller: Caller;
  readonly work: () => Promise<unknown>;
};

/** Records that are read in one turn: 2,000 times with a time zone take 25 ms. */
export const TURN_SIZE = 2000;

/**
 * Calls `visit` with pieces of a range, one after the other, until one returns false. After each piece but the last, other
 * work of the event loop comes first. A range of one piece is visited at once.
 */
export async function visitInTurns(
  from: number,
  to: number,
  visit: (from: number, to: number) => boolean,
): Promise<void> {
  for (let start = from; start < to; start += TURN_SIZE) {
    const end = Math.min(to, start + TURN_SIZE);
    if (!visit(start, end) || end === to) return;
    await nextIteration();
  }
}

/**
 * Creates a function that resumes all waiting requests together, once per event-loop iteration. Kept for speed: without
 * it, requests take 1.3 (10 records) to 1.4 times the CPU (deletions; npm run bench -- --load small,delete).
 */
export function createTickBarrier(): () => Promise<void> {
  let batch: Promise<void> | undefined;
  return () => {
    batch ??= nextIteration().then(() => {
      batch = undefined;
    });
    return batch;
  };
}
