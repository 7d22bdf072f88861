import type { ConfiguredContract } from '../mapping/contract.ts';
import type { GatewayLog } from '../observability/observer.ts';

/** How to reach the REST service. */
export type UpstreamOptions = {
  /** Base URL, http or https; a path is kept as a prefix. */
  readonly url: string | URL;
  /** Whether `url` may be plain http on a host other than loopback. Anyone on the network can then read the tokens. @default false */
  readonly allowHttp?: boolean | undefined;
  /** Deadline of a call in milliseconds, including the wait for a connection and a retry. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of connections. @default 64 */
  readonly connections?: number | undefined;
  /** Largest response body that is accepted, in bytes. @default 33554432 */
  readonly maxBytes?: number | undefined;
  /** Maximum bytes that one GraphQL request reads from the service; the first response may exceed it. @default 16777216 */
  readonly maxBytesPerRequest?: number | undefined;
  /** PEM texts: authorities to trust instead of Node's built-in list, and a client certificate with its private key. */
  readonly tls?: Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>> | undefined;
};

/** The time of calls to the service. Default: real time. */
export type CallTimers = {
  /** Monotonic time in milliseconds, for deadlines and the circuit breaker. */
  readonly clock?: () => number;
  /** Waits for milliseconds before a retry, or until the signal is aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Waits for milliseconds between two polls of a subscription, or until the signal is aborted. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
};

/** The options of `createGateway`. What is off in production by environment variables is off by default here. */
export type GatewayOptions = {
  readonly upstream: UpstreamOptions;
  /**
   * Path of the GraphQL endpoint, as clients request it: with the paths under which a framework mounts it.
   * @default '/graphql'
   */
  readonly path?: string | undefined;
  /** Where each field is in the service's responses. What it omits is inferred from each response. @default {} */
  readonly contract?: ConfiguredContract | undefined;
  /** Logins per minute for each client ID and for each IP address; 0 means no limit. @default 10 */
  readonly loginRateLimit?: number | undefined;
  /** A Redis in which gateways share the login counts, such as rediss://redis.example.com/0. Default: each counts alone. */
  readonly rateLimitRedisUrl?: string | undefined;
  /**
   * Number of trusted reverse proxies. The login limit then takes client IPs from `X-Forwarded-For`; with 0, from the
   * socket, or from `remoteAddress` of `gateway.fetch`.
   * @default 0
   */
  readonly trustedProxies?: number | undefined;
  /** Whether clients may query the schema. @default false */
  readonly introspection?: boolean | undefined;
  /** Whether browsers get GraphiQL at `path`. @default false */
  readonly playground?: boolean | undefined;
  /** Whether a request with the header `x-keytrail-explain: 1` gets `extensions.explain`. @default false */
  readonly explain?: boolean | undefined;
  /** Maximum number of concurrent requests; further ones get HTTP 503. @default 512 */
  readonly maxInFlight?: number | undefined;
  /** Maximum number of concurrent subscriptions; further ones get OVERLOADED. @default 100 */
  readonly maxSubscriptions?: number | undefined;
  /** Maximum number of requests whose body has not arrived; further ones get HTTP 503. @default 4096 */
  readonly maxIncompleteRequests?: number | undefined;
  /** Largest GraphQL response in bytes; an operation with a larger one fails. @default 33554432 */
  readonly graphqlMaxBytes?: number | undefined;
  /**
   * Maximum bytes of unread responses; above it, the clients that have waited longest are disconnected.
   * @default 268435456
   */
  readonly maxUnreadBytes?: number | undefined;
  /** Disconnect a client that reads nothing for this long, in milliseconds. @default 30000 */
  readonly writeTimeoutMs?: number | undefined;
  /** Web origins whose scripts may read responses; credentials are never allowed. @default [] */
  readonly corsOrigins?: readonly string[] | undefined;
  /**
   * Receives a record of every request: `warn` if the service or the gateway failed, else `info`. Also of an outage of
   * the service or of Redis, of contract entries that match nothing, and of bugs (`error`). Default: no log.
   */
  readonly log?: GatewayLog | undefined;
  /** The current time. Default: the system clock. */
  readonly now?: (() => Date) | undefined;
};
