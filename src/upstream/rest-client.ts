import buildConnector from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { batchPerTick } from '../util/batch-per-tick.ts';
import type { Bearer } from './bearer.ts';
import { sendRequest } from './http-request.ts';
import { createPrefixReader, type PrefixRequest } from './partial-body.ts';
import { followLink, type Path } from './path.ts';
import { type BodyKind, readResponse, toGatewayError } from './response.ts';
import { createRetryingCall, type TracedRequest } from './retry.ts';
import type { Trace } from './types.ts';
import { routeOf, type UpstreamObserver, type UpstreamResponse } from './types.ts';

/** How to reach the service. */
export type RestClientOptions = {
  /** Base address of the service; a path prefix is kept. */
  readonly url: URL;
  /** Deadline of one call in milliseconds, waiting for a connection and a second try included. */
  readonly timeoutMs: number;
  /** How many sockets at most. */
  readonly connections: number;
  /** The largest answer taken, in bytes. */
  readonly maxBytes: number;
  /** PEM texts: whom to trust instead of Node's own list, and the certificate to show. */
  readonly tls?: Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>> | undefined;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly now: () => number;
  /** Milliseconds from anywhere, never going back, for deadlines and pauses; `now` unless given. */
  readonly clock?: (() => number) | undefined;
  /** From 0 up to 1, without 1, to spread second tries; always in the middle unless given. */
  readonly random?: (() => number) | undefined;
  /** Is told what happens on the way to the service. */
  readonly observe?: Partial<UpstreamObserver> | undefined;
};

/** The calls that carry no token: there is no way to give them one. */
export type UnauthenticatedCalls = {
  post(path: Path, body: Readonly<Record<string, string>>): Promise<UpstreamResponse>;
};

/** The calls that carry the caller's token: there is no way to make them without one. */
export type AuthorizedCalls = {
  /** `signal` aborts it when the caller leaves. Where a part of an answer that is large may be enough, `need` says which. */
  get(
    path: Path,
    signal?: AbortSignal,
    need?: () => PrefixRequest | undefined,
  ): Promise<UpstreamResponse>;
  /** Runs to its end once it was sent, whoever leaves. */
  delete(path: Path): Promise<UpstreamResponse>;
};

/** The calls that one request can make. */
export type Calls = {
  readonly unauthenticated: UnauthenticatedCalls;
  authorized(bearer: Bearer): AuthorizedCalls;
};

/** The service over HTTP. Disposing it closes the connections when the calls under way are done. */
export type RestClient = AsyncDisposable & {
  /** Cuts off every call under way. */
  abort(): void;
  /** The calls of one request, which are part of its trace. */
  of(trace: Trace): Calls;
  /** Where a link in the answer from a path leads; null when that is not the same path on the service's own origin. */
  follow(link: string, from: Path): Path | null;
};

/** Larger answers are read one after the other: many at once, parsed, are many times their size. */
const SMALL_BYTES = 65_536;

/**
 * Builds the client: one pool of connections to one origin. Every call ends with an answer of 2xx
 * or throws a GatewayError; redirects are never followed.
 */
export function createRestClient(options: RestClientOptions): RestClient {
  const { url, timeoutMs, connections, maxBytes, tls, now } = options;
  const connect = buildConnector({ allowH2: false, timeout: timeoutMs, ...tls });
  const pool = new Pool(url.origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0, // the deadline of the exchange covers these two
    bodyTimeout: 0,
    connect: (place, done) =>
      connect(place, (...result) => {
        const [, socket] = result;
        // After an alert of TLS Node tells of the end as well, and undici would keep that alone.
        socket?.on('error', () => socket.destroy());
        done(...result);
      }),
  });
  const aborted = Promise.withResolvers<void>();
  const isAborted = new AbortController();
  const prefix = url.pathname.replace(/\/+$/, '');

  const send = createRetryingCall(
    {
      timeoutMs,
      connections,
      now,
      clock: options.clock ?? now,
      random: options.random ?? (() => 0.5),
      observe: options.observe ?? {},
      aborted: isAborted.signal,
    },
    sendRequest.bind(null, { dispatcher: pool, maxBytes }),
  );

  const turn = batchPerTick();
  const call = async (request: TracedRequest, kind: BodyKind): Promise<UpstreamResponse> => {
    const path = `${prefix}${request.path}` as Path; // the prefix comes from a URL, so it is encoded
    const response = await send({ ...request, path }, routeOf(request.path));
    if (response.body.length <= SMALL_BYTES) await turn();
    if (response.status >= 300) {
      const isRead = request.method === 'GET';
      const hasToken = 'authorization' in request.headers;
      throw toGatewayError(response, { isRead, hasToken, now });
    }
    return readResponse(response, kind);
  };

  return {
    of: (trace) => ({
      unauthenticated: {
        post: (path, body) => {
          const headers = { 'content-type': 'application/json' };
          return call({ method: 'POST', path, headers, trace, body: JSON.stringify(body) }, 'json');
        },
      },
      authorized: (authorization) => {
        const headers = { authorization };
        return {
          get: (path, signal, need) => {
            const look = need && createPrefixReader.bind(null, need);
            return call({ method: 'GET', path, headers, trace, signal, look }, 'json');
          },
          delete: (path) => call({ method: 'DELETE', path, headers, trace }, 'any'),
        };
      },
    }),
    follow: (link, from) => followLink(link, from, url),
    abort: () => {
      isAborted.abort();
      void pool.destroy().then(aborted.resolve);
    },
    // Once it was aborted there is nothing left to close, and undici says so by rejecting.
    [Symbol.asyncDispose]: () => Promise.race([aborted.promise, pool.close().catch(() => {})]),
  };
}
