import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, findClosestName } from '../../src/util/closest-name.ts';

/** Few letters, so that random texts have some in common. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-'), maxLength: 12 });

describe('the edit distance', () => {
  it.each([
    ['port', 'port', 0],
    ['prt', 'port', 1],
    ['prot', 'port', 2],
    ['', 'port', 4],
    ['kitten', 'sitting', 3],
  ])('of %j and %j is %i', (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
  });

  it('is a metric', () => {
    fc.assert(
      fc.property(text, text, text, (a, b, c) => {
        const distance = editDistance(a, b);
        expect(distance === 0).toBe(a === b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance).toBeLessThanOrEqual(editDistance(a, c) + editDistance(c, b));
      }),
    );
  });

  it('is at most the number of edits', () => {
    const edit = fc.record({ at: fc.nat(12), deleted: fc.nat(1), added: fc.constantFrom('', 'x') });
    fc.assert(
      fc.property(text, fc.array(edit, { maxLength: 5 }), (original, edits) => {
        const edited = edits.reduce(
          (rest, { at, deleted, added }) => rest.slice(0, at) + added + rest.slice(at + deleted),
          original,
        );
        expect(editDistance(original, edited)).toBeLessThanOrEqual(edits.length);
      }),
    );
  });
});

describe('the closest name', () => {
  it.each([
    ['--prot', '--port'],
    ['-port', '--port'],
    ['--UPSTREAM_URL', '--upstream-url'],
    ['--upstream', '--upstream-url'],
    ['--nope', undefined],
    ['--', undefined],
  ])('to %s is %s', (typed, name) => {
    expect(findClosestName(typed, ['--host', '--port', '--upstream-url'])).toBe(name);
  });

  it('is the name itself if it is one', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), fc.nat(), (names, index) => {
        const name = names[index % names.length] ?? '';
        expect(findClosestName(name, names)?.replace(/^-+/, '')).toBe(name.replace(/^-+/, ''));
      }),
    );
  });
});
