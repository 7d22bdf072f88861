import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { parseArgs } from 'node:util';
import { rest } from './apis.ts';
import { LOADS, type Load, PAGES } from './loads.ts';
import { measure, measureDocuments, type Sample } from './measure.ts';
import { BENCH, keytrail, PEERS, type Peer, ROOT, runsLoad } from './peers.ts';
import {
  findMissingRequirement,
  pinThisProcess,
  runWrk,
  type Service,
  startService,
} from './processes.ts';
import { toComparison, toMarkdown, toSvg } from './report.ts';
import type { Machine, Measurement, Results } from './results.ts';

const USAGE = `npm run bench -- [--full] [--peer a,b] [--load a,b] [--against folder] [--rounds n] [--seconds n]

  --full     five rounds of longer measurements, memory of documents; without it one short round
  --peer     some of ${PEERS.map(({ name }) => name).join(', ')}; always includes l0
  --load     some of ${LOADS.map(({ name }) => name).join(', ')}
  --against  compares Keytrail with another checkout instead of the peers, in five rounds of 4 s
  --rounds   how often everything is measured
  --seconds  length of each measurement
`;

// After the first signal the run reports what it has measured. A second one ends it without a report.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
}
const stopped = once(stop.signal, 'abort').then(() => null);

const options = parse(process.argv.slice(2));
const missing = findMissingRequirement();
if (missing !== null) fail(missing, 1);

pinThisProcess();
mkdirSync(`${BENCH}results`, { recursive: true });
const measurements = await (options.against === undefined ? run() : runAgainst(options.against));
const isFailed = measurements.some(({ sample }) => typeof sample === 'string');
process.exit(stop.signal.aborted ? 130 : Number(isFailed));

/** Measures the peers. Prints the tables, and writes them as JSON and SVG. */
async function run(): Promise<readonly Measurement[]> {
  const { rounds, seconds, warmUpSeconds } = options;
  const { peers, skipped } = await prepare(options.peers);
  await using service = await startService();
  const stub = await measureStub(service);
  const pages = options.loads.some(({ name }) => name === 'page') ? PAGES : [];
  const measurements = await measureRounds(peers, [...options.loads, ...pages], service);
  const measuresDocuments = options.isFull && peers.some(({ name }) => name === 'keytrail');
  const results: Results = {
    date: new Date().toISOString(),
    machine: describeMachine(),
    options: { rounds, seconds, warmUpSeconds },
    stub,
    measurements,
    skipped,
    documentBytes: measuresDocuments
      ? await unlessStopped(measureDocuments(service.url(10)))
      : null,
  };
  writeFileSync(`${BENCH}results/latest.json`, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(`${BENCH}results/latest.svg`, toSvg(results));
  process.stdout.write(toMarkdown(results));
  return measurements;
}

/** Measures this checkout and another one, in turn. Prints the ratios. */
async function runAgainst(folder: string): Promise<readonly Measurement[]> {
  const pair = [keytrail('this', 'this', ROOT), keytrail('other', 'other', folder)];
  const { skipped } = await prepare(pair);
  for (const [name, reason] of Object.entries(skipped)) fail(`${name}: ${reason}`, 1);
  await using service = await startService();
  const measurements = await measureRounds(pair, options.loads, service);
  process.stdout.write(
    `This checkout relative to ${folder}: median (min to max) of ${options.rounds} rounds of ${options.seconds} s.\n\n${toComparison(measurements, options.loads, ['this', 'other'])}`,
  );
  return measurements;
}

/** Builds the peers; those that cannot run here are skipped. */
async function prepare(
  all: readonly Peer[],
): Promise<Pick<Results, 'skipped'> & { readonly peers: readonly Peer[] }> {
  const skipped: Record<string, string> = {};
  for (const { name, prepare } of all) {
    const reason = (await prepare?.().catch(reasonOf)) ?? null;
    if (reason === null) continue;
    skipped[name] = reason;
    log(`${name} is skipped: ${reason}`);
  }
  return { peers: all.filter(({ name }) => !(name in skipped)), skipped };
}

async function measureStub(service: Service): Promise<Results['stub']> {
  const stub: Record<string, number> = {};
  const { seconds } = options;
  for (const load of options.loads) {
    const port = Number(new URL(service.url(load.records)).port);
    const wrk = { connections: 32, seconds, requests: 1, maxSeconds: seconds + 1 };
    await runWrk(port, rest.request(load), { ...wrk, seconds: 1 });
    const { requests, micros } = await runWrk(port, rest.request(load), wrk);
    const rate = (requests / micros) * 1e6;
    stub[load.name] = rate;
    log(`the stub alone, ${load.name}: ${Math.round(rate)}/s`);
  }
  return stub;
}

/**
 * Measures peer by peer within each load, so that noise on the machine affects peers that are compared. Every other
 * round has the reverse order.
 */
async function measureRounds(
  peers: readonly Peer[],
  loads: readonly Load[],
  service: Service,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const load of loads) {
      const running = peers.filter((peer) => runsLoad(peer, load));
      for (const peer of round % 2 === 1 ? running : running.toReversed()) {
        const upstreamUrl = service.url(load.records);
        const sample = await unlessStopped(measure({ ...options, peer, load, upstreamUrl }));
        if (sample === null) return measurements;
        measurements.push({ peer: peer.name, load: load.name, round, sample });
        log(
          `round ${round} of ${options.rounds}, ${load.name}, ${peer.name}: ${summarize(sample)}`,
        );
      }
    }
  }
  return measurements;
}

/** The result, or the reason of a failure; null if the run is stopped before. */
function unlessStopped<Result>(work: Promise<Result>): Promise<Result | string | null> {
  return Promise.race([stopped, work.catch(reasonOf)]);
}

function summarize(sample: Sample | string): string {
  if (typeof sample === 'string') return `failed: ${sample}`;
  const { requestsPerSecond, cpuMicros, coldStartMs, rssBytes } = sample;
  return `${Math.round(requestsPerSecond)}/s, ${Math.round(cpuMicros)} µs CPU per request, cold start ${Math.round(coldStartMs)} ms, ${Math.round(rssBytes / 2 ** 20)} MB`;
}

function describeMachine(): Machine {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(`${BENCH}package.json`, 'utf8'),
  );
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    kernel: release(),
    node: process.version,
    commit: commit.trim(),
    versions: { ...dependencies, ...optionalDependencies },
  };
}

function parse(args: readonly string[]): ReturnType<typeof readOptions> {
  try {
    return readOptions(args);
  } catch (error) {
    fail(`${reasonOf(error)}\n\n${USAGE}`, 2);
  }
}

/** @throws TypeError if an option is wrong. */
function readOptions(args: readonly string[]) {
  const string = { type: 'string' } as const;
  const names = { peer: string, load: string, against: string, rounds: string, seconds: string };
  const options = { full: { type: 'boolean', default: false }, ...names } as const;
  const { values } = parseArgs({ args: [...args], options });
  const { full: isFull, against } = values;
  const isShort = !isFull && against === undefined;
  const peers = select('--peer', PEERS, values.peer);
  return {
    isFull,
    against,
    peers: PEERS.filter((peer) => peer.name === 'l0' || peers.includes(peer)),
    loads: select('--load', LOADS, values.load),
    rounds: readCount('--rounds', values.rounds) ?? (isShort ? 1 : 5),
    seconds: readCount('--seconds', values.seconds) ?? (isFull ? 8 : isShort ? 2 : 4),
    warmUpSeconds: isFull ? 15 : isShort ? 2 : 5,
  };
}

function select<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  list: string | undefined,
): readonly T[] {
  if (list === undefined) return all;
  const names = list.split(',');
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) throw new TypeError(`${option} ${unknown} is unknown.`);
  return all.filter(({ name }) => names.includes(name));
}

function readCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new TypeError(`${option} must be a whole number from 1 to 9999.`);
  return Number(text);
}

function reasonOf(error: unknown): string {
  return String(Object(error).message);
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(reason: string, status: number): never {
  log(reason);
  process.exit(status);
}
