import { type Caller, isAccepted } from '../../util/fair-share.ts';
import type { CircuitState } from './types.ts';

/** What a call says about the service; `none`: nothing. */
export type Verdict = 'success' | 'failure' | 'none';

/** Permission to make one attempt. */
export type Permit = {
  /** Whether this is the trial request, whose verdict closes or opens the circuit. It must run to completion. */
  readonly isTrial: boolean;
  /** Whether the attempt may still be sent: false if the circuit opened while it waited for a connection. */
  isValid(): boolean;
  /** Records the verdict of the attempt, and whose it is; call it once. */
  record(verdict: Verdict, caller: Caller): void;
};

/** Rejects calls for a few seconds when the service fails repeatedly. */
export type CircuitBreaker = {
  /** Null if the call must be rejected now. */
  tryAcquire(mayBeTrial: boolean, caller: Caller): Permit | null;
  /** Whole seconds until a call may be accepted again, at least 1. */
  retryAfterSeconds(): number;
};

/** How long an open circuit rejects calls. If a trial request hangs, the next one follows after this time. */
const COOL_DOWN_MS = 4000;

/** A caller that had a trial request waits this much longer: its slow reads would otherwise be every trial request. */
const SAME_CALLER_MS = 1000;

/** After this time, a verdict says nothing about the service any more. */
const MAX_AGE_MS = 10_000;

/**
 * Callers of each kind whose verdicts are kept. So at any rate of requests, the last hundred callers decide. Networks
 * do not displace tokens: a client without a token can have many.
 */
const MAX_CALLERS = 100;

/** Failures without a success that open the circuit: of several callers, and of a single one. */
const FAILURES = { several: 10, single: 20 } as const;

/** This number of tokens opens it if this share of them fails, whatever the others do. */
const [MIN_TOKENS, FAILING_SHARE] = [10, 0.9] as const;

/**
 * Creates a circuit breaker, closed at first. `clock` is monotonic time in milliseconds. Each caller counts once, with
 * its last verdict, however many requests it sends: so the failures of a few do not open the circuit while others
 * succeed. After the cool-down, the next call that may be the trial request is. Each trial request starts a new
 * cool-down. Any success closes the circuit, also that of a call that began before it opened. Other calls are rejected
 * during a cool-down and sent after it.
 */
export function createCircuitBreaker(
  clock: () => number,
  onState: (state: CircuitState) => void,
): CircuitBreaker {
  let state: CircuitState = 'closed';
  const sample = createSample();
  let trial: Permit | null = null; // in progress; the latest, if several are
  const hadTurn = new Set<Caller>(); // callers of trial requests since the circuit opened
  let openUntil = 0;
  let generation = 0; // failures of attempts that began before the circuit last opened or closed do not count

  const setState = (next: CircuitState) => {
    if (next !== state) onState(next);
    state = next;
  };
  const open = () => {
    generation += 1;
    openUntil = clock() + COOL_DOWN_MS;
    setState('open');
  };
  const succeed = (caller: Caller) => {
    if (state !== 'closed') {
      generation += 1;
      hadTurn.clear();
      sample.clear();
      setState('closed');
    }
    sample.add({ caller, isFailure: false, at: clock() });
  };
  const beginTrial = (permit: Permit, caller: Caller) => {
    trial = permit;
    if (hadTurn.has(caller) || hadTurn.size === MAX_CALLERS) hadTurn.clear();
    hadTurn.add(caller);
    openUntil = clock() + COOL_DOWN_MS;
    setState('half-open');
  };
  const endTrial = (isFailure: boolean) => {
    trial = null;
    if (isFailure) return open();
    openUntil = clock(); // the next trial request may follow at once
    setState('open');
  };
  const fail = (caller: Caller) => {
    if (state === 'open') return open();
    if (state === 'half-open') return; // the trial request decides
    sample.add({ caller, isFailure: true, at: clock() });
    if (sample.isOutage(clock())) open();
  };

  return {
    tryAcquire: (mayBeTrial, caller) => {
      const isTrial = mayBeTrial && state !== 'closed';
      const extraMs = isTrial && hadTurn.has(caller) ? SAME_CALLER_MS : 0;
      if (state !== 'closed' && clock() < openUntil + extraMs) return null;
      const begun = generation;
      const permit: Permit = {
        isTrial,
        isValid: () => begun === generation || state === 'closed',
        record: (verdict, by) => {
          if (verdict === 'success') return succeed(by);
          if (begun !== generation) return;
          if (permit === trial) endTrial(verdict === 'failure');
          else if (verdict === 'failure') fail(by);
        },
      };
      if (isTrial) beginTrial(permit, caller);
      return permit;
    },
    retryAfterSeconds: () => Math.max(1, Math.ceil((openUntil - clock()) / 1000)),
  };
}

/** The last verdict of a caller. */
type LastVerdict = { readonly caller: Caller; readonly isFailure: boolean; readonly at: number };

/** Keeps the last verdict of each caller. */
function createSample() {
  const kinds: Record<'token' | 'network', LastVerdict[]> = { token: [], network: [] }; // in order of time
  let failures = 0; // since the last success
  return {
    add: (verdict: LastVerdict) => {
      failures = verdict.isFailure ? failures + 1 : 0;
      const own = kinds[isAccepted(verdict.caller) ? 'token' : 'network'];
      const known = own.findIndex(({ caller }) => caller === verdict.caller);
      if (known >= 0) own.splice(known, 1);
      else if (own.length === MAX_CALLERS) own.shift();
      own.push(verdict);
    },
    /** Whether all callers fail, or nearly all of many that have a token. */
    isOutage: (now: number) => {
      const isRecent = ({ at }: LastVerdict) => now - at < MAX_AGE_MS;
      const tokens = kinds.token.filter(isRecent);
      const all = [...tokens, ...kinds.network.filter(isRecent)];
      const failing = tokens.filter(({ isFailure }) => isFailure).length;
      if (tokens.length >= MIN_TOKENS && failing >= FAILING_SHARE * tokens.length) return true;
      const isFailing = all.every(({ isFailure }) => isFailure);
      return isFailing && failures >= FAILURES[all.length > 1 ? 'several' : 'single'];
    },
    clear: () => {
      for (const verdicts of Object.values(kinds)) verdicts.length = 0;
    },
  };
}
