/**
 * Finds the known records among all records of a list, both as digests, newest first.
 * @returns The indices in the list that are known, the last of them or -1, the known that are not in the list, how
 * many of those are newer than the known ones that are, and whether all known were found in their order.
 *
 * Records may have been added, removed or moved, and different records may be equal. So the known ones are matched as the
 * longest common subsequence, with the smallest last index. What is known and left over, because it has moved, is then
 * matched in any order, first before that index.
 */
export function matchKnown(
  all: readonly string[],
  known: readonly string[],
): {
  readonly matched: ReadonlySet<number>;
  readonly last: number;
  readonly left: readonly string[];
  readonly newer: number;
  readonly isComplete: boolean;
} {
  const wanted = new Set(known);
  const list = all.slice(0, 1 + all.findLastIndex((digest) => wanted.has(digest)));
  const matched = new Set<number>();
  const lengths = commonLengths(list, known);
  const longest = lengths.at(-1)?.at(-1) ?? 0;
  const end = lengths.findIndex((row) => row.at(-1) === longest);
  const left = [...known];
  let [row, column] = [end, known.length];
  let newer = known.length;
  while (row > 0 && column > 0) {
    if (lengths[row - 1]?.[column] === lengths[row]?.[column]) row -= 1;
    else if (list[row - 1] !== known[column - 1]) column -= 1;
    else {
      [row, column] = [row - 1, column - 1];
      matched.add(row);
      left.splice(column, 1);
      newer = column;
    }
  }
  const last = longest === 0 ? -1 : end - 1;
  for (const index of [...indices(0, end).toReversed(), ...indices(end, list.length)]) {
    const found = matched.has(index) ? -1 : left.indexOf(list[index] ?? '');
    if (found >= 0) {
      matched.add(index);
      left.splice(found, 1);
      if (found < newer) newer -= 1;
    }
  }
  return { matched, last, left, newer, isComplete: longest === known.length };
}

/** For each number of items of the list and of the known, the length of their longest common subsequence. */
function commonLengths(
  list: readonly string[],
  known: readonly string[],
): readonly (readonly number[])[] {
  const rows: number[][] = [Array.from({ length: known.length + 1 }, () => 0)];
  for (const item of list) {
    const above = rows.at(-1) ?? [];
    const row = [0];
    for (const [column, digest] of known.entries()) {
      const diagonal = above[column] ?? 0;
      const next =
        item === digest ? diagonal + 1 : Math.max(above[column + 1] ?? 0, row[column] ?? 0);
      row.push(next);
    }
    rows.push(row);
  }
  return rows;
}

function indices(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}
