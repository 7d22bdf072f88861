import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { createTickBarrier, createTurns, type Turns } from '../../util/event-loop.ts';
import { NO_CLIENT, type RequestClient } from '../../util/request-client.ts';
import type { Bearer } from './bearer.ts';
import { type Callers, createCallers } from './callers.ts';
import {
  type BodyKind,
  decodeLargeResponse,
  decodeResponse,
  toGatewayError,
} from './decode-response.ts';
import { createFairDispatcher, LOGIN_CONNECTIONS } from './fair-dispatcher.ts';
import { LARGE_BYTES } from './http-request.ts';
import type { PrefixRequest } from './partial-json.ts';
import { type EncodedPath, followLink, type Path } from './path.ts';
import { type ConnectionOptions, createPoolFactory } from './pool.ts';
import { type CallOptions, createResilientCall, type UpstreamCall } from './resilient-call.ts';
import { failureOf } from './status.ts';
import { suppressInstrumentation } from './suppress-instrumentation.ts';
import type { Read, Route, Trace } from './types.ts';

/**
 * How to reach the service. Defaults: `clock` is `now`, `wait` uses a timer, `random` always returns 0.5, nothing
 * observes, and the client has callers and turns of its own, without pauses.
 */
export type RestClientOptions = Pick<CallOptions, 'timeoutMs' | 'now'> &
  ConnectionOptions &
  Partial<Pick<CallOptions, 'clock' | 'wait' | 'random' | 'observer'>> & {
    /** The number of connections, without those for logins alone. */
    readonly connections: number;
    /** The largest response body that is accepted, in bytes. */
    readonly maxBytes: number;
    /** What the responses of all calls of one GraphQL request may have together, in bytes. Default: no bound. */
    readonly maxBytesPerRequest?: number;
    readonly callers?: Callers;
    /** For large responses. */
    readonly turns?: Turns;
    /** Headers of every call, such as the key of an API manager. None that calls have anyway. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
  };

/** What the responses of all calls of a client's request may have together, in bytes; the first may exceed it. */
export const MAX_BYTES_PER_REQUEST = 2 ** 24;

/** Calls without a token. */
export type UnauthenticatedCalls = {
  /** Sends `body` as JSON. Runs to completion once it was sent, even if the client disconnects. */
  post<T>(
    route: Route,
    path: Path,
    body: Readonly<Record<string, string>>,
    accepted: BodyKind,
    read: Read<T>,
  ): Promise<T>;
};

/** Calls with the caller's token. */
export type AuthorizedCalls = {
  /** Cancelled by `signal`. `prefix`: the sufficient part of a large response; the whole response if omitted. */
  get<T>(
    route: Route,
    path: Path,
    read: Read<T>,
    options?: { readonly signal?: AbortSignal; readonly prefix?: PrefixRequest | undefined },
  ): Promise<T>;
  /** Runs to completion once it was sent, even if the client disconnects. */
  delete<T>(route: Route, path: Path, read: Read<T>): Promise<T>;
};

/** The calls of one GraphQL request. Each resolves with what `read` returns for the response. */
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
  /**
   * The calls of one GraphQL request, recorded in its trace, with the headers that name its client. If they are patient,
   * the wait for a connection or for memory does not count for the deadline.
   */
  of(trace: Trace, client?: RequestClient, isPatient?: boolean): Calls;
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
 * Every call reads a 2xx response or throws a GatewayError.
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
  const clock = options.clock ?? now;
  const turns = options.turns ?? createTurns(clock, () => false);
  const callers = options.callers ?? createCallers(clock);
  const call = <T>(
    path: Path,
    request: Omit<UpstreamCall, 'path' | 'trace' | 'maxBytes'> & { readonly trace: Trace },
    kind: BodyKind,
    read: Read<T>,
  ): Promise<T> => {
    const encoded = `${basePath}${path.value}` as EncodedPath; // a URL's path is encoded
    const { caller, method } = request;
    const trace = request.trace.beginCall(method, path);
    return send({ ...request, path: encoded, trace, maxBytes }, async (response) => {
      const { length } = response.body;
      if (length <= MAX_BATCHED_BYTES) await tickBarrier();
      const failure = failureOf(response.status, response.headers);
      if (failure !== null) throw toGatewayError(response, failure, request, now);
      if (length <= LARGE_BYTES) return read(decodeResponse(response, kind));
      return turns(caller, async () => {
        const decoded = await decodeLargeResponse(response, kind);
        await nextIteration(); // parsing took long enough
        return read(decoded);
      });
    });
  };

  return {
    url: `${url.origin}${basePath}`,
    headerNames: Object.keys(fixed),
    of: (trace, client = NO_CLIENT, isPatient = false) => {
      const group = {
        hasVerdict: false,
        hasResponse: false,
        bytesRead: 0,
        maxBytes: maxBytesPerRequest,
        memory: client.memory,
        isPatient,
      };
      const shared = { trace, group };
      return {
        bytesRead: () => group.bytesRead,
        unauthenticated: {
          post: (route, path, object, accepted, read) => {
            const headers = {
              ...{ ...fixed, ...client.headers() },
              'content-type': 'application/json',
            };
            const identity = callers.identify(null, client.address);
            const request = { ...shared, ...identity, method: 'POST', route, headers } as const;
            const body = JSON.stringify(object);
            return call(path, { ...request, isLogin: true, body }, accepted, read);
          },
        },
        authorized: (authorization) => {
          const identity = client.identity ?? callers.identify(authorization, client.address);
          const { caller, accept } = identity;
          const headers = { ...fixed, ...client.headers(), authorization };
          const ofCaller = { ...shared, caller, accept, isLogin: false, headers };
          return {
            get: (route, path, read, { signal, prefix } = {}) =>
              call(path, { ...ofCaller, method: 'GET', route, signal, prefix }, 'list', read),
            delete: (route, path, read) =>
              call(path, { ...ofCaller, method: 'DELETE', route }, 'text', read),
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
