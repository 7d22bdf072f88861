import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rest } from './dialects.ts';
import { measureDocuments } from './documents.ts';
import type { LoadName } from './loads.ts';
import { describeMachine } from './machine.ts';
import { measure, type Sample } from './measure.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { BENCH, type Peer } from './peers.ts';
import { toSvg } from './plot.ts';
import { findLack, pinThisProcess } from './processes.ts';
import { toMarkdown } from './report.ts';
import type { Measurement, Results } from './results.ts';
import { type Service, startService } from './service.ts';
import { measureWorkers } from './workers.ts';
import { load as putLoad } from './wrk.ts';

// A run that is stopped tells what it has measured; stopped again, nothing. What is started is ended with this process.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
}
const stopped = once(stop.signal, 'abort').then(() => null);

const options = parse(process.argv.slice(2));
const lack = findLack();
if (lack !== null) fail(lack, 1);

pinThisProcess();
const results = await run(options);
mkdirSync(`${BENCH}results`, { recursive: true });
writeFileSync(`${BENCH}results/latest.json`, `${JSON.stringify(results, null, 2)}\n`);
writeFileSync(`${BENCH}results/latest.svg`, toSvg(results));
process.stdout.write(`${toMarkdown(results)}\n`);
const isFailed = results.measurements.some(({ sample }) => typeof sample === 'string');
process.exit(stop.signal.aborted ? 130 : Number(isFailed));

async function run(all: Options): Promise<Results> {
  const { isFull, rounds, seconds, warmUpSeconds } = all;
  mkdirSync(`${BENCH}results`, { recursive: true });
  const { peers, skipped } = await prepare(all.peers);
  await using service = await startService();
  const stub = await measureStub(all, service);
  const measurements = await measureRounds({ ...all, peers }, service);
  const measuresKeytrail = isFull && peers.some(({ name }) => name === 'keytrail');
  return {
    date: new Date().toISOString(),
    machine: describeMachine(),
    options: { isFull, rounds, seconds, warmUpSeconds },
    stub,
    measurements,
    skipped,
    workers: measuresKeytrail
      ? await unlessStopped(
          measureWorkers({ ports: service.ports, rounds, seconds, warmUpSeconds, say }),
        )
      : null,
    documentBytes: measuresKeytrail
      ? await unlessStopped(measureDocuments(`http://127.0.0.1:${service.ports.small}`))
      : null,
  };
}

/** Builds what has to be built, and tells who cannot run here. */
async function prepare(
  all: readonly Peer[],
): Promise<Pick<Results, 'skipped'> & { readonly peers: readonly Peer[] }> {
  const skipped: Record<string, string> = {};
  for (const { name, prepare } of all) {
    const reason = (await prepare?.().catch(reasonOf)) ?? null;
    if (reason === null) continue;
    skipped[name] = reason;
    say(`${name} is skipped: ${reason}`);
  }
  return { peers: all.filter(({ name }) => !(name in skipped)), skipped };
}

async function measureStub(
  { loads, seconds }: Options,
  { ports }: Service,
): Promise<Results['stub']> {
  const stub: Partial<Record<LoadName, number>> = {};
  for (const load of loads) {
    const ask = rest.ask(load);
    const amount = { connections: 32, seconds, requests: 1, atMostSeconds: seconds + 1 };
    await putLoad(ports[load.name], ask, { ...amount, seconds: 1 });
    const { requests, micros } = await putLoad(ports[load.name], ask, amount);
    stub[load.name] = (requests / micros) * 1e6;
    say(`the stub alone, ${load.name}: ${Math.round(stub[load.name] ?? 0)}/s`);
  }
  return stub;
}

/** Peer by peer within each load, so that what changes on the machine changes for neighbours alike. */
async function measureRounds(
  { rounds, loads, peers, ...task }: Options,
  { ports }: Service,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const load of loads) {
      for (const peer of peers) {
        const upstreamUrl = `http://127.0.0.1:${ports[load.name]}`;
        const sample = await unlessStopped(measure({ ...task, peer, load, upstreamUrl }));
        if (sample === null) return measurements;
        measurements.push({ peer: peer.name, load: load.name, round, sample });
        say(`round ${round} of ${rounds}, ${load.name}, ${peer.name}: ${summarize(sample)}`);
      }
    }
  }
  return measurements;
}

/** What comes of some work, or why nothing does; null when the run is stopped before that. */
function unlessStopped<Result>(work: Promise<Result>): Promise<Result | string | null> {
  return Promise.race([stopped, work.catch(reasonOf)]);
}

function summarize(sample: Sample | string): string {
  if (typeof sample === 'string') return `failed: ${sample}`;
  const { requestsPerSecond, cpuMicros, coldStartMs, rssBytes } = sample;
  return `${Math.round(requestsPerSecond)}/s, ${Math.round(cpuMicros)} µs CPU a request, started in ${Math.round(coldStartMs)} ms, ${Math.round(rssBytes / 2 ** 20)} MB`;
}

function reasonOf(error: unknown): string {
  return String(Object(error).message);
}

function parse(args: readonly string[]): Options {
  try {
    return readOptions(args);
  } catch (error) {
    if (error instanceof TypeError) fail(`${error.message}\n\n${USAGE}`, 2);
    throw error;
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(reason: string, status: number): never {
  say(reason);
  process.exit(status);
}
