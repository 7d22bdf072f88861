import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from '../../src/util/turns.ts';

it('turns resume one caller per iteration of the event loop, in the order of the calls', async () => {
  const turns = createTurns();
  const resumed: number[] = [];
  const callers = [1, 2, 3].map(async (caller) => {
    await turns();
    resumed.push(caller);
  });
  const counts: number[] = [];
  while (resumed.length < 3) {
    await nextIteration();
    counts.push(resumed.length);
  }
  await Promise.all(callers);
  expect(resumed).toEqual([1, 2, 3]);
  expect(counts.every((count, at) => count - (counts[at - 1] ?? 0) <= 1)).toBe(true);
});
