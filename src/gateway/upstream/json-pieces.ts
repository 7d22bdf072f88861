import { setImmediate as nextIteration } from 'node:timers/promises';
import { decodeUtf8, keepDigits, MAX_DEPTH, parseJson } from './parse-json.ts';

/**
 * Items that a response may have: what lists contain, and objects and lists within others. Parsed, an item takes up to 64
 * bytes more than its text: 28 MB of empty objects would take 600 MB and block the event loop for two seconds. Records
 * of 100 bytes reach 32 MiB with a third of it.
 */
const MAX_ITEMS = 1_000_000;

/** 2 MB take 20 ms to decode and parse. */
const PIECE_BYTES = 2 ** 21;

/** Of the search for the pieces: 4 MB take 10 ms. */
const SCANNED_BYTES = 2 ** 22;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [LIST, OBJECT, END_OF_LIST, END_OF_OBJECT] = [0x5b, 0x7b, 0x5d, 0x7d];

/** JSON whose longest list can be parsed in pieces. */
export type JsonPieces = {
  readonly json: Buffer;
  /** How deeply the list is nested: 1 for the whole JSON. */
  readonly depth: number;
  /** The positions of the list's opening bracket, of some of its commas, and of its closing bracket. */
  readonly cuts: readonly number[];
};

/**
 * Finds where JSON can be cut: at commas of the longest list that is in no other list. It reads each byte, 2 ms per
 * MB. After every 4 MB, other work of the event loop comes first.
 * @param pieceBytes bytes from which a piece is cut at the next comma; what is not in the list may have as many.
 * @returns null if most of it is not in such a list. Invalid JSON may have pieces; not all of them can be parsed.
 */
export async function cutJson(
  json: Buffer,
  pieceBytes = PIECE_BYTES,
): Promise<JsonPieces | null | 'TOO_MANY_ITEMS'> {
  let items = 0;
  let depth = 0;
  const isList: boolean[] = []; // by depth
  let listDepth = 0; // of the list that is open and in no other list; 0 if there is none
  let cuts: number[] = [];
  let lastCut = 0;
  let longest: JsonPieces | null = null;
  let pauseAt = SCANNED_BYTES;
  for (let at = 0; at < json.length; at += 1) {
    if (at >= pauseAt) {
      pauseAt = at + SCANNED_BYTES;
      await nextIteration();
    }
    const byte = json[at];
    if (byte === QUOTE) {
      at += 1;
      while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) {
      if (isList[depth]) items += 1;
      if (depth === listDepth && at - lastCut >= pieceBytes) {
        cuts.push(at);
        lastCut = at;
      }
    } else if (byte === LIST || byte === OBJECT) {
      // The first item of a list has no comma before it, so a list counts for it. Objects in lists are counted by commas.
      if (byte === LIST || (depth > 0 && !isList[depth])) items += 1;
      depth += 1;
      isList[depth] = byte === LIST;
      if (byte === LIST && listDepth === 0) {
        listDepth = depth;
        cuts = [at];
        lastCut = at;
      }
    } else if (byte === END_OF_LIST || byte === END_OF_OBJECT) {
      if (depth === listDepth && depth > 0) {
        cuts.push(at);
        if (byte === END_OF_LIST && lengthOf(cuts) > lengthOf(longest?.cuts ?? []))
          longest = { json, depth, cuts };
        listDepth = 0;
      }
      depth = Math.max(0, depth - 1);
    }
    if (items > MAX_ITEMS) return 'TOO_MANY_ITEMS';
  }
  return longest !== null && json.length - lengthOf(longest.cuts) <= pieceBytes ? longest : null;
}

const lengthOf = (cuts: readonly number[]) => (cuts.at(-1) ?? 0) - (cuts[0] ?? 0);

/**
 * Parses JSON piece by piece, as {@link parseJson} does the whole. Before each piece, other work of the event loop comes
 * first.
 * @throws Error if it is not JSON in UTF-8, is nested too deeply, or has a key twice whose first value is the list.
 */
export async function parsePieces({ json, depth, cuts }: JsonPieces): Promise<unknown> {
  const items: unknown[] = [];
  for (const [index, to] of cuts.entries()) {
    await nextIteration();
    const from = cuts[index - 1];
    if (from === undefined) continue;
    const piece = parseJson(decodeList(json, from, to), MAX_DEPTH + 1 - depth);
    if (!Array.isArray(piece) || (piece.length === 0 && cuts.length > 2)) throw new SyntaxError();
    for (const item of piece) items.push(item);
  }
  const [before, after] = [json.subarray(0, cuts[0]), json.subarray((cuts.at(-1) ?? 0) + 1)];
  // In place of the list is a text that is longer than any other.
  const mark = '-'.repeat(before.length + after.length + 1);
  const rest = decodeUtf8(Buffer.concat([before, Buffer.from(JSON.stringify(mark)), after]));
  parseJson(rest);
  let isPut = false;
  const putItems: typeof keepDigits = (key, value, context) => {
    if (value !== mark) return keepDigits(key, value, context);
    isPut = true;
    return items;
  };
  const whole: unknown = JSON.parse(rest, putItems);
  if (!isPut) throw new SyntaxError(); // the mark is a key, or its own key is there twice
  return whole;
}

/**
 * Decodes a part of JSON, whose first and last bytes are brackets or commas, as a list. The bytes are replaced meanwhile:
 * JSON.parse takes twice as long for a text that is put together from parts.
 */
function decodeList(json: Buffer, from: number, to: number): string {
  const [first = COMMA, last = COMMA] = [json[from], json[to]];
  json[from] = LIST;
  json[to] = END_OF_LIST;
  try {
    return decodeUtf8(json.subarray(from, to + 1));
  } finally {
    json[from] = first;
    json[to] = last;
  }
}
