import type { ValueType } from './value-types.ts';
import { baseUrl, choice, flag, integer, origins, redisUrl, text } from './value-types.ts';

/** One row of {@link SETTINGS}. */
export type Setting = ValueType & {
  /** Without a default the setting is optional. */
  readonly default?: unknown;
  /** The default in words, if it is not simply `default`. */
  readonly defaultText?: string;
  readonly description: string;
  /** The option of `createGateway` for the same thing. It takes texts instead of paths of files. */
  readonly option?: string;
};

const milliseconds = (from: number) => integer(from, 600_000, ' of milliseconds');
const port = { ...integer(0, 65_535), form: 'a port number, 0 to 65535 (0 picks a free one)' };
const pemFile = text('the path of a PEM file');
const jsonFile = text('the path of a JSON file');
const hostName = text('a host name or an IP address', (host) => /^[\w.:-]+$/.test(host));
const logLevel = choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent');

/** Every setting, by its environment variable. `UPSTREAM_URL` is also the flag `--upstream-url`, and so on. */
export const SETTINGS = {
  UPSTREAM_URL: {
    ...baseUrl,
    defaultText: 'the embedded sandbox; required in production',
    description: 'base URL of the REST service; may include a path prefix',
    option: 'upstream.url',
  },
  UPSTREAM_TIMEOUT_MS: {
    ...milliseconds(1),
    default: 10_000,
    description:
      'deadline of a call to the service, including the wait for a connection and a retry',
    option: 'upstream.timeoutMs',
  },
  UPSTREAM_CONNECTIONS: {
    ...integer(1, 65_535),
    default: 64,
    description: 'maximum number of connections to the service',
    option: 'upstream.connections',
  },
  UPSTREAM_MAX_BYTES: {
    ...integer(1, 2 ** 29, ' of bytes'),
    default: 2 ** 25,
    description: 'largest response body that is accepted from the service',
    option: 'upstream.maxBytes',
  },
  UPSTREAM_CA_FILE: {
    ...pemFile,
    defaultText: "Node's built-in list",
    description: 'certificate authorities to trust for the service',
    option: 'upstream.tls.ca',
  },
  UPSTREAM_CERT_FILE: {
    ...pemFile,
    defaultText: 'none',
    description: 'client certificate for the service; requires UPSTREAM_KEY_FILE',
    option: 'upstream.tls.cert',
  },
  UPSTREAM_KEY_FILE: {
    ...pemFile,
    defaultText: 'none',
    description: 'private key of the client certificate',
    option: 'upstream.tls.key',
  },
  UPSTREAM_ALLOW_HTTP: {
    ...flag,
    default: false,
    defaultText: 'off',
    description: 'whether UPSTREAM_URL may be plain http on a host other than loopback',
    option: 'upstream.allowHttp',
  },
  KEYTRAIL_CONTRACT: {
    ...jsonFile,
    defaultText: 'inferred from each response',
    description: "path of a contract file: where each field is in the service's responses",
    option: 'contract',
  },
  HOST: {
    ...hostName,
    default: '127.0.0.1',
    description: 'address to listen on; 0.0.0.0 listens on every interface',
  },
  PORT: {
    ...port,
    default: 4000,
    description: 'port of the GraphQL endpoint',
  },
  NODE_ENV: {
    ...choice('development', 'test', 'production'),
    default: 'development',
    description: 'production turns introspection and the playground off and requires UPSTREAM_URL',
  },
  INTROSPECTION: {
    ...flag,
    default: false,
    defaultText: 'off in production, otherwise on',
    description: 'whether clients may query the schema',
    option: 'introspection',
  },
  PLAYGROUND: {
    ...flag,
    default: false,
    defaultText: 'off in production, otherwise on',
    description: 'whether browsers get GraphiQL at /graphql',
    option: 'playground',
  },
  CORS_ORIGINS: {
    ...origins,
    default: [],
    defaultText: 'none',
    description: 'web origins whose scripts may read responses; credentials are never allowed',
    option: 'corsOrigins',
  },
  MAX_IN_FLIGHT: {
    ...integer(1, 65_535),
    default: 512,
    description: 'maximum number of concurrent requests; further ones get HTTP 503',
    option: 'maxInFlight',
  },
  LOGIN_RATE_LIMIT: {
    ...integer(0, 10_000, ' of logins a minute'),
    default: 10,
    description: 'logins per minute for each client ID and for each IP address; 0 means no limit',
    option: 'loginRateLimit',
  },
  RATE_LIMIT_REDIS_URL: {
    ...redisUrl,
    defaultText: 'each replica counts alone',
    description: 'Redis in which replicas share the login counts',
    option: 'rateLimitRedisUrl',
  },
  TRUSTED_PROXIES: {
    ...integer(0, 10),
    default: 0,
    description: 'number of trusted reverse proxies; client IPs come from X-Forwarded-For',
    option: 'trustedProxies',
  },
  METRICS_PORT: {
    ...port,
    defaultText: 'off',
    description: 'port of the Prometheus endpoint /metrics, on loopback only',
  },
  SHUTDOWN_DRAIN_MS: {
    ...milliseconds(0),
    default: 0,
    description: 'how long to keep serving after SIGTERM while /health/ready returns 503',
  },
  SHUTDOWN_TIMEOUT_MS: {
    ...milliseconds(1),
    default: 25_000,
    description: 'hard deadline for a graceful shutdown, including the drain period',
  },
  LOG_LEVEL: {
    ...logLevel,
    default: 'info',
    description: 'lowest level that is logged',
  },
} satisfies Readonly<Record<string, Setting>>;

/** The environment variable of a setting. */
export type SettingName = keyof typeof SETTINGS;

/** The environment variables of all settings. */
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]; // it has no other keys
