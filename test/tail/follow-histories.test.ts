import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AuditEventsDocument, createSession } from '../../src/client/index.ts';
import { type Cut, startCutter } from '../helpers/cut-connections.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';
import {
  type Arrival,
  contractOf,
  createTrail,
  EARLY,
  FIRST,
  filterOf,
  type Listing,
  type TrailRecord,
} from './trail.ts';

type Step =
  | { readonly kind: Arrival | 'repeat'; readonly n: number }
  /** Late records, each after `n` newer ones. */
  | { readonly kind: 'late'; readonly n: number; readonly count: number };

type History = Listing & {
  readonly initial: number;
  /** How the first records arrive, in turns. */
  readonly arrivals: readonly Arrival[];
  /** Where the client begins: before all, at one of the first records, or now. */
  readonly since: 'early' | number | null;
  /** The largest result of the gateway, in bytes: a payload has about 10, 40, or 700 events. */
  readonly graphqlMaxBytes: number;
  /** Between two of them, the client receives all that is new. */
  readonly changes: readonly (readonly Step[])[];
  /** Where each connection is cut. */
  readonly cuts: readonly (Cut | null)[];
};

const upTo = <Kind extends Step['kind']>(kind: Kind, min: number, max: number) =>
  fc.record({ kind: fc.constant(kind), n: fc.integer({ min, max }) });

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: upTo('push', 1, 12) },
  { weight: 1, arbitrary: upTo('push', 13, 250) },
  { weight: 2, arbitrary: upTo('untimed', 1, 12) },
  { weight: 2, arbitrary: upTo('early', 1, 12) },
  { weight: 1, arbitrary: upTo('repeat', 1, 3) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('late' as const),
      n: fc.integer({ min: 0, max: 32 }),
      count: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 120 })),
    }),
  },
);

const CUT: fc.Arbitrary<Cut> = fc.record({
  payloads: fc.integer({ min: 1, max: 4 }),
  bytes: fc.option(fc.integer({ min: 0, max: 90 })),
});

const HISTORY: fc.Arbitrary<History> = fc.record({
  order: fc.constantFrom('newest-first', 'oldest-first'),
  isOrderGiven: fc.constant(true),
  style: fc.constantFrom('page', 'offset', 'cursor'),
  // Ten pages have all that is new, and the known records.
  size: fc.integer({ min: 80, max: 300 }),
  hasIds: fc.constant(true),
  hasTotal: fc.boolean(),
  isReordered: fc.boolean(),
  initial: fc.integer({ min: 0, max: 600 }),
  arrivals: fc.array(fc.constantFrom<Arrival>('push', 'push', 'untimed', 'early'), {
    ...{ minLength: 1, maxLength: 9 },
  }),
  since: fc.oneof(fc.constant(null), fc.constant('early' as const), fc.nat(600)),
  graphqlMaxBytes: fc.constantFrom(2 ** 14, 2 ** 16, 2 ** 20),
  changes: fc.array(fc.array(STEP, { maxLength: 3 }), { maxLength: 5 }),
  cuts: fc.array(fc.option(CUT, { freq: 4 }), { minLength: 5, maxLength: 30 }),
});

const RUNS = Number(process.env['FOLLOW_RUNS'] ?? 200);
const SEED = Number(process.env['TAIL_SEED'] ?? 20_261_124);

const TOKENS = {
  load: () => ({ accessToken: 'token', refreshToken: null, expiresAt: null }),
  save: () => {},
};

/** A timer that ends at once, but for the silence of a connection: that never ends. */
const atOnce = (run: () => void, ms: number) => setTimeout(run, ms === 30_000 ? 2 ** 31 - 1 : 0);

/** The pauses of each connection, which `every` identifies. */
function createPauses() {
  const pauses = new Map<number, PromiseWithResolvers<() => void>>();
  const pauseOf = (ms: number) => {
    const pause = pauses.get(ms) ?? Promise.withResolvers();
    pauses.set(ms, pause);
    return pause;
  };
  return {
    pause: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const end = () => {
          pauses.delete(ms);
          resolve();
        };
        signal.addEventListener('abort', end, { once: true });
        pauseOf(ms).resolve(end);
      }),
    /** Waits for the pause of a stream, and ends it. */
    resume: async (every: number) => (await pauseOf(1000 * every).promise)(),
  };
}

it(`a session that follows the trail over cut connections gets every event once, in ${RUNS} histories`, async () => {
  const seen = { reconnects: 0, events: 0, payloads: 0 };
  const run = async (history: History) => {
    const { initial, arrivals, graphqlMaxBytes, changes } = history;
    const trail = createTrail(history);
    for (let added = 0; added < initial; added += 1)
      trail[arrivals[added % arrivals.length] ?? 'push']();
    const since =
      history.since === 'early' ? EARLY : history.since && FIRST + Math.min(history.since, initial);
    const isWanted = ({ at }: TrailRecord) => since === null || (at !== null && at >= since);
    const old = since === null ? new Set(trail.records) : new Set();

    const pauses = createPauses();
    const cuts = [...history.cuts];
    await using service = await startService(({ url }) => trail.respond(url));
    const contract = contractOf(history);
    await using gateway = await onPort(
      gatewayOver(service.url, { contract, graphqlMaxBytes, pause: pauses.pause }),
    );
    await using cutter = await startCutter(gateway.url, () => cuts.shift() ?? null);
    let every = 5;
    const session = createSession({
      url: `${cutter.url}/graphql`,
      clientId: 'client',
      tokens: TOKENS,
      timers: { setTimeout: atOnce },
      fetch: (url, init) => {
        every += 1;
        const { query, variables } = JSON.parse(init.body);
        const body = JSON.stringify({ query, variables: { ...variables, every } });
        return fetch(url, { ...init, body });
      },
    });
    const received: string[] = [];
    const batches = session.follow(AuditEventsDocument, { filter: filterOf(since) });
    /** Receives until the stream has caught up, and is open. */
    const receive = async () => {
      for (;;) {
        const { value } = await batches.next();
        received.push(...value.nodes.flatMap(({ id }: { id: string | null }) => id ?? []));
        expect(value.missed).toBe(false);
        seen.payloads += 1;
        if (!cutter.isCut() && !value.hasMore) return;
      }
    };
    await receive();
    for (const steps of changes) {
      for (const step of steps) {
        if (step.kind === 'late') trail.addLate(step.n, step.count);
        else for (let count = 0; count < step.n; count += 1) trail[step.kind]();
      }
      trail.push();
      const newest = JSON.parse(trail.records[0]?.text ?? '').id;
      await pauses.resume(every);
      while (!received.includes(newest)) await receive();
    }
    await batches.return?.();
    const expected = trail.records.filter((one) => isWanted(one) && !old.has(one));
    expect(received.toSorted()).toEqual(expected.map(({ text }) => JSON.parse(text).id).toSorted());
    seen.events += received.length;
    seen.reconnects += every - 6;
  };
  await fc.assert(fc.asyncProperty(HISTORY, run), { numRuns: RUNS, seed: SEED });
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS);
});
