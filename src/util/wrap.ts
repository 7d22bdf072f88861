/** Columns of the terminal. */
export const WIDTH = 100;

/** Breaks a line of more than `width` columns at spaces. The lines after the first are indented. */
export function wrap(line: string, indent: string, width = WIDTH): readonly string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const before = rest.lastIndexOf(' ', width);
    const end = before > indent.length ? before : rest.indexOf(' ', width); // after a word that is too long
    if (end < 0) break;
    lines.push(rest.slice(0, end));
    rest = `${indent}${rest.slice(end + 1)}`;
  }
  return [...lines, rest];
}
