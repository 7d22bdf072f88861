import { expect, it } from 'vitest';
import { createTickBarrier } from '../../src/util/turns.ts';

it('resumes all callers of one event-loop iteration together, at each step', async () => {
  const joinBatch = createTickBarrier();
  const steps: string[] = [];
  const work = async (name: string) => {
    await joinBatch();
    steps.push(`${name}1`);
    await null;
    steps.push(`${name}2`);
  };
  await Promise.all(['a', 'b', 'c'].map(work));
  expect(steps).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

it('waits until the next iteration each time', async () => {
  const joinBatch = createTickBarrier();
  for (let round = 0; round < 2; round += 1) {
    const order: string[] = [];
    const waiting = joinBatch().then(() => order.push('batch'));
    setImmediate(() => order.push('next'));
    await Promise.resolve().then(() => order.push('now'));
    await waiting;
    expect(order).toEqual(['now', 'batch']);
    await new Promise(setImmediate);
  }
});
