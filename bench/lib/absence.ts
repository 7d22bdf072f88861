import type { Outcome } from './outcome.ts';

/** When the service was away; milliseconds of the same clock as the outcomes'. */
export type Absence = { readonly name: string; readonly from: number; readonly to: number };

/** What callers noticed of it. Times are milliseconds; null when it never came to that. */
export type Notice = {
  /** Answers to what was under way or sent while it was away, by code. */
  readonly codes: ReadonlyMap<string, number>;
  /** How long those that failed took, from the call to the answer. */
  readonly failures: readonly number[];
  /** The same, of those alone that the gateway said it sends nothing for. */
  readonly spared: readonly number[];
  /** From its return to the begin of the first second of which every request went well. */
  readonly firstSecond: number | null;
  /** From its return to the begin of the first ten. */
  readonly recovery: number | null;
};

/** Looks at it from when it began to the next one, or to the end. */
export function notice({ from, to }: Absence, outcomes: readonly Outcome[], end: number): Notice {
  const away = outcomes.filter(({ sentAt, took }) => sentAt < to && sentAt + took >= from);
  const failed = away.filter(({ code }) => code !== 'OK');
  const codes = new Map(
    [...Map.groupBy(away, ({ code }) => code)].map(([code, { length }]) => [code, length]),
  );
  const lapses = outcomes
    .filter(({ sentAt, code }) => sentAt >= to && sentAt < end && code !== 'OK')
    .map(({ sentAt }) => sentAt)
    .sort((a, b) => a - b);
  const firstRow = (ms: number) => {
    const begin = [to, ...lapses].find((start, index) => (lapses[index] ?? end) - start >= ms);
    return begin === undefined ? null : begin - to;
  };
  const took = (some: readonly Outcome[]) => some.map((outcome) => outcome.took);
  return {
    codes,
    failures: took(failed),
    spared: took(failed.filter(({ isSpared }) => isSpared)),
    firstSecond: firstRow(1000),
    recovery: firstRow(10_000),
  };
}
