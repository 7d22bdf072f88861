import { setTimeout as sleep } from 'node:timers/promises';
import type { Tracer } from '@opentelemetry/api';
import { createYoga } from 'graphql-yoga';
import { createSchema } from './create-schema.ts';
import { type CallerRequest, toCallerRequest } from './http/caller-request.ts';
import { readClientIp } from './http/client-ip.ts';
import { toRequest } from './http/copy-request.ts';
import { createRoutes, type Endpoint, targetOf } from './http/endpoints.ts';
import { identifyCaller } from './http/fair-share.ts';
import type { Gateway } from './http/gateway-type.ts';
import { createLoadShedder } from './http/load-shedding.ts';
import { createLoginRateLimiter, type LoginRateLimitOptions } from './http/login-rate-limit.ts';
import { EVENT_STREAM } from './http/media-types.ts';
import { createPipelining, isPipelined } from './http/pipelining.ts';
import { type BodyLimits, createBodyReader, MAX_BODY_BYTES } from './http/request-body.ts';
import { createSender, RESPONSE_HEADERS, type SendLimits } from './http/send-response.ts';
import { validateHttpHead } from './http/validate-http-head.ts';
import type { GatewayLog, GatewayObserver } from './observability/observer.ts';
import { createReporter, type OngoingRequest } from './observability/reporter.ts';
import { createTracing } from './observability/tracing.ts';
import { createFastPath } from './plugins/fast-path/handler.ts';
import { createPreparedOperations } from './plugins/fast-path/prepared-operations.ts';
import { useAsciiEvents } from './plugins/use-ascii-events.ts';
import { useDocumentCache } from './plugins/use-document-cache.ts';
import { codeErrors, useErrorCodes } from './plugins/use-error-codes.ts';
import { EXPLAIN_HEADER, useExplain } from './plugins/use-explain.ts';
import { useGraphqlJsExecutor } from './plugins/use-graphqljs-executor.ts';
import { useIntrospection } from './plugins/use-introspection.ts';
import { useJsonRequests } from './plugins/use-json-requests.ts';
import { useLimits } from './plugins/use-limits.ts';
import { type PlaygroundOptions, usePlayground } from './plugins/use-playground.ts';
import { usePointerCheck } from './plugins/use-pointer-check.ts';
import { takeRequestId, useRequestId } from './plugins/use-request-id.ts';
import { useRequestReport } from './plugins/use-request-report.ts';
import { useResponseHeaders } from './plugins/use-response-headers.ts';
import { MAX_RESULT_BYTES, type ResultLimits, useResultLimit } from './plugins/use-result-limit.ts';
import { useRoutes } from './plugins/use-routes.ts';
import { useValueMasking } from './plugins/use-value-masking.ts';
import { createContext, type SharedServices, type StreamTimers } from './schema/context.ts';
import { createSubscriptionLimit } from './tail/subscription-limit.ts';
import {
  createRestClient,
  MAX_BYTES_PER_REQUEST,
  type RestClientOptions,
} from './upstream/http-client.ts';
import { NO_TRACE } from './upstream/types.ts';

/** Settings and collaborators of a gateway. */
export type GatewayDependencies = BodyLimits &
  SendLimits &
  Partial<ResultLimits> & {
    readonly upstream: Omit<RestClientOptions, 'now'>;
    /** Logins per minute for each client ID, and the same for each IP address; 0 = no limit. */
    readonly loginRateLimit: LoginRateLimitOptions['perMinute'];
    /** Redis in which replicas share the count of logins. Without it each counts in memory. */
    readonly rateLimitRedisUrl?: LoginRateLimitOptions['redisUrl'];
    /** Receives events, for metrics. */
    readonly observer?: Partial<GatewayObserver> | undefined;
    /** Number of reverse proxies that append to X-Forwarded-For; with 0, logins are limited by the socket's address. */
    readonly trustedProxies: number;
    /** Path of the GraphQL endpoint. */
    readonly path: string;
    readonly introspection: boolean;
    /** Whether a request with the header x-keytrail-explain is explained. */
    readonly explain: boolean;
    /** Where each field is in the service's responses. What it omits is inferred. */
    readonly contract: SharedServices['contract'];
    /** Variables of the playground's tabs; null disables the playground. */
    readonly playground: PlaygroundOptions | null;
    /** GraphQL requests in flight above which further ones get 503; of one caller, three quarters of it. */
    readonly maxInFlight: number;
    /** Subscriptions above which further ones get OVERLOADED. */
    readonly maxSubscriptions: number;
    /** Origins that CORS allows to read responses, always without credentials. */
    readonly corsOrigins: readonly string[];
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

/** Creates a gateway. It connects to the service when the first request needs it. */
export function assembleGateway(options: GatewayDependencies): Gateway {
  const { path, trustedProxies, contract, playground, corsOrigins } = options;
  const { now, clock, createId, draining, graphqlMaxBytes = MAX_RESULT_BYTES } = options;
  const shutdown = new AbortController();
  const endStreams = () => shutdown.abort();
  draining?.addEventListener('abort', endStreams, { once: true });
  const routes = createRoutes(path, draining !== null);
  const reporter = createReporter({
    log: options.log,
    observer: options.observer,
    beginSpan: createTracing(options.tracer, options.upstream.url),
    clock,
  });
  const client = createRestClient({
    clock,
    random: options.random,
    observer: { ...options.observer?.upstream, onCircuitState: reporter.circuit },
    maxBytesPerRequest: MAX_BYTES_PER_REQUEST,
    ...options.upstream,
    now: () => now().getTime(),
  });
  const loadShedder = createLoadShedder({
    reporter,
    path,
    createId,
    clock,
    maxInFlight: options.maxInFlight,
  });
  const bodies = createBodyReader(options);
  const waitForTurn = createPipelining(options);
  const { send, sendStream } = createSender(options);
  const loginRateLimiter = createLoginRateLimiter({
    perMinute: options.loginRateLimit,
    redisUrl: options.rateLimitRedisUrl,
    clock,
    observer: { ...options.observer?.login, onFallback: reporter.fallback },
  });

  const { documents, plugin: documentCache } = useDocumentCache();
  const prepared = createPreparedOperations(createSchema(), documents);
  const services = {
    ...{ client, contract, now },
    stream: {
      timers: { clock, pause: options.pause ?? pauseByTimer },
      admit: createSubscriptionLimit(options.maxSubscriptions),
      maxPayloadLength: graphqlMaxBytes,
      shutdown: shutdown.signal,
    },
    admitLogin: loginRateLimiter.admit,
    reportDrift: reporter.drift,
  };
  const addressOf = (peer: string | undefined, forwardedFor: string | null) => () =>
    readClientIp({ peer, forwardedFor, trustedProxies });
  const contextOf = (
    { headers, signal, peer }: CallerRequest,
    report: OngoingRequest | undefined,
  ) => {
    const address = addressOf(peer, headers.get('x-forwarded-for'));
    const trace = report?.trace ?? NO_TRACE;
    const isExplained = options.explain && headers.get(EXPLAIN_HEADER) === '1';
    return createContext(services, { headers, signal }, { address, trace }, isExplained);
  };
  const yoga = createYoga<{ peer?: string | undefined; report?: OngoingRequest }>({
    schema: prepared.schema,
    context: ({ request: { headers, signal }, peer, report }) =>
      contextOf({ headers, signal, peer }, report),
    graphqlEndpoint: path,
    // Hooks of the same name run in this order.
    plugins: [
      useRequestId(createId), // first: the others read `requestId` from the server context
      useResultLimit({ graphqlMaxBytes }), // before useErrorCodes, which codes its error
      useAsciiEvents(),
      useErrorCodes(reporter.bug), // before useRequestReport, which logs the codes
      options.explain && useExplain(), // after useErrorCodes, which tells expected failures from others
      // Before the plugins that respond in onRequest (usePlayground, useRoutes) or onExecute (useValueMasking).
      useRequestReport(
        routes,
        (requestId, { headers }, { pathname }) =>
          reporter.begin({ requestId, headers, isGraphql: pathname === path }),
        () => shutdown.signal.aborted,
      ),
      useResponseHeaders({ hasCors: corsOrigins.length > 0 }),
      playground !== null && usePlayground(path, playground),
      useRoutes(routes, draining, loadShedder.isShedding),
      useJsonRequests(shutdown.signal),
      useIntrospection(options.introspection),
      useLimits(),
      useGraphqlJsExecutor(),
      documentCache,
      prepared.plugin, // needs `executed` of useRequestReport, and the document in documentCache
      useValueMasking({ hideSuggestions: !options.introspection }),
      usePointerCheck(), // after the variables were checked
    ],
    parserAndValidationCache: { documentCache: documents, errorCache: NO_CACHE },
    cors: corsOrigins.length > 0 && allowOrigins(corsOrigins),
    maxRequestBodySize: MAX_BODY_BYTES,
    maskedErrors: false, // see useErrorCodes
    logging: false, // see useRequestReport
    graphiql: false, // see usePlayground
    landingPage: false,
    multipart: false,
    healthCheckEndpoint: ' ', // disables Yoga's health check, which would report healthy while draining (see useRoutes)
  });

  const fastPath = createFastPath({
    find: prepared.find,
    ownHeader: options.explain ? EXPLAIN_HEADER : null,
    begin: (request, response) => {
      const clientRequest = toCallerRequest(request, response);
      const { headers, signal } = clientRequest;
      const requestId = takeRequestId(headers.get('x-request-id'), createId);
      const report = reporter.begin({ requestId, headers, isGraphql: true });
      return { requestId, context: contextOf(clientRequest, report), report, signal };
    },
    graphqlMaxBytes,
    codeErrors: (result, requestId) => codeErrors(result, requestId, reporter.bug),
    send,
    headers: corsOrigins.length > 0 ? { ...RESPONSE_HEADERS, vary: 'Origin' } : RESPONSE_HEADERS,
  });

  return {
    fetch: async (input, init) => {
      const { signal, url, method, headers, body: stream } = toRequest(input, init);
      signal.throwIfAborted();
      const endpoint = routes.toEndpoint(method, new URL(url).pathname);
      const peer = init?.remoteAddress;
      const address = addressOf(peer, headers.get('x-forwarded-for'));
      const caller = identifyCaller(headers.get('authorization'), address);
      const readBody =
        stream && isOperation(endpoint, path) ? () => bodies.ofFetch(stream, address) : undefined;
      const admission = { ...endpoint, caller, signal, readBody };
      const response = await loadShedder.respond(admission, async (body) => {
        const members = { method, headers, signal, body: body ?? null };
        return yoga.fetch(new yoga.fetchAPI.Request(url, members), { peer });
      });
      if (response !== null) return response;
      signal.throwIfAborted();
      throw new TypeError('The body of the request could not be read.');
    },
    handle: async (request, response, next) => {
      const target = targetOf(request);
      const endpoint = routes.toEndpoint(request.method, target);
      if (next !== undefined && endpoint.route !== path) return next();
      if (isPipelined(response) && !(await waitForTurn(request, response))) return;
      const peer = request.socket.remoteAddress; // undefined once the client has disconnected
      const invalid = validateHttpHead(request, endpoint, routes);
      const isWanted = !invalid && isOperation(endpoint, path);
      const { authorization, 'x-forwarded-for': forwardedFor } = request.headers;
      const address = addressOf(peer, forwardedFor?.toString() ?? null);
      const caller = identifyCaller(authorization, address);
      const readBody = isWanted ? () => bodies.ofNode(request, address) : undefined;
      const result = await loadShedder.respond({ ...endpoint, caller, readBody }, async (body) => {
        if (invalid) return loadShedder.reject(invalid.error, invalid.status, endpoint);
        // Yoga's own conversion also reads what frameworks add to a request. Nothing depends on the host.
        if (body !== undefined && target === path && (await fastPath(request, response, body)))
          return null;
        const { signal } = toCallerRequest(request, response);
        return yoga.handleRequest(
          new yoga.fetchAPI.Request(`http://localhost${target}`, {
            method: request.method ?? '',
            headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
            body: body ?? null,
            signal,
          }),
          { peer },
        );
      });
      if (result === null) return;
      const head = { status: result.status, headers: Object.fromEntries(result.headers) };
      if (result.body !== null && head.headers['content-type'] === EVENT_STREAM)
        await sendStream(response, head, result.body);
      else send(response, head, await result.text());
    },
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

const pauseByTimer: StreamTimers['pause'] = (ms, signal) => sleep(ms, undefined, { signal });

const NO_CACHE = { get: () => undefined, set: () => {} };

/** Yoga sends the only origin of a list to every other origin too, and `null` if none of several matches. */
function allowOrigins(origins: readonly string[]) {
  return (request: Request) => {
    const origin = request.headers.get('origin');
    const isAllowed = origin !== null && origins.includes(origin);
    return isAllowed ? { origin: [origin], credentials: false, maxAge: 600 } : false;
  };
}

/** Whether a request carries a GraphQL operation in its body. */
function isOperation({ method, route }: Endpoint, path: string): boolean {
  return method === 'POST' && route === path;
}
