import { addAbortListener } from 'node:events';
import { GatewayError } from '../errors.ts';
import { createCircuitBreaker, type Permit, type Verdict } from './circuit-breaker.ts';
import { readRetryAfter } from './decode-response.ts';
import type { FairDispatcher } from './fair-dispatcher.ts';
import {
  type ByteBudget,
  type HttpRequest,
  NoResponseError,
  type RawResponse,
  sendRequest,
} from './http-request.ts';
import { failureOf } from './status.ts';
import type { Attempt, CallTrace, Route, UpstreamObserver } from './types.ts';

/** Limits, time and observers of all calls to the service. */
export type CallOptions = {
  /** Deadline of a call in milliseconds: both attempts and all waiting. */
  readonly timeoutMs: number;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly now: () => number;
  /** Monotonic time in milliseconds, for deadlines and delays. */
  readonly clock: () => number;
  /** Waits for milliseconds before a retry. It rejects, or resolves early, if the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** A number from 0 up to, but excluding, 1, to spread retries. */
  readonly random: () => number;
  /** Receives events about attempts, rejected calls and the circuit breaker. */
  readonly observer: Partial<UpstreamObserver>;
  /** Aborted when the gateway stops: nothing is retried any more. */
  readonly aborted: AbortSignal;
};

/**
 * What the calls of one GraphQL request share, however many they are: they give the circuit breaker one verdict, and read
 * a bounded number of bytes.
 */
export type CallGroup = ByteBudget & { hasVerdict: boolean };

/** A request with its route and trace. */
export type UpstreamCall = Omit<HttpRequest, 'budget'> & {
  readonly group: CallGroup;
  readonly route: Route;
  readonly trace: CallTrace;
  /** Cancels a read when the client disconnects; undefined for any other request. */
  readonly signal?: AbortSignal | undefined;
};

/** What one attempt returned or threw. */
type AttemptResult = { readonly response: RawResponse } | { readonly error: unknown };

/** Delay before a retry, random between the two: short for a client that waits, long enough for a load balancer to pick another server. */
const BACKOFF_MS = [10, 50] as const;

/** A burst of 10 retries, then one per 10 calls, so that retries do not multiply the load in an outage. A call adds 1. */
const RETRY_COST = 10;
const MAX_RETRY_BUDGET = 10 * RETRY_COST;

/**
 * Sends requests with one retry, a retry budget and a circuit breaker. Any request that was
 * never sent is retried, and so is a read if its connection was lost before a response or the status is temporary
 * (`repeat` in status.ts). A login or a deletion that may have been received is never retried: a refresh token sent
 * again can revoke all tokens derived from it (RFC 9700, section 4.14.2). Both attempts share one deadline.
 * @throws GatewayError OVERLOADED or UPSTREAM_UNAVAILABLE for a call that was rejected, or the error of its last attempt.
 */
export function createResilientCall(
  options: CallOptions,
  dispatcher: FairDispatcher,
): (call: UpstreamCall) => Promise<RawResponse> {
  const { timeoutMs, now, clock, wait, random, observer, aborted } = options;
  const breaker = createCircuitBreaker(clock, (state) => observer.onCircuitState?.(state));
  let retryBudget = MAX_RETRY_BUDGET;

  const reject = (route: Route, error: GatewayError): never => {
    observer.onRejected?.(route);
    throw error;
  };
  const rejectWhileOpen = (route: Route): never => {
    const details = { message: CIRCUIT_OPEN, retryAfterSeconds: breaker.retryAfterSeconds() };
    return reject(route, new GatewayError('UPSTREAM_UNAVAILABLE', details));
  };

  const makeAttempt = async (
    call: UpstreamCall,
    { permit, deadline, isRetry }: { permit: Permit; deadline: number; isRetry: boolean },
  ): Promise<AttemptResult> => {
    const { route, method, trace } = call;
    const begun = clock();
    const span = trace(isRetry);
    const request = { ...call, budget: call.group };
    const result: AttemptResult = await sendRequest(dispatcher, request, {
      headers: span.headers,
      // A trial request is not cancelled: otherwise clients that disconnect could keep the circuit open.
      signal: permit.isTrial ? undefined : call.signal,
      timeoutMs: deadline - begun,
      maySend: permit.isValid,
    }).then(
      (response) => ({ response }),
      (error: unknown) => ({ error }),
    );
    const seconds = (clock() - begun) / 1000;
    const attempt: Attempt = { route, method, isRetry, seconds, ...outcomeOf(result) };
    span.end(attempt);
    if (rejectionOf(result) === null) observer.onAttempt?.(attempt);
    return result;
  };

  /** Records the verdict of a call: of its last attempt, and of the first call of its group that has one. */
  const conclude = (permit: Permit, { group }: UpstreamCall, result: AttemptResult) => {
    const verdict = verdictOf(result);
    permit.record(group.hasVerdict && !permit.isTrial ? 'ignored' : verdict);
    if (verdict !== 'ignored') group.hasVerdict = true;
    return result;
  };

  /** Milliseconds to wait before a retry; null if the request must not be retried. */
  const retryDelay = ({ method }: UpstreamCall, result: AttemptResult): number | null => {
    const isRead = method === 'GET';
    const [min, max] = BACKOFF_MS;
    const backoff = min + (max - min) * random();
    if ('error' in result) {
      const { error } = result;
      if (!(error instanceof NoResponseError) || !/^(?:connection|proxy)$/.test(error.reason))
        return null;
      return isRead || !error.isSent ? backoff : null;
    }
    const { status, headers } = result.response;
    if (!isRead || !failureOf(status)?.repeat) return null;
    return Math.max(backoff, 1000 * (readRetryAfter(headers['retry-after'], now) ?? 0));
  };

  const makeAttempts = async (call: UpstreamCall): Promise<AttemptResult> => {
    const deadline = clock() + timeoutMs;
    const isRead = call.method === 'GET';
    const permit = breaker.tryAcquire(isRead, call.caller);
    if (permit === null) return rejectWhileOpen(call.route);
    retryBudget = Math.min(MAX_RETRY_BUDGET, retryBudget + 1);
    const first = await makeAttempt(call, { permit, deadline, isRetry: false });
    const rejection = rejectionOf(first);
    if (rejection !== null) {
      permit.record('ignored');
      return rejection.reason === 'overloaded'
        ? reject(call.route, rejection)
        : rejectWhileOpen(call.route);
    }
    const delayMs = retryDelay(call, first);
    const isRetried = delayMs !== null && delayMs < deadline - clock() && retryBudget >= RETRY_COST;
    if (permit.isTrial || !isRetried) return conclude(permit, call, first);
    retryBudget -= RETRY_COST;
    const isStillWanted = await waitUnless([aborted, call.signal], (signal) =>
      wait(delayMs, signal),
    );
    const isInTime = isStillWanted && clock() < deadline;
    const retryPermit = isInTime ? breaker.tryAcquire(isRead, call.caller) : null;
    const second =
      retryPermit && (await makeAttempt(call, { permit: retryPermit, deadline, isRetry: true }));
    if (!second) return conclude(permit, call, first);
    if (rejectionOf(second) === null) return conclude(retryPermit, call, second);
    retryPermit.record('ignored');
    return conclude(permit, call, first);
  };

  return async (call) => {
    const result = await makeAttempts(call);
    if ('error' in result) throw result.error;
    return result.response;
  };
}

/** The result of an attempt as it is reported. */
function outcomeOf(
  result: AttemptResult,
): Pick<Attempt, 'outcome' | 'status' | 'code' | 'bytes' | 'isSent'> {
  if ('response' in result) {
    const { status, body } = result.response;
    return { outcome: classOf(status), status, bytes: body.length, isSent: true };
  }
  const { error } = result;
  const hasLeft = error instanceof NoResponseError && error.reason === 'client-disconnected';
  const code = error instanceof GatewayError ? error.extensions.code : 'INTERNAL_SERVER_ERROR';
  const isSent = error instanceof NoResponseError ? error.isSent : true;
  return { outcome: hasLeft ? 'left' : 'none', code, bytes: 0, isSent };
}

function classOf(status: number): Attempt['outcome'] {
  if (status >= 500) return '5xx';
  if (status >= 400) return '4xx';
  return status >= 300 ? '3xx' : '2xx';
}

/** What an attempt says about the service. A response that is refused for its size or encoding is a success: the service works. */
function verdictOf(result: AttemptResult): Verdict {
  if ('response' in result)
    return failureOf(result.response.status)?.countsAgainstService ? 'failure' : 'success';
  const { error } = result;
  if (error instanceof NoResponseError)
    return error.reason === 'client-disconnected' ? 'ignored' : 'failure';
  if (!(error instanceof GatewayError)) return 'ignored'; // our bug
  const { reason } = error.extensions;
  return reason === 'NOT_HTTP' || reason === 'TRUNCATED' ? 'failure' : 'success';
}

/** Why an attempt was not sent although the service may work; null if it was sent, or failed otherwise. */
function rejectionOf(result: AttemptResult): NoResponseError | null {
  const error = 'error' in result ? result.error : undefined;
  const isRejection =
    error instanceof NoResponseError &&
    (error.reason === 'circuit-open' || error.reason === 'overloaded');
  return isRejection ? error : null;
}

const CIRCUIT_OPEN =
  'The service has failed repeatedly, so the gateway sends nothing for a few seconds: this request was not sent. Try again after retryAfterSeconds.';

/** False if a signal is aborted. Not AbortSignal.any: in Node 26 it rejects Yoga's signals, which are no AbortSignal instances. */
async function waitUnless(
  signals: readonly (AbortSignal | undefined)[],
  wait: (signal: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  const controller = new AbortController();
  const listeners = signals
    .filter((signal) => signal !== undefined)
    .map((signal) => addAbortListener(signal, () => controller.abort()));
  try {
    await wait(controller.signal).catch(() => {});
    return !controller.signal.aborted;
  } finally {
    for (const listener of listeners) listener[Symbol.dispose]();
  }
}
