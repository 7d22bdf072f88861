import { setImmediate as nextIteration } from 'node:timers/promises';

/**
 * Creates a function that resumes one caller per iteration of the event loop, in the order of the calls. Large pieces of
 * work then take turns with the requests of other clients, although they became ready together.
 */
export function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextIteration());
    return last;
  };
}

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
