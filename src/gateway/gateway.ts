import { setTimeout as sleep } from 'node:timers/promises';
import type { Tracer } from '@opentelemetry/api';
import { createYoga } from 'graphql-yoga';
import { InstallationError } from '../errors.ts';
import { createTurns } from '../util/event-loop.ts';
import type { Caller } from '../util/fair-share.ts';
import { createMemoryBudget } from '../util/memory-budget.ts';
import type { RequestClient } from '../util/request-client.ts';
import { createSchema } from './create-schema.ts';
import { toCorsHeaders } from './http/cors.ts';
import type { Authorize, Gateway } from './http/gateway-type.ts';
import { createLoadShedder } from './http/load-shedding.ts';
import { createLoginRateLimiter, type LoginRateLimitOptions } from './http/login-rate-limit.ts';
import { type ClientOptions, createClientReader } from './http/read-client.ts';
import { type BodyLimits, createBodyReader, MAX_BODY_BYTES } from './http/request-body.ts';
import {
  createFetchHandler,
  createNodeHandler,
  type HandlerOptions,
} from './http/request-handlers.ts';
import { createRoutes } from './http/request-head.ts';
import {
  createPipelining,
  createSender,
  RESPONSE_HEADERS,
  type SendLimits,
  watchDisconnect,
} from './http/send-response.ts';
import type { ConfiguredContract } from './mapping/contract.ts';
import type { GatewayLog, GatewayObserver } from './observability/observer.ts';
import { createReporter, type OngoingRequest } from './observability/reporter.ts';
import { createTracing } from './observability/tracing.ts';
import { createFastPath } from './plugins/fast-path.ts';
import type { PlaygroundOptions } from './plugins/playground/page.ts';
import { requireExecutable } from './plugins/require-executable.ts';
import { codeErrors, useErrorCodes } from './plugins/use-error-codes.ts';
import { EXPLAIN_HEADER, useExplain } from './plugins/use-explain.ts';
import { useJsonRequests } from './plugins/use-json-requests.ts';
import { MAX_RESULT_BYTES, type ResultLimits, useLimits } from './plugins/use-limits.ts';
import { useRequestReport } from './plugins/use-request-report.ts';
import { takeRequestId, useResponseHeaders } from './plugins/use-response-headers.ts';
import { useRoutes } from './plugins/use-routes.ts';
import { useValidationRules } from './plugins/use-validation-rules.ts';
import { useVariableCheck } from './plugins/use-variable-check.ts';
import { createContext } from './schema/context.ts';
import { createExplanation } from './schema/explain.ts';
import { createStreams, type StreamTimers } from './tail/streams.ts';
import { createCallers } from './upstream/callers.ts';
import {
  createRestClient,
  MAX_BYTES_PER_REQUEST,
  type RestClientOptions,
} from './upstream/http-client.ts';
import { NO_TRACE } from './upstream/types.ts';

/** Settings and collaborators of a gateway. */
export type GatewayDependencies = BodyLimits &
  ClientOptions &
  Partial<SendLimits> &
  Partial<ResultLimits> & {
    readonly upstream: Omit<RestClientOptions, 'now'>;
    /** Logins per minute for each client ID from one network, see `LoginRateLimitOptions`; 0 = no limit. */
    readonly loginRateLimit: LoginRateLimitOptions['perMinute'];
    /** Redis in which replicas share the count of logins. Without it each counts in memory. */
    readonly rateLimitRedisUrl?: LoginRateLimitOptions['redisUrl'];
    /** Receives events, for metrics. */
    readonly observer?: Partial<GatewayObserver> | undefined;
    /** Path of the GraphQL endpoint. */
    readonly path: string;
    readonly introspection: boolean;
    /** Whether a request with the header x-keytrail-explain is explained. */
    readonly explain: boolean;
    /** Where each field is in the service's responses. What it omits is inferred. */
    readonly contract: ConfiguredContract;
    /** Variables of the playground's tabs; null disables the playground. */
    readonly playground: PlaygroundOptions | null;
    /** GraphQL requests in flight above which further ones get 503, shared as `createFairShare` says. */
    readonly maxInFlight: number;
    /** Event-loop lag above which GraphQL requests get 503, see `LoadSheddingOptions`. */
    readonly maxLagMs?: number | undefined;
    /** Subscriptions above which further ones get OVERLOADED. */
    readonly maxSubscriptions: number;
    /** Memory that the process may use, in bytes; 0 if unlimited, as `process.constrainedMemory()` has it. @default 0 */
    readonly memoryBytes?: number;
    /** Origins that CORS allows to read responses, always without credentials. */
    readonly corsOrigins: readonly string[];
    /** Gives each GraphQL request its Authorization header, instead of its client's. */
    readonly authorization?: Authorize | undefined;
    readonly log: GatewayLog;
    readonly tracer: Tracer;
    /** Current time. */
    readonly now: () => Date;
    /** Monotonic clock, in milliseconds. */
    readonly clock: () => number;
    /** Waits between two polls of a subscription, see `StreamTimers`. Default: a timer. */
    readonly pause?: StreamTimers['pause'] | undefined;
    /** Random number from 0 up to, not including, 1: jitter of retries. */
    readonly random: () => number;
    /** Creates a request ID. */
    readonly createId: () => string;
    /** Aborted when the shutdown begins: the gateway is then live, but not ready. Null in a program: no health checks. */
    readonly draining: AbortSignal | null;
  };

/**
 * The bytes that responses of the service may take together, and those that clients have not read: an eighth of the
 * memory each. The rest is for parsed responses and for garbage. A process without a limit counts as one with 512 MiB,
 * the limit of `deploy/kubernetes.yaml`.
 */
function toBodyBytes(memoryBytes = 0): number {
  const isLimited = memoryBytes > 0 && memoryBytes < Number.MAX_SAFE_INTEGER;
  return (isLimited ? Math.min(memoryBytes, 2 ** 32) : 2 ** 29) / 8;
}

/**
 * Creates a gateway. It connects to the service when the first request needs it.
 * @throws InstallationError if it could execute no query.
 */
export function assembleGateway(options: GatewayDependencies): Gateway {
  const shared = assembleShared(options);
  const { routes, callers, loadShedder, client, loginRateLimiter, sender, endStreams } = shared;
  const contextOf = assembleContext(options, shared);
  const fastPath = assembleFastPath(options, shared, contextOf);
  const yoga = assembleYoga(options, shared, contextOf, fastPath);
  orInstallationError(() => requireExecutable(yoga));
  const handlers: HandlerOptions = {
    ...{ routes, loadShedder, yoga },
    corsOrigins: options.corsOrigins,
    createId: options.createId,
    bodies: createBodyReader(options),
    memory: createMemoryBudget(toBodyBytes(options.memoryBytes)),
    readClient: createClientReader(options),
    identify: callers.identify,
    authorize: options.authorization,
  };
  return {
    fetch: createFetchHandler(handlers),
    handle: createNodeHandler({
      ...handlers,
      ...sender,
      waitForTurn: createPipelining(options),
      respondFast: fastPath.respond,
    }),
    abort: () => {
      endStreams();
      client.abort();
      loadShedder.abort();
    },
    [Symbol.asyncDispose]: async () => {
      endStreams();
      await loadShedder[Symbol.asyncDispose]();
      await Promise.all([client, loginRateLimiter].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

/** What all requests share. */
type Shared = ReturnType<typeof assembleShared>;

/** Assembles the reports, the limits, the client of the service, and what sends responses. */
function assembleShared(options: GatewayDependencies) {
  const { path, now, clock, createId, draining, observer } = options;
  const shutdown = new AbortController();
  const endStreams = () => shutdown.abort();
  draining?.addEventListener('abort', endStreams, { once: true });
  const reporter = createReporter({
    ...{ log: options.log, observer, clock },
    beginSpan: createTracing(options.tracer, options.upstream.url),
  });
  const callers = createCallers(clock);
  const loadShedder = createLoadShedder({
    ...{ reporter, path, createId, clock },
    maxInFlight: options.maxInFlight,
    maxLagMs: options.maxLagMs,
  });
  const turns = createTurns(clock, loadShedder.hasOthers);
  const client = createRestClient({
    ...{ clock, callers, turns },
    random: options.random,
    observer: { ...observer?.upstream, onCircuitState: reporter.circuit },
    maxBytesPerRequest: MAX_BYTES_PER_REQUEST,
    ...options.upstream,
    now: () => now().getTime(),
  });
  const loginRateLimiter = createLoginRateLimiter({
    perMinute: options.loginRateLimit,
    redisUrl: options.rateLimitRedisUrl,
    clock,
    observer: { ...observer?.login, onFallback: reporter.fallback },
  });
  return {
    ...{ shutdown: shutdown.signal, endStreams, reporter, callers, loadShedder, turns, client },
    loginRateLimiter,
    routes: createRoutes(path, draining !== null),
    sender: createSender({ maxUnreadBytes: toBodyBytes(options.memoryBytes), ...options }),
  };
}

/** The head of a request whose resolvers get a context. */
type ContextHead = Pick<Request, 'signal'> & { readonly headers: Pick<Headers, 'get'> };

/** Assembles the function that creates the context of a request: of one that is explained, with a recording client. */
function assembleContext(
  { contract, now, explain }: GatewayDependencies,
  { client, callers, reporter, loginRateLimiter }: Shared,
) {
  const services = {
    ...{ client, callers },
    contract: { configured: contract, now, reportDrift: reporter.drift },
    admitLogin: loginRateLimiter.admit,
  };
  return (
    { headers, signal }: ContextHead,
    requestClient: RequestClient,
    report: OngoingRequest | undefined,
  ) => {
    const own = { headers, signal, client: requestClient, trace: report?.trace ?? NO_TRACE };
    if (!explain || headers.get(EXPLAIN_HEADER) !== '1') return createContext(services, own);
    const explanation = createExplanation(client, contract);
    const explained = {
      ...services,
      client: explanation.client,
      contract: {
        ...services.contract,
        onFilter: explanation.onFilter,
        onDeletion: explanation.onDeletion,
      },
    };
    return { ...createContext(explained, own), explanation };
  };
}

/** Creates the context of a request. */
type ContextOf = ReturnType<typeof assembleContext>;

/** Assembles the schema, and the fast path that executes it without Yoga. */
function assembleFastPath(
  options: GatewayDependencies,
  { reporter, turns, sender, shutdown }: Shared,
  contextOf: ContextOf,
) {
  const { clock, createId, corsOrigins, graphqlMaxBytes = MAX_RESULT_BYTES } = options;
  const openStream = createStreams({
    timers: { clock, pause: options.pause ?? pauseByTimer },
    max: options.maxSubscriptions,
    maxPayloadLength: graphqlMaxBytes,
    shutdown,
  });
  const schema = orInstallationError(() => createSchema(openStream));
  const fastPath = createFastPath(schema, {
    ownHeader: options.explain ? EXPLAIN_HEADER : null,
    begin: ({ headers, client }, { response }) => {
      const signal = watchDisconnect(response);
      const requestId = takeRequestId(headers.get('x-request-id'), createId);
      const report = reporter.begin({ requestId, headers, isGraphql: true });
      const context = contextOf({ headers, signal }, client, report);
      return { requestId, context, report, signal };
    },
    graphqlMaxBytes,
    codeErrors: (result, requestId) => codeErrors(result, requestId, reporter.bug),
    ...{ turns, send: sender.send },
    headers: { ...RESPONSE_HEADERS, ...toCorsHeaders(corsOrigins, null) },
  });
  return { ...fastPath, schema };
}

/** Assembles Yoga with its plugins, for every request that the fast path does not execute. */
function assembleYoga(
  options: GatewayDependencies,
  { routes, reporter, loadShedder, turns, shutdown }: Shared,
  contextOf: ContextOf,
  fastPath: ReturnType<typeof assembleFastPath>,
) {
  const { path, playground, createId, draining, graphqlMaxBytes = MAX_RESULT_BYTES } = options;
  return createYoga<{ client: RequestClient; caller: Caller; report?: OngoingRequest }>({
    schema: fastPath.schema,
    context: ({ request, client, report }) => contextOf(request, client, report),
    graphqlEndpoint: path,
    // Hooks of the same name run in this order. Where it matters, a comment gives the reason; docs/architecture.md draws it.
    plugins: [
      useResponseHeaders(createId), // first: the others read `requestId` from the server context
      useLimits({ graphqlMaxBytes }), // before useErrorCodes, which codes its error
      useErrorCodes(reporter.bug), // before useRequestReport, which logs the codes
      options.explain && useExplain(),
      // Before the plugins that respond in onRequest (useRoutes) or onExecute (useVariableCheck).
      useRequestReport(
        routes,
        (requestId, { headers }, { pathname }) =>
          reporter.begin({ requestId, headers, isGraphql: pathname === path }),
        () => shutdown.aborted,
      ),
      useRoutes({ ...routes, playground, draining, isShedding: loadShedder.isShedding }),
      useJsonRequests(shutdown, turns),
      useValidationRules(options),
      useVariableCheck(options),
      fastPath.plugin,
    ],
    parserAndValidationCache: { documentCache: fastPath.documents, errorCache: NO_CACHE },
    cors: false, // see toCorsHeaders
    maxRequestBodySize: MAX_BODY_BYTES,
    maskedErrors: false, // see useErrorCodes
    logging: false, // see useRequestReport
    graphiql: false, // see useRoutes
    landingPage: false,
    multipart: false,
    healthCheckEndpoint: ' ', // disables Yoga's health check, which would report healthy while draining (see useRoutes)
  });
}

/** For steps that depend on nothing but the installed packages. */
function orInstallationError<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new InstallationError(error);
  }
}

const pauseByTimer: StreamTimers['pause'] = (ms, signal) => sleep(ms, undefined, { signal });

const NO_CACHE = { get: () => undefined, set: () => {} };
