import type { Outcome } from './outcome.ts';

/** The answers to logins and deletions, held against what the service saw of them. */
export type Ledger = {
  /** By code, how many the service did not see, saw once, and saw more often. */
  readonly codes: ReadonlyMap<string, readonly [unseen: number, once: number, more: number]>;
  readonly seenTwice: number;
  /** Names of those whose answer cannot be, after what the service saw. */
  readonly contradictions: readonly string[];
};

/** What may be answered when the service saw it: its own answer, well or not, or that nobody knows. */
const SEEN: ReadonlySet<string> = new Set([
  'OK',
  'UPSTREAM_ERROR',
  'UPSTREAM_BAD_RESPONSE',
  'OUTCOME_UNKNOWN',
]);

/** What may be answered when it did not: that it was not sent, or that nobody knows. */
const UNSEEN: ReadonlySet<string> = new Set([
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'OVERLOADED',
  'OUTCOME_UNKNOWN',
]);

/** Compares them; reads are left out. */
export function compare(outcomes: readonly Outcome[], seen: ReadonlyMap<string, number>): Ledger {
  const codes = new Map<string, [number, number, number]>();
  const contradictions: string[] = [];
  for (const { tag, isRead, code } of outcomes) {
    if (isRead) continue;
    const times = seen.get(tag) ?? 0;
    const counts = codes.get(code) ?? [0, 0, 0];
    codes.set(code, counts);
    counts[times > 1 ? 2 : times === 1 ? 1 : 0] += 1;
    if (code !== 'LOST' && !(times > 0 ? SEEN : UNSEEN).has(code))
      contradictions.push(`${tag} ${code}`);
  }
  const seenTwice = [...seen.values()].filter((times) => times > 1).length;
  return { codes, seenTwice, contradictions };
}
