import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { parseArgs } from 'node:util';
import { rest } from './apis.ts';
import { LOADS, type Load, PAGES } from './loads.ts';
import { measure, measureDocuments } from './measure.ts';
import { BENCH, CONTRACT, keytrail, PEERS, type Peer, ROOT, runsLoad } from './peers.ts';
import { pinThisProcess, runWrk, startService } from './processes.ts';
import { toComparison, toMarkdown, toOverview, toSvg } from './report.ts';
import type { Measurement, Results } from './results.ts';

// After the first signal the run reports what it has measured. A second one ends it without a report.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
}
const stopped = once(stop.signal, 'abort').then(() => null);

const options = readOptions();
const { rounds, seconds, warmUpSeconds, loads } = options;

pinThisProcess();
mkdirSync(`${BENCH}results`, { recursive: true });
await using service = await startService();
const measurements = await (options.against === undefined ? run() : runAgainst(options.against));
const isFailed = measurements.some(({ sample }) => typeof sample === 'string');
process.exit(stop.signal.aborted ? 130 : Number(isFailed));

/** Measures the peers. Prints the tables, and writes them as JSON and SVG. */
async function run(): Promise<readonly Measurement[]> {
  const skipped = await prepare(options.peers);
  const peers = options.peers.filter(({ name }) => !(name in skipped));
  const stub = await measureStub();
  const pages = loads.some(({ name }) => name === 'page') ? PAGES : [];
  const measurements = await measureRounds(peers, [...loads, ...pages]);
  const measuresDocuments = options.isFull && peers.some(({ name }) => name === 'keytrail');
  const results: Results = {
    date: new Date().toISOString(),
    machine: describeMachine(),
    options: { rounds, seconds, warmUpSeconds },
    stub,
    measurements,
    skipped,
    documentBytes: measuresDocuments ? await unlessStopped(measureDocuments(service.url)) : null,
  };
  writeFileSync(`${BENCH}results/latest.json`, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(`${BENCH}results/latest.svg`, toSvg(results));
  if (options.writesDocs) writeDocs(results);
  process.stdout.write(toMarkdown(results));
  return measurements;
}

/** Writes the table to the end of docs/performance.md, and its chart. */
function writeDocs(results: Results): void {
  const page = `${ROOT}docs/performance.md`;
  const [before = ''] = readFileSync(page, 'utf8').split(/\n## Results\n/);
  writeFileSync(
    page,
    `${before}\n## Results\n\n${toOverview(results)}\n![Requests per second](images/benchmark.svg)\n`,
  );
  mkdirSync(`${ROOT}docs/images`, { recursive: true });
  writeFileSync(`${ROOT}docs/images/benchmark.svg`, toSvg(results));
}

/** Measures this checkout and another one, in turn. Prints the ratios. */
async function runAgainst(folder: string): Promise<readonly Measurement[]> {
  const checkouts = [
    keytrail('this', 'this', ROOT),
    keytrail('contract', 'this, contract of `learn`', ROOT, CONTRACT),
    keytrail('other', 'other', folder),
  ];
  if (Object.keys(await prepare(checkouts)).length > 0) process.exit(1);
  const measurements = await measureRounds(checkouts, loads);
  process.stdout.write(
    `This checkout relative to ${folder}: median (min to max) of ${rounds} rounds of ${seconds} s.\n\n${toComparison(measurements, loads)}`,
  );
  return measurements;
}

/** Builds the peers. Returns why some cannot run on this machine, by name. */
async function prepare(peers: readonly Peer[]): Promise<Results['skipped']> {
  const skipped: Record<string, string> = {};
  for (const { name, prepare } of peers) {
    await prepare?.().catch((error: unknown) => {
      skipped[name] = reasonOf(error).replaceAll(/\s+/g, ' ').slice(0, 300);
      log(`${name} is skipped: ${skipped[name]}`);
    });
  }
  return skipped;
}

async function measureStub(): Promise<Results['stub']> {
  const stub: Record<string, number> = {};
  const port = Number(new URL(service.url).port);
  for (const load of loads) {
    await runWrk(port, rest(load), load, 32, 1);
    const { requests, micros } = await runWrk(port, rest(load), load, 32, seconds);
    stub[load.name] = (requests / micros) * 1e6;
    log(`the stub alone, ${load.name}: ${Math.round((requests / micros) * 1e6)}/s`);
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
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const load of loads) {
      const running = peers.filter((peer) => runsLoad(peer, load));
      for (const peer of round % 2 === 1 ? running : running.toReversed()) {
        const sample = await unlessStopped(measure(peer, load, service.url, options));
        if (sample === null) return measurements;
        measurements.push({ peer: peer.name, load: load.name, round, sample });
        const summary =
          typeof sample === 'string'
            ? `failed: ${sample}`
            : `${Math.round(sample.requestsPerSecond)}/s, ${Math.round(sample.cpuMicros)} µs CPU per request, cold start ${Math.round(sample.coldStartMs)} ms, ${Math.round(sample.rssBytes / 2 ** 20)} MB`;
        log(`round ${round} of ${rounds}, ${load.name}, ${peer.name}: ${summary}`);
      }
    }
  }
  return measurements;
}

/** The result, or the reason of a failure; null if the run is stopped before. */
function unlessStopped<Result>(work: Promise<Result>): Promise<Result | string | null> {
  return Promise.race([stopped, work.catch(reasonOf)]);
}

function describeMachine(): Results['machine'] {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(`${BENCH}package.json`, 'utf8'),
  );
  const git = ['describe', '--always', '--dirty'];
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    kernel: release(),
    node: process.version,
    commit: execFileSync('git', git, { cwd: ROOT, encoding: 'utf8' }).trim(),
    versions: { ...dependencies, ...optionalDependencies },
  };
}

/** @throws TypeError if an option is wrong. */
function readOptions() {
  const string = { type: 'string' } as const;
  const names = { peer: string, load: string, against: string, rounds: string, seconds: string };
  const { values } = parseArgs({
    options: {
      full: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
      ...names,
    },
  });
  const { full: isFull, docs: writesDocs, against } = values;
  const isShort = !isFull && against === undefined;
  return {
    isFull,
    writesDocs,
    against,
    peers: select('--peer', PEERS, values.peer && `l0,${values.peer}`),
    loads: select('--load', LOADS, values.load),
    rounds: readCount('--rounds', values.rounds ?? (isShort ? '1' : '5')),
    seconds: readCount('--seconds', values.seconds ?? (isFull ? '8' : isShort ? '2' : '4')),
    warmUpSeconds: isFull ? 15 : isShort ? 2 : 5,
  };
}

function select<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  list: string | undefined,
): readonly T[] {
  const names = list?.split(',') ?? all.map(({ name }) => name);
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new TypeError(`${option} ${unknown} is unknown: use ${all.map(({ name }) => name)}.`);
  return all.filter(({ name }) => names.includes(name));
}

function readCount(option: string, text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new TypeError(`${option} must be a whole number from 1 to 9999.`);
}

function reasonOf(error: unknown): string {
  return String(Object(error).message);
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
