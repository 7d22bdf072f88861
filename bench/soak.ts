import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createCaller } from './lib/caller.ts';
import { FAILING_SERVICE } from './lib/failing-service.ts';
import { type Look, startKeytrail } from './lib/keytrail-process.ts';
import { LEAVING_CALLERS } from './lib/leaving-callers.ts';
import { load } from './lib/load.ts';
import { megabytes, quantile, table } from './lib/markdown.ts';
import { startServiceProcess } from './lib/service.ts';
import { GOOD, pick } from './lib/shots.ts';
import { COLUMNS, createTally } from './lib/tally.ts';
import { WRONG_REQUESTS } from './lib/wrong-requests.ts';

// A constant load of which one request in ten is wrong, cut off, or not answered well by the service. It shows whether
// every answer is right, and whether memory and sockets stay level. It exits with 1 when not.

type Timed = Look & { readonly at: number };

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    rate: { type: 'string', default: '100' },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const lookSeconds = Math.min(10, Math.ceil(seconds / 12));
const warmUpSeconds = Math.min(60, seconds / 2);
const BAD = [...WRONG_REQUESTS, ...LEAVING_CALLERS, ...FAILING_SERVICE];
const POOL = 64; // UPSTREAM_CONNECTIONS, where it is left out
const GROWTH_BYTES = 8 * 2 ** 20;

await using service = await startServiceProcess();
await using keytrail = await startKeytrail(service.url);
const tally = createTally();
const looks: Timed[] = [];
const begun = performance.now();
let late = 0;
{
  await using caller = createCaller(keytrail.url);
  const over = AbortSignal.timeout(seconds * 1000);
  const loading = load(rate, over, (number) =>
    tally.fire(caller, pick(Math.random() < 0.1 ? BAD : GOOD), number),
  );
  while (!over.aborted) {
    await wait(lookSeconds * 1000, undefined, { signal: over }).catch(() => {});
    looks.push(await look());
  }
  late = await loading;
}
await wait(1000); // for connections to close
const after = await look();
const status = await keytrail.stop();
const seenTwice = [...(await service.seen()).values()].filter((times) => times > 1).length;

const warm = looks.filter(({ at }) => at > warmUpSeconds);
const third = Math.ceil(warm.length / 3);
const growth = medianHeap(warm.slice(-third)) - medianHeap(warm.slice(0, third));
const complaints = keytrail.complaints();
const problems = Object.entries({
  'answers were wrong': tally.total('wrong') > 0,
  'requests were lost': tally.total('lost') > 0,
  'the service saw logins or deletions twice': seenTwice > 0,
  'the heap is not level': !(growth < GROWTH_BYTES),
  'requests are in flight after the load': after.inFlight > 0,
  'sockets to the service are left': after.socketsToService > POOL,
  'sockets of callers who have gone are left': after.socketsFromCallers > 0,
  'bugs, warnings or unhandled rejections were written': complaints.length > 0,
  'it did not exit with 0': status !== 0,
}).flatMap(([problem, isSo]) => (isSo ? [problem] : []));

const columns = [...new Set([warmUpSeconds, seconds / 2, seconds].map(nearest)), after];
const row = (name: string, cell: (one: Timed) => string | number) => [name, ...columns.map(cell)];
process.stdout.write(
  [
    `${tally.total('sent')} requests in ${seconds} s, ${rate} a second, one in ten bad. Node ${process.version}, ${cpus().length} cores for all three processes. Keytrail from the bundle with NODE_ENV=production, METRICS_PORT and LOGIN_RATE_LIMIT=0; garbage is collected at every look, every ${lookSeconds} s. The load was late by ${late.toFixed(0)} ms at most.\n`,
    table([
      row('', (one) => (one === after ? 'after the load' : `at ${one.at.toFixed(0)} s`)),
      row('heap after collection, MB', ({ heap }) => megabytes(heap)),
      row('buffers outside of it, MB', ({ buffers }) => megabytes(buffers)),
      row('RSS, MB', ({ rss }) => megabytes(rss)),
      row('sockets to the service', ({ socketsToService }) => socketsToService),
      row('sockets from callers', ({ socketsFromCallers }) => socketsFromCallers),
      row('open files, sockets among them', ({ files }) => files),
      row('requests in flight', ({ inFlight }) => inFlight),
      row('turn of the event loop, p99, ms (10 at rest)', ({ loopP99 }) => loopP99.toFixed(0)),
      row('the same, most', ({ loopMax }) => loopMax.toFixed(0)),
    ]),
    table([
      ['request', ...COLUMNS],
      ...[...GOOD, ...BAD].map(({ name }) => [name, ...tally.row(name)]),
      ['all', ...COLUMNS.map(tally.total)],
    ]),
    table([['answer', 'times'], ...[...tally.codes].sort(([, a], [, b]) => b - a)]),
    table([
      ['', ''],
      ['heap, last third above the first after warm-up, medians, MB', megabytes(growth)],
      ['logins and deletions that the service saw twice', seenTwice],
      ['bugs, warnings and unhandled rejections', complaints.length],
      ['exit status after SIGTERM', String(status)],
    ]),
    ...[...problems, ...tally.examples, ...complaints].map((line) => `- ${line}\n`),
  ].join('\n'),
);
process.exitCode = problems.length > 0 ? 1 : 0;

async function look(): Promise<Timed> {
  const timed = { ...(await keytrail.look()), at: (performance.now() - begun) / 1000 };
  const { at, heap, rss, socketsToService, socketsFromCallers, inFlight, loopMax } = timed;
  const counts = COLUMNS.map((column) => `${tally.total(column)} ${column}`).join(', ');
  process.stderr.write(
    `${at.toFixed(0)} s: ${counts}; heap ${megabytes(heap)} MB, RSS ${megabytes(rss)} MB, ${socketsToService} sockets to the service, ${socketsFromCallers} from callers, ${inFlight} in flight, loop ${loopMax.toFixed(0)} ms\n`,
  );
  return timed;
}

function medianHeap(some: readonly Timed[]): number {
  return quantile(
    some.map(({ heap }) => heap),
    0.5,
  );
}

function nearest(at: number): Timed {
  const distance = (one: Timed) => Math.abs(one.at - at);
  return looks.reduce((best, one) => (distance(one) < distance(best) ? one : best), after);
}
