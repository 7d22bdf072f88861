// Generated from src/gateway/config/settings.ts by npm run codegen.

/** The options of a gateway that are settings. */
export type GatewaySettings = {
  /** Whether the service learns the client's IP address, as X-Forwarded-For, and its user agent. @default true */
  readonly forwardClient?: boolean | undefined;
  /** Whether clients may query the schema. @default false */
  readonly introspection?: boolean | undefined;
  /** Whether browsers get GraphiQL at the GraphQL endpoint. @default false */
  readonly playground?: boolean | undefined;
  /** Whether a request with the header `x-keytrail-explain: 1` is explained. @default false */
  readonly explain?: boolean | undefined;
  /** Web origins whose scripts may read responses; credentials are never allowed. It must be a list of origins such as https://app.example.com. @default [] */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Maximum number of concurrent requests, which callers share: one token has at most three quarters, all networks half; further ones get HTTP 503. It must be a whole number, 1 to 65535. @default 512 */
  readonly maxInFlight?: number | undefined;
  /** Maximum number of concurrent subscriptions; if all are taken, an accepted token without one gets the place of the oldest of the caller with most, if that has several, and further ones get OVERLOADED. It must be a whole number, 1 to 65535. @default 100 */
  readonly maxSubscriptions?: number | undefined;
  /** Logins per minute of a client ID from one network; three times as many from the network, and ten times as many of the client ID from networks from which it has not logged in within a day; those with a secret and those with a refresh token count apart; 0 means no limit. It must be a whole number of logins a minute, 0 to 10000. @default 10 */
  readonly loginRateLimit?: number | undefined;
  /** Redis in which replicas share the login counts. It must be a redis or rediss URL without query or fragment. Default: each replica counts alone. */
  readonly rateLimitRedisUrl?: string | undefined;
  /** Number of trusted reverse proxies; unless it is 0, client IPs come from X-Forwarded-For. It must be a whole number, 0 to 10. @default 0 */
  readonly trustedProxies?: number | undefined;
};

/** The options of the REST client that are settings. */
export type UpstreamSettings = {
  /** Deadline of a call to the service, including the wait for a connection and a retry. It must be a whole number of milliseconds, 1 to 600000. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of connections to the service, plus two for logins. It must be a whole number, 1 to 65535. @default 64 */
  readonly connections?: number | undefined;
  /** Largest response body that is accepted from the service, in bytes: 32 MiB by default. It must be a whole number of bytes, 1 to 536870912. @default 33554432 */
  readonly maxBytes?: number | undefined;
  /** Whether the base URL may be plain http on a host other than loopback: anyone on the network can then read the tokens. @default false */
  readonly allowHttp?: boolean | undefined;
  /** Proxy to a service or a gateway with https; never used for loopback. It must be an http or https URL of a proxy, such as http://proxy.example.com:3128; with https it has a host name, not an address. A SOCKS proxy cannot be used: set an HTTP proxy, or list the host in NO_PROXY. Default: none. */
  readonly httpsProxy?: string | undefined;
  /** Proxy to a service or a gateway with plain http; never used for loopback. It must be an http or https URL of a proxy, such as http://proxy.example.com:3128; with https it has a host name, not an address. A SOCKS proxy cannot be used: set an HTTP proxy, or list the host in NO_PROXY. Default: none. */
  readonly httpProxy?: string | undefined;
  /** Hosts that are connected to without the proxy, separated by commas; example.com includes its subdomains, and * is every host. It must be a list of hosts, such as .example.com,10.0.0.1. Default: none. */
  readonly noProxy?: string | undefined;
};
