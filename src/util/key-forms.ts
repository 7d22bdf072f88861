/** A JSON Web Token or the start of one, which is base64url of `{"` or `{ `; or a word in which a key may be. */
const CANDIDATES = /(?<![A-Za-z\d])ey[JA][\w-]{8,}(?:\.[\w-]*)*|[\w-]{16,}/g;

/** Shorter parts of a word are no keys: those of a UUID have 12 characters at most. */
const MIN_LENGTH = 16;

/** A word or a number in a part, as in `getUserV2`. */
const RUNS = /[A-Z]*[a-z]+|[A-Z]+|\d+/g;

/** Names have longer ones on average; random letters and digits 2 to 2.5. */
const MAX_RUN = 3;

/** Names have fewer digits. */
const MIN_DIGITS = 4;

/** A time in the basic format of ISO 8601. */
const TIME = /^\d{8}T\d{6}/;

/**
 * Replaces what has the form of a key in a text: a JSON Web Token, or a word with a long part of letters and digits that
 * is no name, such as `sk_live_4eC39HqLyjWDarjt`. The form is that of any vendor, so that some IDs have it as well.
 */
export function replaceKeys(text: string, replace: (key: string) => string): string {
  return text.replace(CANDIDATES, (word) => (isKey(word) ? replace(word) : word));
}

/** Whether a text contains what has the form of a key. */
export function holdsKey(text: string): boolean {
  return text.match(CANDIDATES)?.some(isKey) ?? false;
}

function isKey(word: string): boolean {
  return /^ey[JA]/.test(word) || word.split(/[_-]/).some(isRandom);
}

function isRandom(part: string): boolean {
  if (part.length < MIN_LENGTH || !/[A-Za-z]/.test(part) || TIME.test(part)) return false;
  const digits = part.match(/\d/g)?.length ?? 0;
  const isUpperCase = digits > 0 && !/[a-z]/.test(part);
  const runs = part.match(RUNS)?.length ?? 0;
  return isUpperCase || digits >= MIN_DIGITS || part.length / runs <= MAX_RUN;
}
