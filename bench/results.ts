import type { LoadName } from './loads.ts';
import type { Sample } from './measure.ts';

/** All that a run found. */
export type Results = {
  readonly date: string;
  readonly machine: Machine;
  readonly options: {
    readonly isFull: boolean;
    readonly rounds: number;
    readonly seconds: number;
    readonly warmUpSeconds: number;
  };
  /** Requests a second that the stub answers without anything before it, on the core that it shares with wrk. */
  readonly stub: Partial<Record<LoadName, number>>;
  readonly measurements: readonly Measurement[];
  /** Why a peer could not be run at all, by its name. */
  readonly skipped: Readonly<Record<string, string>>;
  /** CPU time of `first: 50` by length of the trail; null if not measured, or the reason why it failed. */
  readonly largeTrails: readonly LargeTrail[] | string | null;
  /** Start of `npm start` to its first correct response, by round; null or a reason as above. */
  readonly npmStartMs: readonly number[] | string | null;
  /** How much more is alive after the documents, in bytes; null or a reason as above. */
  readonly documentBytes: number | string | null;
};

/** One peer under one load in one round. */
export type Measurement = {
  readonly peer: string;
  readonly load: LoadName;
  readonly round: number;
  /** Or why there is none. */
  readonly sample: Sample | string;
};

/** Keytrail's CPU time for `first: 50` of a trail, in microseconds per request. */
export type LargeTrail = {
  readonly round: number;
  readonly records: number;
  readonly cpuMicros: number;
};

/** Where it ran, and what. */
export type Machine = {
  readonly cpu: string;
  readonly kernel: string;
  readonly node: string;
  /** Of Keytrail. */
  readonly commit: string;
  /** Of the peers' packages. */
  readonly versions: Readonly<Record<string, string>>;
};

/** Smallest, middle and largest of some numbers. */
export type Spread = { readonly min: number; readonly median: number; readonly max: number };

/** Null for no numbers. */
export function spreadOf(numbers: readonly number[]): Spread | null {
  const sorted = [...numbers].sort((a, b) => a - b);
  const { length } = sorted;
  const [min, max] = [sorted[0], sorted.at(-1)];
  const [low, high] = [sorted[Math.floor((length - 1) / 2)], sorted[Math.ceil((length - 1) / 2)]];
  if (min === undefined || max === undefined || low === undefined || high === undefined)
    return null;
  return { min, median: (low + high) / 2, max };
}

/** Reads something of all rounds of a peer under a load. */
export function spread(
  { measurements }: Results,
  peer: string,
  load: LoadName,
  of: (sample: Sample) => number | null,
): Spread | null {
  const numbers = measurements.flatMap((one) =>
    one.peer === peer && one.load === load && typeof one.sample === 'object'
      ? (of(one.sample) ?? [])
      : [],
  );
  return spreadOf(numbers);
}

/** Compares two peers under a load round by round, since a neighbour may slow both of one round. */
export function compare(
  { measurements }: Results,
  peer: string,
  other: string,
  load: LoadName,
  how: (sample: Sample, other: Sample) => number | null,
): Spread | null {
  const numbers = measurements.flatMap((one) => {
    if (one.peer !== peer || one.load !== load || typeof one.sample === 'string') return [];
    const same = measurements.find(
      (each) => each.peer === other && each.load === load && each.round === one.round,
    );
    return typeof same?.sample === 'object' ? (how(one.sample, same.sample) ?? []) : [];
  });
  return spreadOf(numbers);
}

/** Requests a second, relative to another peer. */
export function ratio(
  results: Results,
  peer: string,
  other: string,
  load: LoadName,
): Spread | null {
  return compare(results, peer, other, load, (a, b) => a.requestsPerSecond / b.requestsPerSecond);
}
