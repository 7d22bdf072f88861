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
