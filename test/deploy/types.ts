import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const CONFIG = {
  compilerOptions: {
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  },
};

/** Type-checks a file that imports types of this folder's packages. Returns the errors of tsc, or an empty string. */
export async function findTypeErrors(file: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-types-'));
  try {
    await symlink(path('node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
    await writeFile(join(folder, 'file.ts'), file);
    const tsc = path('../../node_modules/.bin/tsc');
    return await promisify(execFile)(tsc, ['-p', folder, '--pretty', 'false']).then(
      () => '',
      ({ stdout }) => String(stdout),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}
