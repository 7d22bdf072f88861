import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { trace } from '@opentelemetry/api';
import { printSchema } from '../../src/gateway/serve/print-schema.ts';
import { serve } from '../../src/gateway/serve/serve.ts';
import type { ServerProcess } from '../../src/gateway/serve/server-process.ts';
import { lockFile } from '../../src/terminal/lock-file.ts';
import type { Output } from '../../src/terminal/output.ts';
import { replaceFile } from '../../src/terminal/replace-file.ts';
import { run } from '../../src/terminal/run.ts';
import type { Runtime } from '../../src/terminal/runtime.ts';
import { runSandbox } from '../../src/testing/sandbox/run-sandbox.ts';
import { startSandbox } from '../../src/testing/sandbox/server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Node's compile cache: the next start takes a third less time. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: `${ROOT}node_modules/.cache/node` };

/** A running `keytrail`. */
export type RunningCommand = AsyncDisposable & {
  readonly output: { stdout: string; stderr: string };
  /** Waits until the output matches, and returns the match. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** The exit status. */
  readonly status: Promise<number | null>;
};

/** One in its own process. */
export type KeytrailProcess = RunningCommand & { readonly child: ChildProcessWithoutNullStreams };

/**
 * Starts the command in its own process, from the sources by default, with only the given environment. Disposing it
 * kills it.
 */
export function startKeytrail(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  script = 'src/main.ts',
): KeytrailProcess {
  const env = { ...COMPILE_CACHE, ...environment };
  return watchProcess(spawn(process.execPath, [script, ...args], { cwd: ROOT, env }));
}

/**
 * Starts the command in a pseudo terminal, of 100 columns by default, which receives both of its streams: they are
 * `stdout`. The arguments must mean nothing to a shell.
 */
export function startInTerminal(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  columns = 100,
  script = 'src/main.ts',
): KeytrailProcess {
  const env = { ...COMPILE_CACHE, TERM: 'xterm', ...environment };
  const command = `stty cols ${columns}; exec '${process.execPath}' ${script} ${args.join(' ')}`;
  // `script` is of util-linux, which every Linux distribution has.
  return watchProcess(spawn('script', ['-qec', command, '/dev/null'], { cwd: ROOT, env }));
}

/** A command for {@link runInTerminal}. */
export type TerminalRun = {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string;
};

/** What comes after the output of a command, before its status. */
export const STATUS = '--- status ';

/** Runs commands, without pauses, in one pseudo terminal: 20 times as fast as in one each. */
export async function runInTerminal(runs: readonly TerminalRun[]) {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-terminal-'));
  try {
    const file = join(folder, 'runs.json');
    await writeFile(file, JSON.stringify(runs));
    await using terminal = startInTerminal({}, [file], 100, 'test/helpers/run-in-terminal.ts');
    await terminal.status;
    const parts = terminal.output.stdout.replaceAll(/\r+\n/g, '\n').split(STATUS);
    return runs.map((_, index) => ({
      text: parts[index]?.replace(/^\d+\n/, '') ?? '',
      status: Number.parseInt(parts[index + 1] ?? '', 10),
    }));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs a script of a shell, in which `$KEYTRAIL` starts the command. */
export function startInShell(
  script: string,
  environment: Readonly<Record<string, string>> = {},
): KeytrailProcess {
  const own = { PATH: process.env['PATH'], KEYTRAIL: `${process.execPath} src/main.ts` };
  const env = { ...COMPILE_CACHE, ...own, ...environment };
  return watchProcess(spawn('sh', ['-c', script], { cwd: ROOT, env }));
}

/** Starts a command of a package that is installed in a folder. */
export function startInstalled(
  folder: string,
  command: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): KeytrailProcess {
  const PATH = dirname(process.execPath);
  return watchProcess(
    spawn(command, args, { cwd: folder, env: { PATH, ...COMPILE_CACHE, ...environment } }),
  );
}

/** Starts it with `npm start`. */
export function startWithNpm(environment: Readonly<Record<string, string>>): KeytrailProcess {
  const env = { ...process.env, ...COMPILE_CACHE, ...environment };
  return watchProcess(spawn('npm', ['start'], { cwd: ROOT, env }));
}

/**
 * Runs the command in this process: everything but src/main.ts, and much faster. Not for signals, the streams of a
 * process, or its exit. Disposing it stops it as a signal does.
 */
export function keytrailInProcess(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  stdin = '',
  terminal: Partial<Output> = {},
  own: Partial<Runtime> = {},
): RunningCommand {
  const stopping = new AbortController();
  const output = watchOutput();
  const runtime: Runtime & ServerProcess & { createToken(): string } = {
    arguments: args,
    environment,
    stdout: { write: (text) => output.add('stdout', text) },
    openOutput: () => ({
      write: async (text) => output.add('stdout', text),
      ...{ isTerminal: false, columns: 100, hasColors: false, before: 'nothing' },
      ...terminal,
    }),
    stderr: new Writable({
      write: (text, _, done) => {
        output.add('stderr', String(text));
        done();
      },
    }),
    stdin: Readable.from([stdin]),
    fetch: globalThis.fetch,
    readFile: (path) => readFileSync(path, 'utf8'),
    replaceFile,
    lockFile: (path) =>
      lockFile(path, {
        ...{ pid: process.pid, id: randomUUID(), now: () => new Date() },
        kill: (pid, signal) => process.kill(pid, signal),
      }),
    version: '0.0.0',
    now: () => new Date(),
    memoryBytes: 0,
    clock: () => performance.now(),
    random: Math.random,
    pause: (ms, signal) => sleep(ms, undefined, { signal }),
    createId: randomUUID,
    createToken: () => randomBytes(32).toString('base64url'),
    loadSdk: () => Promise.reject({ code: 'ERR_MODULE_NOT_FOUND' }), // it would read the variables of this process
    getTracer: () => trace.getTracer('keytrail'),
    stopping: stopping.signal,
    exit: () => {},
    ...own,
  };
  const status = run(runtime, {
    serve: (settings, data) =>
      serve(runtime, settings, () =>
        startSandbox({ ...runtime, host: '127.0.0.1', port: 0, ...data }),
      ),
    runSandbox: (options) => runSandbox(runtime, { ...runtime, ...options }),
    printSchema: async (options) => printSchema(options),
  });
  return {
    ...output.watch(status),
    [Symbol.asyncDispose]: async () => {
      stopping.abort(constants.signals.SIGINT);
      await status;
    },
  };
}

function watchProcess(child: ChildProcessWithoutNullStreams): KeytrailProcess {
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
    watch: (status: Promise<number | null>): Omit<RunningCommand, typeof Symbol.asyncDispose> => ({
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
          if (ended) throw new Error(`it exited without ${pattern}: ${output.stderr}`);
        }
      },
    }),
  };
}
