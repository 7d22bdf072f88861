import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A running `keytrail`. */
export type Process = AsyncDisposable & {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: { stdout: string; stderr: string };
  /** Waits until a text stands in what it wrote, and gives the match. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** The exit status, once it has ended. */
  readonly status: Promise<number | null>;
};

/**
 * Starts the command in a process of its own, from the sources unless another script is named, with no environment but
 * what is given. Disposing it kills it.
 */
export function keytrail(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  script = 'src/main.ts',
): Process {
  return watch(spawn(process.execPath, [script, ...args], { cwd: ROOT, env: environment }));
}

/** Starts it as users do. */
export function npmStart(environment: Readonly<Record<string, string>>): Process {
  return watch(spawn('npm', ['start'], { cwd: ROOT, env: { ...process.env, ...environment } }));
}

function watch(child: ChildProcessWithoutNullStreams): Process {
  const output = { stdout: '', stderr: '' };
  let wake = () => {};
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      output[name] += chunk;
      wake();
    });
  }
  const status = once(child, 'close').then(([code]) => code);
  return {
    child,
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
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await status;
    },
  };
}
