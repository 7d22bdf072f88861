// It exists for speed: of a large answer no more is parsed, and not much more is downloaded, than is asked for.
import type { Excerpt, Look } from './http-request.ts';
import { MAX_DEPTH, parseJson } from './parse-json.ts';
import { decode } from './response.ts';

/** What is enough of an answer: the first items of a list in it. */
export type PrefixRequest = {
  /** So many, which are objects or lists themselves. */
  readonly items: number;
  /** In how many objects, one inside of the other, the list may stand. */
  readonly depths: readonly number[];
  /** Whether a body that was cut behind so many items of a list is enough, whatever followed there. */
  suffices(body: unknown): boolean;
};

/** Smaller answers are read whole: that is about as fast, and does not cost their connection. */
const LEAST_BYTES = 65_536;

/** After so many items of a list it is estimated how much of the answer is needed. */
const LOOK = 50;

/** So many lists are tried in one look at most, as each try parses all that is in front of it. */
const TRIES = 3;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/**
 * Looks for what is needed of a body of so many bytes while it arrives, unless that is about half of it or more.
 * The cut is valid JSON, decoded and parsed like a whole answer. What follows it is never looked at: neither garbage
 * nor a truncation there is noticed, nor a second member of the same name.
 */
export function createPrefixReader(
  need: () => PrefixRequest | undefined,
  announced: number,
): Look | undefined {
  const needed = announced < LEAST_BYTES ? undefined : need();
  if (needed === undefined) return undefined;
  let due = 1; // bytes
  return (pieces, size) => {
    if (size < due) return undefined;
    const excerpt = find(Buffer.concat(pieces), needed, announced);
    // All looks together take twice as long as the last one.
    due = excerpt === null ? Number.POSITIVE_INFINITY : 2 * size;
    return excerpt ?? undefined;
  };
}

/** Undefined where more has to come, null where nothing will be enough. */
function find(bytes: Buffer, need: PrefixRequest, announced: number): Excerpt | null | undefined {
  const lists = need.depths.map((depth) => `]${'}'.repeat(depth)}`);
  let open = ''; // what closes the brackets that are open
  let count = 0; // items of the list
  let tries = TRIES;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfText(bytes, at);
    const folded = byte | 0x20; // brackets of lists are those of objects but for one bit
    if (folded !== 0x7b && folded !== 0x7d) continue;
    const isOpening = (byte & 0x02) !== 0; // two further is what closes it
    open = isOpening ? String.fromCharCode(byte + 2) + open : open.slice(1);
    if (open.length > MAX_DEPTH) return null; // it will be refused
    if (!lists.includes(open)) continue;
    count = isOpening ? 0 : count + 1;
    if (count === LOOK && 2 * at * (need.items / LOOK) > announced) return null;
    if (count !== need.items) continue;
    const excerpt = cut(bytes.subarray(0, at + 1), open, need.suffices);
    tries -= 1;
    if (excerpt !== undefined || tries === 0) return excerpt ?? null;
  }
  return undefined;
}

/** The index of the quote behind a text; beyond the bytes where it does not end. */
function endOfText(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** What cannot be read here cannot be read as a whole either, and whoever reads that says so. */
function cut(
  bytes: Buffer,
  brackets: string,
  suffices: PrefixRequest['suffices'],
): Excerpt | undefined {
  try {
    const body = parseJson(decode(bytes) + brackets);
    return suffices(body) ? { body } : undefined;
  } catch {
    return undefined;
  }
}
