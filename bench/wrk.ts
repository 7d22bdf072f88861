import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { type Ask, AUTHORIZATION } from './dialects.ts';
import { LOAD_CORE, start } from './processes.ts';

/** What wrk tells of a stretch. */
export type Stretch = {
  readonly requests: number;
  readonly micros: number;
  /** All that came back, heads included. */
  readonly bytes: number;
  /** Requests whose connection or status was bad. */
  readonly failed: number;
  /** Latencies in microseconds. */
  readonly p50: number;
  readonly p99: number;
};

/** How much load there is: it ends when it has lasted for so long and so many requests were sent. */
export type Amount = {
  readonly connections: number;
  readonly seconds: number;
  readonly requests: number;
  /** When it ends in any case. */
  readonly atMostSeconds: number;
};

/** Puts load on a port of loopback: on each connection one request after the other. */
export async function load(port: number, ask: Ask, amount: Amount): Promise<Stretch> {
  const { connections, seconds, requests, atMostSeconds } = amount;
  const command = {
    file: 'wrk',
    args: [
      '-t1',
      `-c${connections}`,
      `-d${atMostSeconds}`,
      '--latency',
      '--timeout=60',
      '--script=wrk.lua',
      `http://127.0.0.1:${port}`,
    ],
    environment: {
      BENCH_METHOD: ask.method,
      BENCH_PATH: ask.path,
      BENCH_BODY: ask.body,
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
  // It ends on this signal as it does when its time is over.
  void Promise.all([sent, wait(seconds * 1000)]).then(() => wrk.child.kill('SIGINT'));
  const [output, complaint] = await Promise.all([text(stdout), text(stderr)]);
  await closed;
  const last = output.trim().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) throw new Error(`wrk: ${complaint.trim() || last}`);
  return JSON.parse(last);
}
