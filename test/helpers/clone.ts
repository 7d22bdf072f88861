import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Copies the files that a clone has, and `node_modules`. */
export function createClone(to: string): void {
  for (const file of listFiles()) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(to, file));
  }
  linkFolder(join(ROOT, 'node_modules'), join(to, 'node_modules'));
}

/** Copies a clone as it is after `npm ci`: with `dist/`, which is built again only if a source is newer. */
export async function createBuiltClone(to: string): Promise<void> {
  createClone(to);
  const built =
    statSync(join(ROOT, 'dist/keytrail/package.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = listFiles().filter((file) =>
    /^(?:(?:src|scripts)\/|README\.md$|[^/]+\.(?:json|ts)$)/.test(file),
  );
  const isBuilt = sources.every((file) => statSync(join(ROOT, file)).mtimeMs < built);
  if (isBuilt) cpSync(join(ROOT, 'dist'), join(to, 'dist'), { recursive: true });
  else await npm(to, 'run', 'build');
}

function listFiles(): readonly string[] {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  return files.filter((name) => name !== '' && existsSync(join(ROOT, name)));
}

/** Copies a clone with all that was built or written in it. Its packages are symbolic links to those of `from`. */
export function copyClone(from: string, to: string): void {
  const modules = 'node_modules';
  const others = readdirSync(from).filter((name) => name !== modules);
  mkdirSync(join(to, modules), { recursive: true });
  execFileSync('cp', ['-a', ...others, to], { cwd: from });
  for (const name of readdirSync(join(from, modules)))
    symlinkSync(join(from, modules, name), join(to, modules, name));
}

/**
 * Packs this repository into `folder`, and returns the path of the package. A clone is packed, so that `dist/` does not
 * change while other tests read it.
 */
export async function packClone(folder: string): Promise<string> {
  using stack = new DisposableStack();
  const clone = mkdtempSync(join(tmpdir(), 'keytrail-clone-'));
  stack.defer(() => rmSync(clone, { recursive: true }));
  await createBuiltClone(clone);
  const options = ['--silent', '--pack-destination', folder];
  const { stdout } = await npm(clone, 'pack', ...options, './dist/keytrail');
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
