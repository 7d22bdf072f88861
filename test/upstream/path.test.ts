import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { path, withQuery } from '../../src/upstream/path.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('a path', () => {
  it('holds any value as exactly one segment that decodes to it, or refuses it', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        let made: string;
        try {
          made = path`/api/v1/secrets/${value}`;
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          return;
        }
        const { pathname, search, hash } = new URL(`http://h${made}`);
        expect(pathname).toBe(made); // nothing was resolved away
        expect(search + hash).toBe('');
        const segments = pathname.split('/');
        expect(segments).toHaveLength(5);
        expect(decodeURIComponent(segments[4] ?? '')).toBe(value);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['.', '..', '', '\u0000', '\u007f', '\ud83d'])('refuses %j', (value) => {
    expect(() => path`/x/${value}`).toThrow(GatewayError);
  });

  it('leaves the text of the template alone', () => {
    expect(path`/a%20b/c`).toBe('/a%20b/c');
  });
});

describe('a query', () => {
  it('gives back every pair in order', () => {
    const pair = fc.record({
      name: fc.string({ unit: 'grapheme' }),
      value: fc.string({ unit: 'grapheme' }),
    });
    fc.assert(
      fc.property(fc.array(pair, { minLength: 1 }), (pairs) => {
        const { searchParams, pathname, hash } = new URL(`http://h${withQuery(path`/a`, pairs)}`);
        expect([...searchParams].map(([name, value]) => ({ name, value }))).toEqual(pairs);
        expect(pathname + hash).toBe('/a');
      }),
    );
  });

  it('of no pairs is none', () => {
    expect(withQuery(path`/a`, [])).toBe('/a');
  });
});
