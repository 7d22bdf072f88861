import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('node_modules/.bin/', import.meta.url));
const ROOT_BIN = fileURLToPath(new URL('../../node_modules/.bin/', import.meta.url));
const TIMEOUT_MS = 60_000;

/** How a command ended, and what it printed. */
export type Finished = {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs a command of this folder's packages, or of the project's, in a folder. */
export function runTool(
  folder: string,
  command: string,
  ...args: readonly string[]
): Promise<Finished> {
  const PATH = [dirname(process.execPath), BIN, ROOT_BIN, process.env['PATH']].join(delimiter);
  const options = {
    cwd: folder,
    env: { ...process.env, PATH, NO_COLOR: '1' },
    timeout: TIMEOUT_MS,
    maxBuffer: 2 ** 24,
  };
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ status, stdout, stderr });
    });
  });
}

/** A new folder. Disposing it removes it. */
export async function createFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'keytrail-tools-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** The schema that `keytrail schema --client` prints, for tools that know no federation. */
export async function printClientSchema(): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { stdout } = await runTool(root, 'node', 'src/main.ts', 'schema', '--client');
  return stdout;
}
