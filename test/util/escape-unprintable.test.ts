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
  ['👨\u200d👩\u200d👧', '👨\u200d👩\u200d👧'],
  ['❤\ufe0f\u200d🔥', '❤\ufe0f\u200d🔥'],
  ['👩🏽\u200d💻', '👩🏽\u200d💻'],
  ['می\u200cخواهم', 'می\u200cخواهم'], // Persian
  ['مَ\u200cم', 'مَ\u200cم'], // after a mark
  ['क्\u200dष', 'क्\u200dष'], // Hindi
  ['ad\u200dmin', 'ad\\u200dmin'],
  ['ad\u200cmin', 'ad\\u200cmin'],
  ['日\u200c本', '日\\u200c本'],
  ['👨\u200d', '👨\\u200d'],
  ['👨\u200dx', '👨\\u200dx'],
  ['\u200d👨', '\\u200d👨'],
  ['👨\u200c👩', '👨\\u200c👩'],
  ['می\u200c', 'می\\u200c'],
  ['می\u200c\u200cخ', 'می\\u200c\\u200cخ'],
  ['می\u200da', 'می\\u200da'],
  ['می\u202eخ', 'می\\u202eخ'],
])('%j is printed as %j', (text, printed) => {
  expect(escapeUnprintable(text)).toBe(printed);
});

it('any text is printable afterwards, and JSON strings keep their value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(escapeUnprintable(text)).not.toMatch(/(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(escapeUnprintable(JSON.stringify(text)))).toBe(text);
    }),
  );
});

it('a joiner is shown between two emoji or two letters that it can join, and nowhere else', () => {
  const unit = fc.constantFrom(
    'a',
    'م',
    'ष',
    '\u064e',
    '👨',
    '🏽',
    '\ufe0f',
    '\u200c',
    '\u200d',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 12 }), (characters) => {
      const expected = characters.map((character, index) => {
        if (!/[\u200c\u200d]/.test(character)) return character;
        const before = characters.slice(0, index);
        const next = characters[index + 1] ?? '';
        const letter = before.findLast((each) => !/^\p{M}$/u.test(each)) ?? '';
        const isModified = /^(?:🏽|\ufe0f)$/u.test(before.at(-1) ?? '');
        const emoji = isModified ? before.at(-2) : before.at(-1);
        const isEmoji = character === '\u200d' && emoji === '👨' && next === '👨';
        const isLetter = /^[مष]$/u.test(letter) && /^[مष]$/u.test(next);
        return isEmoji || isLetter ? character : `\\u${character === '\u200c' ? '200c' : '200d'}`;
      });
      expect(escapeUnprintable(characters.join(''))).toBe(expected.join(''));
    }),
  );
});
