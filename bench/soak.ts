import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Client, createClient, isExpected, sendAtRate } from './resilience/client.ts';
import { startMeasuredKeytrail } from './resilience/keytrail-process.ts';
import { FAULTY, NORMAL, pick, type RequestKind } from './resilience/requests.ts';
import { startServiceProcess } from './resilience/service.ts';
import { openStream, type Stream } from './resilience/stream.ts';
import { formatMegabytes, quantile, toTable } from './results.ts';

// A constant load in which one request in ten has a fault of the client or of the service, beside 100 streams of events.
// Checks that every response is correct, that every stream receives every event once, and that memory and sockets do not
// grow. Then it opens and ends streams, and checks that nothing of them is left. Exits with 1 if not.

type Measured = Awaited<ReturnType<typeof measure>>;

/** What became of a request; `lost` is one without a response. */
type Result = (typeof RESULTS)[number];
const RESULTS = ['correct', 'disconnected', 'wrong', 'lost'] as const;

const RATE = 100;
const STREAMS = 100; // the default of MAX_SUBSCRIPTIONS
const ADD_EVERY_MS = 1000;
const ENDED_ROUNDS = { warmUp: 2, measured: 18 } as const; // of STREAMS each
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '600' } } });
const seconds = Number(values.seconds);
const intervalSeconds = Math.min(10, Math.ceil(seconds / 12));
const warmUpSeconds = Math.min(60, seconds / 2);
const MAX_SOCKETS = 66; // the default of UPSTREAM_CONNECTIONS, and two for logins
const MAX_GROWTH_BYTES = 8 * 2 ** 20;
/** Measured: 200 to 450 without a leak, as code is still compiled; 11,000 if each context is retained, 36,000 if each listener is. */
const MAX_BYTES_PER_ENDED_STREAM = 2000;

const outcomes: { readonly name: string; readonly result: Result; readonly code?: string }[] = [];
const examples: string[] = [];
const wrong: string[] = []; // what streams received
const measured: Measured[] = [];

await using service = await startServiceProcess();
await using keytrail = await startMeasuredKeytrail(service.url);
const start = performance.now();
let delay = 0;
let added = 0;
let held: readonly Stream[] = [];
{
  await using client = createClient(keytrail.url);
  held = await openStreams(client, 0);
  const over = AbortSignal.timeout(seconds * 1000);
  const adding = addEvents(over);
  const sending = sendAtRate(RATE, over, (number) =>
    send(client, pick(Math.random() < 0.1 ? FAULTY : NORMAL), number),
  );
  while (!over.aborted) {
    await wait(intervalSeconds * 1000, undefined, { signal: over }).catch(() => {});
    measured.push(await measure());
  }
  delay = await sending;
  added = await adding;
  await wait(7000); // the last poll, after at most 5 s
  await closeStreams(held);
}
const atFirst = await endStreams(1, ENDED_ROUNDS.warmUp);
const atLast = await endStreams(1 + ENDED_ROUNDS.warmUp, ENDED_ROUNDS.measured);
await wait(1000); // for connections to close
const after = await measure();
const { status, complaints } = await keytrail.stop();
const repeated = [...service.received().values()].filter((times) => times > 1).length;

const warm = measured.filter(({ at }) => at > warmUpSeconds).map(({ heap }) => heap);
const third = Math.ceil(warm.length / 3);
const growth = quantile(warm.slice(-third), 0.5) - quantile(warm.slice(0, third), 0.5);
const incomplete = held.filter(({ received }) => received() !== added).length;
wrong.push(...held.flatMap(({ problems }) => problems));
const perEnded = (atLast.heap - atFirst.heap) / (ENDED_ROUNDS.measured * STREAMS);
const problems = Object.entries({
  'responses were wrong': count('wrong') > 0,
  'requests had no response': count('lost') > 0,
  'the service received logins or deletions twice': repeated > 0,
  'the heap grows': !(growth < MAX_GROWTH_BYTES),
  'streams did not receive every event': incomplete > 0,
  'payloads of streams were wrong': wrong.length > 0,
  'a held stream ended early': measured.some(({ subscriptions }) => subscriptions !== STREAMS),
  'streams are left after their clients disconnected': after.subscriptions > 0,
  'ended streams stay on the heap': !(perEnded < MAX_BYTES_PER_ENDED_STREAM),
  'requests are in flight after the load': after.inFlight > 0,
  'too many sockets to the service stay open': after.socketsToService > MAX_SOCKETS,
  'sockets of disconnected clients stay open': after.socketsFromClients > 0,
  'bugs, warnings or unhandled rejections were written': complaints.length > 0,
  'the exit status is not 0': status !== 0,
}).flatMap(([problem, isTrue]) => (isTrue ? [problem] : []));

const columns = [...new Set([warmUpSeconds, seconds / 2, seconds].map(nearest)), after];
const row = (name: string, cell: (one: Measured) => string | number) => [
  name,
  ...columns.map(cell),
];
const codes = [...Map.groupBy(outcomes, ({ code }) => code)]
  .flatMap(([code, { length }]) => (code === undefined ? [] : [[code, length] as const]))
  .sort(([, a], [, b]) => b - a);
process.stdout.write(
  [
    `${outcomes.length} requests in ${seconds} s, ${RATE} per second, one in ten with a fault. Node ${process.version}, ${cpus().length} cores for all three processes. Keytrail from the bundle with NODE_ENV=production, METRICS_PORT and LOGIN_RATE_LIMIT=0; a garbage collection every ${intervalSeconds} s, at each measurement. Longest delay of the load: ${delay.toFixed(0)} ms.\n`,
    toTable([
      row('', (one) => (one === after ? 'after the load' : `at ${one.at.toFixed(0)} s`)),
      row('heap after collection, MB', ({ heap }) => formatMegabytes(heap)),
      row('buffers outside the heap, MB', ({ buffers }) => formatMegabytes(buffers)),
      row('RSS, MB', ({ rss }) => formatMegabytes(rss)),
      row('sockets to the service', ({ socketsToService }) => socketsToService),
      row('sockets from clients', ({ socketsFromClients }) => socketsFromClients),
      row('open files and sockets', ({ files }) => files),
      row('requests in flight', ({ inFlight }) => inFlight),
      row('streams', ({ subscriptions }) => subscriptions),
      row('event-loop iteration, p99, ms (10 when idle)', ({ loopP99 }) => loopP99.toFixed(0)),
      row('event-loop iteration, max, ms', ({ loopMax }) => loopMax.toFixed(0)),
    ]),
    toTable([
      ['request', 'sent', ...RESULTS],
      ...[...NORMAL, ...FAULTY].map(({ name }) => {
        const counts = RESULTS.map((result) => count(result, name));
        return [name, counts.reduce((sum, each) => sum + each), ...counts];
      }),
      ['all', outcomes.length, ...RESULTS.map((result) => count(result))],
    ]),
    toTable([['response', 'count'], ...codes]),
    toTable([
      ['', ''],
      ['heap, median of the last third minus the first after warm-up, MB', formatMegabytes(growth)],
      [`events added, one per ${ADD_EVERY_MS / 1000} s`, added],
      [
        `of ${STREAMS} streams, those that received each of them once, in order`,
        STREAMS - incomplete,
      ],
      ['wrong payloads of streams', wrong.length],
      [
        `heap, bytes per ended stream, after ${ENDED_ROUNDS.measured * STREAMS} of them`,
        perEnded.toFixed(0),
      ],
      ['logins and deletions that the service received twice', repeated],
      ['bugs, warnings and unhandled rejections', complaints.length],
      ['exit status after SIGTERM', String(status)],
    ]),
    ...[...problems, ...examples.slice(0, 10), ...wrong.slice(0, 10), ...complaints].map(
      (line) => `- ${line}\n`,
    ),
  ].join('\n'),
);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Opens streams whose numbers are unique by `round`. */
async function openStreams(client: Client, round: number): Promise<readonly Stream[]> {
  const streams = Array.from({ length: STREAMS }, (_, index) =>
    openStream(client, round * STREAMS + index),
  );
  await Promise.all(streams.map(({ opened }) => opened));
  return streams;
}

/** Adds an event at a time until the signal is aborted. Returns how many. */
async function addEvents(until: AbortSignal): Promise<number> {
  for (let count = 0; ; count += 1) {
    await wait(ADD_EVERY_MS, undefined, { signal: until }).catch(() => {});
    if (until.aborted) return count;
    await service.addEvent();
  }
}

/** Disconnects them, and waits until Keytrail has noticed, for ten seconds at most. */
async function closeStreams(streams: readonly Stream[]): Promise<void> {
  await Promise.all(streams.map(({ close }) => close()));
  for (let attempts = 0; attempts < 200; attempts += 1) {
    if ((await keytrail.subscriptions()) === 0) return;
    await wait(50);
  }
}

/** Opens streams and ends them, in rounds. Returns what is left. */
async function endStreams(from: number, rounds: number): Promise<Measured> {
  {
    await using client = createClient(keytrail.url);
    for (let round = from; round < from + rounds; round += 1) {
      const streams = await openStreams(client, round);
      await closeStreams(streams);
      wrong.push(...streams.flatMap(({ problems }) => problems));
    }
  }
  await wait(1000); // for connections to close
  return measure();
}

/** Sends a request and records what became of it. Never rejects. */
async function send(client: Client, { name, send }: RequestKind, number: number): Promise<void> {
  try {
    const exchange = await send(client, number);
    if (exchange === null) {
      outcomes.push({ name, result: 'disconnected' });
      return;
    }
    const [response, expected] = exchange;
    const isCorrect = isExpected(response, expected);
    outcomes.push({ name, result: isCorrect ? 'correct' : 'wrong', code: response.code ?? 'OK' });
    if (!isCorrect)
      examples.push(`${name}: ${JSON.stringify(response)} instead of ${JSON.stringify(expected)}`);
  } catch (error) {
    outcomes.push({ name, result: 'lost', code: String(error) });
  }
}

function count(result: Result, name?: string): number {
  return outcomes.filter((one) => one.result === result && (name ?? one.name) === one.name).length;
}

async function measure() {
  const usage = { ...(await keytrail.measure()), at: (performance.now() - start) / 1000 };
  const { at, heap, rss, socketsToService, socketsFromClients, inFlight, loopMax } = usage;
  const counts = RESULTS.map((result) => `${count(result)} ${result}`).join(', ');
  process.stderr.write(
    `${at.toFixed(0)} s: ${counts}; heap ${formatMegabytes(heap)} MB, RSS ${formatMegabytes(rss)} MB, ${socketsToService} sockets to the service, ${socketsFromClients} from clients, ${inFlight} in flight, loop ${loopMax.toFixed(0)} ms\n`,
  );
  return usage;
}

/** The measurement that is nearest to a time in seconds. */
function nearest(at: number): Measured {
  const distance = (one: Measured) => Math.abs(one.at - at);
  return measured.reduce((best, one) => (distance(one) < distance(best) ? one : best), after);
}
