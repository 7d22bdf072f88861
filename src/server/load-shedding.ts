import { GatewayError, toErrorBody } from '../errors.ts';
import type { RequestReporter } from '../observability/request-reporter.ts';
import { RESPONSE_HEADERS } from './plugins/use-response-headers.ts';

/** What the admission of requests needs to know. */
export type LoadSheddingOptions = {
  readonly reports: RequestReporter;
  readonly createId: () => string;
  /** Milliseconds from anywhere, never going back. */
  readonly clock: () => number;
  readonly maxInFlight: number;
};

/** Who gets in, and what is answered to the others. Disposing it waits for those who are in. */
export type LoadShedder = AsyncDisposable & {
  /**
   * Answers by some work, which gives null when it has answered by itself, or with 503 when there is too much of it, or
   * no more. Rejects only with the reason of an aborted signal; whatever else fails is a bug, and answered with 500.
   */
  answer<Answer extends Response | null>(
    work: () => Promise<Answer> | Answer,
    request: RequestFacts,
  ): Promise<Answer | Response>;
  /** Says that a request is wrong as HTTP. */
  refuse(refusal: GatewayError, status: number): Response;
  /** Whether requests for GraphQL are sent away just now. */
  isShedding(): boolean;
  /** Lets a disposal end at once. */
  abort(): void;
};

type RequestFacts = {
  /** Whether it asks for GraphQL; health is always answered. */
  readonly isAsked: boolean;
  readonly signal?: AbortSignal;
};

/** Whoever waits that long in a queue is better off elsewhere. Reading the largest answer takes as long, now and then. */
const MAX_LAG_MS = 1500;

const CLOSED = 'This gateway was closed: send the request to one that runs.';

/** Opens the door. */
export function createLoadShedder(options: LoadSheddingOptions): LoadShedder {
  const { reports, createId, clock, maxInFlight } = options;
  const ended = Promise.withResolvers<void>();
  const eventLoop = monitorEventLoop(clock);
  let isClosed = false;
  let underWay = 0;
  let asked = 0; // health does not count
  const isShedding = () => asked >= maxInFlight || eventLoop.lagMs() > MAX_LAG_MS;

  const refuse = (refusal: GatewayError, status: number): Response => {
    const requestId = createId();
    reports.request({ requestId, codes: refusal.extensions.code, status });
    return toResponse(refusal, status, requestId);
  };

  return {
    answer: async (work, { isAsked, signal }) => {
      if (isClosed) return refuse(new GatewayError('OVERLOADED', { message: CLOSED }), 503);
      if (isAsked && isShedding()) {
        return refuse(new GatewayError('OVERLOADED', { retryAfterSeconds: 1 }), 503);
      }
      underWay += 1;
      asked += Number(isAsked);
      reports.inFlight(1);
      try {
        return await work();
      } catch (bug) {
        signal?.throwIfAborted(); // as the global `fetch` does
        const requestId = createId();
        reports.bug(bug, requestId);
        return toResponse(new GatewayError('INTERNAL_SERVER_ERROR'), 500, requestId);
      } finally {
        underWay -= 1;
        asked -= Number(isAsked);
        reports.inFlight(-1);
        if (isClosed && underWay === 0) ended.resolve();
      }
    },
    refuse,
    isShedding,
    abort: ended.resolve,
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      eventLoop[Symbol.dispose]();
      if (underWay > 0) await ended.promise;
    },
  };
}

/** A failure that happened outside Yoga, with the headers that its plugins would have set. */
function toResponse(error: GatewayError, status: number, requestId: string): Response {
  const { retryAfterSeconds } = error.extensions;
  const headers = {
    ...RESPONSE_HEADERS,
    'x-request-id': requestId,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
  return Response.json(toErrorBody(error, requestId), { status, headers });
}

/** How late the event loop is. */
export type EventLoopMonitor = Disposable & {
  /** By how many milliseconds the last look at the clock came late, or the next one is late already. */
  lagMs(): number;
};

const LOOK_MS = 100;

/** Looks at the clock ten times a second, and keeps no process running. `clock` counts milliseconds from anywhere. */
export function monitorEventLoop(clock: () => number): EventLoopMonitor {
  let lookedAt = clock();
  let late = 0;
  const timer = setInterval(() => {
    const now = clock();
    late = now - lookedAt - LOOK_MS;
    lookedAt = now;
  }, LOOK_MS);
  timer.unref();
  return {
    lagMs: () => Math.max(late, clock() - lookedAt - LOOK_MS, 0),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
