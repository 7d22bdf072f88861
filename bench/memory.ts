import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  buildImage,
  type Image,
  readConstrainedMemory,
  readMemoryLimit,
  startImage,
} from './image.ts';
import {
  EMPTY_BYTES,
  LARGEST_BYTES,
  PIECES_BYTES,
  startMemoryService,
  TRAIL_BYTES,
} from './memory-service.ts';
import { pinThisProcess } from './processes.ts';
import { type Client, createClient } from './resilience/client.ts';
import { formatMegabytes, toTable } from './results.ts';

// The largest responses of the service, many at once, and streams on them, in the memory of the container. Exits with 1
// if the process is killed, a connection is reset, a read fails with another code than OVERLOADED, a stream has no
// payload after 30 s, or a single response holds the event loop for more than 250 ms.

const MAX_TICK_MS = 250;
const STREAMS = 100; // the default of MAX_SUBSCRIPTIONS
const FIRST_PAYLOAD_MS = 30_000;
const NEXT_POLL_MS = 12_000;
const WARM_UP_REQUESTS = 400;
const OVERLOADED_MS = 250; // until such a request is repeated
/** Whatever is still in progress this long after the last request began has failed. */
const GRACE_MS = 30_000;
const { values, positionals: words } = parseArgs({
  options: { seconds: { type: 'string', default: '6' } },
  allowPositionals: true,
});
const seconds = Number(values.seconds); // of the reads

/** What a load got. */
type Outcome = {
  /** For the table. */
  readonly result: string;
  /** How many requests ended with each code. */
  readonly codes: ReadonlyMap<string, number>;
};
type Row = {
  readonly name: string;
  /** Whether requests may end with a code. */
  readonly allows: (code: string) => boolean;
  /** The longest iteration of the event loop that is allowed. Default: any. */
  readonly maxTickMs?: number;
  readonly run: (gateway: Image, client: Client) => Promise<Outcome>;
};

/** The code of a request without a response. */
const LOST = 'LOST';
const lostBy = (error: unknown) => `${LOST} ${Object(error).code ?? Object(error).name}`;

/** Needs the whole response, as it counts the records. */
const READ = JSON.stringify({ query: '{ audit(first: 10) { totalCount nodes { id } } }' });
const TAIL = JSON.stringify({
  query: 'subscription { auditEvents(every: 10) { nodes { id } checkpoint } }',
});

/** Headers of a caller with a token and a network of its own. The token names the response of the service. */
const headersOf = (name: string, number: number) => [
  ...['content-type', 'application/json', 'x-forwarded-for', `20.${number}.0.1`],
  ...['authorization', `Bearer ${name}.${number}`],
];

/** Sends a read. Returns its code, `OK` without one. */
async function read(client: Client, name: string, number: number, signal?: AbortSignal) {
  const request = { id: `${name}-${number}`, body: READ, headers: headersOf(name, number) };
  return client.post(request, signal).then(({ code = 'OK' }) => code, lostBy);
}

/** Reads per second of the first row of a kind, which has the fewest at once. */
const firstRates = new Map<string, { readonly count: number; readonly rate: number }>();

/** Repeats reads for some seconds, this number at a time. */
function readAtOnce(count: number, name: string, isOneToken: boolean): Row {
  const kind = `${name}, ${isOneToken ? 'one token' : 'as many tokens'}`;
  return {
    name: `${count} reads, ${kind}`,
    allows: (code) => code === 'OK' || code === 'OVERLOADED',
    run: async (_, client) => {
      const codes = new Map<string, number>();
      const over = AbortSignal.timeout(seconds * 1000);
      const deadline = AbortSignal.timeout(seconds * 1000 + GRACE_MS);
      const begun = performance.now();
      const repeat = async (number: number) => {
        while (!over.aborted) {
          const code = await read(client, name, isOneToken ? 0 : number, deadline);
          add(codes, code);
          if (code !== 'OK') await wait(OVERLOADED_MS);
        }
      };
      await Promise.all(Array.from({ length: count }, (_, number) => repeat(number)));
      const rate = (1000 * (codes.get('OK') ?? 0)) / (performance.now() - begun);
      const first = firstRates.get(kind) ?? { count, rate };
      firstRates.set(kind, first);
      const ratio = (rate / first.rate).toFixed(2);
      const compared = count === first.count ? '' : `, ${ratio} times those with ${first.count}`;
      return { codes, result: `${rate.toFixed(1)} reads/s${compared}` };
    },
  };
}

/** Opens 100 streams at once. Each must have a payload, and may not end. */
function stream(name: string, order: string): Row {
  return {
    name: `${STREAMS} streams, ${order} first`,
    allows: (code) => code === 'OK',
    run: async (gateway, client) => {
      const codes = new Map<string, number>();
      const stop = new AbortController();
      const begun = performance.now();
      const firsts = new Map<number, number>(); // when each had its first payload
      const follow = async (number: number) => {
        const headers = [...headersOf(name, number), 'accept', 'text/event-stream'];
        const request = { id: `${name}-${number}`, body: TAIL, headers };
        const { body } = await client.send(request, stop.signal);
        let last = '';
        for await (const chunk of body) {
          last = String(chunk);
          if (last.includes('"checkpoint"') && !firsts.has(number))
            firsts.set(number, performance.now() - begun);
        }
        return /"code":"(\w+)"/.exec(last)?.[1] ?? 'ended';
      };
      const following = Array.from({ length: STREAMS }, async (_, number) => {
        const code = await follow(number).catch(lostBy);
        if (!stop.signal.aborted) add(codes, code);
      });
      while (firsts.size < STREAMS && performance.now() - begun < FIRST_PAYLOAD_MS) {
        await wait(50);
        if (gateway.exit() !== null) break;
      }
      const { size } = firsts;
      const last = Math.max(...firsts.values(), 0) / 1000;
      await wait(NEXT_POLL_MS);
      stop.abort();
      await Promise.all(following);
      codes.set('OK', size);
      if (size < STREAMS) codes.set('without a payload', STREAMS - size);
      return { codes, result: `last first payload after ${last.toFixed(1)} s` };
    },
  };
}

/** Reads one response. It may fail: only the memory and the event loop matter. */
function readOne(name: string, title: string, bytes: number): Row {
  return {
    name: `one response of ${title}`,
    allows: (code) => !code.startsWith(LOST),
    maxTickMs: MAX_TICK_MS,
    run: async (gateway, client) => {
      const before = gateway.rssBytes();
      gateway.resetPeak();
      const code = await read(client, name, 0);
      const peak = gateway.peakBytes() || (gateway.cgroup?.peakBytes() ?? Number.NaN);
      return {
        codes: new Map([[code, 1]]),
        result: `${((peak - before) / bytes).toFixed(1)} bytes per byte`,
      };
    },
  };
}

function add(codes: Map<string, number>, code: string): void {
  codes.set(code, (codes.get(code) ?? 0) + 1);
}

const ROWS: readonly Row[] = [
  ...['content-length', 'chunked'].flatMap((name) =>
    [true, false].flatMap((isOneToken) =>
      [16, 32, 48, 120].map((count) => readAtOnce(count, name, isOneToken)),
    ),
  ),
  stream('content-length', 'newest'),
  stream('oldest', 'oldest'),
  readOne('pieces', '2 MB, every byte a chunk', PIECES_BYTES),
  readOne('largest-pieces', '32 MB, every byte a chunk', LARGEST_BYTES),
  readOne('empty', '28 MB of empty objects', EMPTY_BYTES),
  readOne('records', '32 MB of records', LARGEST_BYTES),
];

pinThisProcess();
const limit = readMemoryLimit();
await buildImage();
await using service = await startMemoryService();
const constrained = readConstrainedMemory();

async function measure({ name, allows, maxTickMs = Number.POSITIVE_INFINITY, run }: Row) {
  await using gateway = await startImage(service.url, { TRUSTED_PROXIES: '1' });
  await using client = createClient(gateway.url);
  for (let sent = 0; sent < WARM_UP_REQUESTS; sent += 8)
    await Promise.all(Array.from({ length: 8 }, (_, number) => read(client, 'small', number)));
  await gateway.longestTickMs();
  const { codes, result } = await run(gateway, client);
  const peak = gateway.peakBytes();
  const tickMs = await gateway.longestTickMs();
  await wait(100);
  const exit = gateway.exit();
  const problems = [
    ...(exit === null ? [] : [`ended: ${exit}`]),
    ...[...codes.keys()].filter((code) => !allows(code)),
    ...(peak > limit ? ['memory'] : []),
    ...(tickMs > maxTickMs ? ['tick'] : []),
  ];
  const { cgroup } = gateway;
  const row = [
    name,
    [...codes].map(([code, count]) => `${count} ${code}`).join(', '),
    result,
    formatOr(peak, formatMegabytes),
    ...(cgroup === null
      ? ['', '', '']
      : [formatMegabytes(cgroup.peakBytes()), cgroup.reached(), cgroup.killed()]),
    formatOr(tickMs, (ms) => ms.toFixed(0)),
    problems.join(', '),
  ];
  process.stderr.write(`${row.join(' | ')}\n`);
  return { row, isWrong: problems.length > 0 };
}

/** Nothing for a figure of a process that has exited. */
function formatOr(figure: number, format: (figure: number) => string): string {
  return Number.isNaN(figure) ? '' : format(figure);
}

const measured: Awaited<ReturnType<typeof measure>>[] = [];
for (const row of ROWS) {
  if (words.length > 0 && !words.some((word) => row.name.includes(word))) continue;
  measured.push(await measure(row));
}
const HEAD = [
  ...['load', 'responses', '', 'RSS, MB', 'of the container, MB', 'limit reached', 'killed'],
  ...['longest tick, ms', 'wrong'],
];
process.stdout.write(
  [
    `Reads of a trail of ${TRAIL_BYTES / 1e6} MB without pages. Memory: peaks; the limit is ${formatMegabytes(limit)} MB.`,
    constrained === null
      ? 'This machine lets no control group be created: only the RSS was compared with the limit.\n'
      : `In its control group, Node finds ${formatMegabytes(constrained)} MB.\n`,
    toTable([HEAD, ...measured.map(({ row }) => row)]),
  ].join('\n'),
);
process.exit(Number(measured.some(({ isWrong }) => isWrong)));
