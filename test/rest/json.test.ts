import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { parseAlike, parseJson } from '../../src/rest/json.ts';
import { jsonText, listText } from '../helpers/json-text.ts';

describe('parseJson', () => {
  it('reads what JSON.parse reads, where no digit is at stake', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, maxDepth: 10 }), (text) => {
        fc.pre(!/\d{16}|[eE]/.test(text));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps every digit of every integer, as a number where that is exact', () => {
    fc.assert(
      fc.property(fc.bigInt(), (integer) => {
        const [value] = parseJson(`[${integer}]`) as unknown[];
        const isExact =
          BigInt(Number(integer)) === integer && Number.isSafeInteger(Number(integer));
        expect(value).toBe(isExact ? Number(integer) : String(integer));
      }),
    );
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['1'.repeat(400), '1'.repeat(400)],
    ['1e400', '1e400'],
    ['-1E+400', '-1E+400'],
    ['1e300', 1e300],
    ['0.1234567890123456789', 0.12345678901234568],
    ['"1234567890123456789"', '1234567890123456789'],
    ['"\\":12345678901234567890"', '":12345678901234567890'],
  ])('reads %s as %j', (text, value) => {
    expect(parseJson(text)).toBe(value);
  });

  it.each(['', ' ', '{', '[1,]', 'NaN', '{"a":Infinity}', "{'a':1}", '1 2', '\u0000'])(
    'refuses %j without quoting it',
    (text) => {
      let message = '';
      try {
        parseJson(text);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        message = String(error);
      }
      expect(message).not.toBe('');
      expect(message).not.toContain('JSON at position');
    },
  );

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])(
    'reads 64 levels of %s and refuses more, to any depth, with long numbers in them too',
    (open, close) => {
      const nest = (depth: number, core: string) => open.repeat(depth) + core + close.repeat(depth);
      for (const core of ['1', '12345678901234567890', '"[{12345678901234567890"']) {
        expect(parseJson(nest(64, core))).toBeDefined();
        for (const depth of [65, 1000, 100_000]) {
          expect(() => parseJson(nest(depth, core))).toThrow(GatewayError);
        }
      }
    },
  );
});

describe('parseAlike', () => {
  const LARGE = 65_536;

  /** Items of a list, over and over until they are so many bytes. */
  const enlarge = (items: readonly string[], bytes = LARGE): string[] => {
    const row = Buffer.byteLength(items.join()) + 1;
    return Array.from({ length: Math.ceil(bytes / row) }, () => items).flat();
  };
  const parts = (text: string) => parseAlike(Buffer.from(text));
  const whole = (text: string) => {
    try {
      return parseJson(text);
    } catch {
      return undefined; // what is no JSON, or is nested too deeply, is left to it
    }
  };
  const expectSame = (read: unknown, text: string) => {
    expect(read).toStrictEqual(whole(text));
    expect(JSON.stringify(read)).toBe(JSON.stringify(whole(text))); // in the same order, too
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

  /** Makes records that are written alike out of what their values are. */
  const record = fc.letrec<{ part: fc.Arbitrary<string>; object: fc.Arbitrary<string> }>((tie) => ({
    part: fc.oneof(
      { depthSize: 'small' },
      fc.constant(
        fc.oneof(
          text.map((value) => JSON.stringify(value)),
          fc.constant('null'),
        ),
      ),
      fc.constant(other),
      tie('object'),
      fc
        .array(tie('part'), { maxLength: 2 })
        .map((some) => fc.tuple(...some).map((all) => listText(all))),
    ),
    object: fc
      .tuple(names, fc.array(tie('part'), { minLength: 4, maxLength: 4 }), space)
      .map(([own, some, blank]) =>
        fc.tuple(...some).map((values) => {
          const members = own.map((name, index) => `"${name}"${blank}:${blank}${values[index]}`);
          return `{${blank}${members.join(`${blank},${blank}`)}${blank}}`;
        }),
      ),
  })).object;

  it('reads records that are written alike as the plain reader does', () => {
    let read = 0;
    const records = record.chain((one) => fc.array(one, { minLength: 2, maxLength: 5 }));
    fc.assert(
      fc.property(records, space, fc.constantFrom(...AROUND), (items, blank, [head, tail]) => {
        const body = `${head}${listText(enlarge(items), blank)}${tail}`;
        const found = parts(body);
        if (found === undefined) return; // where the first of them looks different, as with a null
        read += 1;
        expectSame(found, body);
      }),
    );
    expect(read).toBeGreaterThan(20);
  });

  const AROUND = [
    ['', ''],
    [' ', '\n'],
    ['{"total":12345678901234567890,"data":', ',"next":{"a":[{}]}}'],
    ['{"meta":{"ids":[1,2],"text":"]}"},"data":', ',"data2":[],"n":1e400}'],
    ['[0,', ',[{}]]'],
  ] as const;

  it('reads any other text so, or leaves it', () => {
    fc.assert(
      fc.property(fc.array(jsonText, { minLength: 1, maxLength: 4 }), jsonText, (items, last) => {
        const body = listText([...enlarge(items), last]);
        const found = parts(body);
        if (found !== undefined) expectSame(found, body);
      }),
    );
  });

  const item = '{"a":"b","c":{"d":1,"e":null},"f":["x",{"g":true}]}';

  it('reads nulls in the place of texts', () => {
    const body = listText(enlarge([item, item.replace('"b"', 'null').replace('"x"', 'null')]));
    expect(parts(body)).toBeDefined();
    expectSame(parts(body), body);
  });

  it.each(['{"y":5e-324,"', '{"\\"":5e-324,"'])(
    'leaves a list that is none, as %s opens a text',
    (head) => {
      const body = `${head}[${enlarge(['{":":","}']).join()}]":0}`;
      expect(whole(body)).toHaveProperty(['},{']);
      expect(parts(body)).toBeUndefined();
    },
  );

  it('makes objects as JSON.parse makes them', () => {
    const body = listText(enlarge([item]));
    expectSame(parts(body), body);
    const [first] = parts(body) as object[];
    expect(Object.getPrototypeOf(first)).toBe(Object.prototype);
  });

  it.each([
    ['', `[${item}`, 'the last bracket'],
    ['{"x":"', '"}', 'a list in a text'],
    ['{"x":"[{', '}"}', 'a list that seems to begin in a text'],
    ['{"x\\"":', '}', 'an escape in front'],
    ['{"x":5e-324,"y":', '}', 'the number that stands for the list'],
    ['\uFEFF{"x":', '}', 'a byte order mark'],
    ['{"x":', `,"y":${'['.repeat(70)}${']'.repeat(70)}}`, 'deep nesting behind it'],
    ['['.repeat(40), ']'.repeat(40), 'deep nesting'],
    ['{"x":', ',}', 'a comma too many'],
  ])('leaves %j … %j: %3$s', (head, tail) => {
    const items = enlarge([item]);
    const body = tail.startsWith('[') ? `[${items.join()}` : `${head}${listText(items)}${tail}`;
    expect(parts(body)).toBeUndefined();
  });

  it.each([
    '{"a":"b","c":{"d":1,"e":null},"f":["x",{"g":true}],"h":1}',
    '{"c":{"d":1,"e":null},"a":"b","f":["x",{"g":true}]}',
    '{"a":"\\n","c":{"d":1,"e":null},"f":["x",{"g":true}]}',
    '{"a":"b","c":{"d":1234567890123456,"e":null},"f":["x",{"g":true}]}',
    '{"a":"b","c":{"d":1e3,"e":null},"f":["x",{"g":true}]}',
    '{"a":"b","c":{"d":01,"e":null},"f":["x",{"g":true}]}',
    '{"a":"b","c":{"d":1,"e":null},"f":["x",{"g":true},0]}',
    '{"a":"b\t","c":{"d":1,"e":null},"f":["x",{"g":true}]}',
    '\u00a0{"a":"b","c":{"d":1,"e":null},"f":["x",{"g":true}]}',
    'null',
    '',
  ])('leaves a list with %j in it', (one) => {
    for (const at of [0, 1, 2000]) {
      const items = enlarge([item]).toSpliced(at, 0, one);
      expect(parts(listText(items))).toBeUndefined();
    }
  });

  it.each([
    '__proto__',
    'constructor',
    'toString',
    'a"]:b',
    '2026-11-22',
    'e@mail',
    'ä',
    'x\u2028',
  ])('leaves records with a member named %j', (name) => {
    expect(parts(listText(enlarge([`{${JSON.stringify(name)}:1}`])))).toBeUndefined();
  });

  it('leaves what is no UTF-8', () => {
    const body = Buffer.from(listText(enlarge([item])));
    body[body.indexOf('b', 60_000)] = 0xff;
    expect(parseAlike(body)).toBeUndefined();
  });

  it('leaves what is small', () => {
    expect(parts(listText([item, item]))).toBeUndefined();
  });
});
