import type { ValueType } from './value-types.ts';
import { baseUrl, choice, flag, integer, origins, redisUrl, text } from './value-types.ts';

/** One row of {@link SETTINGS}. */
export type Setting = ValueType & {
  /** Without a default the setting is optional. */
  readonly default?: unknown;
  /** The default in words, if it is not simply `default`. */
  readonly defaultText?: string;
};

const milliseconds = (from: number) => integer(from, 600_000, ' of milliseconds');
const port = { ...integer(0, 65_535), form: 'a port number, 0 to 65535 (0 picks a free one)' };
const pemFile = text('the path of a PEM file');
const jsonFile = text('the path of a JSON file');
const hostName = text('a host name or an IP address', (host) => /^[\w.:-]+$/.test(host));
const logLevel = choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent');

/** Every setting, by its environment variable. `UPSTREAM_URL` is also the flag `--upstream-url`, and so on. */
export const SETTINGS = {
  UPSTREAM_URL: { ...baseUrl, defaultText: 'the embedded sandbox; required in production' },
  UPSTREAM_TIMEOUT_MS: { ...milliseconds(1), default: 10_000 },
  UPSTREAM_CONNECTIONS: { ...integer(1, 65_535), default: 64 },
  UPSTREAM_MAX_BYTES: { ...integer(1, 2 ** 29, ' of bytes'), default: 2 ** 25 },
  UPSTREAM_CA_FILE: { ...pemFile, defaultText: "Node's built-in list" },
  UPSTREAM_CERT_FILE: { ...pemFile, defaultText: 'none' },
  UPSTREAM_KEY_FILE: { ...pemFile, defaultText: 'none' },
  UPSTREAM_ALLOW_HTTP: { ...flag, default: false, defaultText: 'off' },
  KEYTRAIL_CONTRACT: { ...jsonFile, defaultText: 'inferred from each response' },
  HOST: { ...hostName, default: '127.0.0.1' },
  PORT: { ...port, default: 4000 },
  NODE_ENV: { ...choice('development', 'test', 'production'), default: 'development' },
  INTROSPECTION: { ...flag, default: false, defaultText: 'off in production, otherwise on' },
  PLAYGROUND: { ...flag, default: false, defaultText: 'off in production, otherwise on' },
  CORS_ORIGINS: { ...origins, default: [], defaultText: 'none' },
  MAX_IN_FLIGHT: { ...integer(1, 65_535), default: 512 },
  LOGIN_RATE_LIMIT: { ...integer(0, 10_000, ' of logins a minute'), default: 10 },
  RATE_LIMIT_REDIS_URL: { ...redisUrl, defaultText: 'each replica counts alone' },
  TRUSTED_PROXIES: { ...integer(0, 10), default: 0 },
  METRICS_PORT: { ...port, defaultText: 'off' },
  SHUTDOWN_DRAIN_MS: { ...milliseconds(0), default: 0 },
  SHUTDOWN_TIMEOUT_MS: { ...milliseconds(1), default: 25_000 },
  LOG_LEVEL: { ...logLevel, default: 'info' },
} satisfies Readonly<Record<string, Setting>>;

/** The environment variable of a setting. */
export type SettingName = keyof typeof SETTINGS;

/** The environment variables of all settings. */
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]; // it has no other keys

/** What each setting does, for `--help` and the README. */
export const DESCRIPTIONS: Readonly<Record<SettingName, string>> = {
  UPSTREAM_URL: 'base URL of the REST service; may include a path prefix',
  UPSTREAM_TIMEOUT_MS:
    'deadline of a call to the service, including the wait for a connection and a retry',
  UPSTREAM_CONNECTIONS: 'maximum number of connections to the service',
  UPSTREAM_MAX_BYTES: 'largest response body that is accepted from the service',
  UPSTREAM_CA_FILE: 'certificate authorities to trust for the service',
  UPSTREAM_CERT_FILE: 'client certificate for the service; requires UPSTREAM_KEY_FILE',
  UPSTREAM_KEY_FILE: 'private key of the client certificate',
  UPSTREAM_ALLOW_HTTP: 'whether UPSTREAM_URL may be plain http on a host other than loopback',
  KEYTRAIL_CONTRACT: "path of a contract file: where each field is in the service's responses",
  HOST: 'address to listen on; 0.0.0.0 listens on every interface',
  PORT: 'port of the GraphQL endpoint',
  NODE_ENV: 'production turns introspection and the playground off and requires UPSTREAM_URL',
  INTROSPECTION: 'whether clients may query the schema',
  PLAYGROUND: 'whether browsers get GraphiQL at /graphql',
  CORS_ORIGINS: 'web origins whose scripts may read responses; credentials are never allowed',
  MAX_IN_FLIGHT: 'maximum number of concurrent requests; further ones get HTTP 503',
  LOGIN_RATE_LIMIT:
    'logins per minute for each client ID and for each IP address; 0 means no limit',
  RATE_LIMIT_REDIS_URL: 'Redis in which replicas share the login counts',
  TRUSTED_PROXIES: 'number of trusted reverse proxies; client IPs come from X-Forwarded-For',
  METRICS_PORT: 'port of the Prometheus endpoint /metrics, on loopback only',
  SHUTDOWN_DRAIN_MS: 'how long to keep serving after SIGTERM while /health/ready returns 503',
  SHUTDOWN_TIMEOUT_MS: 'hard deadline for a graceful shutdown, including the drain period',
  LOG_LEVEL: 'lowest level that is logged',
};
