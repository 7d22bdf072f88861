import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tracer } from '@opentelemetry/api';
import { createYoga } from 'graphql-yoga';
import { createSchema } from './create-schema.ts';
import { InstallationError } from './errors.ts';
import { respondToPreflight, toCorsHeaders } from './http/cors.ts';
import type { Authorize, Gateway } from './http/gateway-type.ts';
import { createLoadShedder } from './http/load-shedding.ts';
import { createLoginRateLimiter, type LoginRateLimitOptions } from './http/login-rate-limit.ts';
import { type ClientOptions, createClientReader } from './http/read-client.ts';
import { readFetchArguments } from './http/read-fetch-arguments.ts';
import {
  type Body,
  type BodyLimits,
  createBodyReader,
  MAX_BODY_BYTES,
} from './http/request-body.ts';
import {
  createRoutes,
  type Endpoint,
  EVENT_STREAM,
  targetOf,
  validateHead,
} from './http/request-head.ts';
import {
  createPipelining,
  createSender,
  isPipelined,
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
import { isBearer } from './upstream/bearer.ts';
import { createCallers } from './upstream/callers.ts';
import {
  createRestClient,
  MAX_BYTES_PER_REQUEST,
  type RestClientOptions,
} from './upstream/http-client.ts';
import { NO_TRACE } from './upstream/types.ts';
import { createTurns } from './util/event-loop.ts';
import type { Caller } from './util/fair-share.ts';
import { createMemoryBudget } from './util/memory-budget.ts';
import type { RequestClient } from './util/request-client.ts';

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
 * memory each. The rest is for parsed responses and for garbage. A process without a limit counts as one with 512 MB,
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
  const { path, contract, playground, corsOrigins } = options;
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
  const callers = createCallers(clock);
  const loadShedder = createLoadShedder({
    reporter,
    path,
    createId,
    clock,
    maxInFlight: options.maxInFlight,
    maxLagMs: options.maxLagMs,
  });
  const turns = createTurns(clock, loadShedder.hasOthers);
  const client = createRestClient({
    clock,
    callers,
    turns,
    random: options.random,
    observer: { ...options.observer?.upstream, onCircuitState: reporter.circuit },
    maxBytesPerRequest: MAX_BYTES_PER_REQUEST,
    ...options.upstream,
    now: () => now().getTime(),
  });
  const bodies = createBodyReader(options);
  const waitForTurn = createPipelining(options);
  const bodyBytes = toBodyBytes(options.memoryBytes);
  const memory = createMemoryBudget(bodyBytes);
  const { send, sendStream } = createSender({ maxUnreadBytes: bodyBytes, ...options });
  const loginRateLimiter = createLoginRateLimiter({
    perMinute: options.loginRateLimit,
    redisUrl: options.rateLimitRedisUrl,
    clock,
    observer: { ...options.observer?.login, onFallback: reporter.fallback },
  });

  const openStream = createStreams({
    timers: { clock, pause: options.pause ?? pauseByTimer },
    max: options.maxSubscriptions,
    maxPayloadLength: graphqlMaxBytes,
    shutdown: shutdown.signal,
  });
  const services = {
    client,
    callers,
    contract: { configured: contract, now, reportDrift: reporter.drift },
    admitLogin: loginRateLimiter.admit,
  };
  const readClient = createClientReader(options);
  const contextOf = (
    request: Pick<Request, 'signal'> & { readonly headers: Pick<Headers, 'get'> },
    requestClient: RequestClient,
    report: OngoingRequest | undefined,
  ) => {
    const trace = report?.trace ?? NO_TRACE;
    const own = { headers: request.headers, signal: request.signal, client: requestClient, trace };
    if (!options.explain || request.headers.get(EXPLAIN_HEADER) !== '1')
      return createContext(services, own);
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
  const hasOwnLogin = ({ route }: Endpoint) =>
    options.authorization !== undefined && route === path;
  /** Headers with the Authorization header that the program gives a request. */
  const authorize = async (headers: HeadersInit, request: IncomingMessage | Request) => {
    const authorized = new Headers(headers);
    authorized.delete('authorization');
    const given = await options.authorization?.(request);
    // A malformed one is rejected like that of a client, whatever characters it has.
    if (given != null) authorized.set('authorization', isBearer(given) ? given : 'malformed');
    return authorized;
  };
  const toPreflight = (method: string, headers: Pick<Headers, 'get'>) =>
    respondToPreflight(corsOrigins, { method, headers }, createId);
  const addCorsHeaders = ({ headers }: Response, origin: string | null) => {
    for (const [name, value] of Object.entries(toCorsHeaders(corsOrigins, origin)))
      headers.append(name, value); // a response may vary by other headers too
  };
  const schema = orInstallationError(() => createSchema(openStream));
  const fastPath = createFastPath(schema, {
    ownHeader: options.explain ? EXPLAIN_HEADER : null,
    begin: ({ headers, client: requestClient }, { response }) => {
      const signal = watchDisconnect(response);
      const requestId = takeRequestId(headers.get('x-request-id'), createId);
      const report = reporter.begin({ requestId, headers, isGraphql: true });
      return {
        requestId,
        context: contextOf({ headers, signal }, requestClient, report),
        report,
        signal,
      };
    },
    graphqlMaxBytes,
    codeErrors: (result, requestId) => codeErrors(result, requestId, reporter.bug),
    turns,
    send,
    headers: { ...RESPONSE_HEADERS, ...toCorsHeaders(corsOrigins, null) },
  });
  const yoga = createYoga<{ client: RequestClient; caller: Caller; report?: OngoingRequest }>({
    schema,
    context: ({ request: { headers, signal }, client: requestClient, report }) =>
      contextOf({ headers, signal }, requestClient, report),
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
        () => shutdown.signal.aborted,
      ),
      useRoutes({ ...routes, playground, draining, isShedding: loadShedder.isShedding }),
      useJsonRequests(shutdown.signal, turns),
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
  orInstallationError(() => requireExecutable(yoga));

  return {
    fetch: async (input, init) => {
      const { signal, url, method, headers: sent, body: stream } = readFetchArguments(input, init);
      signal.throwIfAborted();
      const endpoint = routes.toEndpoint(method, new URL(url).pathname);
      const { address, ...client } = readClient(init?.remoteAddress, sent);
      const isOwn = hasOwnLogin(endpoint);
      const identity = callers.identify(isOwn ? null : sent.get('authorization'), address);
      const { caller } = identity;
      using account = memory.open(caller);
      const ofToken = isOwn ? undefined : identity;
      const requestClient = { ...client, address, memory: account, identity: ofToken };
      const readBody =
        stream && isOperation(endpoint, path) ? () => bodies.ofFetch(stream, caller) : undefined;
      const admission = { ...endpoint, caller, signal, readBody };
      const respond = async (body: Body | undefined) => {
        const toGiven = () =>
          typeof input === 'object' && 'headers' in input
            ? input
            : new Request(url, { method, headers: sent });
        const headers = isOwn ? await authorize(sent, toGiven()) : sent;
        const members = { method, headers, signal, body: body ?? null };
        return yoga.fetch(new yoga.fetchAPI.Request(url, members), {
          client: requestClient,
          caller,
        });
      };
      const response = toPreflight(method, sent) ?? (await loadShedder.respond(admission, respond));
      if (response !== null) {
        addCorsHeaders(response, sent.get('origin'));
        return response;
      }
      signal.throwIfAborted();
      throw new TypeError('The body of the request could not be read.');
    },
    handle: async (request, response, next) => {
      const target = targetOf(request);
      const endpoint = routes.toEndpoint(request.method, target);
      if (next !== undefined && endpoint.route !== path) return next();
      if (isPipelined(response) && !(await waitForTurn(request, response))) return;
      const invalid = validateHead(request, endpoint, routes);
      const isWanted = !invalid && isOperation(endpoint, path);
      const sent = { get: (name: string) => request.headers[name]?.toString() ?? null };
      const { remoteAddress } = request.socket; // undefined once the client has disconnected
      const { address, ...client } = readClient(remoteAddress, sent);
      const isOwn = hasOwnLogin(endpoint);
      const identity = callers.identify(isOwn ? null : sent.get('authorization'), address);
      const { caller } = identity;
      using account = memory.open(caller); // until the sender has the response
      const ofToken = isOwn ? undefined : identity;
      const requestClient = { ...client, address, memory: account, identity: ofToken };
      const recipient = { response, caller };
      const readBody = isWanted ? () => bodies.ofNode(request, caller) : undefined;
      const respond = async (body: Body | undefined) => {
        if (invalid) return loadShedder.reject(invalid.error, invalid.status, endpoint);
        const authorized = isOwn ? await authorize(entriesOf(request), request) : null;
        const headers = authorized ?? sent;
        if (
          body &&
          target === path &&
          (await fastPath.respond({ headers, client: requestClient }, recipient, body))
        )
          return null;
        // Yoga's own conversion also reads what frameworks add to a request. Nothing depends on the host.
        return yoga.handleRequest(
          new yoga.fetchAPI.Request(`http://localhost${target}`, {
            method: request.method ?? '',
            headers: authorized ?? entriesOf(request),
            body: body ?? null,
            signal: watchDisconnect(response),
          }),
          { client: requestClient, caller },
        );
      };
      const preflight = invalid ? null : toPreflight(request.method ?? '', sent);
      const result =
        preflight ?? (await loadShedder.respond({ ...endpoint, caller, readBody }, respond));
      if (result === null) return;
      addCorsHeaders(result, sent.get('origin'));
      const head = { status: result.status, headers: Object.fromEntries(result.headers) };
      if (result.body !== null && head.headers['content-type'] === EVENT_STREAM)
        await sendStream(recipient, head, result.body);
      else if (Number(head.headers['content-length']) > MAX_TEXT_BYTES)
        send(recipient, head, [Buffer.from(await result.arrayBuffer())]);
      else send(recipient, head, await result.text());
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

/** For steps that depend on nothing but the installed packages. */
function orInstallationError<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new InstallationError(error);
  }
}

const pauseByTimer: StreamTimers['pause'] = (ms, signal) => sleep(ms, undefined, { signal });

/** A larger response is not converted to a text, which would take more than 10 ms. */
const MAX_TEXT_BYTES = 2 ** 20;

const NO_CACHE = { get: () => undefined, set: () => {} };

function entriesOf({ headers }: IncomingMessage): [name: string, value: string][] {
  return Object.entries(headers).map(([name, value]) => [name, String(value)]);
}

/** Whether a request carries a GraphQL operation in its body. */
function isOperation({ method, route }: Endpoint, path: string): boolean {
  return method === 'POST' && route === path;
}
