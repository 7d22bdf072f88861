import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kindsOf } from '../../src/inference/value-kind.ts';

describe('the kind of a value', () => {
  it.each([
    ['2026-11-21T10:00:00Z', 'time'],
    ['2026-11-21T10:00:00.123456789+01:00', 'time'],
    ['Fri, 20 Nov 2026 16:05:00 GMT', 'time'],
    ['2026-11-21 10:00:00', 'local time'],
    [1_795_255_200, 'epoch'],
    ['1795255200', 'epoch'],
    [404, 'status'],
    [7, 'integer'],
    [0.5, 'decimal'],
    [true, 'flag'],
    ['192.0.2.1', 'address'],
    ['2001:db8::1', 'address'],
    ['192.0.2.1, 10.0.0.1', 'address'],
    ['0a1b2c3d-1f2e-4a3b-9c4d-000000000000', 'UUID'],
    ['65f0c1ab2d3e4f5061728390', 'hexadecimal'],
    ['evt_118', 'code'],
    ['ann@example.com', 'e-mail'],
    ['https://example.com/a', 'link'],
    ['/keys/7', 'path'],
    ['key.delete', 'dotted.word'],
    ['key:delete', 'colon:word'],
    ['key_delete', 'snake_case'],
    ['keyDelete', 'camelCase'],
    ['KEY_DELETE', 'CONSTANT'],
    ['Delete', 'Word'],
    ['delete', 'word'],
    ['audit_log', 'record word'],
    ['Deleted a key', 'words'],
    ['Ann deleted the key of Bob', 'sentence'],
    ['curl/8.1', 'user agent'],
    ['{"a": 1}', 'JSON'],
  ])('%j is %s', (value, kind) => {
    expect(kindsOf([value])).toEqual([kind]);
  });

  /** What can be the value of a field. */
  const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean());

  it('is one per value, whatever the values are', () => {
    fc.assert(
      fc.property(fc.array(scalar, { minLength: 1 }), (values) => {
        const kinds = kindsOf(values);
        expect(kinds).toHaveLength(values.length);
        expect(kinds[0]).toBe(kindsOf(values.slice(0, 1))[0]);
        expect(kindsOf([...values, values[0]]).at(-1)).toBe(kinds[0]);
      }),
    );
  });

  it('is found in long texts, and is JSON in those of more than 10,000 letters', () => {
    for (const piece of ['a', 'a.', 'a_', '1:', '1 ', '+/', '[', ':']) {
      expect(kindsOf([piece.repeat(5000)])).toHaveLength(1);
      expect(kindsOf([piece.repeat(2_000_000)])).toEqual(['JSON']);
    }
  });
});
