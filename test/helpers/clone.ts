import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Copies the files that a clone has, and `node_modules`. */
export async function createClone(to: string): Promise<void> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((name) => existsSync(join(ROOT, name)) && name !== '')) {
    await cp(join(ROOT, file), join(to, file), { recursive: true });
  }
  linkFolder(join(ROOT, 'node_modules'), join(to, 'node_modules'));
}

/** Copies a clone with all that was built or written in it. Its packages are symbolic links to those of `from`. */
export async function copyClone(from: string, to: string): Promise<void> {
  const modules = join(from, 'node_modules');
  await cp(from, to, { recursive: true, filter: (path) => path !== modules });
  await mkdir(join(to, 'node_modules'));
  for (const name of await readdir(modules))
    await symlink(join(modules, name), join(to, 'node_modules', name));
}

/**
 * Packs this repository into `folder`, and returns the path of the package. A clone is built and packed, so that `dist/`
 * does not change while other tests read it.
 */
export async function packClone(folder: string): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const clone = await mkdtemp(join(tmpdir(), 'keytrail-clone-'));
  stack.defer(() => rm(clone, { recursive: true }));
  await createClone(clone);
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
  const env = { ...Object.fromEntries(inherited), PATH };
  const { stdout } = await promisify(execFile)(
    'npm',
    ['pack', '--silent', '--pack-destination', folder],
    { cwd: clone, env },
  );
  return join(folder, stdout.trim());
}

/** Hard links save seconds. npm replaces files of packages, it does not change them. */
function linkFolder(from: string, to: string): void {
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'pipe' });
  } catch {
    execFileSync('cp', ['-a', from, to]); // another file system
  }
}
