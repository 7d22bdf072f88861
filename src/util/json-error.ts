import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';

/** Where a text stops being JSON. Both count from 1, the column in UTF-16 code units, as editors do. */
export type JsonError = {
  readonly line: number;
  readonly column: number;
  /** A usual mistake at this place. */
  readonly mistake: 'comma' | 'comment' | null;
};

/** A string as far as it is valid, or a word. The library names the place where an invalid one begins. */
const VALID = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*|(?:true|false|null)(?!\w)/y;

/** Finds the first error of a text that is not JSON (RFC 8259); null if there is none, or thousands of brackets before it. */
export function findJsonError(text: string): JsonError | null {
  const errors: ParseError[] = [];
  try {
    parse(text, errors, { disallowComments: true });
  } catch {
    // The library is recursive: a RangeError.
  }
  const [first] = errors;
  if (first === undefined) return null;
  const code = printParseErrorCode(first.error);
  VALID.lastIndex = first.offset;
  const valid = /^Invalid|String$/.test(code) ? (VALID.exec(text)?.[0] ?? '') : '';
  const before = text.slice(0, first.offset + valid.length);
  const lines = before.split(/\r\n?|\n/);
  const isComma = /,[ \t\r\n]*$/.test(before) && /[}\]]/.test(text.charAt(before.length));
  const mistake = isComma ? 'comma' : code === 'InvalidCommentToken' ? 'comment' : null;
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1, mistake };
}
