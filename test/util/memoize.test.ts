import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoize } from '../../src/util/memoize.ts';

/** A memoized function, and the keys that it was called with. */
function memoizedLength() {
  const computed: string[] = [];
  const lengthOf = memoize((key) => {
    computed.push(key);
    return key.length;
  });
  return { computed, lengthOf };
}

describe('a memoized function of a key', () => {
  it('returns what the function returns', () => {
    const { lengthOf } = memoizedLength();
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
    ['josé@example.com', 2],
    ['sk-live-7Fq2', 2],
    ['5f2c9a71', 2],
    ['1700000000', 2],
    ['secret '.repeat(12), 2],
  ])('called twice with %j computes %i times', (name, times) => {
    const { computed, lengthOf } = memoizedLength();
    lengthOf(name);
    lengthOf(name);
    expect(computed).toHaveLength(times);
  });

  it('computes again after more than 1,000 keys', () => {
    const { computed, lengthOf } = memoizedLength();
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const names = letters.flatMap((one) => letters.flatMap((two) => [one + two, `${one}${two}_`]));
    for (const name of names.slice(0, 1001)) lengthOf(name);
    lengthOf('aa');
    expect(computed.filter((name) => name === 'aa')).toHaveLength(2);
  });
});
