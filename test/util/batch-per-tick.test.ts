import { expect, it } from 'vitest';
import { batchPerTick } from '../../src/util/batch-per-tick.ts';

it('lets all who wait in one turn of the event loop take each step together', async () => {
  const turn = batchPerTick();
  const steps: string[] = [];
  const work = async (name: string) => {
    await turn();
    steps.push(`${name}1`);
    await null;
    steps.push(`${name}2`);
  };
  await Promise.all(['a', 'b', 'c'].map(work));
  expect(steps).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

it('waits for what has come already, and anew in the next turn', async () => {
  const turn = batchPerTick();
  for (let round = 0; round < 2; round += 1) {
    const heard: string[] = [];
    const waiting = turn().then(() => heard.push('turn'));
    setImmediate(() => heard.push('next'));
    await Promise.resolve().then(() => heard.push('now'));
    await waiting;
    expect(heard).toEqual(['now', 'turn']);
    await new Promise(setImmediate);
  }
});
