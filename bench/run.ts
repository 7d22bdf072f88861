import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rest } from './dialects.ts';
import { measureDocuments } from './documents.ts';
import { measureLargeTrails } from './large-trails.ts';
import { LOADS, type LoadName } from './loads.ts';
import { describeMachine } from './machine.ts';
import { measure, measureColdStart, type Sample } from './measure.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { BENCH, NPM_START, type Peer } from './peers.ts';
import { toSvg } from './plot.ts';
import { findLack, pinThisProcess } from './processes.ts';
import { toMarkdown } from './report.ts';
import type { Measurement, Results } from './results.ts';
import { type Service, startService } from './service.ts';
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
  const keytrail = peers.find(({ name }) => name === 'keytrail');
  const measures = (load: LoadName) => all.loads.some(({ name }) => name === load);
  return {
    date: new Date().toISOString(),
    machine: describeMachine(),
    options: { isFull, rounds, seconds, warmUpSeconds },
    stub,
    measurements,
    skipped,
    largeTrails:
      keytrail !== undefined && measures('window')
        ? await unlessStopped(
            measureLargeTrails({ peer: keytrail, service, rounds, seconds, warmUpSeconds, say }),
          )
        : null,
    npmStartMs:
      keytrail !== undefined && measures('small')
        ? await unlessStopped(measureNpmStart(keytrail, service, rounds))
        : null,
    documentBytes:
      keytrail !== undefined && isFull
        ? await unlessStopped(measureDocuments(service.url(10)))
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
  service: Service,
): Promise<Results['stub']> {
  const stub: Partial<Record<LoadName, number>> = {};
  for (const load of loads) {
    const ask = rest.ask(load);
    const amount = { connections: 32, seconds, requests: 1, atMostSeconds: seconds + 1 };
    const port = Number(new URL(service.url(load.records)).port);
    await putLoad(port, ask, { ...amount, seconds: 1 });
    const { requests, micros } = await putLoad(port, ask, amount);
    stub[load.name] = (requests / micros) * 1e6;
    say(`the stub alone, ${load.name}: ${Math.round(stub[load.name] ?? 0)}/s`);
  }
  return stub;
}

/** Peer by peer within each load, so that what changes on the machine changes for neighbours alike. */
async function measureRounds(
  { rounds, loads, peers, ...task }: Options,
  service: Service,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const load of loads) {
      for (const peer of peers) {
        const upstreamUrl = service.url(load.records);
        const sample = await unlessStopped(measure({ ...task, peer, load, upstreamUrl }));
        if (sample === null) return measurements;
        measurements.push({ peer: peer.name, load: load.name, round, sample });
        say(`round ${round} of ${rounds}, ${load.name}, ${peer.name}: ${summarize(sample)}`);
      }
    }
  }
  return measurements;
}

/** Starts Keytrail from source, once each round. */
async function measureNpmStart(
  peer: Peer,
  service: Service,
  rounds: number,
): Promise<readonly number[]> {
  const [load] = LOADS;
  if (load === undefined) throw new Error('there is no load');
  const times: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const npmStart = { ...peer, name: 'npm-start', command: NPM_START };
    const ms = await measureColdStart({
      peer: npmStart,
      load,
      upstreamUrl: service.url(load.records),
    });
    times.push(ms);
    say(`round ${round} of ${rounds}, npm start: ${Math.round(ms)} ms`);
  }
  return times;
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
