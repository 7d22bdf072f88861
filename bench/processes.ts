import {
  type ChildProcess,
  execFileSync,
  type StdioOptions,
  spawn,
  spawnSync,
} from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Command } from './peers.ts';

/** A core as `taskset -c` takes it. */
export type Core = '0' | '1';

/** What is measured runs on core 0; the service, the load and this process on core 1. */
export const PEER_CORE: Core = '0';
export const LOAD_CORE: Core = '1';

/** A process that runs. Disposing it kills it and all that it started. */
export type Running = AsyncDisposable & {
  readonly child: ChildProcess;
  /** CPU time that it and all that it started have used, in microseconds; the kernel counts it in steps of 10 ms. */
  cpuMicros(): number;
  /** Memory that it and all that it started occupy, in bytes; what they share counts for each. */
  rssBytes(): number;
};

/** Says what this machine lacks; else null. */
export function findLack(): string | null {
  if (availableParallelism() < 2) return 'Two cores are needed.';
  if (spawnSync('taskset', ['-V']).error) return 'taskset is missing: apt-get install util-linux';
  return spawnSync('wrk', ['-v']).error ? 'wrk is missing: apt-get install wrk' : null;
}

/** Keeps this process, too, off the core of what is measured. */
export function pinThisProcess(): void {
  execFileSync('taskset', ['-acp', LOAD_CORE, String(process.pid)], { stdio: 'ignore' });
}

const running = new Set<number>();

// Whatever ends this process, nothing that it started stays behind.
process.on('exit', () => running.forEach(killTree));

/** Starts a program on a core, with an environment of its own. */
export function start(command: Command, core: Core, stdio: StdioOptions): Running {
  const child = spawn('taskset', ['-c', core, command.file, ...command.args], {
    cwd: import.meta.dirname,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...command.environment },
    stdio,
  });
  const { pid } = child; // taskset becomes the program
  if (pid === undefined) throw new Error('taskset cannot be run');
  running.add(pid);
  child.once('exit', () => running.delete(pid));
  return {
    child,
    cpuMicros: () => sum(treeOf(pid).map(cpuMicrosOf)),
    rssBytes: () => sum(treeOf(pid).map(rssBytesOf)),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      killTree(pid);
      await ended;
    },
  };
}

function killTree(pid: number): void {
  for (const each of treeOf(pid)) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // it has ended by itself
    }
  }
}

/** A process and all that it started. */
function treeOf(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(treeOf)];
}

/** User and system time; proc(5) counts in hundredths of a second. */
function cpuMicrosOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')'))
    .split(' ')
    .slice(12, 14)
    .map(Number);
  return (user + system) * 10_000;
}

function rssBytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // it has ended
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
