import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { startMeasuredGateway } from '../test/helpers/memory.ts';
import { checkFailures, checkResponse } from './apis.ts';
import type { Load } from './loads.ts';
import { BENCH, type Peer } from './peers.ts';
import { PEER_CORE, type Running, runWrk, start, type WrkResult } from './processes.ts';

/** One measurement of a peer under a load, in a fresh process. */
export type Sample = {
  readonly requestsPerSecond: number;
  /** User and system time of the peer per request, in microseconds. */
  readonly cpuMicros: number;
  /** Latencies in microseconds. */
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Median latency of one connection; of the load `small` only. */
  readonly oneConnectionMicros: number | null;
  /** From the start of the process to its first correct response. */
  readonly coldStartMs: number;
  /** Resident memory after the load. */
  readonly rssBytes: number;
};

/** What to measure and for how long. */
export type MeasureOptions = {
  readonly peer: Peer;
  readonly load: Load;
  readonly upstreamUrl: string;
  readonly seconds: number;
  /** The longest warm-up. */
  readonly warmUpSeconds: number;
};

const CONNECTIONS = 32;

/** V8 has compiled most of the code by then; some of Keytrail's only after 70,000 requests or more. */
const WARM_UP_REQUESTS = 15_000;

/** Three per connection, for responses that take seconds. */
const MIN_REQUESTS = 3 * CONNECTIONS;
const MAX_SECONDS = 30;

const ONE_CONNECTION = { connections: 1, seconds: 1, requests: 1, maxSeconds: 2 };

/**
 * Starts a peer, checks its responses, warms it up and measures it.
 * @throws Error with the reason if it does not start, or if a response is wrong.
 */
export async function measure(options: MeasureOptions): Promise<Sample> {
  const { peer, load, upstreamUrl, seconds, warmUpSeconds } = options;
  const port = await findFreePort();
  const file = `${BENCH}results/${peer.name}.log`;
  const log = openSync(file, 'w');
  try {
    const startedAt = performance.now();
    const command = peer.command({ port, upstreamUrl });
    await using process = start(command, PEER_CORE, ['ignore', log, log]);
    const bodyBytes = await untilListening(process, () =>
      checkResponse(port, peer.api, load),
    ).catch((error: unknown) => {
      throw new Error(`${Object(error).message} ${readFileSync(file, 'utf8').slice(-300)}`.trim());
    });
    const coldStartMs = performance.now() - startedAt;
    await checkFailures(port, peer.api, load);

    const request = peer.api.request(load);
    await runWrk(port, request, {
      connections: CONNECTIONS,
      seconds: 0,
      requests: WARM_UP_REQUESTS,
      maxSeconds: warmUpSeconds,
    });
    await untilIdle(process);
    const cpuBefore = process.cpuMicros();
    const result = await runWrk(port, request, {
      connections: CONNECTIONS,
      seconds,
      requests: MIN_REQUESTS,
      maxSeconds: Math.max(seconds + 1, MAX_SECONDS),
    });
    const cpuMicros = process.cpuMicros() - cpuBefore;
    const rssBytes = process.rssBytes();
    checkResult(result, bodyBytes);
    return {
      requestsPerSecond: (result.requests / result.micros) * 1e6,
      cpuMicros: cpuMicros / result.requests,
      p50Micros: result.p50,
      p99Micros: result.p99,
      oneConnectionMicros:
        load.name === 'small' ? (await runWrk(port, request, ONE_CONNECTION)).p50 : null,
      coldStartMs,
      rssBytes,
    };
  } finally {
    closeSync(log);
    rmSync(file);
  }
}

/** Below the kernel's ephemeral ports: a client that polls one of those can connect to itself. */
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

/** Repeats a request until the connection is not refused. */
async function untilListening<Result>(
  { child }: Running,
  send: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (Object(error).cause?.code !== 'ECONNREFUSED' || performance.now() > deadline) throw error;
      if (child.exitCode !== null) throw new Error('It exited before it listened.');
      await wait(2);
    }
  }
}

/** Requests that wrk abandoned after the warm-up must not count in the measurement. */
async function untilIdle(process: Running): Promise<void> {
  const deadline = performance.now() + 30_000;
  let last = -Infinity;
  while (performance.now() < deadline) {
    const now = process.cpuMicros();
    if (now - last <= 10_000) return;
    last = now;
    await wait(100);
  }
}

/** Under load only the status and the size of responses are checked, which is at most 2 % chunks and 1 KB head. */
function checkResult({ requests, failed, bytes }: WrkResult, bodyBytes: number): void {
  if (requests === 0) throw new Error('no responses under load');
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed under load`);
  const size = bytes / requests;
  // At the end each connection may have received a part of a response.
  const tolerance = 1.02 + CONNECTIONS / requests;
  if (size < bodyBytes || size > bodyBytes * tolerance + 1000)
    throw new Error(`${Math.round(size)} bytes under load instead of ${bodyBytes} and a head`);
}

const DOCUMENTS = 5000;
const CONCURRENCY = 8;

/** 10 aliases, about 250 tokens and a literal of 2 KB: 3 KB within all limits. */
const SELECTION = Array.from(
  { length: 10 },
  (_, index) =>
    `nodes${index}: nodes { id occurredAt action outcome ipAddress userAgent actor { identifier name type } target { identifier name type } }`,
).join('\n');
const LITERAL = 'x'.repeat(2000);

/**
 * Sends 5,000 distinct documents of 3 KB. Returns by how many bytes the memory in use grows.
 * @throws Error if one is not executed.
 */
export async function measureDocuments(serviceUrl: string): Promise<number> {
  await using gateway = await startMeasuredGateway(serviceUrl);
  const send = async (number: number) => {
    const query = `query Q${number} { audit(first: 1, filter: {actor: "${LITERAL}"}) { ${SELECTION} } }`;
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
      body: JSON.stringify({ query }),
    });
    const body = await response.text();
    if (!body.startsWith('{"data":{"audit":{"nodes0":[')) throw new Error(body);
  };
  const sendAll = async (from: number, to: number) => {
    for (let next = from; next < to; next += CONCURRENCY)
      await Promise.all(Array.from({ length: CONCURRENCY }, (_, index) => send(next + index)));
  };
  await sendAll(0, 200); // excludes what the first requests load and compile
  const before = await gateway.measure();
  await sendAll(1000, 1000 + DOCUMENTS);
  const after = await gateway.measure();
  return after.alive - before.alive;
}
