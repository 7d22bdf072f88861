import { setImmediate as nextIteration } from 'node:timers/promises';
import {
  decodeUtf8,
  isDigit,
  isExponent,
  MAX_DEPTH,
  quoteLargeNumbers,
  SAFE_DIGITS,
} from './parse-json.ts';

/**
 * Items that a response may have: what lists contain, and objects and lists within others. Parsed, an item takes up to 64
 * bytes more than its text: 28 MB of empty objects would take 600 MB and block the event loop for two seconds. Records
 * of 100 bytes reach 32 MiB with a third of it.
 */
const MAX_ITEMS = 1_000_000;

/**
 * Members of objects that are parsed at once. JSON.parse takes up to 1 µs for a member with a name of its own, and blocks the
 * event loop meanwhile. A piece of a list has a third of it.
 */
const MAX_MEMBERS = 1_000_000;

/** Members of one object, which is parsed at once: 20,000 records of 100 bytes by ID are as large as a piece. */
const MAX_OWN_MEMBERS = 20_000;

/** 2 MB take 20 ms to decode and parse. */
const PIECE_BYTES = 2 ** 21;

/** Of the search for the pieces: 4 MB take 10 ms. */
const SCANNED_BYTES = 2 ** 22;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [LIST, OBJECT, END_OF_LIST, END_OF_OBJECT] = [0x5b, 0x7b, 0x5d, 0x7d];

/** JSON whose longest list can be parsed in pieces. */
export type JsonPieces = {
  readonly json: Buffer;
  /** How deeply the list is nested: 1 for the whole JSON. */
  readonly depth: number;
  /** The positions of the list's opening bracket, of some of its commas, and of its closing bracket. Empty: it is one piece. */
  readonly cuts: readonly number[];
  /** Whether a number may lose digits. */
  readonly hasLargeNumbers: boolean;
};

/**
 * Finds where JSON can be cut: at commas of the longest list that is in no other list. It reads each byte, 2 ms per
 * MB. After every 4 MB, other work of the event loop comes first.
 * @param pieceBytes bytes from which a piece is cut at the next comma; what is not in the list may have as many.
 * @returns a single piece if most of it is not in such a list, and null if it is nested too deeply. Invalid JSON may have
 * pieces; not all of them can be parsed.
 */
export async function cutJson(
  json: Buffer,
  pieceBytes = PIECE_BYTES,
): Promise<JsonPieces | null | 'TOO_MANY'> {
  let items = 0;
  let members = 0;
  let membersBefore = 0; // the last cut
  let mostMembers = 0; // of a piece
  let hasLargeNumbers = false;
  let isTooDeep = false;
  let depth = 0;
  const isList: boolean[] = []; // by depth
  const ownMembers: number[] = []; // by depth
  let listDepth = 0; // of the list that is open and in no other list; 0 if there is none
  let cuts: number[] = [];
  let lastCut = 0;
  let longest: Pick<JsonPieces, 'depth' | 'cuts'> = WHOLE;
  let pauseAt = SCANNED_BYTES;
  for (let at = 0; at < json.length; at += 1) {
    if (at >= pauseAt) {
      pauseAt = at + SCANNED_BYTES;
      await nextIteration();
    }
    const byte = json[at] ?? 0;
    if (byte === QUOTE) {
      at += 1;
      while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COLON) {
      members += 1;
      const own = (ownMembers[depth] ?? 0) + 1;
      if (own > MAX_OWN_MEMBERS) return 'TOO_MANY';
      ownMembers[depth] = own;
    } else if (isDigit(byte)) {
      const from = at;
      while (isDigit(json[at + 1] ?? 0)) at += 1;
      hasLargeNumbers ||= at - from >= SAFE_DIGITS || isExponent(json[at + 1] ?? 0);
    } else if (byte === COMMA) {
      if (isList[depth]) items += 1;
      if (depth === listDepth && at - lastCut >= pieceBytes) {
        cuts.push(at);
        lastCut = at;
        mostMembers = Math.max(mostMembers, members - membersBefore);
        membersBefore = members;
      }
    } else if (byte === LIST || byte === OBJECT) {
      // The first item of a list has no comma before it, so a list counts for it. Objects in lists are counted by commas.
      if (byte === LIST || (depth > 0 && !isList[depth])) items += 1;
      depth += 1;
      isTooDeep ||= depth > MAX_DEPTH;
      isList[depth] = byte === LIST;
      ownMembers[depth] = 0;
      if (byte === LIST && listDepth === 0) {
        listDepth = depth;
        cuts = [at];
        lastCut = at;
        membersBefore = members;
      }
    } else if (byte === END_OF_LIST || byte === END_OF_OBJECT) {
      if (depth === listDepth && depth > 0) {
        cuts.push(at);
        mostMembers = Math.max(mostMembers, members - membersBefore);
        if (byte === END_OF_LIST && lengthOf(cuts) > lengthOf(longest.cuts))
          longest = { depth, cuts };
        listDepth = 0;
      }
      depth = Math.max(0, depth - 1);
    }
    if (items > MAX_ITEMS) return 'TOO_MANY';
  }
  const isInPieces = json.length - lengthOf(longest.cuts) <= pieceBytes;
  if ((isInPieces ? mostMembers : members) > MAX_MEMBERS) return 'TOO_MANY';
  return isTooDeep ? null : { json, ...(isInPieces ? longest : WHOLE), hasLargeNumbers };
}

const WHOLE = { depth: 0, cuts: [] };

const lengthOf = (cuts: readonly number[]) => (cuts.at(-1) ?? 0) - (cuts[0] ?? 0);

/**
 * Parses JSON piece by piece, as `parseJson` does the whole. Before each piece, other work of the event loop comes first.
 * @throws Error if it is not JSON in UTF-8, or has a key twice whose first value is the list.
 */
export async function parsePieces(pieces: JsonPieces): Promise<unknown> {
  const { json, depth, cuts, hasLargeNumbers } = pieces;
  const parse = (bytes: Buffer): unknown =>
    JSON.parse(decodeUtf8(hasLargeNumbers ? quoteLargeNumbers(bytes) : bytes));
  const items: unknown[] = [];
  for (const [index, to] of cuts.entries()) {
    await nextIteration();
    const from = cuts[index - 1];
    if (from === undefined) continue;
    const piece = parseList(json, from, to, parse);
    if (!Array.isArray(piece) || (piece.length === 0 && cuts.length > 2)) throw new SyntaxError();
    for (const item of piece) items.push(item);
  }
  if (depth === 0) return parse(json);
  const [before, after] = [json.subarray(0, cuts[0]), json.subarray((cuts.at(-1) ?? 0) + 1)];
  // In place of the list is a text that is longer than any other.
  const mark = '-'.repeat(before.length + after.length + 1);
  const rest = Buffer.concat([before, Buffer.from(JSON.stringify(mark)), after]);
  const whole = { value: parse(rest) };
  // Without it, the mark is a key, or its own key is there twice.
  if (!replaceIn(whole, mark, items, depth)) throw new SyntaxError();
  return whole.value;
}

/** Replaces a value in nested objects, as deep as `levels`. Returns whether it is there. */
function replaceIn(object: object, value: unknown, by: unknown, levels: number): boolean {
  const members = object as Record<string, unknown>; // a parsed object, or an array
  for (const name in members) {
    const member = members[name];
    if (member === value) members[name] = by;
    else if (
      levels === 1 ||
      typeof member !== 'object' ||
      member === null ||
      !replaceIn(member, value, by, levels - 1)
    )
      continue;
    return true;
  }
  return false;
}

/**
 * Parses a part of JSON, whose first and last bytes are brackets or commas, as a list. The bytes are replaced meanwhile:
 * JSON.parse takes twice as long for a text that is put together from parts.
 */
function parseList(json: Buffer, from: number, to: number, parse: (part: Buffer) => unknown) {
  const [first = COMMA, last = COMMA] = [json[from], json[to]];
  json[from] = LIST;
  json[to] = END_OF_LIST;
  try {
    return parse(json.subarray(from, to + 1));
  } finally {
    json[from] = first;
    json[to] = last;
  }
}
