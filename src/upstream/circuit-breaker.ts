import type { CircuitState } from './types.ts';

/** What the end of a try says of the service; null says nothing, as when the caller left. */
export type Verdict = 'up' | 'down' | null;

/** The leave to ask the service once. */
export type Permit = {
  /** The try decides whether the service is back, so it must run to its end. */
  readonly isTrial: boolean;
  /** Whether it may still go out: not when the breaker opened while it waited for a connection. */
  isValid(): boolean;
  settle(verdict: Verdict): void;
};

/** Keeps calls from a service that fails. */
export type CircuitBreaker = {
  /** Null when the call must not be made now. */
  tryAcquire(isRead: boolean): Permit | null;
  /** Whole seconds until it is worth another call, 1 at least. */
  retryAfterSeconds(): number;
};

/** How long nothing is asked; the worst case is twice that, so recovery is seen within 10 s. */
const COOL_DOWN_MS = 4000;

/**
 * A share of the last tries, not a row of failures: a route that works must not hide one that does not, nor may
 * one caller, whose request the service cannot bear, shut out the others. A count and not a time, as a share of few
 * tries says little, and a service that is seldom asked needs no protection.
 */
const SAMPLE_SIZE = 20;

/**
 * Builds a circuit breaker. After the cool-down the next read is the probe, and its success alone closes. A login or
 * a deletion is never the probe: it is refused in the cool-down, which begins again with every probe, and goes
 * through after it when no read came, so that a gateway that is only asked for logins is not shut for ever. It then
 * counts as it does when closed: where the service still fails, the cool-down begins again.
 *
 * The states are kept here, as cockatiel's own circuit goes by the wall clock, lets calls wait for the probe beyond
 * their deadline, closes when the probe's caller leaves, and counts what began before it opened.
 */
export function createCircuitBreaker(
  clock: () => number,
  onChange: (state: CircuitState) => void,
): CircuitBreaker {
  let state: CircuitState = 'closed';
  let sample: boolean[] = []; // whether each of the last attempts succeeded
  let restsUntil = 0;
  let era = 0; // what began before the last opening or closing says nothing any more

  const become = (next: CircuitState) => {
    if (next !== state) onChange(next);
    state = next;
  };
  const open = () => {
    era += 1;
    restsUntil = clock() + COOL_DOWN_MS;
    become('open');
  };
  const close = () => {
    era += 1;
    sample = [];
    become('closed');
  };
  const count = (verdict: 'up' | 'down') => {
    sample.push(verdict === 'up');
    if (sample.length > SAMPLE_SIZE) sample.shift();
    const failures = sample.filter((isUp) => !isUp).length;
    if (verdict === 'down' && sample.length === SAMPLE_SIZE && failures > SAMPLE_SIZE / 2) open();
  };
  const decide = (verdict: Verdict) => {
    if (verdict === 'up') close();
    else if (verdict === 'down') open();
    else become('open'); // the next read is the probe
  };

  return {
    tryAcquire: (isRead) => {
      if (state !== 'closed' && clock() < restsUntil) return null;
      const isProbe = state !== 'closed' && isRead;
      if (isProbe) {
        restsUntil = clock() + COOL_DOWN_MS; // a probe that hangs is followed by another
        become('half-open');
      }
      const begun = era;
      return {
        isTrial: isProbe,
        isValid: () => begun === era || state === 'closed',
        settle: (verdict) => {
          if (begun !== era) return;
          if (isProbe) decide(verdict);
          else if (verdict !== null && state !== 'half-open') count(verdict);
        },
      };
    },
    retryAfterSeconds: () => Math.max(1, Math.ceil((restsUntil - clock()) / 1000)),
  };
}
