import type { ServerResponse } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import { createYoga } from 'graphql-yoga';
import type { GatewayLog, GatewayObserver } from './observability/observer.ts';
import { createRequestReporter, type OngoingRequest } from './observability/request-reporter.ts';
import { createTracing } from './observability/tracing.ts';
import { createContext, type SharedServices } from './schema/context.ts';
import { createSchema } from './schema/index.ts';
import { readClientIp } from './server/client-ip.ts';
import { createFastPath } from './server/fast-path/handler.ts';
import { createPreparedOperations } from './server/fast-path/operations.ts';
import { createLoadShedder } from './server/load-shedding.ts';
import { createLoginRateLimiter, type LoginRateLimitOptions } from './server/login-rate-limit.ts';
import { type ClientRequest, toClientRequest, validateRequest } from './server/node-request.ts';
import { useDocuments } from './server/plugins/use-documents.ts';
import { codeErrors, useErrorCodes } from './server/plugins/use-error-codes.ts';
import { useGraphqlJsExecutor } from './server/plugins/use-executable.ts';
import { useIntrospection } from './server/plugins/use-introspection.ts';
import { isInexact, useJsonRequests } from './server/plugins/use-json-requests.ts';
import { useLimits } from './server/plugins/use-limits.ts';
import { type PlaygroundOptions, usePlayground } from './server/plugins/use-playground.ts';
import { useQuietErrors } from './server/plugins/use-quiet-errors.ts';
import { takeRequestId, useRequestId } from './server/plugins/use-request-id.ts';
import { useRequestLog } from './server/plugins/use-request-log.ts';
import { RESPONSE_HEADERS, useResponseHeaders } from './server/plugins/use-response-headers.ts';
import { GRAPHQL_PATH, useRoutes } from './server/plugins/use-routes.ts';
import type { Gateway } from './server/types.ts';
import { createRestClient, type RestClientOptions } from './upstream/rest-client.ts';
import { NO_TRACE } from './upstream/types.ts';

/** What a gateway is made of. */
export type GatewayDependencies = {
  readonly upstream: Omit<RestClientOptions, 'now'>;
  /** How often one client, and one address, may log in, and where replicas share the count. */
  readonly loginRateLimit: Omit<LoginRateLimitOptions, 'observer'>;
  /** Is told what happens; nobody unless given. */
  readonly observer?: Partial<GatewayObserver> | undefined;
  /** How many proxies before the gateway add to X-Forwarded-For; with 0 logins count by the address of the socket. */
  readonly trustedProxies: number;
  readonly introspection: boolean;
  /** Where the service's answers hold what; gaps are inferred. */
  readonly contract: SharedServices['contract'];
  /** What the playground's tabs hold; null turns it off. */
  readonly playground: PlaygroundOptions | null;
  /** How many requests may be under way at once; more are answered with 503 before they are looked at. */
  readonly maxInFlight: number;
  /** Origins whose pages may read the answers; never with credentials. */
  readonly corsOrigins: readonly string[];
  readonly log: GatewayLog;
  /** Makes spans. */
  readonly tracer: Tracer;
  /** The time of day. */
  readonly now: () => Date;
  /** Milliseconds from anywhere, never going back. */
  readonly clock: () => number;
  /** A number from 0 up to 1, which spreads what is tried again. */
  readonly random: () => number;
  /** Makes a request id. */
  readonly createId: () => string;
  /** Aborted when the gateway should no longer be sent requests: it is then alive and not ready. */
  readonly draining: AbortSignal;
};

const MAX_BODY_BYTES = 65_536;

/** Builds a gateway. It opens no connection to the service before the first request needs one. */
export function createGateway(options: GatewayDependencies): Gateway {
  const { trustedProxies, contract, playground, corsOrigins } = options;
  const { now, clock, createId, draining } = options;
  const reports = createRequestReporter({
    log: options.log,
    observer: options.observer,
    beginSpan: createTracing(options.tracer, options.upstream.url),
    clock,
  });
  const client = createRestClient({
    clock,
    random: options.random,
    observer: options.observer?.upstream ?? {},
    ...options.upstream,
    now: () => now().getTime(),
  });
  const admission = createLoadShedder({
    reports,
    createId,
    clock,
    maxInFlight: options.maxInFlight,
  });
  const guard = createLoginRateLimiter({
    ...options.loginRateLimit,
    observer: { ...options.observer?.login, onFallback: reports.fallback },
  });

  const service = { client, admitLogin: guard.admit, contract, reportDrift: reports.drift, now };
  const schema = createSchema();
  const { documents, plugin: keepValid } = useDocuments();
  const prepared = createPreparedOperations(schema, documents);
  const contextOf = (
    { headers, signal, peer }: ClientRequest,
    report: OngoingRequest | undefined,
  ) => {
    const address = () => {
      const forwardedFor = headers.get('x-forwarded-for');
      return readClientIp({ peer, forwardedFor, trustedProxies });
    };
    const trace = report?.trace ?? NO_TRACE;
    return createContext(service, { headers, signal }, { address, trace });
  };
  const yoga = createYoga<{ peer?: string | undefined; report?: OngoingRequest }>({
    schema,
    context: ({ request: { headers, signal }, peer, report }) =>
      contextOf({ headers, signal, peer }, report),
    graphqlEndpoint: GRAPHQL_PATH,
    plugins: [
      useRequestId(createId),
      useErrorCodes(reports.bug),
      useRequestLog((requestId, { headers }, { pathname }) =>
        reports.begin({ requestId, headers, isGraphql: pathname === GRAPHQL_PATH }),
      ),
      useResponseHeaders(),
      playground !== null && usePlayground(GRAPHQL_PATH, playground),
      useRoutes({ draining, isShedding: admission.isShedding }),
      useJsonRequests(),
      useIntrospection(options.introspection),
      useLimits(),
      useGraphqlJsExecutor(),
      keepValid,
      prepared.plugin,
      useQuietErrors({ hideSuggestions: !options.introspection }),
    ],
    parserAndValidationCache: { documentCache: documents, errorCache: NO_CACHE },
    cors: corsOrigins.length > 0 && allowOrigins(corsOrigins),
    maxRequestBodySize: MAX_BODY_BYTES,
    maskedErrors: false, // useErrorCodes masks, knowing the table
    logging: false, // useRequestLog logs, knowing what must not be
    graphiql: false,
    landingPage: false,
    multipart: false,
    healthCheckEndpoint: ' ', // no address ends so; useRoutes has health, which this one would answer while draining
  });

  const lane = createFastPath({
    find: prepared.find,
    maxBytes: MAX_BODY_BYTES,
    isInexact,
    begin: (request, response) => {
      const caller = toClientRequest(request, response);
      const { headers, signal } = caller;
      const requestId = takeRequestId(headers.get('x-request-id'), createId);
      const report = reports.begin({ requestId, headers, isGraphql: true });
      return { requestId, context: contextOf(caller, report), report, signal };
    },
    toCoded: (result, requestId) => codeErrors(result, requestId, reports.bug),
    headers: RESPONSE_HEADERS,
  });

  return {
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { signal, url } = request;
      signal.throwIfAborted();
      const isAsked = new URL(url).pathname === GRAPHQL_PATH;
      return admission.answer(() => yoga.fetch(request), { isAsked, signal });
    },
    handle: async (request, response) => {
      const { url = '' } = request;
      const refusal = validateRequest(request);
      const peer = request.socket.remoteAddress; // gone when the caller is
      const work = async () => {
        if (refusal !== undefined) return admission.refuse(refusal, 400);
        if (url === GRAPHQL_PATH && (await lane(request, response))) return null;
        return yoga.handleNodeRequestAndResponse(request, response, { peer });
      };
      const isAsked = url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`);
      const answer = await admission.answer(work, { isAsked });
      if (answer !== null) await send(answer, response);
    },
    abort: () => {
      client.abort();
      admission.abort();
    },
    [Symbol.asyncDispose]: async () => {
      await admission[Symbol.asyncDispose]();
      await Promise.all([client, guard].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

const NO_CACHE = { get: () => undefined, set: () => {} };

/** Yoga's own list of origins names one of them to everybody, and the origin `null` to the rest. */
function allowOrigins(origins: readonly string[]) {
  return (request: Request) => {
    const origin = request.headers.get('origin');
    const isAllowed = origin !== null && origins.includes(origin);
    return isAllowed ? { origin: [origin], credentials: false } : false;
  };
}

/** Yoga's own way of sending answers an error with its stack. */
async function send(answer: Response, response: ServerResponse): Promise<void> {
  const body = await answer.text();
  if (response.destroyed) return;
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body);
}
