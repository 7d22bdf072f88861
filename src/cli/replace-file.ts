import { renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Replaces a file as a whole, by a temporary file next to it, or creates it. Only its owner may read it.
 * @throws Node's error if that is not possible. Then the file is as it was.
 */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true }); // of a process that was killed
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
