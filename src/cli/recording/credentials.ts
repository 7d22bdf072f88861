/** Keeps credentials out of texts. */
export type CredentialFilter = {
  /** Whether a text contains a credential, as it is or encoded. */
  holds(text: string): boolean;
  /** Replaces each part of a text that contains one. */
  clean(text: string): string;
  /** The text that replaces a secret; equal for equal. */
  mark(secret: string): string;
};

/** Shorter texts occur everywhere. */
const MIN_LENGTH = 6;

/** Encodings within one another: base64 of JSON with a percent-encoded text has three. */
const MAX_ENCODINGS = 5;

/** Creates a filter for some credentials, and for the parts of those that are JSON Web Tokens. */
export function createCredentialFilter(given: readonly string[]): CredentialFilter {
  const parts = given.flatMap((one) => one.split('.').filter(({ length }) => length >= 16));
  const credentials = [...given, ...parts].filter(({ length }) => length >= MIN_LENGTH);
  const shortest = Math.min(...credentials.map(({ length }) => length)); // Infinity without one
  const marks = new Map<string, string>();
  const holds = (text: string, encodings = MAX_ENCODINGS): boolean => {
    if (credentials.some((one) => text.includes(one))) return true;
    if (encodings === 0 || text.length < shortest) return false;
    const plain = decodeEscapes(text);
    if (plain !== text && holds(plain, encodings - 1)) return true;
    const runs = plain.match(/[\w+/-]+/g)?.filter(({ length }) => length >= shortest) ?? [];
    return runs.flatMap(decodeRun).some((decoded) => holds(decoded, encodings - 1));
  };
  const mark = (secret: string) => {
    const known = marks.get(secret) ?? `redacted-${marks.size + 1}`;
    marks.set(secret, known);
    return known;
  };
  const clean = (text: string) => {
    if (!holds(text)) return text;
    const raw = credentials.reduce((rest, one) => rest.replaceAll(one, mark(one)), text);
    const cleaned = raw.replace(/[\w+/%.~\\-]+/g, (part) => (holds(part) ? mark(part) : part));
    return holds(cleaned) ? mark(text) : cleaned;
  };
  return { holds, clean, mark };
}

/** Decodes JSON escapes and percent-encoding, and removes white space, which may wrap base64. */
function decodeEscapes(text: string): string {
  return text
    .replace(/\\+u([\da-f]{4})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/(?:%[\da-f]{2})+/gi, (hex) => Buffer.from(hex.replaceAll('%', ''), 'hex').toString())
    .replace(/\s+|\\+(?:[nrt]|(?=["\\/]))/g, '');
}

/** Decodes base64, base64url and hexadecimal digits. What precedes them in the same run shifts them. */
function decodeRun(run: string): readonly string[] {
  const hex = run.match(/[\da-f]{8,}/gi)?.flatMap((one) => [one, one.slice(1)]) ?? [];
  return [
    ...[0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), 'base64').toString()),
    ...hex.map((one) => Buffer.from(one, 'hex').toString()),
  ];
}
