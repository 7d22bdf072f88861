import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Where commands run. */
export type Place = {
  readonly folder: string;
  /** A folder with programs that come before those of the PATH. */
  readonly bin: string;
};

/** A reader's shell. Commands see the variables and the working folder that earlier ones left. */
export type Shell = AsyncDisposable & {
  /**
   * Runs commands and returns what they print on both streams.
   * @throws Error with the output if one fails.
   */
  run(commands: string): Promise<string>;
};

/** A command that runs until it is stopped, in a terminal of its own. Disposing it presses Ctrl-C. */
export type LongRunning = AsyncDisposable & { readonly output: () => string };

/** Variables that npm and Vitest set for their children. */
const NOT_OF_THE_USER =
  /^(?:npm_(?:package|lifecycle|command|execpath|node|config_local)|INIT_CWD|VITEST|TEST$|NODE_(?:ENV|OPTIONS|PATH|COMPILE)|FORCE_COLOR|(?:DEV|PROD|MODE|SSR|BASE_URL)$)/;

/**
 * A reader's environment: Node and npm as installed, without what npm and Vitest add. `bin` comes first on the PATH. Node's
 * compile cache halves the time of a start. It is portable: a copy of a clone has a copy of it.
 */
export function userEnvironment({ folder, bin }: Place): NodeJS.ProcessEnv {
  const variables = Object.entries(process.env).filter(([name]) => !NOT_OF_THE_USER.test(name));
  const folders = (process.env['PATH'] ?? '').split(':');
  const PATH = [bin, ...folders.filter((folder) => !folder.includes('node_modules'))].join(':');
  return {
    ...Object.fromEntries(variables),
    ...{ NODE_COMPILE_CACHE: join(folder, '.cache'), NODE_COMPILE_CACHE_PORTABLE: '1' },
    ...{ PATH, NO_COLOR: '1' },
  };
}

function startBash(args: readonly string[], place: Place) {
  // A process group of its own, so that a signal reaches all of its processes, as from a terminal.
  const child = spawn('bash', args, {
    ...{ cwd: place.folder, env: userEnvironment(place), detached: true },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  return { child, closed, output: () => output };
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // It has exited.
  }
}

const END = '--- end of block ---';

/** Opens a shell. The first command that fails ends it. */
export function openShell(place: Place): Shell {
  const { child, closed, output } = startBash(['-euo', 'pipefail'], place);
  child.stdin.on('error', () => {}); // reported as the end of the shell
  child.stdin.write('exec 2>&1\n');
  return {
    run: async (commands) => {
      const before = output().length;
      child.stdin.write(`{\n${commands}\n} </dev/null\necho '${END}'\n`);
      for (;;) {
        const printed = output().slice(before);
        const end = printed.indexOf(`${END}\n`);
        if (end >= 0) return printed.slice(0, end);
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`exit status ${child.exitCode} of\n${commands}\n${printed}`);
        await wait(20);
      }
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      signal(child, 'SIGKILL');
      await closed;
    },
  };
}

/**
 * Starts a command that runs until it is stopped, and waits until it listens on a port that it printed.
 * @throws Error with the output if it exits instead.
 */
export async function startLongRunning(command: string, place: Place): Promise<LongRunning> {
  const { child, closed, output } = startBash(['-euc', command], place);
  const stop = async () => {
    signal(child, 'SIGINT');
    const isStopped = await Promise.race([closed.then(() => true), wait(20_000, false)]);
    signal(child, 'SIGKILL');
    if (!isStopped) throw new Error(`Ctrl-C does not stop ${command}`);
  };
  for (;;) {
    const [, host, port] = /http:\/\/(127\.0\.0\.\d+):(\d+)/.exec(output()) ?? [];
    if (host !== undefined && (await isOpen(host, Number(port)))) break;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${command}ended: ${output()}`);
    await wait(50);
  }
  return { output, [Symbol.asyncDispose]: stop };
}

async function isOpen(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
