import type { Sample } from './measure.ts';

/** The results of a run, as written to results/latest.json. */
export type Results = {
  readonly date: string;
  readonly machine: Readonly<Record<'cpu' | 'kernel' | 'node' | 'commit', string>> & {
    /** Versions of the peers' packages. */
    readonly versions: Readonly<Record<string, string>>;
  };
  readonly options: Readonly<Record<'rounds' | 'seconds' | 'warmUpSeconds', number>>;
  /** Requests per second of the stub alone, on the core that it shares with wrk, by load. */
  readonly stub: Readonly<Record<string, number>>;
  readonly measurements: readonly Measurement[];
  /** Why a peer cannot run on this machine, by its name. */
  readonly skipped: Readonly<Record<string, string>>;
  /** Growth of the memory in use after 5,000 documents, in bytes; the reason if it failed, null if not measured. */
  readonly documentBytes: number | string | null;
};

/** One peer under one load in one round. */
export type Measurement = {
  readonly peer: string;
  readonly load: string;
  readonly round: number;
  /** Or why it failed. */
  readonly sample: Sample | string;
};

/** Minimum, median and maximum. */
export type Spread = { readonly min: number; readonly median: number; readonly max: number };

/** The spread of some numbers; null if there are none. */
export function spreadOf(numbers: readonly number[]): Spread | null {
  if (numbers.length === 0) return null;
  const upperMedian = -quantile(
    numbers.map((number) => -number),
    0.5,
  );
  const median = (quantile(numbers, 0.5) + upperMedian) / 2;
  return { min: Math.min(...numbers), median, max: Math.max(...numbers) };
}

/** The smallest value that is at least as large as this share of all values; NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** A figure of a peer under a load by round, without the rounds that failed or did not measure it. */
export function byRound(
  measurements: readonly Measurement[],
  peer: string,
  load: string,
  figure: keyof Sample,
): ReadonlyMap<number, number> {
  const values = new Map<number, number>();
  for (const { sample, round, ...of } of measurements) {
    const value = typeof sample === 'string' ? null : sample[figure];
    if (of.peer === peer && of.load === load && value !== null) values.set(round, value);
  }
  return values;
}

/** The spread of a figure over all rounds; null if it was not measured. */
export function spread(...of: Parameters<typeof byRound>): Spread | null {
  return spreadOf([...byRound(...of).values()]);
}

/**
 * The spread of the ratio of two peers, requests per second by default. Compares within each round, because other
 * work on the machine slows whole rounds. Null if not measured.
 */
export function ratio(
  measurements: readonly Measurement[],
  peer: string,
  other: string,
  load: string,
  figure: keyof Sample = 'requestsPerSecond',
): Spread | null {
  const others = byRound(measurements, other, load, figure);
  return spreadOf(
    [...byRound(measurements, peer, load, figure)].flatMap(([round, value]) => {
      const otherValue = others.get(round);
      return otherValue === undefined ? [] : value / otherValue;
    }),
  );
}

/** A Markdown table; the first row is its head. */
export function toTable([head = [], ...rows]: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |\n`;
  return [head, head.map(() => '---'), ...rows].map(line).join('');
}

/** "median (min to max)", or the median alone if all are equal. Without a spread, an empty text. */
export function formatSpread(spread: Spread | null, format: (number: number) => string): string {
  if (spread === null) return '';
  const [low, median, high] = [spread.min, spread.median, spread.max].map(format);
  return low === high ? String(median) : `${median} (${low} to ${high})`;
}

/** With thousands separators. */
export function formatInteger(number: number): string {
  return number.toLocaleString('en', { maximumFractionDigits: 0 });
}

/** With two decimals. */
export function formatRatio(number: number): string {
  return number.toFixed(2);
}

/** Bytes in MB with one decimal. */
export function formatMegabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
