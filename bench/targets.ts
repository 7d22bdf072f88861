import type { LoadName } from './loads.ts';

/** What Keytrail has to reach. */
export type Target = {
  readonly title: string;
  readonly must: Goal;
  readonly wanted: Goal;
};

/** In words, and what it means. */
export type Goal = { readonly text: string; readonly conditions: readonly Condition[] };

/** Requests a second of Keytrail are so many times those of a peer, or a measure stays within a bound. */
export type Condition =
  | { readonly load: LoadName; readonly times: number; readonly of: string }
  | { readonly measure: MeasureName; readonly atMost: number }
  | { readonly measure: MeasureName; readonly atLeast: number };

/** Measures of Keytrail beside its rates. */
export type MeasureName =
  | 'oneConnectionMicros'
  | 'coldStartMs'
  | 'rssMegabytes'
  | 'documentMegabytes'
  /** How many times the rate of one worker two have. */
  | 'twoWorkers'
  /** The same, relative to L0's. */
  | 'twoWorkersOfL0';

/** Stands for each peer that is JavaScript. */
export const JAVASCRIPT = 'javascript';

export const TARGETS: readonly Target[] = [
  {
    title: '10 records',
    must: {
      text: '0.50 of L0, ahead of every JavaScript peer',
      conditions: [
        { load: 'small', times: 0.5, of: 'l0' },
        { load: 'small', times: 1, of: JAVASCRIPT },
      ],
    },
    wanted: {
      text: '0.70 of L0, ahead of Tailcall',
      conditions: [
        { load: 'small', times: 0.7, of: 'l0' },
        { load: 'small', times: 1, of: 'tailcall' },
      ],
    },
  },
  {
    title: '1,000 records',
    must: { text: '1.0 of L1', conditions: [{ load: 'thousand', times: 1, of: 'l1' }] },
    wanted: {
      text: '2 of L1, ahead of Tailcall by half',
      conditions: [
        { load: 'thousand', times: 2, of: 'l1' },
        { load: 'thousand', times: 1.5, of: 'tailcall' },
      ],
    },
  },
  {
    title: 'first 50 of 20,000',
    must: { text: '10 of L0', conditions: [{ load: 'window', times: 10, of: 'l0' }] },
    wanted: { text: '15 of L0', conditions: [{ load: 'window', times: 15, of: 'l0' }] },
  },
  {
    title: 'delete',
    must: { text: '0.70 of L0', conditions: [{ load: 'delete', times: 0.7, of: 'l0' }] },
    wanted: {
      text: '0.95 of L0, level with Tailcall',
      conditions: [
        { load: 'delete', times: 0.95, of: 'l0' },
        { load: 'delete', times: 0.97, of: 'tailcall' }, // level, as well as it can be measured
      ],
    },
  },
  {
    title: "one connection, above L0's median",
    must: { text: '60 µs', conditions: [{ measure: 'oneConnectionMicros', atMost: 60 }] },
    wanted: { text: '20 µs', conditions: [{ measure: 'oneConnectionMicros', atMost: 20 }] },
  },
  {
    title: 'cold start to the first answer',
    must: { text: '500 ms', conditions: [{ measure: 'coldStartMs', atMost: 500 }] },
    wanted: { text: '300 ms', conditions: [{ measure: 'coldStartMs', atMost: 300 }] },
  },
  {
    title: 'memory after load',
    must: { text: '250 MB', conditions: [{ measure: 'rssMegabytes', atMost: 250 }] },
    wanted: { text: '180 MB', conditions: [{ measure: 'rssMegabytes', atMost: 180 }] },
  },
  {
    title: 'heap after 5,000 distinct documents of 3 KB',
    must: { text: '+ 64 MB', conditions: [{ measure: 'documentMegabytes', atMost: 64 }] },
    wanted: { text: '+ 30 MB', conditions: [{ measure: 'documentMegabytes', atMost: 30 }] },
  },
  {
    title: 'two workers on two cores, 1,000 records',
    must: { text: '1.6 of one', conditions: [{ measure: 'twoWorkers', atLeast: 1.6 }] },
    wanted: {
      text: 'as L0 scales in the same run',
      conditions: [{ measure: 'twoWorkersOfL0', atLeast: 1 }],
    },
  },
];
