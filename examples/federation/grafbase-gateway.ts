import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
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
  /** The text of a `grafbase.toml` without `[health]`. Grafbase composes the subgraphs itself. */
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
  const health = `/health/${randomUUID()}`; // no other program that has taken the port responds there
  await writeFile(join(folder, 'grafbase.toml'), `${config}\n[health]\npath = "${health}"\n`);
  const child = spawn(GRAFBASE, ['dev', '--listen-address', origin], {
    cwd: folder,
    env: { HOME: folder }, // it unpacks the files of its user interface there
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const closed = once(child, 'close');
  const dispose = async () => {
    child.kill('SIGKILL');
    await closed;
    await rm(folder, { recursive: true, force: true });
  };
  while (!(await isHealthy(`http://${origin}${health}`))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      await dispose();
      throw new Error('Grafbase exited. Do the subgraphs run?');
    }
    await setTimeout(20);
  }
  return { url: `http://${origin}/graphql`, [Symbol.asyncDispose]: dispose };
}

async function isHealthy(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

if (import.meta.main) {
  const config = readLocal('grafbase.toml');
  await runRouter('Grafbase Gateway', (port) => startGrafbaseGateway({ config, port }));
}
