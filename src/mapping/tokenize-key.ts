/** Whether it is a JSON object: no array, no null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How services write that there is nothing. */
const NOTHING = /^(?:|-|n\/a|null)$/i;

/** A text, or a number in digits; null for anything else and for what says that there is nothing. */
export function toText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && (value.length > 4 || !NOTHING.test(value)) ? value : null;
}

/** Words that are written together though they are two: eventid, ipaddress, username. */
const GLUED =
  'access account action activity actor address addr admin agent at audit by client code count created data date datetime display email entity event expires expiry full host id identity in ip item key last link log login mail name next no num object on operation page performed refresh remote request resource result session size start end source state status target time timestamp token total type updated user uuid';

const SINGLE: ReadonlySet<string> = new Set(GLUED.split(' '));

/** Words that are short for others. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ['addr', 'address'],
  ['mail', 'email'],
  ['datetime', 'time'],
  ['usr', 'user'],
  ['evt', 'event'],
  ['op', 'operation'],
  ['desc', 'description'],
]);

/** No name that means something is longer. */
const MAX_LENGTH = 80;

/** The words of a name, in lower case and singular: createdAt, created_at and CREATED-AT are the same two. */
export function tokenizeKey(name: string): readonly string[] {
  return name
    .slice(0, MAX_LENGTH)
    .replace(/(\p{Ll}|\d)(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1$3 $2$4')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .flatMap((word) => unglue(word, new Set()) ?? [word])
    .map(singular)
    .map((word) => SHORT.get(word) ?? word);
}

/** Remembers which ends are no words, by their lengths: "login" is "log" and "in" too, and many make many ways. */
function unglue(word: string, vain: Set<number>): readonly string[] | null {
  if (SINGLE.has(word)) return [word];
  if (vain.has(word.length)) return null;
  for (let end = word.length - 2; end >= 2; end -= 1) {
    const head = word.slice(0, end);
    const tail = SINGLE.has(head) ? unglue(word.slice(end), vain) : null;
    if (tail !== null) return [head, ...tail];
  }
  vain.add(word.length);
  return null;
}

function singular(word: string): string {
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word;
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}
