// Kept for speed: the first 50 of 20,000 records take 1/67 of the CPU of parsing the whole body (npm run bench -- --load page).
import { decodeUtf8, MAX_DEPTH, parseJson } from './parse-json.ts';

/** The part of a response that the caller needs: the first items of one list. */
export type PrefixRequest = {
  /** How many items, counting only objects and arrays. */
  readonly items: number;
  /** The numbers of objects that may enclose the list, one inside the other; 0 for a list at the root. */
  readonly depths: readonly number[];
  /** Whether a body of unknown length is read whole: it may turn out to be too large. */
  readonly isLengthNeeded: boolean;
  /** Whether a body truncated after these items is sufficient, whatever the rest contains. */
  suffices(body: unknown): boolean;
};

/** A truncated body: valid JSON up to the last requested item, with every open bracket closed. */
export type PartialBody = { readonly json: unknown };

/** Called with all bytes of a body so far whenever some arrive; returns the partial body once it is complete. */
export type BodyScanner = (bytes: Buffer) => PartialBody | undefined;

/** Smaller bodies are read whole: that is about as fast, and keeps the connection open. */
const MIN_CONTENT_LENGTH = 65_536;

/** The number of items after which the size of the requested prefix is estimated. */
const ESTIMATE_AFTER = 50;

/** Lists that one scan parses at most: each costs parsing everything before its end. */
const MAX_CANDIDATES = 3;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/**
 * Creates a scanner that finds the requested prefix in a body while it arrives. Undefined if the body is small, or if its
 * length is needed and `contentLength` is NaN.
 * The scanner gives up if it needs about half of the body or more. The rest is neither parsed nor validated, so
 * a syntax error, a truncation or a duplicate key in it goes unnoticed.
 */
export function createBodyScanner(
  prefix: PrefixRequest,
  contentLength: number,
): BodyScanner | undefined {
  const isUnknown = Number.isNaN(contentLength);
  if (isUnknown ? prefix.isLengthNeeded : contentLength < MIN_CONTENT_LENGTH) return undefined;
  const length = isUnknown ? Number.POSITIVE_INFINITY : contentLength;
  let nextScan = isUnknown ? MIN_CONTENT_LENGTH : 1; // bytes
  return (bytes) => {
    if (bytes.length < nextScan) return undefined;
    const found = findPrefix(bytes, prefix, length);
    // Doubling it limits all scans together to twice the bytes of the last one.
    nextScan = found === null ? Number.POSITIVE_INFINITY : 2 * bytes.length;
    return found ?? undefined;
  };
}

/** Undefined if more bytes are needed; null if no prefix will be sufficient. */
function findPrefix(
  bytes: Buffer,
  prefix: PrefixRequest,
  contentLength: number,
): PartialBody | null | undefined {
  const closings = prefix.depths.map((depth) => `]${'}'.repeat(depth)}`); // of a list at each depth
  let open = ''; // the brackets that close those that are open
  let items = 0; // complete ones of the current list
  let candidates = MAX_CANDIDATES;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = findStringEnd(bytes, at);
    const folded = byte | 0x20; // `[` and `{`, `]` and `}` differ by this bit
    if (folded !== 0x7b && folded !== 0x7d) continue;
    const isOpening = (byte & 0x02) !== 0; // the closing bracket is the character two after it
    open = isOpening ? String.fromCharCode(byte + 2) + open : open.slice(1);
    if (open.length > MAX_DEPTH) return null; // parseJson rejects the whole body
    if (!closings.includes(open)) continue;
    items = isOpening ? 0 : items + 1;
    const isEstimated = items === ESTIMATE_AFTER;
    if (isEstimated && 2 * at * (prefix.items / ESTIMATE_AFTER) > contentLength) return null;
    if (items !== prefix.items) continue;
    const partial = truncate(bytes.subarray(0, at + 1), open, prefix);
    candidates -= 1;
    if (partial !== undefined || candidates === 0) return partial ?? null;
  }
  return undefined;
}

/** The index of a string's closing quote; past the end of `bytes` if it is missing. */
function findStringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Undefined if the prefix is invalid or not sufficient; the body is then read whole, which reports what is invalid. */
function truncate(bytes: Buffer, brackets: string, prefix: PrefixRequest): PartialBody | undefined {
  try {
    const json = parseJson(decodeUtf8(bytes) + brackets);
    return prefix.suffices(json) ? { json } : undefined;
  } catch {
    return undefined;
  }
}
