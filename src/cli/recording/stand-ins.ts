import { isIP, isIPv4, isIPv6 } from 'node:net';
import { unescape as decodePercent } from 'node:querystring';

const E_MAIL = String.raw`[\p{L}\p{N}._+-]+(?:@|%40)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+`;
const E_MAILS = toPattern([E_MAIL]);
const IPV4 = String.raw`(?<!\.)(?:\d{1,3}\.){3}\d{1,3}(?!\.\d)`;
const IPV6 = String.raw`(?<!:)(?:[\da-fA-F]{0,4}:){2,7}[\da-fA-F.]+`;

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
    if (!standIns.has(text) && !text.includes('@') && isIP(text) === 0) return found;
    return text === found ? ofItem(text) : encodeURIComponent(ofItem(text));
  };
  return {
    /** The stand-in for a text. Each item of a list with commas, such as one of IP addresses, has its own. */
    of: (text: string) => text.replace(/[^\s,]+(?:\s+[^\s,]+)*/g, ofItem),
    /** Replaces the e-mail addresses in a text, also percent-encoded, as in a link. */
    replaceEMails: (text: string) => text.replace(E_MAILS, replaceFound),
    /** Creates a function that also replaces IP addresses, and the texts that have a stand-in now. */
    createReplacement: () => {
      const literals = [...standIns.keys()]
        .filter((text) => text.length > 2 && !/^\d{1,3}$/.test(text)) // others occur everywhere
        .flatMap((text) => [text, encodeURIComponent(text.toWellFormed())])
        .toSorted((a, b) => b.length - a.length)
        .map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
      const all = toPattern([E_MAIL, ...literals, IPV4, IPV6]);
      return (text: string) => standIns.get(text) ?? text.replace(all, replaceFound);
    },
    /** Number of texts that have one. */
    count: () => standIns.size,
  };
}

/** A pattern of whole words. Of those with the same start, the first counts. */
function toPattern(alternatives: readonly string[]): RegExp {
  const before = String.raw`^|[^\p{L}\p{N}]|%[\da-fA-F]{2}`;
  return new RegExp(`(?<=${before})(?:${alternatives.join('|')})(?![\\p{L}\\p{N}])`, 'gu');
}

/** Writes a number in the form of a text: as an address that belongs to nobody, or in its letters and digits. */
function write(text: string, count: number): string {
  if (isIPv4(text.replace(/:\d+$/, '')))
    return `198.${18 + (count >> 16)}.${(count >> 8) & 255}.${count & 255}`; // RFC 2544
  if (isIPv6(text)) return `2001:db8::${count.toString(16)}`; // RFC 3849
  if (text.match(E_MAILS)?.[0] === text) return `user${count}@example.com`; // RFC 2606
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
