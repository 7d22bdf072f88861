import { LOADS, PAGES } from './loads.ts';
import { PEERS } from './peers.ts';
import {
  formatInteger,
  formatMegabytes,
  formatRatio,
  type Measurement,
  type Results,
  ratio,
  type Spread,
  spread,
  spreadOf,
} from './results.ts';

/** A figure of Keytrail with its limits. For orientation: absolute ratios vary by machine. */
export type Target = {
  readonly title: string;
  /** Null if not measured. */
  readonly measure: (results: Results) => Spread | null;
  readonly format: (number: number) => string;
  /** What must hold. */
  readonly keep: Limit | null;
  /** The goal. */
  readonly wanted: Limit | null;
};

/** A limit for the median or for every round. */
export type Limit = {
  readonly text: string;
  readonly isMet: (spread: Spread) => boolean;
};

const FASTEST = 'of the fastest other JavaScript gateway';

/** All targets, in the order of the report. Rates are requests per second relative to those of a peer. */
export const TARGETS: readonly Target[] = [
  rate('10 records, of L0', 'small', 'l0', atLeast(0.45), null),
  rate('10 records, of L2', 'small', 'l2', null, atLeast(0.9)),
  rate(`10 records, ${FASTEST}`, 'small', null, atLeast(1), inEveryRound(1)),
  rate('1,000 records with escapes, of L1', 'thousand', 'l1', atLeast(0.6), atLeast(0.85)),
  rate(`1,000 records with escapes, ${FASTEST}`, 'thousand', null, atLeast(1), null),
  rate('first 50 of 20,000, of L0', 'page', 'l0', atLeast(15), atLeast(17)),
  rate('delete, of L0', 'delete', 'l0', atLeast(0.65), null),
  rate('delete, of L2', 'delete', 'l2', null, atLeast(0.85)),
  coldStart('cold start of the image, ms', 'keytrail', atMost(330), atMost(300)),
  coldStart('cold start of `npm start` from source, ms', 'npm-start', atMost(800), atMost(500)),
  {
    title: 'memory after load, image, MB',
    measure: ({ measurements }) => largestRss(measurements, 'keytrail'),
    format: formatMegabytes,
    keep: atMost(250, 2 ** 20),
    wanted: atMost(180, 2 ** 20),
  },
  {
    title: 'heap after 5,000 distinct documents of 3 KB, growth in MB',
    measure: ({ documentBytes }) =>
      typeof documentBytes === 'number' ? spreadOf([documentBytes]) : null,
    format: formatMegabytes,
    keep: atMost(64, 2 ** 20),
    wanted: atMost(30, 2 ** 20),
  },
  {
    title: 'CPU of `first: 50` over 1,000 to 100,000 records, largest to smallest',
    measure: ({ measurements }) => pageFlatness(measurements),
    format: formatRatio,
    keep: atMost(1.3),
    wanted: atMost(1.15),
  },
];

/** A rate relative to a peer, or to the fastest other JavaScript gateway if it is null. */
function rate(
  title: string,
  load: string,
  peer: string | null,
  keep: Limit | null,
  wanted: Limit | null,
): Target {
  const measure = ({ measurements }: Results) =>
    peer === null ? ofFastest(measurements, load) : ratio(measurements, 'keytrail', peer, load);
  return { title, measure, format: formatRatio, keep, wanted };
}

function coldStart(title: string, peer: string, keep: Limit, wanted: Limit): Target {
  const measure = ({ measurements }: Results) =>
    spread(measurements, peer, 'small', ({ coldStartMs }) => coldStartMs);
  return { title, measure, format: formatInteger, keep, wanted };
}

function atLeast(limit: number): Limit {
  return { text: `${limit}`, isMet: ({ median }) => median >= limit };
}

function inEveryRound(limit: number): Limit {
  return { text: `${limit} in every round`, isMet: ({ min }) => min >= limit };
}

function atMost(limit: number, unit = 1): Limit {
  return { text: `at most ${limit}`, isMet: ({ median }) => median <= limit * unit };
}

/** The smallest ratio to any other JavaScript gateway; null unless all were measured. */
function ofFastest(measurements: readonly Measurement[], load: string): Spread | null {
  const ratios = PEERS.filter((peer) => peer.isJavaScriptGateway).map(({ name }) =>
    ratio(measurements, 'keytrail', name, load),
  );
  const known = ratios.filter((one) => one !== null);
  if (known.length < ratios.length) return null;
  const least = (of: keyof Spread) => Math.min(...known.map((one) => one[of]));
  return { min: least('min'), median: least('median'), max: least('max') };
}

/** Resident memory after the load with the largest median, in bytes. */
export function largestRss(measurements: readonly Measurement[], peer: string): Spread | null {
  const [largest = null] = LOADS.map(({ name }) =>
    spread(measurements, peer, name, ({ rssBytes }) => rssBytes),
  )
    .filter((one) => one !== null)
    .toSorted((a, b) => b.median - a.median);
  return largest;
}

/** Trails of which Keytrail reads a prefix. The body of a shorter one is read whole, for half the CPU time. */
const LONG_TRAILS = [...LOADS, ...PAGES].flatMap(({ name, records, first }) =>
  first === 50 && records >= 1000 ? name : [],
);

/** Largest to smallest CPU time per request of `first: 50` over long trails, by round. Null unless all were measured. */
export function pageFlatness(measurements: readonly Measurement[]): Spread | null {
  const rounds = Map.groupBy(
    measurements.filter(({ peer, load }) => peer === 'keytrail' && LONG_TRAILS.includes(load)),
    ({ round }) => round,
  );
  return spreadOf(
    [...rounds.values()].flatMap((round) => {
      const cpu = round.flatMap(({ sample }) =>
        typeof sample === 'object' ? sample.cpuMicros : [],
      );
      return cpu.length < LONG_TRAILS.length ? [] : Math.max(...cpu) / Math.min(...cpu);
    }),
  );
}
