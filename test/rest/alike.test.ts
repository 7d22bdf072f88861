import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAlikeReader } from '../../src/rest/alike.ts';
import { parseJson } from '../../src/rest/json.ts';
import { jsonText, listText } from '../helpers/json-text.ts';

describe('createAlikeReader', () => {
  /** Items of a list, over and over until they are so many bytes: three pieces, unless something else is said. */
  const enlarge = (items: readonly string[], bytes = 120_000): string[] => {
    const row = Buffer.byteLength(items.join()) + 1;
    return Array.from({ length: Math.ceil(bytes / row) }, () => items).flat();
  };
  const parse = (text: string, read = createAlikeReader()) => read(String(Buffer.from(text)));

  /** Whether it was read, and then as the plain reader reads it, in the same order, too. */
  const isReadAsWhole = (text: string, reader = createAlikeReader()): boolean => {
    const read = parse(text, reader);
    if (read === undefined) return false;
    const sent = String(Buffer.from(text)); // half of a character, where one was cut, is another one
    const whole = parseJson(sent); // what it throws for must not be read
    expect(read).toStrictEqual(whole);
    expect(JSON.stringify(read)).toBe(JSON.stringify(whole));
    return true;
  };

  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 6 }).filter((value) => !/["\\]|\p{Cc}/u.test(value)),
    fc.constantFrom('', '},{', '[{', '?', 'null', '🔑é日', '$&', '\uFEFFa', '}\uFEFF'),
  );
  const other = fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '12',
    '-1.5',
    '123456789012345',
  );
  const names = fc.uniqueArray(
    fc.constantFrom('id', 'a.b', '$ref', '@type', 'x-y', 'a b', 'length', 'then', '1', '0a', '_'),
    { minLength: 1, maxLength: 4 },
  );
  const space = fc.constantFrom('', ' ', '\n  ', '\t\r\n');

  /** Makes records that are written alike of what their values are. */
  const { object: record } = fc.letrec<Record<'part' | 'object', fc.Arbitrary<string>>>((tie) => ({
    part: fc.oneof(
      { depthSize: 'small' },
      fc.constant(text.map((value) => JSON.stringify(value))),
      fc.constant(other),
      tie('object'),
    ),
    object: fc
      .tuple(names, fc.array(tie('part'), { minLength: 4, maxLength: 4 }), space)
      .map(([own, some, blank]) =>
        fc.tuple(...some).map((values) => {
          const members = own.map((name, index) => `"${name}"${blank}:${blank}${values[index]}`);
          return `{${blank}${members.join(`${blank},${blank}`)}${blank}}`;
        }),
      ),
  }));

  const around = fc.constantFrom<readonly [string, string]>(
    ['', ''],
    [' ', '\n'],
    ['{"total":12345678901234567890,"data":', ',"next":{"a":[{}]}}'],
    ['{"meta":{"ids":[1,2],"text":"]}"},"data":', ',"data2":[],"n":1e400}'],
    ['[0,', ',[{}]]'],
    ['{"__proto__":', ',"text":"\\"\\u0026\\/"}'],
  );
  const records = record.chain((one) => fc.array(one, { minLength: 2, maxLength: 5 }));

  it('reads records that are written alike as the plain reader does', () => {
    fc.assert(
      fc.property(records, space, around, (items, blank, [head, tail]) => {
        for (const all of [items, enlarge(items)]) {
          const isRead = isReadAsWhole(`${head}${listText(all, blank)}${tail}`);
          // A text in the first of them may look like its end.
          expect(isRead || items[0]?.includes('},{')).toBe(true);
        }
      }),
    );
  });

  it('reads them so, or leaves them, when something in them was changed', () => {
    const piece = fc.constantFrom(
      '',
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '5',
      '.',
      '-',
      'e',
      ' ',
    );
    const place = fc.double({ min: 0, max: 1, noNaN: true });
    const change = fc.tuple(place, fc.nat(2), fc.oneof(piece, jsonText));
    fc.assert(
      fc.property(records, around, change, (items, [head, tail], [where, length, put]) => {
        const small = `${head}${listText(items)}${tail}`;
        const large = `${head}${listText(enlarge(items, 66_000))}${tail}`;
        for (const [body, edge] of [
          [large, head.length + 200],
          [large, large.length],
          [small, small.length],
        ] as const) {
          const at = Math.floor(where * edge);
          const reader = createAlikeReader();
          parse(small, reader); // so that it knows how they are written
          isReadAsWhole(body.slice(0, at) + put + body.slice(at + length), reader);
        }
      }),
    );
  });

  it('reads any other text so, or leaves it', () => {
    fc.assert(
      fc.property(fc.array(jsonText, { minLength: 1, maxLength: 4 }), jsonText, (items, last) => {
        isReadAsWhole(listText([...enlarge(items, 66_000), last]));
      }),
    );
  });

  const item = '{"a":"b","c":{"d":1,"e":null},"f":true}';

  it('makes objects as JSON.parse makes them', () => {
    const body = listText(enlarge([item]));
    expect(isReadAsWhole(body)).toBe(true);
    const [first] = parse(body) as object[];
    expect(Object.getPrototypeOf(first)).toBe(Object.prototype);
  });

  it('reads nulls in the place of texts', () => {
    expect(isReadAsWhole(listText(enlarge([item, item.replace('"b"', 'null')])))).toBe(true);
  });

  it.each<readonly [head: string, tail: string]>([
    ['{"x":"', '"}'],
    ['{"x":"[{', '}"}'],
    ['{"x":', ',"x":"\\u0000"}'],
    ['{"x":', ',"y":"\\u0000"}'],
    ['{"x":', ',"x":1}'],
    ['{"x":4.', '}'],
    ['5', ''],
    ['', '0'],
    ['tru', ''],
    ['\uFEFF{"x":', '}'],
    ['['.repeat(40), ']'.repeat(40)],
    ['{"x":', `,"y":${'['.repeat(70)}${']'.repeat(70)}}`],
    [`{"x":"${'y'.repeat(10_000)}","y":`, '}'],
    ['{"x":', ',}'],
  ])('leaves a list between %.40j and %.40j', (head, tail) => {
    expect(parse(`${head}${listText(enlarge([item]))}${tail}`)).toBeUndefined();
  });

  it.each<readonly [head: string, tail: string]>([
    ['{"x\\"":', '}'],
    ['{"x\\\\":', ',"y":"[{"}'],
    ['[[]  ,', ',[{"a":1},{"a":2}]]'],
    ['{"x":', `,"y":"${'y'.repeat(100_000)}"}`],
    ['{"x":[{"a":1},{"a":2}],"y":', '}'],
  ])('reads a list between %.40j and %.40j', (head, tail) => {
    expect(isReadAsWhole(`${head}${listText(enlarge([item]))}${tail}`)).toBe(true);
  });

  it('leaves a list that does not begin, or does not end', () => {
    expect(parse(`${enlarge([item]).join()}]`)).toBeUndefined();
    expect(parse(`[${enlarge([item]).join()}`)).toBeUndefined();
  });

  it.each(['{"y":0,"', '{"\\"":0,"'])('leaves a list that is none, as %s opens a text', (head) => {
    const body = `${head}[${enlarge(['{":":","}']).join()}]":0}`;
    expect(parseJson(body)).toHaveProperty(['},{']);
    expect(parse(body)).toBeUndefined();
  });

  it.each([
    '{"a":"b","c":{"d":1,"e":null},"f":true,"h":1}',
    '{"c":{"d":1,"e":null},"a":"b","f":true}',
    '{"a":"\\n","c":{"d":1,"e":null},"f":true}',
    '{"a":"b","c":{"d":1234567890123456,"e":null},"f":true}',
    '{"a":"b","c":{"d":1e3,"e":null},"f":true}',
    '{"a":"b","c":{"d":01,"e":null},"f":true}',
    '{"a":"b","c":{"d":[],"e":null},"f":true}',
    '{"a":"b\t","c":{"d":1,"e":null},"f":true}',
    '\u00a0{"a":"b","c":{"d":1,"e":null},"f":true}',
    '{"a":"b","c":null,"f":true}',
    'null',
    '',
  ])('leaves a list with %j in it', (one) => {
    for (const at of [0, 1, 4000]) {
      expect(parse(listText(enlarge([item]).toSpliced(at, 0, one)))).toBeUndefined();
    }
  });

  it.each([
    ...['__proto__', 'constructor', 'toString', '2026-11-22', 'e@mail', 'ä', 'x\u2028', '?'],
    ...[']', 'a]b', '(', '|', '*', '+', '^', ';', '/', '`', "'", ',', '{', '}', '=', '\\"'],
  ])('leaves records with a member named %j', (name) => {
    expect(parse(listText(enlarge([`{"${name}":1}`])))).toBeUndefined();
  });

  it.each([
    '{}',
    '{ }',
    `{"a":"${'b'.repeat(10_000)}"}`,
    `{${Array.from({ length: 65 }, (_, index) => `"a${'b'.repeat(index)}":0`).join()}}`,
    `${'{"a":'.repeat(40)}0${'}'.repeat(40)}`,
  ])('leaves records as %.40s', (one) => {
    expect(parse(listText(enlarge([one])))).toBeUndefined();
  });

  it('reads what comes after another answer so, or leaves it', () => {
    const alike = fc
      .tuple(records, space, around)
      .map(([items, blank, [head, tail]]) => `${head}${listText(items, blank)}${tail}`);
    const other = fc.array(jsonText, { maxLength: 3 }).map((items) => listText(items));
    fc.assert(
      fc.property(alike, fc.oneof(alike, other), (one, next) => {
        const reader = createAlikeReader();
        isReadAsWhole(one, reader); // one that was read in vain would have the next left alone
        isReadAsWhole(next, reader);
      }),
    );
  });

  it('leaves what is nested deeper than 64 levels, with records as deep as are read', () => {
    for (let levels = 25; levels < 35; levels += 1) {
      const record = `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`;
      const text = `${'['.repeat(levels)}${listText([record, record])}${']'.repeat(levels)}`;
      expect(parse(text) !== undefined).toBe(levels <= 30);
    }
  });

  it('reads small answers, and one record alone as those before it', () => {
    expect(isReadAsWhole(listText([item]))).toBe(false);
    const reader = createAlikeReader();
    expect(isReadAsWhole(listText([item, item]), reader)).toBe(true);
    expect(isReadAsWhole(listText([item]), reader)).toBe(true);
    expect(isReadAsWhole(listText([]), reader)).toBe(false);
    expect(isReadAsWhole(listText([item]), reader)).toBe(true);
  });

  it('does not try a million characters once it has begun a text in vain', () => {
    const reader = createAlikeReader();
    const small = listText([item, item]);
    const large = listText(enlarge([item]));
    const other = listText(['{"z":1}', '{"z":2}']);
    const isLeft = (text: string) => !isReadAsWhole(text, reader);
    const rest = () => {
      for (let left = 1_000_000; left > 0; left -= large.length) expect(isLeft(large)).toBe(true);
    };
    expect(isLeft(large)).toBe(false);
    expect(isLeft(other)).toBe(false); // written otherwise than the one before
    rest();
    expect(isLeft(other)).toBe(false);
    expect(isLeft(small)).toBe(false);
    rest();
    const lists = listText(['{"a":[]}', '{"a":[]}']);
    for (const vain of [listText([item, '{}']), lists, `{"x":${small},"x":1}`]) {
      expect(isLeft(small)).toBe(false);
      expect(isLeft(small)).toBe(false); // how they are written is still known
      expect(isLeft(vain)).toBe(true);
      rest();
    }
  });
});
