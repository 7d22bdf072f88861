import { addAbortListener } from 'node:events';
import { GatewayError, readRetryAfter } from '../../errors.ts';
import type { Caller } from '../../util/fair-share.ts';
import { createCircuitBreaker, type Permit, type Verdict } from './circuit-breaker.ts';
import type { FairDispatcher } from './fair-dispatcher.ts';
import {
  type ByteBudget,
  type HttpRequest,
  NoResponseError,
  type RawResponse,
  sendRequest,
} from './http-request.ts';
import { failureOf } from './status.ts';
import type { Attempt, CallTrace, Circuit, Route, UpstreamObserver } from './types.ts';

/** Limits, time and observers of all calls to the service. */
export type CallOptions = {
  /** Deadline of a call in milliseconds: both attempts and all waiting. */
  readonly timeoutMs: number;
  /** Milliseconds since the epoch, for a Retry-After that is a date, in a response without Date. */
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
  /** Called once the response has shown that the service accepted the request. Returns whose success it is. */
  readonly accept: () => Caller;
  readonly group: CallGroup;
  readonly route: Route;
  readonly trace: CallTrace;
  /** Cancels a read when the client disconnects; undefined for any other request. */
  readonly signal?: AbortSignal | undefined;
};

/** Reads a response. It throws unless the service has accepted the request. */
export type ReadRaw<T> = (response: RawResponse) => Promise<T>;

/** What one attempt returned or threw. */
type AttemptResult = { readonly response: RawResponse } | { readonly error: unknown };

/** The last attempt of a call. */
type LastAttempt = { readonly permit: Permit; readonly result: AttemptResult };

/** Delay before a retry, random between the two: short for a client that waits, long enough for a load balancer to pick another server. */
const BACKOFF_MS = [10, 50] as const;

/** A burst of 10 retries, then one per 10 calls, so that retries do not multiply the load in an outage. A call adds 1. */
const RETRY_COST = 10;
const MAX_RETRY_BUDGET = 10 * RETRY_COST;

/**
 * Sends requests with one retry, a retry budget and two circuit breakers: one is for logins, and the other rejects them
 * as well. Any request that was never sent is retried, and so is a read if its connection was lost before a response or
 * the status is temporary (`repeat` in status.ts). A login or a deletion that may have been received is never retried:
 * a refresh token sent again can revoke all tokens derived from it (RFC 9700, section 4.14.2). Both attempts share one
 * deadline.
 *
 * The result is what `read` returns. So no response can be used without the judgement whether the service accepted the
 * request, which makes it a success for the circuit breaker.
 * @throws GatewayError OVERLOADED or UPSTREAM_UNAVAILABLE for a call that was rejected, or the error of its last
 * attempt.
 */
export function createResilientCall(
  options: CallOptions,
  dispatcher: FairDispatcher,
): <T>(call: UpstreamCall, read: ReadRaw<T>) => Promise<T> {
  const { timeoutMs, now, clock, wait, random, observer, aborted } = options;
  const createBreaker = (circuit: Circuit) =>
    createCircuitBreaker(clock, (state) => observer.onCircuitState?.(state, circuit));
  const [reads, logins] = [createBreaker('reads'), createBreaker('logins')];
  let retryBudget = MAX_RETRY_BUDGET;

  const reject = (route: Route, error: GatewayError): never => {
    observer.onRejected?.(route);
    throw error;
  };
  const rejectWhileOpen = ({ route, isLogin }: UpstreamCall): never => {
    const circuits = isLogin ? [reads, logins] : [reads];
    const retryAfterSeconds = Math.max(...circuits.map((circuit) => circuit.retryAfterSeconds()));
    const details = { message: CIRCUIT_OPEN, retryAfterSeconds };
    return reject(route, new GatewayError('UPSTREAM_UNAVAILABLE', details));
  };
  /** The verdict of a login counts in its own circuit only. */
  const tryAcquire = ({ method, isLogin, caller }: UpstreamCall): Permit | null => {
    const permit = reads.tryAcquire(method === 'GET', caller);
    if (!isLogin || permit === null) return permit;
    const own = logins.tryAcquire(true, caller);
    return own && { ...own, isValid: () => own.isValid() && permit.isValid() };
  };

  const makeAttempt = async (
    call: UpstreamCall,
    { permit, deadline, isRetry }: { permit: Permit; deadline: number; isRetry: boolean },
  ): Promise<AttemptResult> => {
    const { route, method, path, trace } = call;
    const begun = clock();
    const span = trace(isRetry);
    const request = { ...call, budget: call.group };
    const result: AttemptResult = await sendRequest(dispatcher, request, {
      headers: span.headers,
      // A trial request is not cancelled: otherwise clients that disconnect could keep the circuit open.
      signal: permit.isTrial ? undefined : call.signal,
      timeoutMs: deadline - begun,
      clock,
      maySend: permit.isValid,
    }).then(
      (response) => ({ response }),
      (error: unknown) => ({ error }),
    );
    const seconds = (clock() - begun) / 1000;
    const attempt: Attempt = { route, method, path, isRetry, seconds, ...outcomeOf(result) };
    span.end(attempt);
    if (rejectionOf(result) === null) observer.onAttempt?.(attempt);
    return result;
  };

  /** Records the verdict of a call: of its last attempt, and of the first call of its group that has one. */
  const conclude = (permit: Permit, call: UpstreamCall, verdict: Verdict) => {
    const { group, caller, accept } = call;
    const by = verdict === 'success' ? accept() : caller;
    permit.record(group.hasVerdict && !permit.isTrial ? 'none' : verdict, by);
    if (verdict !== 'none') group.hasVerdict = true;
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
    return Math.max(backoff, 1000 * (readRetryAfter(headers, now) ?? 0));
  };

  const makeAttempts = async (call: UpstreamCall): Promise<LastAttempt> => {
    const deadline = clock() + timeoutMs;
    const permit = tryAcquire(call);
    if (permit === null) return rejectWhileOpen(call);
    retryBudget = Math.min(MAX_RETRY_BUDGET, retryBudget + 1);
    const first = await makeAttempt(call, { permit, deadline, isRetry: false });
    const rejection = rejectionOf(first);
    if (rejection !== null) {
      permit.record('none', call.caller);
      return rejection.reason === 'circuit-open'
        ? rejectWhileOpen(call)
        : reject(call.route, rejection);
    }
    const last = { permit, result: first };
    const delayMs = retryDelay(call, first);
    const isRetried = delayMs !== null && delayMs < deadline - clock() && retryBudget >= RETRY_COST;
    if (permit.isTrial || !isRetried) return last;
    retryBudget -= RETRY_COST;
    const isStillWanted = await waitUnless([aborted, call.signal], (signal) =>
      wait(delayMs, signal),
    );
    const isInTime = isStillWanted && clock() < deadline;
    const retryPermit = isInTime ? tryAcquire(call) : null;
    if (retryPermit === null) return last;
    const second = await makeAttempt(call, { permit: retryPermit, deadline, isRetry: true });
    if (rejectionOf(second) === null) return { permit: retryPermit, result: second };
    retryPermit.record('none', call.caller);
    return last;
  };

  return async (call, read) => {
    const { permit, result } = await makeAttempts(call);
    const isFailure = isFailureOfService(result);
    if (isFailure) conclude(permit, call, 'failure'); // at once, before a waiting call is sent
    let isAccepted = false;
    try {
      if ('error' in result) throw result.error;
      const value = await read(result.response);
      isAccepted = true;
      return value;
    } finally {
      if (!isFailure) conclude(permit, call, isAccepted ? 'success' : 'none');
    }
  };
}

/** The result of an attempt as it is reported. */
function outcomeOf(
  result: AttemptResult,
): Pick<Attempt, 'outcome' | 'status' | 'code' | 'cause' | 'location' | 'bytes' | 'isSent'> {
  if ('response' in result) {
    const { status, headers, body } = result.response;
    const { location } = headers;
    return {
      ...{ outcome: classOf(status), status, bytes: body.length, isSent: true },
      ...(typeof location === 'string' && { location }),
    };
  }
  const { error } = result;
  const hasLeft = error instanceof NoResponseError && error.reason === 'client-disconnected';
  const code = error instanceof GatewayError ? error.extensions.code : 'INTERNAL_SERVER_ERROR';
  const isSent = error instanceof NoResponseError ? error.isSent : true;
  const cause = error instanceof GatewayError ? error.cause : undefined;
  return { outcome: hasLeft ? 'left' : 'none', code, cause, bytes: 0, isSent };
}

function classOf(status: number): Attempt['outcome'] {
  if (status >= 500) return '5xx';
  if (status >= 400) return '4xx';
  return status >= 300 ? '3xx' : '2xx';
}

/** Whether an attempt failed because the service does. Not if a response was refused for its size or encoding. */
function isFailureOfService(result: AttemptResult): boolean {
  if ('response' in result) return failureOf(result.response.status)?.countsAgainstService === true;
  const { error } = result;
  if (error instanceof NoResponseError)
    return error.reason !== 'client-disconnected' && error.reason !== 'overloaded';
  const reason = error instanceof GatewayError ? error.extensions.reason : undefined;
  return reason === 'NOT_HTTP' || reason === 'TRUNCATED';
}

/** Why the gateway itself gave up an attempt although the service may work; null if it succeeded, or failed otherwise. */
function rejectionOf(result: AttemptResult): NoResponseError | null {
  const error = 'error' in result ? result.error : undefined;
  const isRejection =
    error instanceof NoResponseError &&
    error.extensions.code !== 'OUTCOME_UNKNOWN' &&
    (error.reason === 'circuit-open' || error.reason === 'overloaded');
  return isRejection ? error : null;
}

const CIRCUIT_OPEN =
  'The service has failed repeatedly, so the gateway rejects such requests for a few seconds: this one was not sent. Try again after retryAfterSeconds.';

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
