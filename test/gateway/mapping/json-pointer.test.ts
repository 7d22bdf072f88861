import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePointer, interpretPointer } from '../../../src/gateway/mapping/json-pointer.ts';

/** The examples of RFC 6901, section 5. */
const DOCUMENT = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

describe('interpretPointer', () => {
  it.each([
    ['', DOCUMENT],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('resolves %j as in RFC 6901', (pointer, value) => {
    expect(interpretPointer(pointer)(DOCUMENT)).toEqual(value);
  });

  it('resolves the pointer of every member of any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const visit = (part: unknown, pointer: string) => {
          expect(interpretPointer(pointer)(value)).toBe(part);
          if (typeof part !== 'object' || part === null) return;
          for (const [key, member] of Object.entries(part)) {
            visit(member, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
          }
        };
        visit(value, '');
      }),
    );
  });
});

describe('compilePointer', () => {
  /** Ordinary keys, inherited properties, array indices, and keys that need escaping in code. */
  const names = fc.oneof(
    fc.constantFrom('id', 'occurred_at', '@timestamp', 'user-agent', 'a.b', '$oid', 'client id'),
    fc.constantFrom('length', 'constructor', '__proto__', 'at', 'link', 'toFixed', 'valueOf'),
    fc.constantFrom('0', '1', '-1', '', 'a"]', "a'", 'a\\', 'a`', 'ä', 'a\n', 'a\u2028'),
    fc.string({ maxLength: 3 }),
  );
  const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('text', '', 1, 0, true, null),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(names, tie('value'), { maxKeys: 6, noNullPrototype: true }),
    ),
  }));

  it.each(['a"]+(globalThis.ran=true)+["b', 'a"]?.["b', 'a\\"]?.["b'])(
    'treats %j as a key, never as code',
    (name) => {
      expect(compilePointer(`/${name}`)({ a: { b: 1 }, [name]: 2 })).toBe(2);
      expect(globalThis).not.toHaveProperty('ran');
    },
  );

  it('resolves the same value as interpretPointer, in any JSON value', () => {
    fc.assert(
      fc.property(values, fc.array(names, { maxLength: 3 }), (given, path) => {
        const value: unknown = JSON.parse(JSON.stringify(given));
        const tokens = path.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1'));
        const pointer = tokens.map((token) => `/${token}`).join('');
        expect(compilePointer(pointer)(value)).toBe(interpretPointer(pointer)(value));
      }),
      { numRuns: 5000 },
    );
  });
});
