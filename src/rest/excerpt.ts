// It exists for speed: of a large answer no more is parsed, and not much more is downloaded, than is asked for.
import type { Excerpt, Look } from './exchange.ts';
import { parseJson } from './json.ts';
import { decode } from './response.ts';
import { createScanner } from './scanner.ts';

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

/**
 * Looks for what is needed of a body of so many bytes while it arrives, unless that is about half of it or more.
 * The cut is valid JSON, decoded and parsed like a whole answer. What follows it is never looked at: neither garbage
 * nor a truncation there is noticed, nor a second member of the same name.
 */
export function createLook(need: () => Need | undefined, announced: number): Look | undefined {
  const needed = announced < LEAST_BYTES ? undefined : need();
  if (needed === undefined) return undefined;
  const { items, depths, suffices } = needed;
  const scanner = createScanner(depths);
  let tries = TRIES;
  let scanned = 0; // pieces
  let before = 0; // their bytes
  return (pieces) => {
    if (tries === 0) return undefined;
    for (const piece of pieces.slice(scanned)) {
      for (let at = scanner.next(piece, 0); at >= 0; at = scanner.next(piece, at)) {
        const count = scanner.items();
        if (count === LOOK && 2 * (before + at) * (items / LOOK) > announced) tries = 0;
        if (tries === 0) return undefined;
        if (count !== items) continue;
        const bytes = Buffer.concat([...pieces.slice(0, scanned), piece.subarray(0, at)]);
        const excerpt = cut(bytes, scanner.brackets(), suffices);
        if (excerpt !== undefined) return excerpt;
        tries -= 1;
      }
      scanned += 1;
      before += piece.length;
    }
    return undefined;
  };
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
