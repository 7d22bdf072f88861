import type { LoadName } from './loads.ts';

/** A figure of the benchmark, with what Keytrail has to reach. */
export type Target = {
  readonly title: string;
  /** What must hold. */
  readonly keep: Goal;
  /** The goal. */
  readonly wanted: Goal;
};

/** In words, and what it means. */
export type Goal = { readonly text: string; readonly conditions: readonly Condition[] };

/**
 * Keytrail's requests per second are at least `times` those of a peer, in the median or in every round; or a measure
 * is at most a limit.
 */
export type Condition =
  | {
      readonly load: LoadName;
      readonly times: number;
      readonly of: string;
      readonly inEveryRound?: true;
    }
  | { readonly measure: MeasureName; readonly atMost: number };

/** Measures of Keytrail other than its request rates. */
export type MeasureName =
  | 'coldStartMs'
  | 'npmStartMs'
  | 'rssMegabytes'
  | 'documentMegabytes'
  /** Largest to smallest CPU time of `first: 50`, over trails of 1,000 records and more. */
  | 'largeTrailRatio';

/** Stands for each peer that is JavaScript. */
export const JAVASCRIPT = 'javascript';

/** All targets. They are for orientation, as absolute ratios vary by machine. */
export const TARGETS: readonly Target[] = [
  {
    title: '10 records',
    keep: {
      text: '0.45 of L0, ahead of every JavaScript peer in the median',
      conditions: [
        { load: 'small', times: 0.45, of: 'l0' },
        { load: 'small', times: 1, of: JAVASCRIPT },
      ],
    },
    wanted: {
      text: '0.9 of L2, ahead in every round',
      conditions: [
        { load: 'small', times: 0.9, of: 'l2' },
        { load: 'small', times: 1, of: JAVASCRIPT, inEveryRound: true },
      ],
    },
  },
  {
    title: '1,000 records, with escapes and non-ASCII text',
    keep: {
      text: '0.6 of L1, ahead of every JavaScript peer',
      conditions: [
        { load: 'thousand', times: 0.6, of: 'l1' },
        { load: 'thousand', times: 1, of: JAVASCRIPT },
      ],
    },
    wanted: { text: '0.85 of L1', conditions: [{ load: 'thousand', times: 0.85, of: 'l1' }] },
  },
  {
    title: 'first 50 of 20,000',
    keep: { text: '15 of L0', conditions: [{ load: 'window', times: 15, of: 'l0' }] },
    wanted: { text: '17 of L0', conditions: [{ load: 'window', times: 17, of: 'l0' }] },
  },
  {
    title: 'delete',
    keep: { text: '0.65 of L0', conditions: [{ load: 'delete', times: 0.65, of: 'l0' }] },
    wanted: { text: '0.85 of L2', conditions: [{ load: 'delete', times: 0.85, of: 'l2' }] },
  },
  {
    title: 'cold start of the image',
    keep: { text: '330 ms', conditions: [{ measure: 'coldStartMs', atMost: 330 }] },
    wanted: { text: '300 ms', conditions: [{ measure: 'coldStartMs', atMost: 300 }] },
  },
  {
    title: 'cold start of `npm start` from source',
    keep: { text: '800 ms', conditions: [{ measure: 'npmStartMs', atMost: 800 }] },
    wanted: { text: '500 ms', conditions: [{ measure: 'npmStartMs', atMost: 500 }] },
  },
  {
    title: 'memory after load, image',
    keep: { text: '250 MB', conditions: [{ measure: 'rssMegabytes', atMost: 250 }] },
    wanted: { text: '180 MB', conditions: [{ measure: 'rssMegabytes', atMost: 180 }] },
  },
  {
    title: 'heap after 5,000 distinct documents of 3 KB',
    keep: { text: '+ 64 MB', conditions: [{ measure: 'documentMegabytes', atMost: 64 }] },
    wanted: { text: '+ 30 MB', conditions: [{ measure: 'documentMegabytes', atMost: 30 }] },
  },
  {
    title: 'CPU of `first: 50`, 1,000 to 100,000 records, largest to smallest',
    keep: { text: 'flat within 1.3', conditions: [{ measure: 'largeTrailRatio', atMost: 1.3 }] },
    wanted: { text: '1.15', conditions: [{ measure: 'largeTrailRatio', atMost: 1.15 }] },
  },
];
