import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { parseJson } from '../../src/upstream/decode-response.ts';

describe('parseJson', () => {
  it('returns what JSON.parse returns, if no number could lose digits', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, maxDepth: 10 }), (text) => {
        fc.pre(!/\d{16}|[eE]/.test(text));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps every digit of every integer, as a number if that is exact', () => {
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
  ])('parses %s as %j', (text, value) => {
    expect(parseJson(text)).toBe(value);
  });

  it.each(['', ' ', '{', '[1,]', 'NaN', '{"a":Infinity}', "{'a':1}", '1 2', '\u0000'])(
    'rejects %j without quoting it',
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
  ])('parses 64 levels of %s and rejects more, with long numbers in them too', (open, close) => {
    const nest = (depth: number, core: string) => open.repeat(depth) + core + close.repeat(depth);
    for (const core of ['1', '12345678901234567890', '"[{12345678901234567890"']) {
      expect(parseJson(nest(64, core))).toBeDefined();
      for (const depth of [65, 1000, 100_000]) {
        expect(() => parseJson(nest(depth, core))).toThrow(GatewayError);
      }
    }
  });
});
