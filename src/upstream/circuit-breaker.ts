import { digest } from '../util/digest.ts';
import type { Caller } from '../util/fair-share.ts';
import type { CircuitState } from './types.ts';

/** What a call says about the service; `ignored`: nothing, because the client disconnected, or another call of the same request was counted. */
export type Verdict = 'success' | 'failure' | 'ignored';

/** Permission to make one attempt. */
export type Permit = {
  /** Whether this is the trial request, whose verdict closes or opens the circuit. It must run to completion. */
  readonly isTrial: boolean;
  /** Whether the attempt may still be sent: false if the circuit opened while it waited for a connection. */
  isValid(): boolean;
  /** Records the verdict of the attempt; call it once. */
  record(verdict: Verdict): void;
};

/** Rejects calls for a few seconds when the service fails repeatedly. */
export type CircuitBreaker = {
  /** Null if the call must be rejected now. */
  tryAcquire(isRead: boolean, caller: Caller): Permit | null;
  /** Whole seconds until a call may be accepted again, at least 1. */
  retryAfterSeconds(): number;
};

/** How long an open circuit rejects calls. If a trial request hangs, the next one follows after this time. */
const COOL_DOWN_MS = 4000;

/** The caller of the last trial request waits this much longer: its slow reads would otherwise be every trial request. */
const SAME_CALLER_MS = 1000;

/**
 * The circuit opens if more than half of the last 20 verdicts are failures. Not consecutive failures: a working route
 * would hide a failing one, and one client's failures would block all others. Not a time window: a share of few verdicts
 * means little.
 */
const MAX_VERDICTS = 20;

/** After this time, the success of a caller says nothing about the failures of others. */
const MAX_AGE_MS = 30_000;

/**
 * Creates a circuit breaker, closed at first. `clock` is monotonic time in milliseconds. After the cool-down the next
 * read is the trial request, and only its success closes the circuit. Each trial request starts a new cool-down. Logins
 * and deletions are never trial requests: they are rejected during a cool-down and sent after it.
 *
 * One caller's failures do not open the circuit while others succeed, and its verdicts do not replace those of others. Of
 * a caller it keeps a digest: no token stays in memory.
 */
export function createCircuitBreaker(
  clock: () => number,
  onState: (state: CircuitState) => void,
): CircuitBreaker {
  let state: CircuitState = 'closed';
  let sample: CountedVerdict[] = []; // in order of time
  let trialCaller: string | null = null; // of the last trial request since the circuit opened
  let openUntil = 0;
  let generation = 0; // attempts that began before the circuit last opened or closed do not count

  const setState = (next: CircuitState) => {
    if (next !== state) onState(next);
    state = next;
  };
  const open = () => {
    generation += 1;
    openUntil = clock() + COOL_DOWN_MS;
    setState('open');
  };
  const close = () => {
    generation += 1;
    sample = [];
    trialCaller = null;
    setState('closed');
  };
  const count = (isSuccess: boolean, caller: string) => {
    const now = clock();
    const tally = sample.find((other) => other.tally.caller === caller)?.tally;
    const recorded = { tally: tally ?? { caller, total: 0, failures: 0 }, isSuccess, at: now };
    sample.push(recorded);
    add(recorded, 1);
    if (sample.length > MAX_VERDICTS) {
      const [dropped] = sample.splice(findDispensable(sample, now - MAX_AGE_MS), 1);
      if (dropped !== undefined) add(dropped, -1);
    }
    if (!isSuccess && sample.length === MAX_VERDICTS && isOutage(sample)) open();
  };
  const concludeTrial = (verdict: Verdict) => {
    if (verdict === 'success') close();
    else if (verdict === 'failure') open();
    else setState('open'); // the next read is the next trial request
  };

  return {
    tryAcquire: (isRead, caller) => {
      if (state !== 'closed' && clock() < openUntil) return null;
      const isTrial = state !== 'closed' && isRead;
      if (isTrial) {
        const own = digest(caller);
        if (own === trialCaller && clock() < openUntil + SAME_CALLER_MS) return null;
        trialCaller = own;
        openUntil = clock() + COOL_DOWN_MS;
        setState('half-open');
      }
      const begun = generation;
      return {
        isTrial,
        isValid: () => begun === generation || state === 'closed',
        record: (verdict) => {
          if (begun !== generation) return;
          if (isTrial) concludeTrial(verdict);
          else if (verdict !== 'ignored' && state !== 'half-open')
            count(verdict === 'success', digest(caller));
        },
      };
    },
    retryAfterSeconds: () => Math.max(1, Math.ceil((openUntil - clock()) / 1000)),
  };
}

/** A verdict in the sample. All of one caller share its tally. */
type CountedVerdict = { readonly tally: Tally; readonly isSuccess: boolean; readonly at: number };

/** The verdicts of one caller in the sample. */
type Tally = { readonly caller: string; total: number; failures: number };

function add({ tally, isSuccess }: CountedVerdict, count: 1 | -1): void {
  tally.total += count;
  if (!isSuccess) tally.failures += count;
}

/** The index of the oldest verdict if it is not newer than `since`, else of the oldest one of the caller with most. */
function findDispensable(sample: readonly CountedVerdict[], since: number): number {
  const [oldest] = sample;
  if (oldest === undefined || oldest.at <= since) return 0;
  let index = 0;
  let most = 0;
  for (let at = 0; at < sample.length; at += 1) {
    const total = sample[at]?.tally.total ?? 0;
    if (total <= most) continue;
    most = total;
    index = at;
  }
  return index;
}

/** Whether most verdicts are failures, and not only because of the caller with most failures. */
function isOutage(sample: readonly CountedVerdict[]): boolean {
  const failures = sample.filter(({ isSuccess }) => !isSuccess);
  const [first] = failures.toSorted((a, b) => b.tally.failures - a.tally.failures);
  const others = sample.filter(({ tally }) => tally !== first?.tally);
  const otherFailures = others.filter(({ isSuccess }) => !isSuccess).length;
  return failures.length > MAX_VERDICTS / 2 && others.length <= 2 * otherFailures;
}
