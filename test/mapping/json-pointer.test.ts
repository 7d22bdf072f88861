import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compilePointer,
  interpretPointer,
  readRange,
  readSource,
} from '../../src/mapping/json-pointer.ts';
import { toFlag } from '../../src/mapping/values.ts';

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

describe('a content-range (RFC 9110, section 14.4)', () => {
  it('is read with any unit of records, with or without numbers', () => {
    const unit = fc.constantFrom('', 'items ', 'records=', 'audit-events ');
    const total = fc.option(fc.nat());
    fc.assert(
      fc.property(unit, fc.nat(), fc.nat(), total, (prefix, start, width, count) => {
        const header = `${prefix}${start}-${start + width}/${count ?? '*'}`;
        const range = { start, end: start + width + 1, total: count };
        expect(readRange({ 'content-range': header })).toEqual(range);
        const response = { status: 200, headers: { 'content-range': [header, 'x'] }, body: null };
        const read = readSource({ header: 'Content-Range' }, response);
        expect(read).toBe(count);
      }),
    );
  });

  it.each(['bytes 0-2/9', 'Bytes 0-2/9', 'items', '0-2', 'id a..b; max=3', '-1-2/9', ''])(
    'is none of records: %j',
    (header) => {
      expect(readRange({ 'content-range': header })).toBeNull();
    },
  );

  it('of any text does not throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void readRange({ 'content-range': text })));
  });
});

describe('a member of a header that holds JSON', () => {
  it('is found with a pointer, whatever its key', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (key, value) => {
        const headers = { 'x-pagination': JSON.stringify({ [key]: value }) };
        const pointer = key.replaceAll('~', '~0').replaceAll('/', '~1');
        const source = { header: `X-Pagination/${pointer}` };
        const found = readSource(source, { status: 200, headers, body: null });
        expect(found).toEqual(JSON.parse(JSON.stringify(value ?? null)));
      }),
    );
  });

  it('of any text does not throw', () => {
    const read = (text: string) =>
      readSource({ header: 'a/b' }, { status: 200, headers: { a: text }, body: null });
    fc.assert(fc.property(fc.string(), (text) => void read(text)));
  });
});

describe('a flag', () => {
  it('is the same in any case, and any other value is none', () => {
    const words = fc.constantFrom(
      'true',
      'yes',
      'y',
      't',
      'on',
      '1',
      'false',
      'no',
      'n',
      'f',
      'off',
      '0',
    );
    fc.assert(
      fc.property(words, fc.boolean(), (word, isUpper) => {
        const written = isUpper ? word.toUpperCase() : word;
        expect(toFlag(written)).toBe(/^(?:true|yes|y|t|on|1)$/.test(word));
        expect(toFlag(`${written}x`)).toBeNull();
      }),
    );
    for (const value of [null, undefined, {}, [], [true], '', 2, -1, 0.5])
      expect(toFlag(value)).toBeNull();
  });
});
