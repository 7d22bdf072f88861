/** The known records that were found in a list. */
export type Match = {
  /** The indices in the list of records that are known. */
  readonly matched: ReadonlySet<number>;
  /** The last of those that are in the order in which they were known; -1 if there is none. */
  readonly last: number;
  /** The missing: known records that are not in the list. */
  readonly left: readonly string[];
  /** For each of the missing, the index in the list of the closest newer one that was found in its order; -1 for none. */
  readonly after: readonly number[];
};

/** Finds the known records in a list, while it is read. */
export type KnownMatcher = {
  /** Adds the next record of the list, by its digest. */
  add(digest: string): void;
  /** Number of records that were added. */
  length(): number;
  /** See {@link Match}. */
  last(): number;
  /** Number of known records that were found in the order in which they were known. */
  found(): number;
  match(): Match;
};

/**
 * Creates a matcher of the known records, newest first, with those of a list. Records may have been added, removed or
 * moved, and different records may be equal. So the known ones are matched as the longest common subsequence, with the
 * smallest last index. What is known and left over, because it has moved, is then matched in any order, first before that
 * index. An added record that is not known costs one look-up; any other, as much as there are known ones.
 */
export function createKnownMatcher(known: readonly string[]): KnownMatcher {
  const wanted = new Set(known);
  const rows: Row[] = []; // one per record that is known
  let length = 0;
  let longest = 0;
  let end = 0; // number of rows after which the subsequence has its full length
  return {
    add: (digest) => {
      if (wanted.has(digest)) {
        const lengths = nextLengths(rows.at(-1)?.lengths, digest, known);
        rows.push({ index: length, digest, lengths });
        const total = lengths.at(-1) ?? 0;
        if (total > longest) [longest, end] = [total, rows.length];
      }
      length += 1;
    },
    length: () => length,
    last: () => rows[end - 1]?.index ?? -1,
    found: () => longest,
    match: () => {
      const foundAt = new Map<number, number>(); // the index in the list, by that of a known record
      let [row, column] = [end, known.length];
      while (row > 0 && column > 0) {
        const { index = -1, digest, lengths } = rows[row - 1] ?? {};
        const above = rows[row - 2]?.lengths[column] ?? 0;
        if (above === lengths?.[column]) row -= 1;
        else if (digest !== known[column - 1]) column -= 1;
        else {
          [row, column] = [row - 1, column - 1];
          foundAt.set(column, index);
        }
      }
      const inOrder = new Map(foundAt);
      const matched = new Set(foundAt.values());
      for (const { index, digest } of [...rows.slice(0, end).toReversed(), ...rows.slice(end)]) {
        const isFound = (one: string, at: number) => one === digest && !foundAt.has(at);
        const found = matched.has(index) ? -1 : known.findIndex(isFound);
        if (found < 0) continue;
        matched.add(index);
        foundAt.set(found, index);
      }
      const left: string[] = [];
      const after: number[] = [];
      let newer = -1;
      for (const [at, one] of known.entries()) {
        newer = inOrder.get(at) ?? newer;
        if (foundAt.has(at)) continue;
        left.push(one);
        after.push(newer);
      }
      return { matched, last: rows[end - 1]?.index ?? -1, left, after };
    },
  };
}

/** A record of the list, and for each number of known ones the length of the longest common subsequence up to it. */
type Row = { readonly index: number; readonly digest: string; readonly lengths: Uint8Array };

function nextLengths(
  above: Uint8Array | undefined,
  digest: string,
  known: readonly string[],
): Uint8Array {
  const lengths = new Uint8Array(known.length + 1); // at most 64
  for (const [column, one] of known.entries()) {
    const diagonal = above?.[column] ?? 0;
    lengths[column + 1] =
      one === digest ? diagonal + 1 : Math.max(above?.[column + 1] ?? 0, lengths[column] ?? 0);
  }
  return lengths;
}
