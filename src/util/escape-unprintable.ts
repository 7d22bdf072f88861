/** Control and format characters (bidirectional marks among them), unassigned ones, lone surrogates, line separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

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
