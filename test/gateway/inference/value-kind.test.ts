import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FORMS, kindsOf } from '../../../src/gateway/inference/value-kind.ts';

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
    expect(kindsOf([value])).toEqual({ kind, kinds: new Set([kind]) });
  });

  /** What can be the value of a field. */
  const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean());

  it('is that of more than half of the values, whatever they are', () => {
    fc.assert(
      fc.property(scalar, scalar, fc.array(scalar), (first, second, others) => {
        const { kind } = kindsOf([first]);
        const minority = [second, ...others];
        const all = kindsOf([first, ...minority, ...minority.map(() => first), first]);
        expect(all.kind).toBe(kind);
        expect(all.kinds).toContain(kind);
      }),
    );
  });

  it('is mixed if there is no such kind', () => {
    const kinds = new Set(['word', 'integer']);
    expect(kindsOf(['a', 7, 'b', 8])).toEqual({ kind: 'mixed', kinds });
  });

  it('is the first form whose pattern matches: characters rule out no other', () => {
    const piece = fc.constantFrom(
      ...'aZ7-_.:/@ [%+"\u00a0é',
      'audit',
      'urn',
      'https://',
      '::1',
      '10.0.0.1',
    );
    const text = fc.array(piece, { minLength: 1, maxLength: 24 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, (one) => {
        const { kind } = kindsOf([one]);
        const [form = 'text'] =
          Object.entries(FORMS).find(([, { pattern }]) => pattern.test(one)) ?? [];
        fc.pre(kind !== 'address' && !/^\d+$/.test(one) && !kind.endsWith('time'));
        expect(kind).toBe(form);
      }),
      { numRuns: 5000 },
    );
  });

  it('is found in long texts, and is JSON in those of more than 10,000 letters', () => {
    for (const piece of ['a', 'a.', 'a_', '1:', '1 ', '+/', '[', ':']) {
      expect(kindsOf([piece.repeat(5000)]).kinds.size).toBe(1);
      expect(kindsOf([piece.repeat(2_000_000)]).kind).toBe('JSON');
    }
  });
});
