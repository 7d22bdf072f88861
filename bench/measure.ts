import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { startMeasuredGateway } from '../test/helpers/memory.ts';
import { checkFailures, checkResponse, KEYTRAIL_FIELDS } from './apis.ts';
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

const CONNECTIONS = 32;

/** V8 has compiled most of the code by then; some of Keytrail's only after 70,000 requests or more. */
const WARM_UP_REQUESTS = 15_000;

/**
 * Starts a peer, checks its responses, warms it up for at most `warmUpSeconds` and measures it.
 * @throws Error with the reason if it does not start, or if a response is wrong.
 */
export async function measure(
  peer: Peer,
  load: Load,
  upstreamUrl: string,
  { seconds, warmUpSeconds }: { readonly seconds: number; readonly warmUpSeconds: number },
): Promise<Sample> {
  // Below the kernel's ephemeral ports: a client that polls one of those can connect to itself.
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const request = peer.api(load);
  const file = `${BENCH}results/${peer.name}.log`;
  const log = openSync(file, 'w');
  try {
    const startedAt = performance.now();
    await using process = start(peer.command(String(port), upstreamUrl), PEER_CORE, log);
    const bodyBytes = await untilListening(process, () => checkResponse(port, request, load)).catch(
      (error: unknown) => {
        throw new Error(`${Object(error).message} ${readFileSync(file, 'utf8').slice(-300)}`);
      },
    );
    const coldStartMs = performance.now() - startedAt;
    await checkFailures(port, request, load);

    const warmUp = { requests: WARM_UP_REQUESTS, maxSeconds: warmUpSeconds };
    await runWrk(port, request, load, CONNECTIONS, 0, warmUp);
    await untilIdle(process);
    const cpuBefore = process.cpuMicros();
    const result = await runWrk(port, request, load, CONNECTIONS, seconds, {
      requests: 3 * CONNECTIONS,
      maxSeconds: Math.max(seconds + 1, 30), // some responses take seconds
    });
    const cpuMicros = process.cpuMicros() - cpuBefore;
    const rssBytes = process.rssBytes();
    checkResult(result, bodyBytes);
    const oneConnection =
      load.name === 'small' ? await runWrk(port, request, load, 1, 1) : { p50: null };
    return {
      requestsPerSecond: (result.requests / result.micros) * 1e6,
      cpuMicros: cpuMicros / result.requests,
      p50Micros: result.p50,
      p99Micros: result.p99,
      oneConnectionMicros: oneConnection.p50,
      coldStartMs,
      rssBytes,
    };
  } finally {
    closeSync(log);
    rmSync(file);
  }
}

/** Repeats a request until the connection is not refused. */
async function untilListening({ child }: Running, send: () => Promise<number>): Promise<number> {
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

/** 10 aliases, about 250 tokens and a literal of 2 KB: 3 KB within all limits. */
const SELECTION = Array.from(
  { length: 10 },
  (_, index) => `nodes${index}: nodes { ${KEYTRAIL_FIELDS} }`,
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
      headers: { 'content-type': 'application/json', authorization: 'Bearer 10-documents' },
      body: JSON.stringify({ query }),
    });
    const body = await response.text();
    if (!body.startsWith('{"data":{"audit":{"nodes0":[')) throw new Error(body);
  };
  const sendAll = async (from: number, to: number) => {
    for (let next = from; next < to; next += 8)
      await Promise.all(Array.from({ length: 8 }, (_, index) => send(next + index)));
  };
  await sendAll(0, 200); // excludes what the first requests load and compile
  const before = await gateway.measure();
  await sendAll(1000, 6000);
  return (await gateway.measure()).alive - before.alive;
}
