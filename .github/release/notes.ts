import { readFileSync } from 'node:fs';

/**
 * The part of a changelog under the heading of a version: `## 1.2.3`, with or without more words.
 * @throws Error if it has none.
 */
export function notesOf(changelog: string, version: string): string {
  const parts = changelog.split(/^## /m).slice(1);
  const part = parts.find((each) => each.split(/\s/, 1)[0] === version);
  const notes = part?.slice(`${part}\n`.indexOf('\n')).trim() ?? '';
  if (notes === '') throw new Error(`The changelog has nothing under ## ${version}.`);
  return `${notes}\n`;
}

// node notes.ts CHANGELOG.md, with the tag in GITHUB_REF_NAME
if (import.meta.main) {
  const [, , file = ''] = process.argv;
  const version = String(process.env['GITHUB_REF_NAME']).replace(/^v/, '');
  process.stdout.write(notesOf(readFileSync(file, 'utf8'), version));
}
