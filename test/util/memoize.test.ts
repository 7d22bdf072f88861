import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoize } from '../../src/util/memoize.ts';

/** Counts the letters of names, and remembers for which it had to. */
function counter() {
  const made: string[] = [];
  const lengthOf = memoize((name) => {
    made.push(name);
    return name.length;
  });
  return { made, lengthOf };
}

describe('what is remembered of names', () => {
  it('is what would be made anew', () => {
    const { lengthOf } = counter();
    const names = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('id', 'ip4')));
    fc.assert(
      fc.property(names, (all) => {
        for (const name of all) expect(lengthOf(name)).toBe(name.length);
      }),
    );
  });

  it.each([
    ['id', 1],
    ['@timestamp', 1],
    ['/actor/display name', 1],
    ['ipv4', 1],
    ['__proto__', 1],
    ['ann@example.com', 2],
    ['sk-live-7Fq2', 2],
    ['5f2c9a71', 2],
    ['1700000000', 2],
    ['secret '.repeat(12), 2],
  ])('of %j is made so often in two askings: %i', (name, times) => {
    const { made, lengthOf } = counter();
    lengthOf(name);
    lengthOf(name);
    expect(made).toHaveLength(times);
  });

  it('is forgotten when it is more than a thousand names', () => {
    const { made, lengthOf } = counter();
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const names = letters.flatMap((one) => letters.flatMap((two) => [one + two, `${one}${two}_`]));
    for (const name of names.slice(0, 1001)) lengthOf(name);
    lengthOf('aa');
    expect(made.filter((name) => name === 'aa')).toHaveLength(2);
  });
});
