import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { followLink, path, withParameter, withQuery } from '../../src/upstream/path.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('a path', () => {
  it('encodes any value as exactly one segment that decodes to it, or rejects it', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        let encoded: string;
        try {
          encoded = path`/api/v1/secrets/${{ client_id: value }}`.value;
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          return;
        }
        const { pathname, search, hash } = new URL(`http://h${encoded}`);
        expect(pathname).toBe(encoded); // no dot segment was removed
        expect(search + hash).toBe('');
        const segments = pathname.split('/');
        expect(segments).toHaveLength(5);
        expect(decodeURIComponent(segments[4] ?? '')).toBe(value);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['.', '..', '', '\u0000', '\u007f', '\ud83d'])('rejects %j', (value) => {
    expect(() => path`/x/${{ value }}`).toThrow(GatewayError);
  });

  it('keeps the text of the template unchanged', () => {
    expect(path`/a%20b/c`.value).toBe('/a%20b/c');
  });

  it('has a template with the names of its placeholders, whatever its query', () => {
    const { template, value } = path`/a/${{ first_id: '1/2' }}/b/${{ second_id: '3' }}`;
    expect(template).toBe('/a/{first_id}/b/{second_id}');
    expect(value).toBe('/a/1%2F2/b/3');
    const parameter = { name: 'page', value: '2' };
    const audit = path`/api/v1/audit`;
    const base = new URL('http://h');
    for (const changed of [
      withQuery(audit, [parameter]),
      withParameter(audit, parameter),
      followLink('?page=2', audit, base),
    ]) {
      expect(changed).toMatchObject({ template: '/api/v1/audit', value: '/api/v1/audit?page=2' });
    }
  });
});

describe('a query', () => {
  it('contains every pair in order', () => {
    const pair = fc.record({
      name: fc.string({ unit: 'grapheme' }),
      value: fc.string({ unit: 'grapheme' }),
    });
    fc.assert(
      fc.property(fc.array(pair, { minLength: 1 }), (pairs) => {
        const { searchParams, pathname, hash } = new URL(
          `http://h${withQuery(path`/a`, pairs).value}`,
        );
        expect([...searchParams].map(([name, value]) => ({ name, value }))).toEqual(pairs);
        expect(pathname + hash).toBe('/a');
      }),
    );
  });

  it('without pairs is omitted', () => {
    expect(withQuery(path`/a`, []).value).toBe('/a');
  });
});
