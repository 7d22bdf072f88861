/** What is asked for, over and over. */
export type Load = {
  readonly name: LoadName;
  /** For tables. */
  readonly title: string;
  /** How long the service's trail is. */
  readonly records: number;
  /** How many of its events are asked for; null is a deletion instead. */
  readonly first: number | null;
};

/** Names of the loads, as `--load` takes them. */
export type LoadName = 'small' | 'thousand' | 'window' | 'delete';

/** All loads. A trail of 10 records is 3 KB of JSON, of 1,000 300 KB, of 20,000 6 MB. */
export const LOADS: readonly Load[] = [
  { name: 'small', title: '10 records (3 KB)', records: 10, first: 10 },
  { name: 'thousand', title: '1,000 records (300 KB)', records: 1000, first: 1000 },
  { name: 'window', title: 'first 50 of 20,000 (6 MB)', records: 20_000, first: 50 },
  { name: 'delete', title: 'delete', records: 10, first: null },
];

/** Records of the trails over which the CPU time of `first: 50` is compared. */
export const LARGE_TRAILS = [100, 1000, 10_000, 20_000, 100_000] as const;
