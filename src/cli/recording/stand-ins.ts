import { isIP, isIPv4 } from 'node:net';

/** Stand-ins for texts of persons: equal for equal, and of the same kind. */
export type StandIns = {
  /** The stand-in for a text. It is created at the first call. */
  of(text: string): string;
  /** The stand-in that was created for a text. */
  known(text: string): string | undefined;
};

/** Networks for documentation (RFC 5737). For IPv6, and when they are used up: RFC 3849. */
const NETWORKS = ['192.0.2', '198.51.100', '203.0.113'];

const E_MAIL = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
const HEX = /^(?=.*\d)(?=.*[a-f])[\da-f-]{8,}$/i;

/** Stand-ins that are tried. The first is nearly always free, unless the text is very short. */
const MAX_TRIES = 2000;

/** Creates stand-ins that differ from existing texts, if possible. */
export function createStandIns(existing: ReadonlySet<string>): StandIns {
  const standIns = new Map<string, string>();
  const taken = new Set<string>();
  const counts = new Map<string, number>();
  const create = (text: string): string => {
    const kind = write(text, 0);
    const start = counts.get(kind) ?? 1;
    for (const avoided of [existing, taken])
      for (let count = start; count < start + MAX_TRIES; count += 1) {
        const candidate = write(text, count);
        if (taken.has(candidate) || avoided.has(candidate)) continue;
        counts.set(kind, count + 1);
        return candidate;
      }
    return `${kind}-${taken.size}`;
  };
  const of = (text: string) => {
    const standIn = standIns.get(text) ?? create(text);
    standIns.set(text, standIn);
    taken.add(standIn);
    return standIn;
  };
  return { of, known: (text) => standIns.get(text) };
}

/** Whether a text is an IP address, maybe with a port. */
export function isAddress(text: string): boolean {
  return isIP(withoutPort(text)) !== 0;
}

function withoutPort(text: string): string {
  return text.replace(/^([\d.]+):\d+$|^\[(.*)\](?::\d+)?$/, '$1$2');
}

/** Writes a number as a text of the same kind as another. */
function write(text: string, count: number): string {
  const network = NETWORKS[Math.floor(count / 254)];
  if (isIPv4(withoutPort(text)) && network !== undefined) return `${network}.${(count % 254) + 1}`;
  if (isAddress(text)) return `2001:db8::${count.toString(16)}`;
  if (E_MAIL.test(text)) return `user${count}@example.com`;
  if (UUID.test(text)) return `00000000-0000-4000-8000-${count.toString(16).padStart(12, '0')}`;
  // Any other: in its letters and digits. `x` is neither hexadecimal nor the start of a word that means something.
  const letters = HEX.test(text) ? 'abcdef' : 'xyzabcdefghijklmnopqrstuvw';
  const isInteger = /^[1-9]\d*$/.test(text);
  let rest = count;
  return [...text].reduceRight((end, character, index) => {
    if (!/[\p{L}\p{N}]/u.test(character)) return `${character}${end}`;
    const isUpper = character !== character.toLowerCase();
    const digits = isInteger && index === 0 ? '123456789' : '0123456789';
    const ofLetter = isUpper ? letters.toUpperCase() : letters;
    const alphabet = /\p{N}/u.test(character) ? digits : ofLetter;
    const written = alphabet.charAt(rest % alphabet.length);
    rest = Math.floor(rest / alphabet.length);
    return `${written}${end}`;
  }, '');
}

/** Creates a function that replaces texts where they are whole words of others, also percent-encoded; the longest first. */
export function createSubstitution(texts: readonly string[], { of }: StandIns) {
  const pairs = texts
    .filter((text) => text.length > 2 && !/^\d{1,3}$/.test(text))
    .flatMap((text) => [
      [text, of(text)] as const,
      [encodeURIComponent(text.toWellFormed()), encodeURIComponent(of(text))] as const,
    ]);
  const standIns = new Map(pairs);
  const longestFirst = [...standIns.keys()].toSorted((a, b) => b.length - a.length);
  const any = longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|');
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, 'gu');
  return (text: string) =>
    any === '' ? text : text.replace(pattern, (found) => standIns.get(found) ?? found);
}
