import { PEERS } from './peers.ts';
import { compare, type Results, ratio, spread, spreadOf } from './results.ts';
import { type Condition, type Goal, JAVASCRIPT, type MeasureName, TARGETS } from './targets.ts';

/** What became of a target. */
export type Verdict = {
  readonly title: string;
  /** What was measured, in words. */
  readonly measured: string;
  readonly must: Reached;
  readonly wanted: Reached;
};

/** A goal, and whether it is reached; null where something that it is measured by is missing. */
export type Reached = { readonly text: string; readonly isReached: boolean | null };

/** Judges each target by what was measured. */
export function judge(results: Results): readonly Verdict[] {
  return TARGETS.map(({ title, must, wanted }) => {
    const found = [...must.conditions, ...wanted.conditions].map((one) => find(results, one).words);
    return {
      title,
      measured: [...new Set(found)].join(', '),
      must: reach(results, must),
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
  const isMet = 'atMost' in condition ? value <= condition.atMost : value >= condition.atLeast;
  return { words: `${value.toFixed(digits)}${unit}`, isMet };
}

function findRate(
  results: Results,
  { load, times, of }: Extract<Condition, { readonly of: string }>,
): Finding {
  if (spread(results, 'keytrail', load, (sample) => sample.requestsPerSecond) === null)
    return NOT_MEASURED;
  const others =
    of === JAVASCRIPT
      ? PEERS.filter(({ name, isJavaScript }) => isJavaScript && name !== 'keytrail')
      : PEERS.filter(({ name }) => name === of);
  const ratios = others.map(({ name, title }) => ({
    title,
    value: ratio(results, 'keytrail', name, load)?.median ?? null,
  }));
  const known = ratios.flatMap(({ title, value }) => (value === null ? [] : { title, value }));
  const [closest] = known.toSorted((a, b) => a.value - b.value);
  const missing = ratios.filter(({ value }) => value === null).map(({ title }) => title);
  const words = [
    ...(closest === undefined ? [] : [`${closest.value.toFixed(2)} of ${closest.title}`]),
    ...missing.map((title) => `${title} not measured`),
  ];
  const isBehind = closest !== undefined && closest.value < times;
  return { words: words.join(', '), isMet: isBehind ? false : missing.length > 0 ? null : true };
}

const MEGABYTE = 2 ** 20;

const UNITS: Readonly<Record<MeasureName, { readonly unit: string; readonly digits: number }>> = {
  oneConnectionMicros: { unit: ' µs', digits: 0 },
  coldStartMs: { unit: ' ms', digits: 0 },
  rssMegabytes: { unit: ' MB', digits: 0 },
  documentMegabytes: { unit: ' MB', digits: 1 },
  twoWorkers: { unit: ' of one', digits: 2 },
  twoWorkersOfL0: { unit: ' of what two do for L0', digits: 2 },
};

const MEASURES: Readonly<Record<MeasureName, (results: Results) => number | null>> = {
  oneConnectionMicros: (results) =>
    compare(results, 'keytrail', 'l0', 'small', (own, l0) =>
      own.oneConnectionMicros === null || l0.oneConnectionMicros === null
        ? null
        : own.oneConnectionMicros - l0.oneConnectionMicros,
    )?.median ?? null,
  coldStartMs: (results) =>
    spread(results, 'keytrail', 'small', ({ coldStartMs }) => coldStartMs)?.median ?? null,
  rssMegabytes: (results) => {
    const bytes = largestRss(results, 'keytrail');
    return bytes === null ? null : bytes / MEGABYTE;
  },
  documentMegabytes: ({ documentBytes }) =>
    typeof documentBytes === 'number' ? documentBytes / MEGABYTE : null,
  twoWorkers: (results) => gain(results, 'keytrail'),
  twoWorkersOfL0: (results) => {
    const [own, l0] = [gain(results, 'keytrail'), gain(results, 'l0')];
    return own === null || l0 === null ? null : own / l0;
  },
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

/** How many times the rate of one worker two have with 1,000 records, of which the service and the load take the smaller share. */
export function gain({ workers }: Results, peer: 'l0' | 'keytrail'): number | null {
  if (workers === null || typeof workers === 'string') return null;
  const rounds = workers.filter(({ load }) => load === 'thousand');
  return spreadOf(rounds.map((round) => round[peer][1] / round[peer][0]))?.median ?? null;
}
