import { isIPv4, isIPv6 } from 'node:net';
import { unescape as decodePercent } from 'node:querystring';
import { GENERIC_TYPE } from '../../gateway/inference/value-kind.ts';
import { detectFormat, isLocalTime, parseTime } from '../../gateway/mapping/time.ts';
import { parseHttpStatus, toText } from '../../gateway/mapping/values.ts';

/** The start of a URL; an IPv6 address, or what looks like one; and words, between all that delimits them anywhere. */
const PARTS =
  /https?:\/\/|(?<![\w:])(?:[\da-f]{0,4}:){2,7}[\da-f.]+(?!\w)|[^\s/?&=#,;:<>()[\]{}"'|\\+]+/gi;

/** A word without the signs around it. Within it, they belong to it: `ann.lee@example.org`. */
const WORD = /[^._@-](?:.*[^._@-])?/s;
const E_MAIL = /^[^@]+@[^@.]+(?:\.[^@.]+)+$/;

/** How often a text may be percent-encoded. More often, it is a word. */
const MAX_ENCODINGS = 4;

/** A longer text is neither a time nor a status, and has no form. */
const MAX_LENGTH = 100;

/**
 * Creates stand-ins for the words of texts: of the same form, and equal for equal in any text, such as a link. A stand-in
 * means to inference what the word means to it: a time remains a time, an address an address.
 * @param reserved texts that no stand-in may be.
 */
export function createStandIns(reserved: Iterable<string>) {
  const standIns = new Map<string, string>();
  const taken = new Set(reserved);
  const counts = new Map<string, number>();

  const ofWord = (word: string) => {
    const known = standIns.get(word);
    if (known !== undefined) return known;
    const form = formOf(word);
    let count = counts.get(form) ?? 1;
    let standIn = write(word, form, count);
    while (taken.has(standIn) || standIn === word || !isSameKind(standIn, word)) {
      count += 1;
      standIn = write(word, form, count);
    }
    counts.set(form, count + 1);
    taken.add(standIn);
    standIns.set(word, standIn);
    return standIn;
  };
  const ofParts = (text: string, encodings: number): string =>
    text.replace(PARTS, (part) => {
      if (part.endsWith('://')) return part;
      if (isIPv6(part)) return ofWord(part);
      if (part.includes(':')) return part.replace(/[^:]+/g, ofWord);
      const decoded = encodings > 0 ? decodePercent(part) : part;
      return decoded === part
        ? part.replace(WORD, ofWord)
        : encodeURIComponent(ofParts(decoded, encodings - 1).toWellFormed());
    });
  const ofText = (text: string) => {
    const isNothing = toText(text) === null || GENERIC_TYPE.test(text);
    if (isNothing) return text;
    return isTime(text) ? ofWord(text) : ofParts(text, MAX_ENCODINGS);
  };
  return {
    /** The stand-in for a text. What means "no value" or "audit record" stays. */
    ofText,
    /** The stand-in for a number, which has the digits of the one for its text. */
    ofNumber: (value: number) => {
      const standIn = Number(ofText(String(Math.abs(value)).replace(/e[+-]?/, '')));
      return value < 0 ? -standIn : standIn;
    },
    /** Number of words that have one. */
    count: () => standIns.size,
  };
}

function isTime(text: string): boolean {
  return text.length <= MAX_LENGTH && (parseTime(text) !== null || isLocalTime(text));
}

/** Whether both or neither are times, and statuses of the same outcome. A longer stand-in counts: there are no others left. */
function isSameKind(standIn: string, word: string): boolean {
  if (word.length > MAX_LENGTH || standIn.length > word.length) return true;
  return parseHttpStatus(standIn) === parseHttpStatus(word) && isTime(standIn) === isTime(word);
}

/** Stand-ins are numbered by form, so that they are as short as the words. */
function formOf(word: string): string {
  if (isIPv4(word) || isIPv6(word)) return 'ip';
  if (E_MAIL.test(word)) return 'e-mail';
  if (isTime(word)) return 'time';
  if (word.length > MAX_LENGTH) return 'long';
  const letters = lettersFor(word);
  return `${parseHttpStatus(word)} ${word.replace(/./gsu, (one) => alphabetOf(one, letters)[0] ?? one)}`;
}

/** Writes a number in the form of a word: as an address that belongs to nobody, or in its letters and digits. */
function write(word: string, form: string, count: number): string {
  if (form === 'time') return writeTime(word, count);
  if (form === 'e-mail') return `user${count}@example.com`; // RFC 2606
  if (form === 'ip')
    return isIPv6(word)
      ? `2001:db8::${count.toString(16)}` // RFC 3849
      : `198.${18 + (count >> 16)}.${(count >> 8) & 255}.${count & 255}`; // RFC 2544
  const letters = lettersFor(word);
  let rest = count - 1;
  const digits = [...word].toReversed().map((one) => {
    const alphabet = alphabetOf(one, letters);
    if (alphabet === '') return one;
    const digit = alphabet.charAt(rest % alphabet.length);
    rest = Math.floor(rest / alphabet.length);
    return digit;
  });
  const last = digits.find((one) => /[\p{L}\p{N}]/u.test(one)) ?? 'α';
  return rest === 0 ? digits.toReversed().join('') : write(word + last, form, count);
}

/** Consonants spell no words. */
const LETTERS = 'bcdghjklmpqrsvwxz';
const HEX = /^[\da-f-]{12,}$/i;

/** A text of hexadecimal digits remains one, and another long one with digits becomes none. */
function lettersFor(word: string): string {
  if (HEX.test(word)) return 'bcd';
  return /^(?=.*\d).{12}/.test(word) ? LETTERS.replace('bcd', '') : LETTERS;
}

const GREEK = 'βγδζθκλμνξπρστφχψ';

/** What may replace a character. Of a sign that separates, nothing. A number of eights is no time and no status. */
function alphabetOf(one: string, letters: string): string {
  if (/[._@-]/.test(one)) return '';
  if (/\d/.test(one)) return '876543219';
  if (!/[\p{L}\p{N}]/u.test(one)) return '~';
  const alphabet = /[a-z]/i.test(one) ? letters : GREEK;
  return one === one.toLowerCase() ? alphabet : alphabet.toUpperCase();
}

/** The zeros after the seconds of an epoch. */
const ZEROS: Readonly<Record<string, number>> = {
  'epoch-milliseconds': 3,
  'epoch-microseconds': 6,
  'epoch-nanoseconds': 9,
};

/** Writes a time after 9 September 2001: an epoch in the same unit, or a text with or without a zone. */
function writeTime(text: string, count: number): string {
  const seconds = 1_000_000_000 + count;
  const format = detectFormat(text);
  if (format?.startsWith('epoch-')) return `${seconds}${'0'.repeat(ZEROS[format] ?? 0)}`;
  const iso = new Date(1000 * seconds).toISOString();
  return format === null ? iso.slice(0, 19) : iso;
}
