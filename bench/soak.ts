import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Client, createClient, isExpected, sendAtRate } from './resilience/client.ts';
import { type ResourceUsage, startMeasuredKeytrail } from './resilience/keytrail-process.ts';
import { FAULTY, NORMAL, pick, type RequestKind } from './resilience/requests.ts';
import { startServiceProcess } from './resilience/service.ts';
import { formatMegabytes, quantile, toTable } from './results.ts';

// A constant load in which one request in ten has a fault of the client or of the service. Checks that every response is
// correct, and that memory and sockets do not grow. Exits with 1 if not.

type Measured = ResourceUsage & { readonly at: number };

const COLUMNS = ['sent', 'correct', 'disconnected', 'wrong', 'lost'] as const;
type Column = (typeof COLUMNS)[number];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    rate: { type: 'string', default: '100' },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const intervalSeconds = Math.min(10, Math.ceil(seconds / 12));
const warmUpSeconds = Math.min(60, seconds / 2);
const MAX_SOCKETS = 64; // the default of UPSTREAM_CONNECTIONS
const MAX_GROWTH_BYTES = 8 * 2 ** 20;
const MAX_EXAMPLES = 10;

const counts = new Map<string, Map<Column, number>>();
const codes = new Map<string, number>();
const examples: string[] = [];
const measured: Measured[] = [];

await using service = await startServiceProcess();
await using keytrail = await startMeasuredKeytrail(service.url);
const start = performance.now();
let delay = 0;
{
  await using client = createClient(keytrail.url);
  const over = AbortSignal.timeout(seconds * 1000);
  const sending = sendAtRate(rate, over, (number) =>
    send(client, pick(Math.random() < 0.1 ? FAULTY : NORMAL), number),
  );
  while (!over.aborted) {
    await wait(intervalSeconds * 1000, undefined, { signal: over }).catch(() => {});
    measured.push(await measure());
  }
  delay = await sending;
}
await wait(1000); // for connections to close
const after = await measure();
const status = await keytrail.stop();
const repeated = [...(await service.received()).values()].filter((times) => times > 1).length;

const warm = measured.filter(({ at }) => at > warmUpSeconds);
const third = Math.ceil(warm.length / 3);
const growth = medianHeap(warm.slice(-third)) - medianHeap(warm.slice(0, third));
const complaints = keytrail.complaints();
const problems = Object.entries({
  'responses were wrong': total('wrong') > 0,
  'requests had no response': total('lost') > 0,
  'the service received logins or deletions twice': repeated > 0,
  'the heap grows': !(growth < MAX_GROWTH_BYTES),
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
process.stdout.write(
  [
    `${total('sent')} requests in ${seconds} s, ${rate} per second, one in ten with a fault. Node ${process.version}, ${cpus().length} cores for all three processes. Keytrail from the bundle with NODE_ENV=production, METRICS_PORT and LOGIN_RATE_LIMIT=0; a garbage collection every ${intervalSeconds} s, at each measurement. Longest delay of the load: ${delay.toFixed(0)} ms.\n`,
    toTable([
      row('', (one) => (one === after ? 'after the load' : `at ${one.at.toFixed(0)} s`)),
      row('heap after collection, MB', ({ heap }) => formatMegabytes(heap)),
      row('buffers outside the heap, MB', ({ buffers }) => formatMegabytes(buffers)),
      row('RSS, MB', ({ rss }) => formatMegabytes(rss)),
      row('sockets to the service', ({ socketsToService }) => socketsToService),
      row('sockets from clients', ({ socketsFromClients }) => socketsFromClients),
      row('open files and sockets', ({ files }) => files),
      row('requests in flight', ({ inFlight }) => inFlight),
      row('event-loop iteration, p99, ms (10 when idle)', ({ loopP99 }) => loopP99.toFixed(0)),
      row('event-loop iteration, max, ms', ({ loopMax }) => loopMax.toFixed(0)),
    ]),
    toTable([
      ['request', ...COLUMNS],
      ...[...NORMAL, ...FAULTY].map(({ name }) => [
        name,
        ...COLUMNS.map((column) => counts.get(name)?.get(column) ?? 0),
      ]),
      ['all', ...COLUMNS.map(total)],
    ]),
    toTable([['response', 'count'], ...[...codes].sort(([, a], [, b]) => b - a)]),
    toTable([
      ['', ''],
      ['heap, median of the last third minus the first after warm-up, MB', formatMegabytes(growth)],
      ['logins and deletions that the service received twice', repeated],
      ['bugs, warnings and unhandled rejections', complaints.length],
      ['exit status after SIGTERM', String(status)],
    ]),
    ...[...problems, ...examples, ...complaints].map((line) => `- ${line}\n`),
  ].join('\n'),
);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Sends a request and counts what became of it. Never rejects. */
async function send(client: Client, kind: RequestKind, number: number): Promise<void> {
  count(kind, 'sent');
  try {
    const exchange = await kind.send(client, number);
    if (exchange === undefined) return count(kind, 'disconnected');
    const { response, expected } = exchange;
    increment(codes, response.error?.code ?? 'OK');
    if (isExpected(response, expected)) return count(kind, 'correct');
    count(kind, 'wrong');
    if (examples.length < MAX_EXAMPLES)
      examples.push(
        `${kind.name}: ${JSON.stringify(response)} instead of ${JSON.stringify(expected)}`,
      );
  } catch (error) {
    increment(codes, String(error));
    count(kind, 'lost');
  }
}

function count({ name }: RequestKind, column: Column): void {
  const columns = counts.get(name) ?? new Map<Column, number>();
  counts.set(name, columns);
  increment(columns, column);
}

function increment<Key>(numbers: Map<Key, number>, key: Key): void {
  numbers.set(key, (numbers.get(key) ?? 0) + 1);
}

function total(column: Column): number {
  return counts.values().reduce((sum, columns) => sum + (columns.get(column) ?? 0), 0);
}

async function measure(): Promise<Measured> {
  const usage = { ...(await keytrail.measure()), at: (performance.now() - start) / 1000 };
  const { at, heap, rss, socketsToService, socketsFromClients, inFlight, loopMax } = usage;
  const totals = COLUMNS.map((column) => `${total(column)} ${column}`).join(', ');
  process.stderr.write(
    `${at.toFixed(0)} s: ${totals}; heap ${formatMegabytes(heap)} MB, RSS ${formatMegabytes(rss)} MB, ${socketsToService} sockets to the service, ${socketsFromClients} from clients, ${inFlight} in flight, loop ${loopMax.toFixed(0)} ms\n`,
  );
  return usage;
}

function medianHeap(some: readonly Measured[]): number {
  return quantile(
    some.map(({ heap }) => heap),
    0.5,
  );
}

function nearest(at: number): Measured {
  const distance = (one: Measured) => Math.abs(one.at - at);
  return measured.reduce((best, one) => (distance(one) < distance(best) ? one : best), after);
}
