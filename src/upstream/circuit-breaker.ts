import type { CircuitState } from './types.ts';

/** What a call says about the service; `ignored`: nothing, because the client disconnected, or its request has spoken already. */
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
  tryAcquire(isRead: boolean): Permit | null;
  /** Whole seconds until a call may be accepted again, at least 1. */
  retryAfterSeconds(): number;
};

/** How long an open circuit rejects calls. If a trial request hangs, the next one follows after this time. */
const COOL_DOWN_MS = 4000;

/**
 * The circuit opens if more than half of the last 20 verdicts are failures. Not consecutive failures: a working route
 * would hide a failing one, and one client's failures would block all others. Not a time window: a share of few verdicts
 * means little.
 */
const SAMPLE_SIZE = 20;

/**
 * Creates a circuit breaker, closed at first. `clock` is monotonic time in milliseconds. After the cool-down the next
 * read is the trial request, and only its success closes the circuit. Each trial request starts a new cool-down. Logins
 * and deletions are never trial requests: they are rejected during a cool-down and sent after it.
 */
export function createCircuitBreaker(
  clock: () => number,
  onState: (state: CircuitState) => void,
): CircuitBreaker {
  let state: CircuitState = 'closed';
  let sample: boolean[] = []; // whether each of the last verdicts was a success
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
    setState('closed');
  };
  const count = (isSuccess: boolean) => {
    sample.push(isSuccess);
    if (sample.length > SAMPLE_SIZE) sample.shift();
    const failures = sample.filter((succeeded) => !succeeded).length;
    if (!isSuccess && sample.length === SAMPLE_SIZE && failures > SAMPLE_SIZE / 2) open();
  };
  const concludeTrial = (verdict: Verdict) => {
    if (verdict === 'success') close();
    else if (verdict === 'failure') open();
    else setState('open'); // the next read is the next trial request
  };

  return {
    tryAcquire: (isRead) => {
      if (state !== 'closed' && clock() < openUntil) return null;
      const isTrial = state !== 'closed' && isRead;
      if (isTrial) {
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
          else if (verdict !== 'ignored' && state !== 'half-open') count(verdict === 'success');
        },
      };
    },
    retryAfterSeconds: () => Math.max(1, Math.ceil((openUntil - clock()) / 1000)),
  };
}
