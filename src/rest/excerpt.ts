// It exists for speed: of a large answer no more is parsed, and not much more is downloaded, than is asked for.
import type { Excerpt, Look } from './exchange.ts';
import { MAX_DEPTH, parseJson } from './json.ts';
import { decode } from './response.ts';

/** What is enough of an answer: the first items of a list in it. */
export type Need = {
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

/** So many lists are tried at most, as each try parses all that has come. */
const TRIES = 3;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const CLOSING: ReadonlyMap<number, string> = new Map([
  [0x5b, ']'],
  [0x7b, '}'],
]);

/**
 * Looks for what is needed of a body of so many bytes while it arrives, unless that is about half of it or more.
 * The cut is valid JSON, decoded and parsed like a whole answer. What follows it is never looked at: neither garbage
 * nor a truncation there is noticed, nor a second member of the same name.
 */
export function createLook(need: () => Need | undefined, announced: number): Look | undefined {
  const needed = announced < LEAST_BYTES ? undefined : need();
  if (needed === undefined) return undefined;
  const { items, depths, suffices } = needed;
  const lists = depths.map((depth) => `]${'}'.repeat(depth)}`);
  let tries = TRIES;
  let taken = 0; // pieces
  let before = 0; // their bytes
  let over = 0; // how far a text goes on behind them, see skipText
  let open = ''; // what closes the brackets that are open
  let count = 0; // items of the list

  /** Whether an item of a list ends with this bracket. */
  const take = (bracket: number): boolean => {
    const closing = CLOSING.get(bracket);
    open = closing === undefined ? open.slice(1) : closing + open;
    if (open.length > MAX_DEPTH) tries = 0; // it will be refused
    if (!lists.includes(open)) return false;
    count = closing === undefined ? count + 1 : 0;
    return closing === undefined;
  };

  return (pieces) => {
    for (const piece of pieces.slice(taken)) {
      if (tries === 0) return undefined;
      let at = over === 0 ? 0 : skipText(piece, over - 1);
      while (at < piece.length && tries > 0) {
        const byte = piece[at] ?? 0;
        at += 1;
        if (byte === QUOTE) at = skipText(piece, at);
        else if (isBracket(byte) && take(byte)) {
          if (count === LOOK && 2 * (before + at) * (items / LOOK) > announced) tries = 0;
          if (count !== items || tries === 0) continue;
          const excerpt = cut(Buffer.concat(pieces, before + at), open, suffices);
          if (excerpt !== undefined) return excerpt;
          tries -= 1;
        }
      }
      taken += 1;
      before += piece.length;
      over = at - piece.length;
    }
    return undefined;
  };
}

/** The index behind a text; one or two beyond the end where it does not end, two behind a backslash. */
function skipText(piece: Buffer, from: number): number {
  let at = from;
  while (at < piece.length) {
    const byte = piece[at];
    at += 1;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return at + 1;
}

/** Those of lists are those of objects but for one bit. */
function isBracket(byte: number): boolean {
  const folded = byte | 0x20;
  return folded === 0x7b || folded === 0x7d;
}

/** What cannot be read here cannot be read as a whole either, and whoever reads that says so. */
function cut(bytes: Buffer, brackets: string, suffices: Need['suffices']): Excerpt | undefined {
  try {
    const body = parseJson(decode(bytes) + brackets);
    return suffices(body) ? { body } : undefined;
  } catch {
    return undefined;
  }
}
