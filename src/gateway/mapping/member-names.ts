import { memoize } from '../../util/memoize.ts';

/** Words that services join without a separator: `eventid`, `ipaddress`, `username`. */
const JOINED_WORDS: ReadonlySet<string> = new Set(
  'access account action activity actor address addr admin agent at audit by client code count created data date datetime display email entity event expires expiry full host id identity in ip item key last link log login mail name next no num object on operation page performed refresh remote request resource result session size start end source state status target time timestamp token total type updated user uuid'.split(
    ' ',
  ),
);

/** Abbreviations and synonyms, with the word that replaces them. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['addr', 'address'],
  ['mail', 'email'],
  ['datetime', 'time'],
  ['usr', 'user'],
  ['evt', 'event'],
  ['op', 'operation'],
  ['desc', 'description'],
]);

/** Keys that are names are shorter. Of others, 80 characters are examined. */
const TOO_LONG = /^(.{80}).+/s;

/** See {@link splitMemberName}. */
export type MemberName = ReturnType<typeof splitMemberName>;

/** Splits a key into words, see `memoize`. */
export const splitMemberName = memoize((key) => ({
  /** The key, escaped for a JSON pointer (RFC 6901, section 3). */
  pointerToken: key.replaceAll('~', '~0').replaceAll('/', '~1'),
  /**
   * In lower case and singular, separated by spaces: `created at` for `createdAt`, `created_at`, `CREATED-AT`. The `@`
   * of an e-mail address, and the end of a text that was cut, are a `…`: such words are not cached.
   */
  words: key
    .replace(TOO_LONG, '$1…')
    .replace(/(?<!^)@/g, '… ')
    .replace(/(\p{Ll}|\d)(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1$3 $2$4')
    .toLowerCase()
    .split(/[^\p{L}\p{N}…]+/u)
    .filter((word) => word !== '')
    .flatMap((word) => splitJoined(word, new Set()) ?? [word])
    .map(toSingular)
    .map((word) => SYNONYMS.get(word) ?? word)
    .join(' '),
}));

/**
 * Splits joined words; null if a part of them is unknown.
 * @param failedLengths lengths of the ends that cannot be split. Without them, the time is exponential, because words
 * can be split in several ways: `login` is also `log`, `in`.
 */
function splitJoined(word: string, failedLengths: Set<number>): readonly string[] | null {
  if (JOINED_WORDS.has(word)) return [word];
  if (failedLengths.has(word.length)) return null;
  for (let end = word.length - 2; end >= 2; end -= 1) {
    const head = word.slice(0, end);
    const tail = JOINED_WORDS.has(head) ? splitJoined(word.slice(end), failedLengths) : null;
    if (tail !== null) return [head, ...tail];
  }
  failedLengths.add(word.length);
  return null;
}

function toSingular(word: string): string {
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word;
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}

/** The words of the last token of a pointer. */
export function wordsOfPointer(pointer: string): string {
  return splitMemberName(pointer.slice(pointer.lastIndexOf('/') + 1)).words;
}

/** Creates a function that lists the patterns that match the words of a name. Cached, see `memoize`. */
export function classifyNames<Patterns extends Readonly<Record<string, RegExp>>>(
  patterns: Patterns,
): (words: string) => ReadonlySet<keyof Patterns> {
  return memoize((words) => {
    const found = new Set<keyof Patterns>();
    for (const name in patterns) if (patterns[name]?.test(words)) found.add(name);
    return found;
  });
}
