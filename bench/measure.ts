import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { askRightly, checkRefusals, WrongAnswer } from './check.ts';
import type { Load } from './loads.ts';
import { BENCH, type Peer } from './peers.ts';
import { PEER_CORE, type Running, start } from './processes.ts';
import { load, type Stretch } from './wrk.ts';

/** What was measured of one peer under one load, in a process of its own. */
export type Sample = {
  readonly requestsPerSecond: number;
  /** CPU time of the peer's process a request, in microseconds. */
  readonly cpuMicros: number;
  /** Latencies in microseconds. */
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Median latency when one connection asks one thing at a time; of the small load only. */
  readonly oneConnectionMicros: number | null;
  /** From the start of the process to its first right answer. */
  readonly coldStartMs: number;
  /** Memory after the stretch. */
  readonly rssBytes: number;
};

/** What to start, and the load of its first request. */
export type StartTask = {
  readonly peer: Pick<Peer, 'name' | 'dialect' | 'command'>;
  readonly load: Load;
  readonly upstreamUrl: string;
};

/** What to measure, and how. */
export type Task = StartTask & {
  readonly seconds: number;
  readonly warmUpSeconds: number;
};

const CONNECTIONS = 32;

/** V8 has compiled most by then; of what has much code, as Keytrail, it compiles some until 70,000 or more. */
const WARM_UP_REQUESTS = 15_000;

/** So that of an answer that takes seconds several are measured, too: three on each connection. */
const LEAST_REQUESTS = 3 * CONNECTIONS;
const LONGEST_SECONDS = 30;

const ALONE = { connections: 1, seconds: 1, requests: 1, atMostSeconds: 2 };

/**
 * Starts a peer, checks it, warms it up and measures it.
 * @throws Error that says why it could not be measured.
 */
export async function measure(task: Task): Promise<Sample> {
  const { peer, seconds, warmUpSeconds } = task;
  await using started = await startPeer(task);
  const { port, process, size, coldStartMs } = started;
  await checkRefusals(port, peer.dialect, task.load);

  const ask = peer.dialect.ask(task.load);
  await load(port, ask, {
    connections: CONNECTIONS,
    seconds: 0,
    requests: WARM_UP_REQUESTS,
    atMostSeconds: warmUpSeconds,
  });
  await untilIdle(process);
  const before = process.cpuMicros();
  const stretch = await load(port, ask, {
    connections: CONNECTIONS,
    seconds,
    requests: LEAST_REQUESTS,
    atMostSeconds: Math.max(seconds + 1, LONGEST_SECONDS),
  });
  const cpuMicros = process.cpuMicros() - before;
  const rssBytes = process.rssBytes();
  checkStretch(stretch, size);
  return {
    requestsPerSecond: (stretch.requests / stretch.micros) * 1e6,
    cpuMicros: cpuMicros / stretch.requests,
    p50Micros: stretch.p50,
    p99Micros: stretch.p99,
    oneConnectionMicros: task.load.name === 'small' ? (await load(port, ask, ALONE)).p50 : null,
    coldStartMs,
    rssBytes,
  };
}

/**
 * Starts a peer and stops it after its first correct response. Returns how long that took, in milliseconds.
 * @throws Error that says why it could not be measured.
 */
export async function measureColdStart(task: StartTask): Promise<number> {
  await using started = await startPeer(task);
  return started.coldStartMs;
}

type Started = AsyncDisposable & {
  readonly port: number;
  readonly process: Running;
  /** Bytes of its first response, head included. */
  readonly size: number;
  readonly coldStartMs: number;
};

async function startPeer({ peer, load, upstreamUrl }: StartTask): Promise<Started> {
  const port = await findFreePort();
  const file = `${BENCH}results/${peer.name}.log`;
  const log = openSync(file, 'w');
  const startedAt = performance.now();
  // Its log goes into a file, as a container's does.
  const process = start(peer.command({ port, upstreamUrl }), PEER_CORE, ['ignore', log, log]);
  const dispose = async () => {
    await process[Symbol.asyncDispose]();
    closeSync(log);
    rmSync(file);
  };
  try {
    await untilListening(port, process).catch((error: unknown) => {
      throw new Error(`${Object(error).message}: ${readFileSync(file, 'utf8').trim().slice(-300)}`);
    });
    const { size } = await askRightly(port, peer.dialect, load);
    const coldStartMs = performance.now() - startedAt;
    return { port, process, size, coldStartMs, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Below the ports that the kernel hands out: who asks for one of those until somebody listens may meet himself. */
async function findFreePort(): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return findFreePort();
  }
  server.close();
  await once(server, 'close');
  return port;
}

const START_TIMEOUT_MS = 60_000;

async function untilListening(port: number, { child }: Running): Promise<void> {
  const end = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < end) {
    if (child.exitCode !== null) throw new Error('ended before it listened');
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await wait(2);
    } finally {
      socket.destroy();
    }
  }
  throw new Error('did not listen');
}

const IDLE_TIMEOUT_MS = 30_000;

/** What was begun in the warm-up, and given up by wrk, is not to be counted in the stretch. */
async function untilIdle(process: Running): Promise<void> {
  const end = performance.now() + IDLE_TIMEOUT_MS;
  let last = -Infinity;
  while (performance.now() < end) {
    const now = process.cpuMicros();
    if (now - last <= 10_000) return;
    last = now;
    await wait(100);
  }
}

/** Under load, too, answers were right, as far as their size tells. */
function checkStretch({ requests, failed, bytes }: Stretch, size: number): void {
  if (requests === 0) throw new WrongAnswer('answered nothing under load');
  if (failed > 0)
    throw new WrongAnswer(`refused or lost ${failed} of ${requests} requests under load`);
  // At the end of the stretch each connection may have had a part of an answer.
  const isOfSize = Math.abs(bytes / size - requests) <= requests / 100 + CONNECTIONS;
  if (!isOfSize)
    throw new WrongAnswer(
      `answered under load with ${Math.round(bytes / requests)} bytes instead of ${size}`,
    );
}
