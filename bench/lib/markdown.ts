/** A table in Markdown: the first row is its head. */
export function table([head = [], ...rows]: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |\n`;
  return [head, head.map(() => '---'), ...rows].map(line).join('');
}

/** Bytes as megabytes, with one place. */
export function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

/** The value that a share of all does not exceed; NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
