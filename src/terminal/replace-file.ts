import {
  closeSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { repeatWhileBusy } from '../client/busy-file.ts';

/**
 * Replaces a regular file as a whole, by a temporary file next to it, or creates it. Only its owner may read it. A link
 * stays, and the file that it leads to is replaced. A character device is written to.
 * @param id unique: the temporary file is named by it.
 * @throws Error if that is not possible, or if the path leads to anything else. Then a regular file is as it was. The
 * error has `left`, the path of the temporary file, if that could not be removed.
 */
export async function replaceFile(path: string, text: string, id: string): Promise<void> {
  const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const target = exists ? realpathSync(path) : path;
  const stats = statSync(target, { throwIfNoEntry: false });
  if (stats?.isCharacterDevice()) {
    writeFileSync(target, text);
    return;
  }
  if (stats?.isFile() === false) throw new Error('not a regular file');
  const temporary = join(dirname(target), `.keytrail-${id}.tmp`);
  const file = openSync(temporary, 'wx', 0o600);
  try {
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
    await repeatWhileBusy(() => renameSync(temporary, target));
  } catch (error) {
    const remove = () => rmSync(temporary, { force: true });
    await repeatWhileBusy(remove).catch(() => Object.assign(Object(error), { left: temporary }));
    throw error;
  }
}
