import { addAbortListener } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { classOf, isSpared, judge, type Outcome, resultOf } from './attempt.ts';
import { createCircuitBreaker, type Permit } from './circuit-breaker.ts';
import {
  type AttemptOptions,
  type HttpRequest,
  NoResponseError,
  type RawResponse,
} from './http-request.ts';
import { readRetryAfter } from './response.ts';
import type { Route, Trace, UpstreamObserver } from './types.ts';

/** What a call is protected by. */
export type RetryOptions = {
  /** Deadline of all tries of a call together, waiting included; milliseconds. */
  readonly timeoutMs: number;
  /** How many calls can go on at once. */
  readonly connections: number;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly now: () => number;
  /** Milliseconds from anywhere, never going back. */
  readonly clock: () => number;
  /** From 0 up to 1, without 1. */
  readonly random: () => number;
  readonly observe: Partial<UpstreamObserver>;
  /** Aborted when nothing should be sent any more. */
  readonly aborted: AbortSignal;
};

/** Makes one try, unless it may no longer be sent when it gets a connection. */
export type Send = (request: HttpRequest, trying: AttemptOptions) => Promise<RawResponse>;

/** Makes a call: one try or two, or none. */
export type Call = (request: TracedRequest, route: Route | null) => Promise<RawResponse>;

/** A request, and what it is a part of. */
export type TracedRequest = HttpRequest & {
  readonly trace: Trace;
  /** Aborted when the caller leaves; only a read is given one. */
  readonly signal?: AbortSignal | undefined;
};

/** Calls at once, those that wait for a connection included: the last waits for 15 others, which is 0.6 s for each in 10 s. */
const CALLS_PER_CONNECTION = 16;

/** Before the second try, at random between the two: soon enough for a caller who waits, late enough for a restart behind a balancer. */
const BACKOFF_MS = [10, 50] as const;

/** "Later", for a read (RFC 9110, section 15.6). */
const PASSING: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Protects the service from repetition and the callers from a service that fails. What was never sent is tried once
 * more; so is a read whose connection was lost before an answer, or that met 502, 503 or 504. A login or a
 * deletion is never repeated once it may have been seen: a refresh token sent twice can revoke all that came of it
 * (RFC 9700, section 4.14.2). All under one deadline and one budget.
 * @throws GatewayError OVERLOADED or UPSTREAM_UNAVAILABLE for a call that was not made, or what its last try threw.
 */
export function createRetryingCall(options: RetryOptions, send: Send): Call {
  const { timeoutMs, connections, now, clock, random, observe, aborted } = options;
  const breaker = createCircuitBreaker(clock, (state) => observe.onBreaker?.(state));
  let underWay = 0;
  const budget = createBudget();

  const reject = (route: Route | null, error: GatewayError): never => {
    if (route !== null) observe.onRejected?.(route);
    throw error;
  };
  const spare = (route: Route | null) => reject(route, resting(breaker.retryAfterSeconds()));

  /** Null when the breaker opened before it was sent. */
  const attempt = async (
    request: TracedRequest,
    route: Route | null,
    { pass, deadline, isRetry }: Readonly<{ pass: Permit; deadline: number; isRetry: boolean }>,
  ): Promise<Outcome | null> => {
    const begun = clock();
    const traced = request.trace.begin({ method: request.method, route, isRetry });
    const outcome: Outcome = await send(request, {
      headers: traced.headers,
      // A probe runs to its end, so that callers who leave cannot keep the breaker open.
      signal: pass.isTrial ? undefined : request.signal,
      timeoutMs: deadline - begun,
      maySend: pass.isValid,
    }).then(
      (response) => ({ response }),
      (error: unknown) => ({ error }),
    );
    traced.end(resultOf(outcome));
    if (isSpared(outcome)) return null;
    pass.settle(judge(outcome));
    if (route !== null) observe.onCall?.(route, classOf(outcome), (clock() - begun) / 1000);
    return outcome;
  };

  const waitBeforeRetry = ({ method }: HttpRequest, outcome: Outcome): number | null => {
    const isRead = method === 'GET';
    const [least, most] = BACKOFF_MS;
    const backoff = least + (most - least) * random();
    if ('error' in outcome) {
      const { error } = outcome;
      if (!(error instanceof NoResponseError) || error.why !== 'connection') return null;
      return isRead || !error.isSent ? backoff : null;
    }
    const { status, headers } = outcome.response;
    if (!isRead || !PASSING.has(status)) return null;
    return Math.max(backoff, 1000 * (readRetryAfter(headers['retry-after'], now) ?? 0));
  };

  const tryTwice = async (request: TracedRequest, route: Route | null): Promise<Outcome> => {
    const deadline = clock() + timeoutMs;
    const isRead = request.method === 'GET';
    const pass = breaker.tryAcquire(isRead);
    if (pass === null) return spare(route);
    budget.earn();
    const first = await attempt(request, route, { pass, deadline, isRetry: false });
    if (first === null) return spare(route);
    const waitMs = waitBeforeRetry(request, first);
    if (waitMs === null || waitMs >= deadline - clock() || !budget.spend()) return first;
    const isStillWanted = await pause(waitMs, [aborted, request.signal]);
    if (!isStillWanted || clock() >= deadline) return first;
    const secondPass = breaker.tryAcquire(isRead);
    if (secondPass === null) return first;
    if (route !== null) observe.onRetry?.(route);
    return (await attempt(request, route, { pass: secondPass, deadline, isRetry: true })) ?? first;
  };

  return async (request, route) => {
    if (underWay === connections * CALLS_PER_CONNECTION) return reject(route, crowded());
    underWay += 1;
    try {
      const outcome = await tryTwice(request, route);
      if ('error' in outcome) throw outcome.error;
      return outcome.response;
    } finally {
      underWay -= 1;
    }
  };
}

function crowded(): GatewayError {
  return new GatewayError('OVERLOADED', {
    message:
      'Too many calls to the service are under way: this one was not sent. Try again shortly.',
  });
}

function resting(retryAfterSeconds: number): GatewayError {
  return new GatewayError('UPSTREAM_UNAVAILABLE', {
    message:
      'The service has failed repeatedly, so the gateway spares it for a few seconds: this request was not sent. Try again after retryAfterSeconds.',
    retryAfterSeconds,
  });
}

/** At most ten retries in a row, and one for ten calls in the long run, so that an outage brings no second wave. */
function createBudget() {
  const cost = 10; // whole numbers, as ten times 0.1 is not 1
  const most = 10 * cost;
  let balance = most;
  return {
    earn: () => {
      balance = Math.min(most, balance + 1);
    },
    spend: (): boolean => {
      if (balance < cost) return false;
      balance -= cost;
      return true;
    },
  };
}

/** Waits; false when it was cut short. Yoga's signals are its own, and no AbortSignal to Node 26's `AbortSignal.any`. */
async function pause(ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<boolean> {
  const cut = new AbortController();
  using listening = new DisposableStack();
  for (const signal of signals) {
    if (signal !== undefined) listening.use(addAbortListener(signal, () => cut.abort()));
  }
  return await sleep(ms, true, { signal: cut.signal }).catch(() => false);
}
