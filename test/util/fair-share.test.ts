import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFairShare, mayTake, type Share } from '../../src/util/fair-share.ts';

/** What each of some callers holds of a maximum if all take, in turns, whatever they get. */
function holdings(max: number, callers: number): readonly number[] {
  const held = Array<number>(callers).fill(0);
  const free = () => max - held.reduce((sum, own) => sum + own, 0);
  for (let isTaken = true; isTaken; ) {
    isTaken = false;
    for (const [caller, own] of held.entries()) {
      if (!mayTake(own, free(), max)) continue;
      held[caller] = own + 1;
      isTaken = true;
    }
  }
  return held;
}

describe('what greedy callers get of a maximum', () => {
  it.each([
    // maximum, callers, what the first and the last of them hold, free
    [64, 1, 48, 48, 16],
    [64, 2, 27, 27, 10],
    [64, 12, 5, 4, 8],
    [64, 26, 3, 2, 8],
    [64, 40, 2, 1, 8],
    [64, 56, 1, 1, 8],
    [64, 60, 1, 1, 4],
    [64, 64, 1, 1, 0],
    [512, 1, 384, 384, 128],
    [512, 2, 219, 219, 74],
    [512, 12, 38, 37, 64],
    [512, 40, 12, 11, 64],
    [4096, 1, 3072, 3072, 1024],
    [10, 1, 7, 7, 3],
    [10, 3, 3, 2, 2],
    [8, 1, 6, 6, 2],
    [4, 1, 2, 2, 2],
    [4, 2, 1, 1, 2],
    [3, 1, 1, 1, 2],
    [2, 1, 1, 1, 1],
    [2, 2, 1, 1, 0],
    [1, 1, 1, 1, 0],
  ])('of %i, %i callers: %i to %i each, %i are free', (max, callers, most, least, free) => {
    const held = holdings(max, callers);
    expect([Math.max(...held), Math.min(...held), max - held.reduce((a, b) => a + b)]).toEqual([
      most,
      least,
      free,
    ]);
  });

  it('leaves an eighth, two at least, to callers that hold nothing, unless as many hold one each', () => {
    const sizes = fc.record({
      max: fc.integer({ min: 1, max: 600 }),
      callers: fc.integer({ min: 1, max: 700 }),
    });
    fc.assert(
      fc.property(sizes, ({ max, callers }) => {
        const held = holdings(max, callers);
        const free = max - held.reduce((sum, own) => sum + own, 0);
        if (free < Math.max(2, Math.floor(max / 8))) expect(Math.max(...held)).toBe(1);
        expect(free > 0 || callers >= max).toBe(true);
      }),
    );
  });
});

describe('networks', () => {
  const network = (number: number) => `network 192.0.2.${number}` as const;

  it.each([
    // maximum, networks, what all of them get
    [64, 1, 24],
    [64, 12, 28],
    [64, 200, 32],
    [512, 1, 192],
    [512, 200, 224],
    [40, 40, 20],
    [5, 9, 3],
    [1, 9, 1],
  ])('of %i, %i networks: %i together, and tokens get at least the rest', (max, networks, most) => {
    const shares = createFairShare(max);
    const taken: Share[] = [];
    for (let round = 0; round < max; round += 1)
      for (let number = 0; number < networks; number += 1) {
        const share = shares.take(network(number));
        if (share !== null) taken.push(share);
      }
    expect(taken).toHaveLength(most);
    expect(shares.isFull()).toBe(most === max);
    for (let number = most; number < max; number += 1)
      expect(shares.take(`token ${number}`)).not.toBeNull();
    expect(shares.isFull()).toBe(true);
    for (const share of taken) shares.release(share);
    expect(shares.take(network(300))).not.toBeNull();
  });
});

describe('a caller for whom none is left', () => {
  const ones = (count: number) => Array<number>(count).fill(1);
  it.each([
    // maximum, what each caller takes in this order, whose is evicted
    [64, [48, 8, ...ones(8)], 0],
    [64, [9, 41, 6, ...ones(8)], 1],
    [64, [48, 7, ...ones(8)], null], // one is left
    [64, ones(64), null],
    [8, [5, 1, 1, 1], 0],
    [8, [2, 2, ...ones(4)], 0],
    [8, ones(8), null],
    [2, [1, 1], null],
    [1, [1], null],
  ])('of %i, held as %j, evicts one of caller %j', (max, held, evicted) => {
    const shares = createFairShare(max);
    const evictions: number[] = [];
    for (const [number, count] of held.entries())
      for (let taken = 0; taken < count; taken += 1)
        expect(shares.take(`token ${number}`, () => evictions.push(number))).not.toBeNull();
    shares.evictFor('token 0'); // it holds some
    expect(evictions).toEqual([]);
    shares.evictFor('token other');
    expect(evictions).toEqual(evicted === null ? [] : [evicted]);
    // Each is evicted once, though it is given back later.
    for (let newcomer = 0; newcomer < 64; newcomer += 1) shares.evictFor(`token new ${newcomer}`);
    const least = Math.max(1, Math.floor(max / 8));
    const most = held.map((count) => (evicted === null ? 0 : Math.max(0, count - least)));
    expect(held.map((_, caller) => evictions.filter((each) => each === caller).length)).toEqual(
      most,
    );
  });

  it('evicts what may be evicted, of networks if it is one and half is theirs', () => {
    const shares = createFairShare(8);
    const evictions: string[] = [];
    shares.take('token a', () => evictions.push('a'));
    shares.take('token a');
    for (const each of ['x', 'x', 'y', 'z'] as const)
      shares.take(`network ${each}`, () => evictions.push(each));
    shares.evictFor('network new');
    expect(evictions).toEqual(['x']);
    shares.take('token b');
    shares.take('token c');
    shares.evictFor('token new');
    expect(evictions).toEqual(['x', 'a']);
  });
});

it('counts each caller as the rule does, in any history of taking and giving back', () => {
  const step = fc.record({ isTaking: fc.boolean(), pick: fc.nat() });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 70 }),
      fc.array(step, { maxLength: 300 }),
      (max, steps) => {
        const shares = createFairShare(max);
        const held: Share[] = [];
        const isNetwork = ({ caller }: Pick<Share, 'caller'>) => caller.startsWith('network');
        for (const { isTaking, pick } of steps) {
          const caller = `${pick % 5 > 2 ? 'network' : 'token'} ${pick % 5}` as const;
          if (isTaking) {
            const own = held.filter((share) => share.caller === caller).length;
            const half = Math.ceil(max / 2);
            const mayBeNetwork = mayTake(own, half - held.filter(isNetwork).length, half);
            const share = shares.take(caller);
            expect(share !== null).toBe(
              mayTake(own, max - held.length, max) && (!isNetwork({ caller }) || mayBeNetwork),
            );
            if (share !== null) held.push(share);
          } else if (held.length > 0) {
            const [share] = held.splice(pick % held.length, 1);
            if (share !== undefined) shares.release(share);
          }
          expect(shares.isFull()).toBe(held.length === max);
          expect(shares.hasOthers('token 0')).toBe(
            held.some((share) => share.caller !== 'token 0'),
          );
        }
      },
    ),
  );
});
