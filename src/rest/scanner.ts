// It exists for speed: an answer can be cut behind the records that are wanted, without making objects of the others.

/** Finds where the items of lists end in a JSON text that arrives in pieces, whose borders may be anywhere. */
export type Scanner = {
  /**
   * Goes on in a piece: the index behind the next item that ends in it, or -1. A piece is given with 0, and then again
   * with each index that came back, until that is -1.
   */
  next(piece: Uint8Array, from: number): number;
  /** How many items of its list have ended, this one included. */
  items(): number;
  /** What closes the text behind the item. */
  brackets(): string;
};

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Builds a scanner of lists that stand in so many objects, and in no other list. Objects and lists count as items,
 * nothing else does. What is no JSON is not noticed.
 */
export function createScanner(depths: readonly number[]): Scanner {
  let depth = 0;
  let objects = 0; // so many of the open brackets are of objects, from the outermost on to the first that is not
  let list = 0; // the depth inside of the list whose items are counted; 0 for none
  let items = 0;
  let over = 0; // how far a string goes on behind the last piece, see skipString

  const open = (isObject: boolean) => {
    if (depth === objects && isObject) objects += 1;
    else if (depth === objects && depths.includes(depth)) {
      list = depth + 1;
      items = 0;
    }
    depth += 1;
  };
  /** Whether an item has ended. */
  const close = (): boolean => {
    depth -= 1;
    if (depth < objects) objects = depth;
    if (depth < list) list = 0;
    if (list === 0 || depth !== list) return false;
    items += 1;
    return true;
  };

  return {
    next: (piece, from) => {
      let at = over === 0 ? from : skipString(piece, over - 1);
      while (at < piece.length) {
        const byte = piece[at];
        at += 1;
        if (byte === QUOTE) at = skipString(piece, at);
        else if (byte === OBJECT || byte === LIST) open(byte === OBJECT);
        else if ((byte === OBJECT_END || byte === LIST_END) && close()) {
          over = 0;
          return at;
        }
      }
      over = at - piece.length;
      return -1;
    },
    items: () => items,
    brackets: () => `]${'}'.repeat(list - 1)}`,
  };
}

/** The index behind a string; one or two beyond the end where it does not end, two behind a backslash. */
function skipString(piece: Uint8Array, from: number): number {
  let at = from;
  while (at < piece.length) {
    const byte = piece[at];
    at += 1;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return at + 1;
}
