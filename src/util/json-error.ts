/** Where a text stops being JSON. Both count from 1, the column in UTF-16 code units, as editors do. */
export type JsonError = {
  readonly line: number;
  readonly column: number;
  /** A usual mistake at this place. */
  readonly mistake: 'comma' | 'comment' | null;
};

/** Spaces, then a punctuator, a string, or any other value. */
const TOKEN =
  /[ \t\r\n]*(?:([{}[\]:,])|("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-]))/y;

/** The same as far as a string is valid. */
const START = /[ \t\r\n]*(?:"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*)?/y;

/** The tokens that may come next: `"` is a string, `v` another value. */
const VALUE = '{["v';

/** Finds the first error of a text that is not JSON (RFC 8259); null if there is none. It does not depend on V8's messages. */
export function findJsonError(text: string): JsonError | null {
  const closers: string[] = [];
  let expected = VALUE;
  let isAfterComma = false;
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    const [token = '', punctuator, string] = match ?? [];
    const kind = punctuator ?? (string === undefined ? 'v' : '"');
    const isExpected = match !== null && expected.includes(kind);
    if (!isExpected) {
      START.lastIndex = at;
      const offset =
        at + (match === null ? (START.exec(text)?.[0].length ?? 0) : token.search(/\S/));
      if (expected === '' && offset === text.length) return null;
      const isComma = isAfterComma && /[}\]]/.test(kind);
      const isComment = /^\/[/*]/.test(text.slice(offset, offset + 2));
      return { ...locate(text, offset), mistake: isComma ? 'comma' : isComment ? 'comment' : null };
    }
    at += token.length;
    isAfterComma = kind === ',';
    const isKey = kind === '"' && !expected.includes('v');
    if (kind === '{' || kind === '[') {
      closers.push(kind === '{' ? '}' : ']');
      expected = kind === '{' ? '"}' : `${VALUE}]`;
    } else if (isKey) expected = ':';
    else if (kind === ':') expected = VALUE;
    else if (kind === ',') expected = closers.at(-1) === '}' ? '"' : VALUE;
    else {
      if (kind === '}' || kind === ']') closers.pop();
      const closer = closers.at(-1);
      expected = closer === undefined ? '' : `,${closer}`;
    }
  }
}

function locate(text: string, offset: number): Pick<JsonError, 'line' | 'column'> {
  const lines = text.slice(0, offset).split(/\r\n?|\n/);
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
