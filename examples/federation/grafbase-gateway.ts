import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { findFreePort, type Running, readLocal, runRouter } from './serve.ts';

/** The file of Grafbase's program. Undefined where npm does not install it: it exists for Linux on x86-64 only. */
export const GRAFBASE: string | undefined = findGrafbase();

function findGrafbase(): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve('@grafbase/cli-x86_64-unknown-linux-musl/grafbase'));
  } catch {
    return undefined;
  }
}

/** The options of `startGrafbaseGateway`. */
export type GrafbaseOptions = {
  /** The text of a `grafbase.toml`. Grafbase composes the subgraphs itself. */
  readonly config: string;
  /** A loopback port; 0 chooses a free one. */
  readonly port: number;
};

/**
 * Composes and serves subgraphs with `grafbase dev` in a process of its own.
 * @throws Error if Grafbase is not installed, or exits instead of serving.
 */
export async function startGrafbaseGateway({ config, port }: GrafbaseOptions): Promise<Running> {
  if (port !== 0) return start(config, port);
  for (let left = 2; ; left -= 1)
    try {
      return await start(config, await findFreePort()); // given 0, Grafbase does not print the port
    } catch (error) {
      if (left === 0) throw error; // otherwise another program may have taken the port in between
    }
}

async function start(config: string, port: number): Promise<Running> {
  if (GRAFBASE === undefined)
    throw new Error(
      'Grafbase is not installed: its npm package has a program for Linux on x86-64 only.',
    );
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-grafbase-'));
  const origin = `127.0.0.1:${port}`;
  await writeFile(join(folder, 'grafbase.toml'), config);
  const child = spawn(GRAFBASE, ['dev', '--listen-address', origin], {
    cwd: folder,
    env: { HOME: folder }, // it unpacks the files of its user interface there
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const dispose = async () => {
    child.kill('SIGKILL');
    await closed;
    await rm(folder, { recursive: true, force: true });
  };
  if (!(await printsItsUrl(child.stdout))) {
    await dispose();
    throw new Error('Grafbase exited. Do the subgraphs run?');
  }
  return { url: `http://${origin}/graphql`, [Symbol.asyncDispose]: dispose };
}

/**
 * Waits until Grafbase prints its URL, which it does once it has the port; false if it exits first. A request to the
 * port would not show whose it is: another program that has taken it may respond 200 to everything.
 */
async function printsItsUrl(stdout: Readable): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  createInterface(stdout)
    .on('line', (line) => line.includes('Local:') && resolve(true))
    .on('close', () => resolve(false));
  return promise;
}

if (import.meta.main) {
  const config = readLocal('grafbase.toml');
  await runRouter('Grafbase Gateway', (port) => startGrafbaseGateway({ config, port }));
}
