import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { digest } from '../util/digest.ts';
import { createTickBarrier, createTurns } from '../util/event-loop.ts';
import { callerOf, identifyCaller } from '../util/fair-share.ts';
import { NO_CLIENT, type RequestClient } from '../util/request-client.ts';
import type { Bearer } from './bearer.ts';
import { type BodyKind, decodeResponse, toGatewayError } from './decode-response.ts';
import { createFairDispatcher, LOGIN_CONNECTIONS } from './fair-dispatcher.ts';
import { LARGE_BYTES } from './http-request.ts';
import type { PrefixRequest } from './partial-json.ts';
import { type EncodedPath, followLink, type Path } from './path.ts';
import { type ConnectionOptions, createPoolFactory } from './pool.ts';
import { type CallOptions, createResilientCall, type UpstreamCall } from './resilient-call.ts';
import { failureOf } from './status.ts';
import { suppressInstrumentation } from './suppress-instrumentation.ts';
import type { Route, Trace, UpstreamResponse } from './types.ts';

/** How to reach the service. Defaults: `clock` is `now`, `wait` uses a timer, `random` always returns 0.5, and nothing observes. */
export type RestClientOptions = Pick<CallOptions, 'timeoutMs' | 'now'> &
  ConnectionOptions &
  Partial<Pick<CallOptions, 'clock' | 'wait' | 'random' | 'observer'>> & {
    /** The number of connections, without those for logins alone. */
    readonly connections: number;
    /** The largest response body that is accepted, in bytes. */
    readonly maxBytes: number;
    /** What the responses of all calls of one GraphQL request may have together, in bytes. Default: no bound. */
    readonly maxBytesPerRequest?: number;
    /** Headers of every call, such as the key of an API manager. None that calls have anyway. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
  };

/** What the responses of all calls of a client's request may have together, in bytes; the first may exceed it. */
export const MAX_BYTES_PER_REQUEST = 2 ** 24;

/** Calls without a token. */
export type UnauthenticatedCalls = {
  /** Sends `body` as JSON. Runs to completion once it was sent, even if the client disconnects. */
  post(
    route: Route,
    path: Path,
    body: Readonly<Record<string, string>>,
    accepted: BodyKind,
  ): Promise<UpstreamResponse>;
};

/** Calls with the caller's token. */
export type AuthorizedCalls = {
  /** Cancelled by `signal`. `prefix`: the sufficient part of a large response; the whole response if omitted. */
  get(
    route: Route,
    path: Path,
    options?: { readonly signal?: AbortSignal; readonly prefix?: PrefixRequest | undefined },
  ): Promise<UpstreamResponse>;
  /** Runs to completion once it was sent, even if the client disconnects. */
  delete(route: Route, path: Path): Promise<UpstreamResponse>;
};

/** The calls of one GraphQL request. */
export type Calls = {
  /** Bytes of the bodies that were read so far. */
  bytesRead(): number;
  readonly unauthenticated: UnauthenticatedCalls;
  authorized(bearer: Bearer): AuthorizedCalls;
};

/**
 * The service over HTTP. It knows no operation: methods and paths are in schema/. Disposing it closes the connections
 * once the calls in progress have completed.
 */
export type RestClient = AsyncDisposable & {
  /** Aborts all calls in progress. */
  abort(): void;
  /** The calls of one GraphQL request, recorded in its trace, with the headers that name its client. */
  of(trace: Trace, client?: RequestClient): Calls;
  /** The base URL of the service, without a trailing slash. */
  readonly url: string;
  /** The names of the headers that every call has by the settings. */
  readonly headerNames: readonly string[];
  /** Resolves a link from the response to a path; null unless it leads to the same path of the service, see `followLink`. */
  follow(link: string, from: Path): Path | null;
};

/** Responses up to this size wait for the tick barrier and are parsed together. Many large ones would need too much memory. */
const MAX_BATCHED_BYTES = 65_536;

/**
 * Creates a client with HTTP/1.1 connections to one origin. Redirects are never followed.
 * Every call resolves with a 2xx response or throws a GatewayError.
 */
export function createRestClient(options: RestClientOptions): RestClient {
  const { url, connections, maxBytes, now } = options;
  const { maxBytesPerRequest = Number.POSITIVE_INFINITY, headers: fixed = {} } = options;
  const createPool = createPoolFactory(options);
  const pools = { ordinary: createPool(connections), login: createPool(LOGIN_CONNECTIONS) };
  const all = Object.values(pools);
  const destroyed = Promise.withResolvers<void>();
  const shutdown = new AbortController();
  const basePath = url.pathname.replace(/\/+$/, '');

  const wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal });
  const defaults = { clock: now, wait, random: () => 0.5, observer: {} };
  const dispatcher = createFairDispatcher(
    {
      ordinary: suppressInstrumentation(pools.ordinary),
      login: suppressInstrumentation(pools.login),
    },
    connections,
  );
  const callOptions = { ...defaults, ...options, aborted: shutdown.signal };
  const send = createResilientCall(callOptions, dispatcher);
  const tickBarrier = createTickBarrier();
  const turns = createTurns(options.clock ?? now);
  const call = async (
    path: Path,
    request: Omit<UpstreamCall, 'path' | 'trace' | 'maxBytes'> & { readonly trace: Trace },
    kind: BodyKind,
  ): Promise<UpstreamResponse> => {
    const encoded = `${basePath}${path.value}` as EncodedPath; // a URL's path is encoded
    const { caller, method } = request;
    const trace = request.trace.beginCall(method, path);
    const response = await send({ ...request, path: encoded, trace, maxBytes });
    const { length } = response.body;
    if (length <= MAX_BATCHED_BYTES) await tickBarrier();
    const failure = failureOf(response.status, response.headers);
    if (failure !== null) throw toGatewayError(response, failure, request, now);
    if (length <= LARGE_BYTES) return decodeResponse(response, kind);
    try {
      await turns(digest(caller), () => dispatcher.hasOthers(caller));
      const decoded = decodeResponse(response, kind);
      await nextIteration(); // for the caller to use it
      return decoded;
    } finally {
      response.release?.();
    }
  };

  return {
    url: `${url.origin}${basePath}`,
    headerNames: Object.keys(fixed),
    of: (trace, client = NO_CLIENT) => {
      const group = {
        hasVerdict: false,
        hasResponse: false,
        bytesRead: 0,
        maxBytes: maxBytesPerRequest,
      };
      const shared = { trace, group };
      return {
        bytesRead: () => group.bytesRead,
        unauthenticated: {
          post: (route, path, object, accepted) => {
            const headers = {
              ...{ ...fixed, ...client.headers() },
              'content-type': 'application/json',
            };
            const caller = identifyCaller(null, client.address) ?? 'address unknown';
            const request = { ...shared, method: 'POST', route, caller, headers } as const;
            return call(path, { ...request, body: JSON.stringify(object) }, accepted);
          },
        },
        authorized: (authorization) => {
          const caller = callerOf(authorization);
          const headers = { ...fixed, ...client.headers(), authorization };
          const ofCaller = { ...shared, caller, headers };
          return {
            get: (route, path, { signal, prefix } = {}) =>
              call(path, { ...ofCaller, method: 'GET', route, signal, prefix }, 'list'),
            delete: (route, path) => call(path, { ...ofCaller, method: 'DELETE', route }, 'text'),
          };
        },
      };
    },
    follow: (link, from) => followLink(link, from, url),
    abort: () => {
      shutdown.abort();
      void Promise.all(all.map((pool) => pool.destroy())).then(() => destroyed.resolve());
    },
    [Symbol.asyncDispose]: async () => {
      await dispatcher.whenSent();
      // `close` rejects if the pool was destroyed, when there is nothing left to close.
      const closed = Promise.all(all.map((pool) => pool.close().catch(() => {})));
      await Promise.race([destroyed.promise, closed]);
    },
  };
}
