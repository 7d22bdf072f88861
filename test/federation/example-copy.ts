import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readExample, type Subgraphs } from './supergraph.ts';

/** The folder of the example. */
export const EXAMPLE = fileURLToPath(new URL('../../examples/federation/', import.meta.url));

/** As npm sets it. */
const PATH = [
  join(EXAMPLE, 'node_modules/.bin'),
  dirname(process.execPath),
  process.env['PATH'],
].join(':');

/** A copy of the example's folder. Disposing removes it. */
export type ExampleCopy = AsyncDisposable & {
  readonly folder: string;
  /** Replaces texts in a file of the copy. @throws Error if the file does not have one of them. */
  replace(file: string, replacements: Readonly<Record<string, string>>): Promise<void>;
};

/** Copies the example, with the URLs of other subgraphs in its files. */
export async function copyExample({ toTestUrls }: Subgraphs): Promise<ExampleCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-federation-'));
  await cp(EXAMPLE, folder, {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules'),
  });
  await symlink(join(EXAMPLE, 'node_modules'), join(folder, 'node_modules'));
  for (const file of [
    ...['supergraph.graphql', 'supergraph.yaml', 'grafbase.toml'],
    ...['mesh.config.ts', 'remote-schema.ts'],
  ])
    await writeFile(join(folder, file), toTestUrls(readExample(file)));
  return {
    folder,
    replace: async (file, replacements) => {
      let text = await readFile(join(folder, file), 'utf8');
      for (const [from, to] of Object.entries(replacements)) {
        if (!text.includes(from)) throw new Error(`${file} does not have ${from}`);
        text = text.replaceAll(from, to);
      }
      await writeFile(join(folder, file), text);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Runs a script of the example's package.json to its end, without npm. */
export async function runScript(folder: string, name: string): Promise<void> {
  await promisify(execFile)('sh', ['-c', commandOf(name)], { cwd: folder, env: { PATH } });
}

/** Starts a script on a free port, without npm. Disposing stops it by SIGTERM. */
export async function startScript(folder: string, name: string) {
  const child = spawn('sh', ['-c', commandOf(name)], {
    cwd: folder,
    env: { PATH, PORT: '0' },
    timeout: 120_000, // on a busy machine it starts in 20 s
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk;
    });
  }
  while (!printed.includes('http:') && child.exitCode === null)
    await Promise.race([once(child.stdout, 'data'), closed]);
  return {
    url: /http:\S+/.exec(printed)?.[0] ?? '',
    printed: () => printed,
    stop: async () => {
      child.kill('SIGTERM');
      const [, signal] = await closed;
      return signal;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM'); // not SIGKILL: the script of Grafbase stops a process of its own
      await closed;
    },
  };
}

function commandOf(name: string): string {
  return JSON.parse(readExample('package.json')).scripts[name];
}
