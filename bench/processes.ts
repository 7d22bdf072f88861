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
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { AUTHORIZATION, type PeerRequest } from './apis.ts';

/** A program with its arguments and, besides PATH and NODE_ENV=production, its environment. */
export type Command = {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

type Core = '0' | '1';

/** The measured peer runs on core 0; the stub service, wrk and this process on core 1. */
export const PEER_CORE: Core = '0';
const LOAD_CORE: Core = '1';

/** A running process. Disposing it kills it and its descendants. */
export type Running = AsyncDisposable & {
  readonly child: ChildProcess;
  /** CPU time of it and its descendants, in microseconds. The kernel counts in steps of 10 ms. */
  cpuMicros(): number;
  /** Resident memory of it and its descendants, in bytes; shared pages count for each. */
  rssBytes(): number;
};

/** What this machine lacks, or null. */
export function findMissingRequirement(): string | null {
  if (availableParallelism() < 2) return 'The benchmark needs two cores.';
  if (spawnSync('taskset', ['-V']).error) return 'taskset is missing: apt-get install util-linux';
  return spawnSync('wrk', ['-v']).error ? 'wrk is missing: apt-get install wrk' : null;
}

/** Moves this process off the core of the measured peer. */
export function pinThisProcess(): void {
  execFileSync('taskset', ['-acp', LOAD_CORE, String(process.pid)], { stdio: 'ignore' });
}

const running = new Set<number>();
process.on('exit', () => running.forEach(killTree));

/** Starts a program on a core, in the folder of the benchmark. */
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
  const sum = (of: (pid: number) => number) =>
    treeOf(pid).reduce((total, each) => total + of(each), 0);
  return {
    child,
    cpuMicros: () => sum(cpuMicrosOf),
    rssBytes: () => sum(rssBytesOf),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      killTree(pid);
      await exited;
    },
  };
}

function killTree(pid: number): void {
  for (const each of treeOf(pid)) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // it has exited
    }
  }
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

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it has exited
  }
}

/** The stub service, in a process of its own. */
export type Service = AsyncDisposable & {
  /** Its base URL for a trail of this length. */
  url(records: number): string;
};

/** Starts stub.ts. */
export async function startService(): Promise<Service> {
  const stub = { file: process.execPath, args: ['stub.ts'], environment: {} };
  const { child, ...running } = start(stub, LOAD_CORE, ['ignore', 'pipe', 'inherit']);
  if (child.stdout === null) throw new Error('the stub has no output');
  const [line] = await once(child.stdout, 'data');
  const ports: Readonly<Record<number, number>> = JSON.parse(line);
  return { ...running, url: (records) => `http://127.0.0.1:${ports[records]}` };
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

/** wrk runs for `seconds` and until it has sent `requests`, but no longer than `maxSeconds`. */
export type WrkOptions = {
  readonly connections: number;
  readonly seconds: number;
  readonly requests: number;
  readonly maxSeconds: number;
};

/** Runs wrk against a loopback port, with one request at a time per connection. */
export async function runWrk(
  port: number,
  request: PeerRequest,
  { connections, seconds, requests, maxSeconds }: WrkOptions,
): Promise<WrkResult> {
  const load = ['-t1', `-c${connections}`, `-d${maxSeconds}`, '--timeout=60'];
  const command = {
    file: 'wrk',
    args: [...load, '--latency', '--script=wrk.lua', `http://127.0.0.1:${port}`],
    environment: {
      BENCH_METHOD: request.method,
      BENCH_PATH: request.path,
      BENCH_BODY: request.body,
      BENCH_AUTHORIZATION: AUTHORIZATION,
      BENCH_LIMIT: String(requests),
    },
  };
  await using wrk = start(command, LOAD_CORE, ['ignore', 'pipe', 'pipe']);
  const { stdout, stderr } = wrk.child;
  if (stdout === null || stderr === null) throw new Error('wrk has no output');
  const closed = once(wrk.child, 'close');
  const sent = new Promise<void>((resolve) => {
    stdout.on('data', (chunk) => String(chunk).includes('sent\n') && resolve());
  });
  // On SIGINT wrk reports as it does when its time is up.
  void Promise.all([sent, wait(seconds * 1000)]).then(() => wrk.child.kill('SIGINT'));
  const [output, errors] = await Promise.all([text(stdout), text(stderr)]);
  await closed;
  const last = output.trim().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) throw new Error(`wrk: ${errors.trim() || last}`);
  return JSON.parse(last);
}
