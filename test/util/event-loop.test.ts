import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTickBarrier, createTurns } from '../../src/util/event-loop.ts';

const alone = () => false;

/** Takes turns for these callers, and returns the order in which they had them. */
async function takeTurns(callers: string, hasOthers = alone) {
  const turns = createTurns(() => performance.now(), hasOthers);
  const order: string[] = [];
  const taken = [...callers].map((caller) =>
    turns(`token ${caller}`, async () => void order.push(caller)),
  );
  return { taken: Promise.all(taken), order };
}

describe('turns', () => {
  it('reject with what the work throws, and go on', async () => {
    const turns = createTurns(() => 0, alone);
    const failed = turns('token a', () => Promise.reject(new TypeError()));
    const next = turns('token a', async () => 'next');
    await expect(failed).rejects.toThrow(TypeError);
    expect(await next).toBe('next');
  });

  it('resume one caller per iteration of the event loop', async () => {
    const { taken, order } = await takeTurns('aaa');
    const counts: number[] = [];
    while (order.length < 3) {
      await nextIteration();
      counts.push(order.length);
    }
    await taken;
    expect(counts.every((count, at) => count - (counts[at - 1] ?? 0) <= 1)).toBe(true);
  });

  it('go to one caller after the other', async () => {
    const { taken, order } = await takeTurns('aaaabcb');
    await taken;
    expect(order.join('')).toBe('aabcaba'); // the first one begins at once
  });

  it('go on after a pause in which nobody waited', async () => {
    const turns = createTurns(() => 0, alone);
    const names = ['a', 'a', 'b'] as const;
    for (const name of names) {
      expect(await turns(`token ${name}`, async () => name)).toBe(name);
      await wait(10);
    }
  });

  it.each([
    ['are apart by a pause if others have requests', 'token a', true],
    [
      'are apart by a pause if others have requests, also those of several callers',
      'token b',
      true,
    ],
    ['follow one another without a pause if nobody else has requests', 'token b', false],
  ] as const)('%s', async (_, other, hasPause) => {
    const turns = createTurns(
      () => performance.now(),
      () => hasPause,
    );
    let iterations = 0;
    const first = turns('token a', async () => {
      for (const end = performance.now() + 20; performance.now() < end; ); // works for 20 ms
    });
    const second = turns(other, async () => {});
    await first;
    let isOver = false;
    void second.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await nextIteration();
      iterations += 1;
    }
    // In a pause of 20 or 60 ms are hundreds. Without one there are four.
    expect(iterations > 50).toBe(hasPause);
  });
});

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
