import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { trace } from '@opentelemetry/api';
import { run } from '../../src/cli/run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where Node keeps what it compiled, which takes a third off the next start. */
export const CACHED = { NODE_COMPILE_CACHE: `${ROOT}node_modules/.cache/node` };

/** A running `keytrail`. */
export type Running = AsyncDisposable & {
  readonly output: { stdout: string; stderr: string };
  /** Waits until a text stands in what it wrote, and gives the match. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** The exit status, once it has ended. */
  readonly status: Promise<number | null>;
};

/** One in a process of its own. */
export type Process = Running & { readonly child: ChildProcessWithoutNullStreams };

/**
 * Starts the command in a process of its own, from the sources unless another script is named, with no environment but
 * what is given. Disposing it kills it.
 */
export function keytrail(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  script = 'src/main.ts',
): Process {
  const env = { ...CACHED, ...environment };
  return watchProcess(spawn(process.execPath, [script, ...args], { cwd: ROOT, env }));
}

/** Starts a command of a package that was installed in a folder. */
export function start(
  folder: string,
  command: string,
  environment: Readonly<Record<string, string>>,
): Process {
  const PATH = dirname(process.execPath);
  return watchProcess(spawn(command, [], { cwd: folder, env: { PATH, ...environment } }));
}

/** Starts it as users do. */
export function npmStart(environment: Readonly<Record<string, string>>): Process {
  const env = { ...process.env, ...CACHED, ...environment };
  return watchProcess(spawn('npm', ['start'], { cwd: ROOT, env }));
}

/**
 * Does what `keytrail` does, in this process: all but src/main.ts, and much sooner. For what does not depend on
 * signals, on the process's own streams, or on its end. Disposing it stops it as a signal would.
 */
export function keytrailInProcess(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Running {
  const stopping = new AbortController();
  const output = watchOutput();
  const status = run({
    arguments: args,
    environment,
    stdout: { write: (text) => output.add('stdout', text) },
    stderr: { write: (text) => output.add('stderr', text) },
    readFile: (path) => readFileSync(path, 'utf8'),
    version: '0.0.0',
    now: () => new Date(),
    clock: () => performance.now(),
    random: Math.random,
    createId: randomUUID,
    createToken: () => randomBytes(32).toString('base64url'),
    tracer: trace.getTracer('keytrail'),
    stopping: stopping.signal,
  });
  return {
    ...output.watch(status),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await status;
    },
  };
}

function watchProcess(child: ChildProcessWithoutNullStreams): Process {
  const output = watchOutput();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => output.add(name, String(chunk)));
  }
  const status = once(child, 'close').then(([code]) => code);
  return {
    ...output.watch(status),
    child,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await status;
    },
  };
}

function watchOutput() {
  const output = { stdout: '', stderr: '' };
  let wake = () => {};
  return {
    add: (name: keyof typeof output, text: string) => {
      output[name] += text;
      wake();
    },
    watch: (status: Promise<number | null>): Omit<Running, typeof Symbol.asyncDispose> => ({
      output,
      status,
      until: async (pattern) => {
        for (;;) {
          const match = pattern.exec(output.stdout + output.stderr);
          if (match) return match;
          const ended = await Promise.race([
            status.then(() => true),
            new Promise<false>((resolve) => {
              wake = () => resolve(false);
            }),
          ]);
          if (ended) throw new Error(`it ended without ${pattern}: ${output.stderr}`);
        }
      },
    }),
  };
}
