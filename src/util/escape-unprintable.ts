/** Scripts whose letters a joiner or non-joiner changes: those of Unicode's IDNA rules for them, and those of Brahmi. */
const LETTER = `[${[
  ...['Arabic', 'Syriac', 'Nko', 'Mongolian', 'Adlam', 'Devanagari', 'Bengali', 'Gurmukhi'],
  ...[
    'Gujarati',
    'Oriya',
    'Tamil',
    'Telugu',
    'Kannada',
    'Malayalam',
    'Sinhala',
    'Khmer',
    'Myanmar',
  ],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('')}]`;
/** A mark follows its letter. */
const JOINED_LETTERS = `(?<=${LETTER}\\p{M}*)[\\u200c\\u200d](?=${LETTER})`;

/** Of an emoji, before a joiner: with the colour of a skin, or the selector of the coloured form. */
const JOINED_EMOJI =
  '(?<=\\p{Extended_Pictographic}[\\u{1f3fb}-\\u{1f3ff}\\ufe0f]?)\\u200d(?=\\p{Extended_Pictographic})';

/**
 * Control and format characters (bidirectional marks among them), unassigned ones, lone surrogates, line separators. Not
 * joiners where they belong to the text: elsewhere, as between Latin letters, they hide that a word is another.
 */
const UNPRINTABLE = new RegExp(
  `[\\p{C}\\p{Zl}\\p{Zp}](?<!${JOINED_LETTERS}|${JOINED_EMOJI})`,
  'gu',
);

/**
 * Replaces characters that a terminal would obey instead of printing, by `\u` escapes as in JSON: a text of the service
 * can otherwise move the cursor, or show a line as another.
 */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character
      .split('') // UTF-16 code units
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
