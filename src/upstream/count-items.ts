/**
 * Items that a response may have: what lists contain, and objects and lists within others. Parsed, an item takes up to 64
 * bytes more than its text: 28 MB of empty objects would take 600 MB and block the event loop for two seconds. Records
 * of 100 bytes reach 32 MB with a third of it.
 */
const MAX_ITEMS = 1_000_000;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [LIST, OBJECT, END_OF_LIST, END_OF_OBJECT] = [0x5b, 0x7b, 0x5d, 0x7d];

/** Whether JSON has more than a million items. It reads the bytes up to there, 1 ms per MB. Any other text has few. */
export function hasTooManyItems(json: Buffer): boolean {
  if (json.length <= MAX_ITEMS) return false;
  let items = 0;
  let depth = 0;
  const isList: boolean[] = []; // by depth
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      at += 1;
      while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) {
      if (isList[depth]) items += 1;
    } else if (byte === LIST || byte === OBJECT) {
      // The first item of a list has no comma before it, so a list counts for it. Objects in lists are counted by commas.
      if (byte === LIST || (depth > 0 && !isList[depth])) items += 1;
      depth += 1;
      isList[depth] = byte === LIST;
    } else if (byte === END_OF_LIST || byte === END_OF_OBJECT) {
      depth = Math.max(0, depth - 1);
    }
    if (items > MAX_ITEMS) return true;
  }
  return false;
}
