import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKnownMatcher } from '../../../src/gateway/tail/match-known.ts';

function matchKnown(list: readonly string[], known: readonly string[]) {
  const matcher = createKnownMatcher(known);
  for (const digest of list) matcher.add(digest);
  return matcher.match();
}

const DIGESTS = fc.array(fc.constantFrom<string>('a', 'b', 'c', 'd'), { maxLength: 7 });

/** All subsequences, by brute force. */
function subsequences(items: readonly string[]): ReadonlySet<string> {
  const masks = Array.from({ length: 2 ** items.length }, (_, mask) => mask);
  return new Set(masks.map((mask) => items.filter((_, index) => mask & (2 ** index)).join('')));
}

function longestCommon(list: readonly string[], known: readonly string[]): number {
  const ofKnown = subsequences(known);
  const common = [...subsequences(list)].filter((one) => ofKnown.has(one));
  return Math.max(...common.map(({ length }) => length));
}

const sorted = (items: readonly string[]) => items.toSorted();

describe('the known records in a list', () => {
  it('end where their longest common subsequence first has its full length', () => {
    fc.assert(
      fc.property(DIGESTS, DIGESTS, (list, known) => {
        const longest = longestCommon(list, known);
        const lengths = list.map((_, index) => longestCommon(list.slice(0, index + 1), known));
        expect(matchKnown(list, known).last).toBe(longest === 0 ? -1 : lengths.indexOf(longest));
      }),
      { numRuns: 1000 },
    );
  });

  it('are each matched once, as often as the list has them', () => {
    fc.assert(
      fc.property(DIGESTS, DIGESTS, (list, known) => {
        const { matched, left } = matchKnown(list, known);
        const isMatched = (_: string, index: number) => matched.has(index);
        const found = list.filter(isMatched);
        expect(sorted([...found, ...left])).toEqual(sorted(known));
        const others = new Set(list.filter((_, index) => !matched.has(index)));
        expect(left.filter((digest) => others.has(digest))).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  it('keep their place among those that were found in their order, if they are left over', () => {
    const known = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(matchKnown(['c', 'x', 'e'], known)).toMatchObject({
      left: ['a', 'b', 'd', 'f'],
      after: [-1, -1, 0, 2],
    });
    expect(matchKnown(['c', 'e', 'b'], known)).toMatchObject({
      left: ['a', 'd', 'f'],
      after: [-1, 0, 1],
    });
    expect(matchKnown(['x'], known)).toMatchObject({ left: known, after: known.map(() => -1) });
  });

  it('are found however many were added before them, and what was added is not matched', () => {
    const distinct = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 60 });
    fc.assert(
      fc.property(distinct, fc.nat({ max: 60 }), fc.array(fc.boolean()), (list, count, added) => {
        const isAdded = (index: number) => added[index] ?? false;
        const known = list.slice(0, count).filter((_, index) => !isAdded(index));
        const { matched, last, left } = matchKnown(list, known);
        expect([...matched].toSorted((one, other) => one - other)).toEqual(
          known.map((digest) => list.indexOf(digest)),
        );
        expect(last).toBe(list.lastIndexOf(known.at(-1) ?? ''));
        expect(left).toEqual([]);
      }),
    );
  });

  it.each([
    ['one of two that are equal', ['x', 'x', 'y'], ['x', 'y'], 2, [0, 2]],
    ['one that has moved behind the others', ['b', 'c', 'a'], ['a', 'b', 'c'], 1, [0, 1, 2]],
    ['one that was removed', ['a', 'c'], ['a', 'b', 'c'], 1, [0, 1]],
    ['none', ['x', 'y'], ['a'], -1, []],
    ['none of nothing', [], ['a'], -1, []],
    ['none before the first', ['x'], [], -1, []],
  ] as const)('may have %s', (_, list, known, last, indices) => {
    const found = matchKnown(list, known);
    expect(found.last).toBe(last);
    expect([...found.matched].toSorted()).toEqual(indices);
  });
});
