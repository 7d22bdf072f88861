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
    const runs = text.match(/[\w+/-]+/g)?.filter(({ length }) => length >= shortest) ?? [];
    // Each alone, too: a backslash or `%` may precede a credential.
    const plain = DECODERS.reduce((rest, decode) => decode(rest), text);
    const single = DECODERS.map((decode) => decode(text));
    return [plain, ...single, ...runs.flatMap(decodeRun)].some(
      (decoded) => decoded !== text && holds(decoded, encodings - 1),
    );
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

/** Decode percent-encoding and JSON escapes, and remove white space, which may wrap base64. */
const DECODERS: readonly ((text: string) => string)[] = [
  (text) =>
    text.replace(/(?:%[\da-f]{2})+/gi, (hex) =>
      Buffer.from(hex.replaceAll('%', ''), 'hex').toString(),
    ),
  (text) =>
    text.replace(/\\+u([\da-f]{4})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  (text) => text.replace(/\\+(?=["\\/])/g, ''),
  (text) => text.replace(/\s+|\\+[nrt]/g, ''),
];

/** Decodes base64, base64url and hexadecimal digits. What precedes them in the same run shifts them. */
function decodeRun(run: string): readonly string[] {
  const hex = run.match(/[\da-f]{8,}/gi)?.flatMap((one) => [one, one.slice(1)]) ?? [];
  return [
    ...[0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), 'base64').toString()),
    ...hex.map((one) => Buffer.from(one, 'hex').toString()),
  ];
}
