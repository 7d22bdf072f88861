import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { at } from '../../src/reading/pointer.ts';

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

describe('at', () => {
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
  ])('finds what RFC 6901 says at %j', (pointer, value) => {
    expect(at(DOCUMENT, pointer)).toEqual(value);
  });

  it('finds every member of any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const visit = (part: unknown, pointer: string) => {
          expect(at(value, pointer)).toBe(part);
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
