import fc from 'fast-check';
import { expect, it } from 'vitest';
import { escapeUnprintable } from '../../src/util/escape-unprintable.ts';

it.each([
  ['plain Zürich 日本 🔑', 'plain Zürich 日本 🔑'],
  ['\u001b[31m', '\\u001b[31m'],
  ['a\nb\tc', 'a\\u000ab\\u0009c'],
  ['\u202eabc', '\\u202eabc'],
  ['\u2028', '\\u2028'],
  ['\ud800', '\\ud800'],
  ['\u{e0001}', '\\udb40\\udc01'],
])('%j is printed as %j', (text, printed) => {
  expect(escapeUnprintable(text)).toBe(printed);
});

it('any text is printable afterwards, and JSON strings keep their value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(escapeUnprintable(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(escapeUnprintable(JSON.stringify(text)))).toBe(text);
    }),
  );
});
