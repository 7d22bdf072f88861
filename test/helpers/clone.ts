import { execFile, execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Copies the files that a clone has, and `node_modules`. */
export async function createClone(to: string): Promise<void> {
  for (const file of listFiles()) {
    await cp(join(ROOT, file), join(to, file), { recursive: true });
  }
  linkFolder(join(ROOT, 'node_modules'), join(to, 'node_modules'));
}

/** Copies a clone as it is after `npm ci`: with `dist/`, which is built again only if a source is newer. */
export async function createBuiltClone(to: string): Promise<void> {
  await createClone(to);
  const built = statSync(join(ROOT, 'dist/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = listFiles().filter((file) => /^(?:src\/|[^/]+\.(?:json|ts)$)/.test(file));
  const isBuilt = sources.every((file) => statSync(join(ROOT, file)).mtimeMs < built);
  if (isBuilt) await cp(join(ROOT, 'dist'), join(to, 'dist'), { recursive: true });
  else await npm(to, 'run', 'build');
}

function listFiles(): readonly string[] {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  return files.filter((name) => name !== '' && existsSync(join(ROOT, name)));
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
 * Packs this repository into `folder`, and returns the path of the package. A clone is packed, so that `dist/` does not
 * change while other tests read it.
 */
export async function packClone(folder: string): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const clone = await mkdtemp(join(tmpdir(), 'keytrail-clone-'));
  stack.defer(() => rm(clone, { recursive: true }));
  await createBuiltClone(clone);
  const options = ['--silent', '--ignore-scripts', '--pack-destination', folder]; // a script would build
  const { stdout } = await npm(clone, 'pack', ...options);
  return join(folder, stdout.trim());
}

/**
 * The environment with this Node first on its PATH, and without the variables that npm and Vitest set for this repository.
 * .ci/run sets where packages come from.
 */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const isOwn = (name: string) => /^(?:npm_(?!config_prefer_offline$)|NODE_ENV$)/.test(name);
  const inherited = Object.entries(process.env).filter(([name]) => !isOwn(name));
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  return { ...Object.fromEntries(inherited), PATH };
}

async function npm(cwd: string, ...args: readonly string[]) {
  return promisify(execFile)('npm', args, { cwd, env: outsideEnvironment() });
}

/** Hard links save seconds. npm replaces files of packages, it does not change them. */
export function linkFolder(from: string, to: string): void {
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'pipe' });
  } catch {
    execFileSync('cp', ['-a', from, to]); // another file system
  }
}
