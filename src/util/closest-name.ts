/**
 * Finds the name that was most likely meant, ignoring case and leading hyphens. Undefined if more than 40 % of the
 * characters and one more differ, the threshold of graphql-js for "Did you mean".
 */
export function findClosestName(typed: string, names: readonly string[]): string | undefined {
  const letters = toLetters(typed);
  const [closest] = names
    .map((name) => ({ name, distance: editDistance(letters, toLetters(name)) }))
    .filter(({ distance }) => distance <= Math.floor(letters.length * 0.4) + 1)
    .sort((a, b) => a.distance - b.distance);
  return closest?.name;
}

function toLetters(name: string): string {
  return name.toLowerCase().replace(/^-+/, '');
}

/** The number of characters to insert, delete or replace that turns one text into the other (Levenshtein). */
export function editDistance(from: string, to: string): number {
  // Row i has the distances of the first i characters of `from` to every prefix of `to`.
  let row = Array.from({ length: to.length + 1 }, (_, length) => length);
  for (const [index, character] of from.split('').entries()) {
    const next = [index + 1];
    for (const [at, other] of to.split('').entries()) {
      const replaced = (row[at] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
