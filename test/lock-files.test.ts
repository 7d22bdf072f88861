import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILES = execFileSync('git', ['ls-files', '*package-lock.json'], { cwd: ROOT })
  .toString()
  .trim()
  .split('\n');

it.each(FILES)('every package of %s has its integrity hash', (file) => {
  const { packages } = JSON.parse(readFileSync(`${ROOT}${file}`, 'utf8'));
  const missing = Object.entries<Readonly<Record<string, unknown>>>(packages)
    .filter(([path, { link, integrity }]) => path !== '' && !link && !integrity)
    .map(([path]) => path);
  expect(missing).toEqual([]);
});
