import { GatewayError, toErrorBody } from '../../errors.ts';
import { type Caller, createFairShare, type Share } from '../../util/fair-share.ts';
import type { Reporter } from '../observability/reporter.ts';
import type { Body, ReadBody } from './request-body.ts';
import type { Endpoint } from './request-head.ts';
import { RESPONSE_HEADERS } from './send-response.ts';

/** Limits and collaborators of {@link createLoadShedder}. */
export type LoadSheddingOptions = {
  readonly reporter: Reporter;
  /** Path of the GraphQL endpoint. */
  readonly path: string;
  readonly createId: () => string;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
  /** GraphQL requests in flight above which further ones get 503, shared as `createFairShare` says. */
  readonly maxInFlight: number;
  /**
   * Event-loop lag above which load is shed while requests are in flight, in milliseconds. Reading the largest response
   * can lag 1.5 s now and then.
   */
  readonly maxLagMs?: number | undefined;
};

/** A request that is to be admitted. Only GraphQL requests are shed; health checks are not. */
export type AdmissionRequest = Endpoint & {
  /** Whose share of the requests in flight it takes. */
  readonly caller: Caller;
  /** Reads the body. Until it has arrived, the request does not count for `maxInFlight`. Omitted if `work` needs none. */
  readonly readBody?: (() => Promise<ReadBody>) | undefined;
  readonly signal?: AbortSignal;
};

/** Admits or rejects requests. Disposing it waits for the requests in flight. */
export type LoadShedder = AsyncDisposable & {
  /**
   * Reads the body, then runs `work` with it, which returns null if it has written the response itself. Responds with 503
   * instead when overloaded or disposed, and with 500 if `work` throws. Returns null if the client disconnected before
   * it had sent the body. Rejects only with the reason of an aborted `signal`.
   */
  respond(
    request: AdmissionRequest,
    work: (body: Body | undefined) => Promise<Response | null>,
  ): Promise<Response | null>;
  /** Logs a request that is wrong at the HTTP level, and returns its response. */
  reject(error: GatewayError, status: number, endpoint: Endpoint): Response;
  /** Whether callers other than this one have GraphQL requests in flight. */
  hasOthers(caller: Caller): boolean;
  /** Whether GraphQL requests are currently rejected. */
  isShedding(): boolean;
  /** Lets a disposal complete immediately. */
  abort(): void;
};

const CLOSED = 'This gateway is closed: send the request to one that is running.';

/** Creates a load shedder, which measures the lag of the event loop until it is disposed. */
export function createLoadShedder(options: LoadSheddingOptions): LoadShedder {
  const { reporter, path, createId, clock, maxInFlight, maxLagMs = 1500 } = options;
  const idle = Promise.withResolvers<void>();
  const eventLoop = monitorEventLoop(clock);
  let isClosed = false;
  let open = 0; // requests that have no response yet, those without their bodies included
  const inFlight = createFairShare(maxInFlight); // GraphQL requests
  // With none in flight, the event loop was blocked by something else, such as the start of the program.
  const isLagging = () => !inFlight.isEmpty() && eventLoop.lagMs() > maxLagMs;

  const reject: LoadShedder['reject'] = (error, status, { method, route }) => {
    const requestId = createId();
    reporter.request({ requestId, method, route, codes: error.extensions.code, status });
    return toResponse(error, status, requestId);
  };

  return {
    respond: async (request, work) => {
      if (isClosed)
        return reject(new GatewayError('OVERLOADED', { message: CLOSED }), 503, request);
      open += 1;
      let isAdmitted = false;
      const isGraphql = request.route === path;
      let share: Share | null = null;
      try {
        const read = request.readBody && (await request.readBody());
        if (read === null) return null;
        if (read !== undefined && 'error' in read) return reject(read.error, read.status, request);
        share = isGraphql && !isLagging() ? inFlight.take(request.caller) : null;
        if (isGraphql && share === null)
          return reject(new GatewayError('OVERLOADED', { retryAfterSeconds: 1 }), 503, request);
        isAdmitted = true;
        reporter.inFlight(1);
        return await work(read?.body);
      } catch (bug) {
        request.signal?.throwIfAborted(); // as the global `fetch` does
        const requestId = createId();
        reporter.bug(bug, requestId);
        return toResponse(new GatewayError('INTERNAL_SERVER_ERROR'), 500, requestId);
      } finally {
        open -= 1;
        if (share !== null) inFlight.release(share);
        if (isAdmitted) reporter.inFlight(-1);
        if (isClosed && open === 0) idle.resolve();
      }
    },
    reject,
    hasOthers: inFlight.hasOthers,
    isShedding: () => inFlight.isFull() || isLagging(),
    abort: idle.resolve,
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      eventLoop[Symbol.dispose]();
      if (open > 0) await idle.promise;
    },
  };
}

/** Builds a response outside of Yoga, with the headers that its plugins would set. */
function toResponse(error: GatewayError, status: number, requestId: string): Response {
  const { retryAfterSeconds } = error.extensions;
  const headers = {
    ...RESPONSE_HEADERS,
    'x-request-id': requestId,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
  return Response.json(toErrorBody(error, requestId), { status, headers });
}

const SAMPLE_INTERVAL_MS = 100;

/** Measures how late a timer fires, ten times a second. The timer does not keep the process running. */
function monitorEventLoop(clock: () => number): Disposable & { lagMs(): number } {
  let sampledAt = clock();
  let lag = 0;
  const timer = setInterval(() => {
    const now = clock();
    lag = now - sampledAt - SAMPLE_INTERVAL_MS;
    sampledAt = now;
  }, SAMPLE_INTERVAL_MS);
  timer.unref();
  return {
    // The lag of the last sample, or of the next one if it is already overdue.
    lagMs: () => Math.max(lag, clock() - sampledAt - SAMPLE_INTERVAL_MS, 0),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
