import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { authorizationOf, type PeerRequest } from './apis.ts';
import type { Load } from './loads.ts';

/** A program with its arguments and, besides PATH and NODE_ENV=production, its environment. */
export type Command = {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
};

/** The measured peer runs on core 0; the stub service, wrk and this process on core 1. */
export const PEER_CORE = '0';
const LOAD_CORE = '1';
/** As of nice(1): nine times the weight of other processes. */
const PRIORITY = -10;

/** A running process. Disposing it kills it and its descendants. */
export type Running = AsyncDisposable & {
  readonly child: ChildProcess;
  /** Empty if the output is written to a file. */
  readonly stdout: Readable;
  /** CPU time of it and its descendants, in microseconds. The kernel counts in steps of 10 ms. */
  cpuMicros(): number;
  /** Resident memory of it and its descendants, in bytes; shared pages count for each. */
  rssBytes(): number;
};

/**
 * Moves this process off the core of the measured peer, and prefers it to other work on the machine. Not its session: that is
 * the user's, and would keep the priority after the benchmark.
 */
export function pinThisProcess(): void {
  execFileSync('taskset', ['-acp', LOAD_CORE, String(process.pid)], { stdio: 'ignore' });
  try {
    setPriority(process.pid, PRIORITY);
  } catch {} // without the right to do so
}

/** Starts a program on a core, in the folder of the benchmark. Its output is piped, or written to an open file. */
export function start({ file, args, environment }: Command, core: string, log?: number): Running {
  const child = spawn('taskset', ['-c', core, file, ...args], {
    cwd: import.meta.dirname,
    detached: true, // a process group, so that its descendants are killed with it
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', log ?? 'pipe', log ?? 'inherit'],
  });
  const { pid } = child; // taskset becomes the program
  if (pid === undefined) throw new Error('taskset cannot be run');
  prioritize(pid); // before it starts threads, which inherit it
  const kill = () => void process.kill(-pid, 'SIGKILL');
  process.on('exit', kill);
  const exited = once(child, 'exit').then(() => process.off('exit', kill));
  const sum = (of: (pid: number) => number) =>
    treeOf(pid).reduce((total, each) => total + of(each), 0);
  return {
    child,
    stdout: child.stdout ?? Readable.from([]),
    cpuMicros: () => sum(cpuMicrosOf),
    rssBytes: () => sum(rssBytesOf),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) kill();
      await exited;
    },
  };
}

/** A process and its descendants. */
function treeOf(pid: number): readonly number[] {
  const children = readProc(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(treeOf)];
}

/** User and system time; proc(5) counts in hundredths of a second. */
function cpuMicrosOf(pid: number): number {
  const stat = readProc(pid, 'stat');
  const fields = stat.slice(stat.lastIndexOf(')')).split(' ').map(Number);
  return ((fields[12] ?? 0) + (fields[13] ?? 0)) * 10_000;
}

function rssBytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readProc(pid, 'status'))?.[1] ?? 0) * 1024;
}

/** Lets other work on the machine delay a session less that a process leads. No effect without the right to do so. */
function prioritize(pid: number): void {
  try {
    setPriority(pid, PRIORITY);
    writeFileSync(`/proc/${pid}/autogroup`, String(PRIORITY)); // Linux may schedule whole sessions
  } catch {}
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it has exited
  }
}

/** Starts stub.ts. Disposing it kills it. */
export async function startService(): Promise<Running & { readonly url: string }> {
  const running = start({ file: process.execPath, args: ['stub.ts'] }, LOAD_CORE);
  const [url] = await once(running.stdout, 'data');
  return { ...running, url: String(url) };
}

/** What wrk reports. */
export type WrkResult = {
  readonly requests: number;
  readonly micros: number;
  /** Bytes received, heads included. */
  readonly bytes: number;
  /** Requests with a connection error or a status of 400 or more. */
  readonly failed: number;
  /** Latencies in microseconds. */
  readonly p50: number;
  readonly p99: number;
};

/**
 * Runs wrk against a loopback port, with one request at a time per connection: for `seconds` and until it has sent
 * `requests`, but no longer than `maxSeconds`.
 */
export async function runWrk(
  port: number,
  { method, path, body }: PeerRequest,
  load: Load,
  connections: number,
  seconds: number,
  { requests = 1, maxSeconds = seconds + 1 } = {},
): Promise<WrkResult> {
  const limits = ['-t1', `-c${connections}`, `-d${maxSeconds}`, '--timeout=60'];
  const command = {
    file: 'wrk',
    args: [...limits, '--latency', '--script=wrk.lua', `http://127.0.0.1:${port}`],
    environment: {
      BENCH_METHOD: method,
      BENCH_PATH: path,
      BENCH_BODY: body,
      BENCH_AUTHORIZATION: authorizationOf(load),
      BENCH_LIMIT: String(requests),
    },
  };
  await using wrk = start(command, LOAD_CORE);
  const sent = new Promise<void>((resolve) => {
    wrk.stdout.on('data', (chunk) => String(chunk).includes('sent\n') && resolve());
  });
  // On SIGINT wrk reports as it does when its time is up.
  void Promise.all([sent, wait(seconds * 1000)]).then(() => wrk.child.kill('SIGINT'));
  const last = (await text(wrk.stdout)).trim().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) throw new Error(`wrk has failed: ${last}`);
  return JSON.parse(last);
}
