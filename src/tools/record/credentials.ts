import { decodeJwtClaims } from '../../mapping/login.ts';

/** Shorter texts occur everywhere. */
const MIN_LENGTH = 6;

/** Characters of tokens, of base64, and of escapes. */
const RUNS = /[\w+/%.~\\-]+/g;
/** Looks back from the first dot: from each `ey`, the same characters would be scanned again. */
const JWT = /(?<=\bey[\w-]{8,})\.[\w-]+\./;

/** Creates a filter that keeps credentials out of texts, and the parts of those that are JSON Web Tokens. */
export function createCredentialFilter(given: readonly string[]) {
  const parts = given.flatMap((one) => one.split('.').filter(({ length }) => length >= 16));
  const credentials = [...given, ...parts]
    .map((one) => one.replace(/(?<!=)=+$/, '')) // padding is encoded in some places only
    .filter(({ length }) => length >= MIN_LENGTH);
  const marks = new Map<string, string>();

  /** Whether a text contains a credential, as it is or in up to six encodings within one another. */
  const holds = (text: string, encodings = 6): boolean =>
    text.length >= MIN_LENGTH &&
    (credentials.some((one) => text.includes(one)) ||
      (encodings > 0 &&
        decode(text).some((decoded) => decoded !== text && holds(decoded, encodings - 1))));

  /** The text that replaces a secret; equal for equal. A JSON Web Token remains one, with its expiry only. */
  const mark = (secret: string) => {
    const known = marks.get(secret) ?? `redacted-${marks.size + 1}`;
    marks.set(secret, known);
    const { exp } = decodeJwtClaims(secret);
    return exp === undefined ? known : `${encode({ alg: 'none' })}.${encode({ exp, known })}.`;
  };

  /** Replaces each part of a text that contains a credential, or a JSON Web Token. */
  const clean = (text: string) => {
    const cleaned = text.replace(RUNS, (run) => (JWT.test(run) || holds(run) ? mark(run) : run));
    return holds(cleaned) ? mark(text) : cleaned;
  };
  return { holds, clean, mark };
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** Removes one encoding: percent-encoding; JSON escapes and white space, which may wrap base64; base64 of each run. */
function decode(text: string): readonly string[] {
  const runs = text.match(/[\w+/-]{8,}/g) ?? [];
  return [
    text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
    ),
    text.replace(/\s+|\\+(?:u([\da-f]{4})|[nrt]|(?=["\\/]))/gi, (_, code) =>
      code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16)),
    ),
    text.replace(/\\+(?=["\\/])/g, ''), // the other characters after a backslash may belong to a credential
    // What precedes base64 in the same run shifts it.
    ...runs.flatMap((run) =>
      [0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), 'base64').toString()),
    ),
  ];
}
