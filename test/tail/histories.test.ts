import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gatewayOver, type TestGateway } from '../helpers/gateway.ts';
import { type Service, type ServiceResponse, startService } from '../helpers/service.ts';
import { holdPauses, type Subscription, subscribe } from '../helpers/subscribe.ts';
import { createPromise, type Progress } from './promise.ts';
import {
  type Arrival,
  contractOf,
  createTrail,
  EARLY,
  FIRST,
  filterOf,
  type Listing,
  REFUSALS,
} from './trail.ts';

type Step =
  | {
      readonly kind: Arrival | 'repeat' | 'late' | 'burst' | 'remove' | 'keep' | 'trim';
      readonly n: number;
    }
  | { readonly kind: 'poll' }
  /** One poll reads what another replica has: what the list had before `n` changes, nothing, or a part. */
  | { readonly kind: 'stale' | 'empty' | 'part'; readonly n: number }
  /** No cursor that the service has returned is valid any more. */
  | { readonly kind: 'expire'; readonly n: number }
  /** The client goes on with another replica, from the last checkpoint but `n`. */
  | { readonly kind: 'reconnect'; readonly n: number };

type History = Listing & {
  readonly initial: number;
  /** How the first records arrive, in turns. */
  readonly arrivals: readonly Arrival[];
  /** Where the client begins: before all, at one of the first records, or now. */
  readonly since: 'early' | number | null;
  /** With more fields, a payload has fewer events: about 800, 120 or 25. */
  readonly fields: number;
  /** Whether the replicas of the service are equally new, and complete. */
  readonly isConsistent: boolean;
  readonly steps: readonly Step[];
};

const upTo = (kind: Exclude<Step['kind'], 'poll'>, min: number, max: number) =>
  fc.record({ kind: fc.constant(kind), n: fc.integer({ min, max }) });

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: upTo('push', 1, 12) },
  { weight: 1, arbitrary: upTo('push', 13, 250) },
  { weight: 1, arbitrary: upTo('untimed', 1, 12) },
  { weight: 1, arbitrary: upTo('early', 1, 12) },
  { weight: 4, arbitrary: upTo('late', 0, 32) },
  { weight: 1, arbitrary: upTo('burst', 0, 32) },
  { weight: 2, arbitrary: upTo('remove', 0, 60) },
  { weight: 1, arbitrary: upTo('keep', 0, 150) },
  { weight: 2, arbitrary: upTo('trim', 1, 3) },
  { weight: 1, arbitrary: upTo('repeat', 1, 3) },
  { weight: 5, arbitrary: fc.constant({ kind: 'poll' } as const) },
  { weight: 2, arbitrary: upTo('reconnect', 0, 5) },
  { weight: 2, arbitrary: upTo('stale', 1, 60) },
  { weight: 1, arbitrary: upTo('empty', 0, 0) },
  { weight: 1, arbitrary: upTo('part', 0, 20) },
  { weight: 1, arbitrary: upTo('expire', 0, REFUSALS.length - 1) },
);

const HISTORY: fc.Arbitrary<History> = fc.record({
  order: fc.constantFrom('newest-first', 'oldest-first'),
  isOrderGiven: fc.boolean(),
  style: fc.constantFrom('page', 'offset', 'cursor'),
  // The last one: few trails have more than one page.
  size: fc.oneof(
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 6, max: 100 }),
    fc.constant(250),
  ),
  hasIds: fc.boolean(),
  hasTotal: fc.boolean(),
  // The second one: about as many as a checkpoint knows. The last one: more than a poll parses at a time.
  initial: fc.oneof(
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 40, max: 80 }),
    fc.integer({ min: 0, max: 200 }),
    fc.integer({ min: 200, max: 600 }),
  ),
  arrivals: fc.array(fc.constantFrom<Arrival>('push', 'push', 'untimed', 'early'), {
    ...{ minLength: 1, maxLength: 9 },
  }),
  since: fc.oneof(
    fc.constant(null),
    fc.constant('early' as const),
    fc.integer({ min: 0, max: 200 }),
  ),
  fields: fc.constantFrom(1, 10, 48),
  isReordered: fc.boolean(),
  isConsistent: fc.boolean(),
  // Half of the clients resume at once, after one of the first payloads.
  steps: fc
    .tuple(
      fc.array(upTo('reconnect', 1, 5), { maxLength: 1 }),
      fc.array(STEP, { maxLength: 25, size: 'max' }),
    )
    .map((steps) => steps.flat()),
});

/** `raw` counts as ten values, each of which may be the whole record. */
const query = (fields: number) => `subscription ($after: String, $filter: AuditFilter) {
  auditEvents(after: $after, filter: $filter) { nodes { ${'raw '.repeat(fields)} } checkpoint previous missed hasMore }
}`;

const RUNS = Number(process.env['TAIL_RUNS'] ?? 2000);

/** The same histories in every run of CI. `TAIL_SEED` chooses others, and `TAIL_RUNS` how many. */
const SEED = Number(process.env['TAIL_SEED'] ?? 20_261_124);

let respond: (url: string) => ServiceResponse = () => ({ status: 500 });
let service: Service;
let [sent, received] = [0, 0]; // payloads
const pauses = holdPauses();
const OPTIONS = { pause: pauses.pause, graphqlMaxBytes: 2 ** 20 };
const replicas = new Map<string, readonly TestGateway[]>();

/** Two gateways with a contract for the listing. */
function gatewaysFor(listing: Listing): readonly TestGateway[] {
  const contract = contractOf(listing);
  const key = JSON.stringify(contract);
  const observer = {
    onPayload: () => {
      sent += 1;
    },
  };
  const create = () => gatewayOver(service.url, { ...OPTIONS, contract, observer });
  const existing = replicas.get(key) ?? [create(), create()];
  replicas.set(key, existing);
  return existing;
}

/** A record as the trail knows it, whatever the order of its members. */
const toText = (raw: Raw) =>
  JSON.stringify(
    Object.fromEntries(
      ['id', 'time', 'action'].flatMap((name) => (name in raw ? [[name, Object(raw)[name]]] : [])),
    ),
  );

type Raw = object;

/** Reads on. Not read to its end if the client disconnects. */
function read(stream: Subscription<{ readonly raw: Raw }>) {
  const batch = stream.nextBatch();
  batch.catch(() => {});
  return batch;
}

beforeAll(async () => {
  service = await startService(({ url }) => respond(url));
});
afterAll(async () => {
  for (const gateway of [...replicas.values()].flat()) await gateway[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

it(`delivers every record once, or says that some may be missed, in ${RUNS} histories`, async () => {
  const seen = { payloads: 0, events: 0, missed: 0, reconnects: 0, late: 0, stale: 0, expired: 0 };
  const run = async (history: History) => {
    const { order, size, initial, isOrderGiven, arrivals, fields, isConsistent, steps } = history;
    const trail = createTrail(history);
    const arrive = (kind: Arrival) => trail[isOrderGiven ? kind : 'push']();
    respond = trail.respond;
    service.forget();
    const gateways = gatewaysFor(history);
    // The end of a longer one cannot be reached: TRAIL_TOO_LONG. Without a total, the end is an empty page.
    const max = order === 'oldest-first' ? (history.hasTotal ? 10 : 9) * size - 1 : initial;
    for (let added = 0; added < Math.min(initial, max); added += 1)
      arrive(arrivals[added % arrivals.length] ?? 'push');
    const since = history.since === 'early' ? EARLY : history.since && FIRST + history.since;
    const filter = filterOf(since);
    const promise = createPromise(trail, history, since);
    const follow = (index: number, after: string | null) => {
      pauses.forget();
      return subscribe<{ readonly raw: Raw }>(
        { fetch: (url, init) => gateways[index % 2]?.fetch(url, init) ?? Promise.reject() },
        { after, filter },
        { query: query(fields) },
      );
    };

    let replica = 0;
    await using connections = new AsyncDisposableStack();
    let stream = connections.use(await follow(0, null));
    [sent, received] = [0, 0];
    const kept: Progress[] = [];
    let start = promise.begin(null);
    if (since === null) {
      const first = await stream.nextBatch();
      received += 1;
      expect(first).toMatchObject({ nodes: [], previous: null, missed: false });
      start = promise.begin(first.checkpoint);
      kept.push(start);
    }
    let reading = read(stream);
    /** Receives what a poll finds, until the next pause. */
    const receive = async (from: Progress, isFresh = true): Promise<Progress> => {
      let progress = promise.poll(from, isFresh);
      const promised = promise.promised(progress);
      const { isConnected, isCut } = promise.connection(progress);
      const batches: Progress[] = [];
      let extraPolls = promise.extraPolls(progress);
      for (;;) {
        const batch = await Promise.race([reading, pauses.paused()]);
        if (batch === undefined && received === sent) {
          if (extraPolls === 0) break;
          extraPolls -= 1;
          pauses.resume();
          continue;
        }
        const { nodes, previous, ...rest } = batch ?? (await reading);
        reading = read(stream);
        received += 1;
        expect(previous).toBe(progress.checkpoint);
        const texts = nodes.map(({ raw }) => toText(raw));
        progress = promise.receive({ texts, ...rest }, progress);
        batches.push(progress);
        seen.payloads += 1;
        seen.events += nodes.length;
        seen.missed += Number(rest.missed);
      }
      const lost = promised.filter((record) => !progress.had.has(record) && !progress.missed);
      expect(lost, 'lost').toEqual([]);
      if (isConnected) expect(progress.missed, 'missed').toBe(false);
      if (isCut) expect(progress.missed, 'missed').toBe(true);
      const last = batches.pop();
      if (last !== undefined) batches.push(promise.settle(last));
      kept.push(...batches.map((batch) => promise.pass(batch, progress.had)));
      return promise.settle(promise.pass(progress, progress.had));
    };
    let live = await receive(start);
    for (const step of steps) {
      if (step.kind === 'poll') {
        pauses.resume();
        live = await receive(live);
      } else if (step.kind === 'reconnect') {
        await stream[Symbol.asyncDispose]();
        replica += 1;
        seen.reconnects += 1;
        kept.splice(Math.max(1, kept.length - step.n));
        const from = kept.at(-1) ?? start;
        stream = connections.use(await follow(replica, from.checkpoint));
        [sent, received] = [0, 0];
        reading = read(stream);
        live = await receive(from);
      } else if (step.kind === 'stale' || step.kind === 'empty' || step.kind === 'part') {
        if (isConsistent) continue;
        seen.stale += 1;
        if (step.kind === 'stale') trail.serveStale(step.n);
        else if (step.kind === 'part') trail.servePart(step.n);
        else trail.serveEmpty();
        pauses.resume();
        live = await receive(live, false);
        trail.serveFresh();
      } else if (step.kind === 'expire') {
        trail.expire(step.n);
        seen.expired += 1;
      } else if (step.kind === 'late') {
        trail.addLate(step.n);
        seen.late += 1;
      } else if (step.kind === 'burst') {
        trail.addLate(step.n, 33 + 3 * step.n);
        seen.late += 1;
      } else if (step.kind === 'trim') trail.keep(Math.max(0, trail.records.length - step.n));
      else if (step.kind === 'remove' || step.kind === 'keep') trail[step.kind](step.n);
      else if (step.kind === 'repeat')
        for (let count = 0; count < step.n; count += 1) trail.repeat();
      else for (let count = 0; count < step.n; count += 1) arrive(step.kind);
    }
  };
  await fc.assert(fc.asyncProperty(HISTORY, run), { numRuns: RUNS, seed: SEED });
  // The histories are not all of one kind.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS / 20);
});
