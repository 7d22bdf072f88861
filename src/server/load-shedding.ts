import { GatewayError, toErrorBody } from '../errors.ts';
import type { Reporter } from '../observability/reporter.ts';
import { RESPONSE_HEADERS } from './plugins/use-response-headers.ts';
import { type Endpoint, GRAPHQL_PATH } from './routes.ts';

/** Limits and collaborators of {@link createLoadShedder}. */
export type LoadSheddingOptions = {
  readonly reporter: Reporter;
  readonly createId: () => string;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
  /** GraphQL requests in flight above which further ones get 503. */
  readonly maxInFlight: number;
};

/** Admits or rejects requests. Disposing it waits for the requests in flight. */
export type LoadShedder = AsyncDisposable & {
  /**
   * Runs `work`, which returns null if it has written the response itself. Responds with 503 instead when overloaded or
   * disposed, and with 500 if `work` throws. Rejects only with the reason of an aborted `signal`.
   */
  respond<Result extends Response | null>(
    work: () => Promise<Result> | Result,
    /** Only GraphQL requests are shed; health checks are not. */
    request: Endpoint & { readonly signal?: AbortSignal },
  ): Promise<Result | Response>;
  /** Logs a request that is wrong at the HTTP level, and returns its response. */
  reject(error: GatewayError, status: number, endpoint: Endpoint): Response;
  /** Whether GraphQL requests are currently rejected. */
  isShedding(): boolean;
  /** Lets a disposal complete immediately. */
  abort(): void;
};

/** Event-loop lag above which load is shed. Reading the largest response can lag as long now and then. */
const MAX_LAG_MS = 1500;

const CLOSED = 'This gateway is closed: send the request to one that is running.';

/** Creates a load shedder, which measures the lag of the event loop until it is disposed. */
export function createLoadShedder(options: LoadSheddingOptions): LoadShedder {
  const { reporter, createId, clock, maxInFlight } = options;
  const idle = Promise.withResolvers<void>();
  const eventLoop = monitorEventLoop(clock);
  let isClosed = false;
  let inFlight = 0;
  let graphqlRequests = 0;
  const isShedding = () => graphqlRequests >= maxInFlight || eventLoop.lagMs() > MAX_LAG_MS;

  const reject: LoadShedder['reject'] = (error, status, { method, route }) => {
    const requestId = createId();
    reporter.request({ requestId, method, route, codes: error.extensions.code, status });
    return toResponse(error, status, requestId);
  };

  return {
    respond: async (work, request) => {
      const isGraphql = request.route === GRAPHQL_PATH;
      if (isClosed)
        return reject(new GatewayError('OVERLOADED', { message: CLOSED }), 503, request);
      if (isGraphql && isShedding()) {
        return reject(new GatewayError('OVERLOADED', { retryAfterSeconds: 1 }), 503, request);
      }
      inFlight += 1;
      graphqlRequests += Number(isGraphql);
      reporter.inFlight(1);
      try {
        return await work();
      } catch (bug) {
        request.signal?.throwIfAborted(); // as the global `fetch` does
        const requestId = createId();
        reporter.bug(bug, requestId);
        return toResponse(new GatewayError('INTERNAL_SERVER_ERROR'), 500, requestId);
      } finally {
        inFlight -= 1;
        graphqlRequests -= Number(isGraphql);
        reporter.inFlight(-1);
        if (isClosed && inFlight === 0) idle.resolve();
      }
    },
    reject,
    isShedding,
    abort: idle.resolve,
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      eventLoop[Symbol.dispose]();
      if (inFlight > 0) await idle.promise;
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
