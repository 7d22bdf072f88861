import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoiseWithin, memoize } from '../../src/util/memoize.ts';

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

describe('what is remembered of names inside of others', () => {
  type Way = { readonly text: string };
  const START: Way = { text: '' };

  /** Joins names, and remembers for which it had to. */
  function joiner() {
    const made: string[] = [];
    const within = memoiseWithin(START, (outer: Way, name) => {
      const text = `${outer.text}/${name}`;
      made.push(text);
      return { text };
    });
    const join = (...names: readonly (string | null)[]) => names.reduce(within, START).text;
    return { made, join };
  }

  it('is what would be made anew', () => {
    const { join } = joiner();
    const name = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(null, '__proto__', 'a', 'ip4'),
    );
    fc.assert(
      fc.property(fc.array(name), (names) => {
        expect(join(...names)).toBe(names.map((one) => `/${one}`).join(''));
      }),
    );
  });

  it('is nothing that stands in what may be more than a name', () => {
    const { made, join } = joiner();
    for (const _ of [1, 2]) join('users', 'ann@example.com', 'role');
    expect(made.filter((text) => text === '/users')).toHaveLength(1);
    expect(made.filter((text) => text.endsWith('/role'))).toHaveLength(2);
  });

  it('is forgotten when it is more than a thousand names, and then remembered again', () => {
    const { made, join } = joiner();
    const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJ'];
    const walk = () => {
      for (const one of letters) for (const two of letters) join(one, two);
    };
    walk();
    join('a', 'a');
    join('a', 'a');
    expect(made.filter((text) => text === '/a/a')).toHaveLength(2);
  });
});
