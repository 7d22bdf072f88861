import { PEERS } from './peers.ts';
import { type Results, ratio, type Spread, spread, spreadOf } from './results.ts';
import { type Condition, type Goal, JAVASCRIPT, type MeasureName, TARGETS } from './targets.ts';

/** What became of a target. */
export type Verdict = {
  readonly title: string;
  /** What was measured, in words. */
  readonly measured: string;
  readonly keep: Reached;
  readonly wanted: Reached;
};

/** A goal, and whether it is reached; null where something that it is measured by is missing. */
export type Reached = { readonly text: string; readonly isReached: boolean | null };

/** Judges each target by what was measured. */
export function judge(results: Results): readonly Verdict[] {
  return TARGETS.map(({ title, keep, wanted }) => {
    const found = [...keep.conditions, ...wanted.conditions].map((one) => find(results, one).words);
    return {
      title,
      measured: [...new Set(found)].join(', '),
      keep: reach(results, keep),
      wanted: reach(results, wanted),
    };
  });
}

function reach(results: Results, { text, conditions }: Goal): Reached {
  const verdicts = conditions.map((condition) => find(results, condition).isMet);
  return {
    text,
    isReached: verdicts.includes(false) ? false : verdicts.includes(null) ? null : true,
  };
}

type Finding = { readonly words: string; readonly isMet: boolean | null };

const NOT_MEASURED: Finding = { words: 'not measured', isMet: null };

function find(results: Results, condition: Condition): Finding {
  if ('of' in condition) return findRate(results, condition);
  const value = MEASURES[condition.measure](results);
  const { unit, digits } = UNITS[condition.measure];
  if (value === null) return NOT_MEASURED;
  return { words: `${value.toFixed(digits)}${unit}`, isMet: value <= condition.atMost };
}

function findRate(
  results: Results,
  { load, times, of, inEveryRound }: Extract<Condition, { readonly of: string }>,
): Finding {
  if (spread(results, 'keytrail', load, (sample) => sample.requestsPerSecond) === null)
    return NOT_MEASURED;
  const others =
    of === JAVASCRIPT
      ? PEERS.filter(({ name, isJavaScript }) => isJavaScript && name !== 'keytrail')
      : PEERS.filter(({ name }) => name === of);
  const ratios = others.map(({ name, title }) => ({
    title,
    value: ratio(results, 'keytrail', name, load)?.[inEveryRound ? 'min' : 'median'] ?? null,
  }));
  const known = ratios.flatMap(({ title, value }) => (value === null ? [] : { title, value }));
  const [closest] = known.toSorted((a, b) => a.value - b.value);
  const missing = ratios.filter(({ value }) => value === null).map(({ title }) => title);
  const words = [
    ...(closest === undefined
      ? []
      : [`${closest.value.toFixed(2)} of ${closest.title}${inEveryRound ? ' at least' : ''}`]),
    ...missing.map((title) => `${title} not measured`),
  ];
  const isBehind = closest !== undefined && closest.value < times;
  return { words: words.join(', '), isMet: isBehind ? false : missing.length > 0 ? null : true };
}

const MEGABYTE = 2 ** 20;

const UNITS: Readonly<Record<MeasureName, { readonly unit: string; readonly digits: number }>> = {
  coldStartMs: { unit: ' ms', digits: 0 },
  npmStartMs: { unit: ' ms', digits: 0 },
  rssMegabytes: { unit: ' MB', digits: 0 },
  documentMegabytes: { unit: ' MB', digits: 1 },
  largeTrailRatio: { unit: '', digits: 2 },
};

const MEASURES: Readonly<Record<MeasureName, (results: Results) => number | null>> = {
  coldStartMs: (results) =>
    spread(results, 'keytrail', 'small', ({ coldStartMs }) => coldStartMs)?.median ?? null,
  npmStartMs: ({ npmStartMs }) =>
    typeof npmStartMs === 'object' ? (spreadOf(npmStartMs ?? [])?.median ?? null) : null,
  rssMegabytes: (results) => {
    const bytes = largestRss(results, 'keytrail');
    return bytes === null ? null : bytes / MEGABYTE;
  },
  documentMegabytes: ({ documentBytes }) =>
    typeof documentBytes === 'number' ? documentBytes / MEGABYTE : null,
  largeTrailRatio: (results) => flatness(results)?.median ?? null,
};

/** Memory after the load that takes most of it, in bytes. */
export function largestRss({ measurements }: Results, peer: string): number | null {
  const loads = Map.groupBy(
    measurements.filter((one) => one.peer === peer),
    ({ load }) => load,
  );
  const medians = [...loads.values()].flatMap((rounds) => {
    const bytes = rounds.flatMap(({ sample }) =>
      typeof sample === 'object' ? sample.rssBytes : [],
    );
    return spreadOf(bytes)?.median ?? [];
  });
  return spreadOf(medians)?.max ?? null;
}

/** Trails shorter than this are small bodies, read whole: about half the CPU time. */
const LEAST_RECORDS = 1000;

/** Largest to smallest CPU time of `first: 50` over trails of 1,000 records and more, compared round by round. */
export function flatness({ largeTrails }: Results): Spread | null {
  if (largeTrails === null || typeof largeTrails === 'string') return null;
  const large = largeTrails.filter(({ records }) => records >= LEAST_RECORDS);
  const rounds = Map.groupBy(large, ({ round }) => round);
  return spreadOf(
    [...rounds.values()].flatMap((round) => {
      const cpu = spreadOf(round.map(({ cpuMicros }) => cpuMicros));
      return cpu === null ? [] : cpu.max / cpu.min;
    }),
  );
}
