import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBearer } from '../../../src/gateway/upstream/bearer.ts';

describe('parseBearer', () => {
  it('returns a valid header unchanged, and rejects every character that could end a header', () => {
    const header = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[Bb]earer [\w.~+/-]+=*$/),
    );
    fc.assert(
      fc.property(header, (text) => {
        try {
          expect(parseBearer(text)).toBe(text);
        } catch {
          expect(text).not.toMatch(/^bearer [\w.~+/-]+=*$/i);
          return;
        }
        expect(text).toMatch(/^[\x20-\x7e]+$/);
      }),
    );
  });
});
