import { isIP, isIPv4, isIPv6 } from 'node:net';
import { unescape as decodePercent } from 'node:querystring';

const E_MAIL = String.raw`[\p{L}\p{N}._+-]+(?:@|%40)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+`;
/** From the first character only of those that may precede an @. From each, a long text takes quadratic time. */
const WHOLE_E_MAIL = String.raw`(?<![\p{L}\p{N}._+-])${E_MAIL}`;
const E_MAILS = toPattern([WHOLE_E_MAIL]);
const ONE_E_MAIL = new RegExp(`^${E_MAIL}$`, 'u');
/** At one position. */
const E_MAIL_HERE = toPattern([E_MAIL], 'uy');
const E_MAIL_AFTER_SIGN = toPattern([`(?<=[._+-])${E_MAIL}`], 'uy');
const IPV4 = String.raw`(?<!\.)(?:\d{1,3}\.){3}\d{1,3}(?!\.\d)`;
const IPV6 = String.raw`(?<!:)(?:[\da-fA-F]{0,4}:){2,7}[\da-fA-F.]+`;

/**
 * How much of a text is searched for in others: V8 compiles no pattern of 30,000 characters. What begins like a longer
 * text is replaced to its end.
 */
const MAX_LITERAL = 256;
const START = new RegExp(`^.{0,${MAX_LITERAL}}`, 'su');

/** Creates stand-ins for texts of persons: equal for equal, and of the same form. */
export function createStandIns() {
  const standIns = new Map<string, string>();
  const taken = new Set<string>();
  const ofItem = (text: string) => {
    let standIn = standIns.get(text);
    for (let count = standIns.size + 1; standIn === undefined; count += 1) {
      const candidate = write(text, count);
      if (candidate !== text && !taken.has(candidate)) standIn = candidate;
    }
    standIns.set(text, standIn);
    taken.add(standIn);
    return standIn;
  };
  const replaceFound = (found: string) => {
    const text = decodePercent(found);
    const isFound = standIns.has(text) || text.includes('@') || isIP(text) !== 0;
    if (!isFound && text.length < MAX_LITERAL) return found;
    return text === found ? ofItem(text) : encodeURIComponent(ofItem(text).toWellFormed());
  };
  const replaceAll = (text: string, pattern: RegExp) => {
    const pieces: string[] = [];
    let end = 0;
    const find = (one: RegExp, start: number) => {
      one.lastIndex = start;
      return one.exec(text);
    };
    // A match with other characters may end within those that may precede an @: the others may be an address.
    const findNext = (last: string) =>
      (/[^\p{L}\p{N}._+-]/u.test(last)
        ? (find(E_MAIL_HERE, end) ?? find(E_MAIL_AFTER_SIGN, end + 1))
        : null) ?? find(pattern, end);
    for (let match = find(pattern, 0); match !== null; match = findNext(match[0])) {
      pieces.push(text.slice(end, match.index), replaceFound(match[0]));
      end = match.index + match[0].length;
    }
    return pieces.join('') + text.slice(end);
  };
  return {
    /** The stand-in for a text. Each item of a list with commas, such as one of IP addresses, has its own. */
    of: (text: string) => text.replace(/[^\s,]+(?:\s+[^\s,]+)*/g, ofItem),
    /** Replaces the e-mail addresses in a text, also percent-encoded, as in a link. */
    replaceEMails: (text: string) => replaceAll(text, E_MAILS),
    /** Creates a function that also replaces IP addresses, and the texts that have a stand-in now. */
    createReplacement: () => {
      const literals = [...standIns.keys()]
        .filter((text) => text.length > 2 && !/^\d{1,3}$/.test(text)) // others occur everywhere
        .flatMap((text) => {
          const [start = ''] = START.exec(text) ?? [];
          const rest = start === text ? '' : '[^]*';
          const forms = [start, encodeURIComponent(start.toWellFormed())];
          return forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') + rest);
        })
        .toSorted((a, b) => b.length - a.length);
      const all = toPattern([WHOLE_E_MAIL, ...new Set(literals), IPV4, IPV6]);
      return (text: string) => standIns.get(text) ?? replaceAll(text, all);
    },
    /** Number of texts that have one. */
    count: () => standIns.size,
  };
}

/** A pattern of whole words. Of those with the same start, the first counts. */
function toPattern(alternatives: readonly string[], flags = 'gu'): RegExp {
  const before = String.raw`^|[^\p{L}\p{N}]|%[\da-fA-F]{2}`;
  return new RegExp(`(?<=${before})(?:${alternatives.join('|')})(?![\\p{L}\\p{N}])`, flags);
}

/** Writes a number in the form of a text: as an address that belongs to nobody, or in its letters and digits. */
function write(text: string, count: number): string {
  if (isIPv4(text.replace(/:\d+$/, '')))
    return `198.${18 + (count >> 16)}.${(count >> 8) & 255}.${count & 255}`; // RFC 2544
  if (isIPv6(text)) return `2001:db8::${count.toString(16)}`; // RFC 3849
  if (ONE_E_MAIL.test(text)) return `user${count}@example.com`; // RFC 2606
  let rest = count;
  const written = text.replace(/\p{L}|\p{N}/gu, (character) => {
    // A text of hexadecimal digits remains one, and no number begins with 0.
    const alphabet = /\p{N}/u.test(character) ? '123456789' : 'abcdef';
    const digit = alphabet.charAt(rest % alphabet.length);
    rest = Math.floor(rest / alphabet.length);
    return character === character.toLowerCase() ? digit : digit.toUpperCase();
  });
  return rest === 0 ? written : `${written}${rest}`;
}
