import {
  choice,
  filePath,
  flag,
  hostList,
  integer,
  origins,
  type Parameter,
  proxyUrl,
  redisUrl,
  serviceUrl,
  text,
} from './value-types.ts';

/** One row of {@link SETTINGS}. */
export type Setting = Parameter & {
  /** Its heading in the help and the documentation. */
  readonly group: 'Service' | 'Listening' | 'Access' | 'Limits' | 'Shutdown' | 'Telemetry';
  /** The path of the option of `createGateway`. It takes texts instead of paths of files. */
  readonly option?: string;
  /** Another environment variable for it, which takes precedence: its usual spelling in lower case. */
  readonly alias?: string;
  /** The text that replaces the default unless NODE_ENV is production. */
  readonly development?: string;
};

const milliseconds = (from: number) => integer(from, 600_000, ' of milliseconds');
const port = { ...integer(0, 65_535), form: 'a port number, 0 to 65535 (0 picks a free one)' };
const pemFile = filePath('PEM');
/** Not quotable: the variable may hold the key instead of its path. */
const keyFile = { ...text(pemFile.form), placeholder: 'FILE' } as const;
/** Nor is this: the variable may hold a header. */
const headersFile = { ...text(filePath('text').form), placeholder: 'FILE' } as const;
const isHost = (host: string) => /^[\w.:-]+$/.test(host);
const hostName = { ...text('a host name or an IP address', isHost), isQuotable: true } as const;
const developmentFlag = {
  ...flag,
  default: false,
  development: 'on',
  defaultText: 'off in production, otherwise on',
} as const;
const logLevel = choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent');

/** Every setting, by its environment variable. `UPSTREAM_URL` is also the option `--upstream-url`, and so on. */
export const SETTINGS = {
  UPSTREAM_URL: {
    group: 'Service',
    ...serviceUrl,
    defaultText: 'the embedded sandbox; required in production',
    description: 'base URL of the REST service; may include a path prefix',
    option: 'upstream.url',
  },
  UPSTREAM_TIMEOUT_MS: {
    group: 'Service',
    ...milliseconds(1),
    default: 10_000,
    description:
      'deadline of a call to the service, including the wait for a connection and a retry',
    option: 'upstream.timeoutMs',
  },
  UPSTREAM_CONNECTIONS: {
    group: 'Service',
    ...integer(1, 65_535),
    default: 64,
    description: 'maximum number of connections to the service, plus two for logins',
    option: 'upstream.connections',
  },
  UPSTREAM_MAX_BYTES: {
    group: 'Service',
    ...integer(1, 2 ** 29, ' of bytes'),
    default: 2 ** 25,
    description:
      'largest response body that is accepted from the service, in bytes: 32 MiB by default',
    option: 'upstream.maxBytes',
  },
  UPSTREAM_CA_FILE: {
    group: 'Service',
    ...pemFile,
    defaultText: "Node's built-in list",
    description: 'the only certificate authorities to trust for the service',
    option: 'upstream.tls.ca',
  },
  UPSTREAM_CERT_FILE: {
    group: 'Service',
    ...pemFile,
    defaultText: 'none',
    description: 'client certificate for the service; requires UPSTREAM_KEY_FILE',
    option: 'upstream.tls.cert',
  },
  UPSTREAM_KEY_FILE: {
    group: 'Service',
    ...keyFile,
    defaultText: 'none',
    description: 'private key of the client certificate',
    option: 'upstream.tls.key',
  },
  UPSTREAM_HEADERS_FILE: {
    group: 'Service',
    ...headersFile,
    defaultText: 'none',
    description:
      'headers of every call to the service, such as the key of an API manager: one per line, as `name: value`',
    option: 'upstream.headers',
  },
  UPSTREAM_ALLOW_HTTP: {
    group: 'Service',
    ...flag,
    default: false,
    defaultText: 'off',
    description:
      'whether the base URL may be plain http on a host other than loopback: anyone on the network can then read the tokens',
    option: 'upstream.allowHttp',
  },
  HTTPS_PROXY: {
    group: 'Service',
    ...proxyUrl,
    alias: 'https_proxy',
    defaultText: 'none',
    description: 'proxy to a service or a gateway with https; never used for loopback',
    option: 'upstream.httpsProxy',
  },
  HTTP_PROXY: {
    group: 'Service',
    ...proxyUrl,
    alias: 'http_proxy',
    defaultText: 'none',
    description: 'proxy to a service or a gateway with plain http; never used for loopback',
    option: 'upstream.httpProxy',
  },
  NO_PROXY: {
    group: 'Service',
    ...hostList,
    alias: 'no_proxy',
    defaultText: 'none',
    description:
      'hosts that are connected to without the proxy, separated by commas; example.com includes its subdomains, and * is every host',
    option: 'upstream.noProxy',
  },
  KEYTRAIL_CONTRACT: {
    group: 'Service',
    ...filePath('JSON'),
    defaultText: 'inferred from each response',
    description: "path of a contract file: where each field is in the service's responses",
    option: 'contract',
  },
  FORWARD_CLIENT: {
    group: 'Service',
    ...flag,
    default: true,
    defaultText: 'on',
    description:
      "whether the service learns the client's IP address, as X-Forwarded-For, and its user agent",
    option: 'forwardClient',
  },
  HOST: {
    group: 'Listening',
    ...hostName,
    default: '127.0.0.1',
    description: 'address to listen on; 0.0.0.0 listens on every interface',
  },
  PORT: {
    group: 'Listening',
    ...port,
    default: 4000,
    description: 'port to listen on',
  },
  NODE_ENV: {
    group: 'Access',
    ...choice('development', 'test', 'production'),
    default: 'development',
    description:
      'production turns introspection, the playground and explain off unless they are set, and requires UPSTREAM_URL',
  },
  INTROSPECTION: {
    group: 'Access',
    ...developmentFlag,
    description: 'whether clients may query the schema',
    option: 'introspection',
  },
  PLAYGROUND: {
    group: 'Access',
    ...developmentFlag,
    description: 'whether browsers get GraphiQL at the GraphQL endpoint',
    option: 'playground',
  },
  EXPLAIN: {
    group: 'Access',
    ...developmentFlag,
    description: 'whether a request with the header `x-keytrail-explain: 1` is explained',
    option: 'explain',
  },
  CORS_ORIGINS: {
    group: 'Access',
    ...origins,
    default: [],
    defaultText: 'none',
    description: 'web origins whose scripts may read responses; credentials are never allowed',
    option: 'corsOrigins',
  },
  MAX_IN_FLIGHT: {
    group: 'Limits',
    ...integer(1, 65_535),
    default: 512,
    description:
      'maximum number of concurrent requests, which callers share: one token has at most three quarters, all networks half; further ones get HTTP 503',
    option: 'maxInFlight',
  },
  MAX_SUBSCRIPTIONS: {
    group: 'Limits',
    ...integer(1, 65_535),
    default: 100,
    description:
      'maximum number of concurrent subscriptions; if all are taken, an accepted token without one gets the place of the oldest of the caller with most, if that has several, and further ones get OVERLOADED',
    option: 'maxSubscriptions',
  },
  LOGIN_RATE_LIMIT: {
    group: 'Limits',
    ...integer(0, 10_000, ' of logins a minute'),
    default: 10,
    description:
      'logins per minute of a client ID from one network; three times as many from the network, and ten times as many of the client ID from networks from which it has not logged in within a day; those with a secret and those with a refresh token count apart; 0 means no limit',
    option: 'loginRateLimit',
  },
  RATE_LIMIT_REDIS_URL: {
    group: 'Limits',
    ...redisUrl,
    defaultText: 'each replica counts alone',
    description: 'Redis in which replicas share the login counts',
    option: 'rateLimitRedisUrl',
  },
  TRUSTED_PROXIES: {
    group: 'Limits',
    ...integer(0, 10),
    default: 0,
    description:
      'number of trusted reverse proxies; unless it is 0, client IPs come from X-Forwarded-For',
    option: 'trustedProxies',
  },
  SHUTDOWN_DRAIN_MS: {
    group: 'Shutdown',
    ...milliseconds(0),
    default: 0,
    description:
      'how long to keep serving after a signal to stop, while /health/ready returns 503; less than SHUTDOWN_TIMEOUT_MS',
  },
  SHUTDOWN_TIMEOUT_MS: {
    group: 'Shutdown',
    ...milliseconds(1),
    default: 25_000,
    description:
      'deadline for a graceful shutdown, including the drain period; the last spans get up to 3 s more, and the last log lines 1 s',
  },
  METRICS_PORT: {
    group: 'Telemetry',
    ...port,
    defaultText: 'off',
    description: 'port of the Prometheus endpoint /metrics',
  },
  METRICS_HOST: {
    group: 'Telemetry',
    ...hostName,
    default: '127.0.0.1',
    description: 'address of that port; 0.0.0.0 lets other hosts read the metrics',
  },
  LOG_LEVEL: {
    group: 'Telemetry',
    ...logLevel,
    default: 'info',
    description: 'lowest level that is logged',
  },
} as const satisfies Readonly<Record<string, Setting>>;

/** The environment variable of a setting. */
export type SettingName = keyof typeof SETTINGS;

/** The environment variables of all settings. */
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]; // it has no other keys

/** Values of settings under the last names of their options, of those directly under the prefix. */
export type ByOption<
  Prefix extends string,
  Values extends Readonly<Partial<Record<SettingName, unknown>>>,
> = {
  readonly [Name in SettingName & keyof Values as KeyUnder<
    Prefix,
    (typeof SETTINGS)[Name]
  >]: Values[Name];
};

type KeyUnder<Prefix extends string, Row> = Row extends { readonly option: `${Prefix}${infer Key}` }
  ? Key extends `${string}.${string}`
    ? never
    : Key
  : never;

/** Renames values of settings as options of a program: that of UPSTREAM_TIMEOUT_MS to `timeoutMs` if the prefix is `upstream.`. */
export function byOption<
  Prefix extends '' | 'upstream.',
  Values extends Readonly<Partial<Record<SettingName, unknown>>>,
>(prefix: Prefix, values: Values): ByOption<Prefix, Values> {
  const entries = SETTING_NAMES.flatMap((name) => {
    const { option = '' }: Setting = SETTINGS[name];
    const [key = '', ...deeper] = option.slice(prefix.length).split('.');
    const isUnder = option.startsWith(prefix) && key !== '' && deeper.length === 0;
    return isUnder && name in values ? [[key, values[name]]] : [];
  });
  return Object.fromEntries(entries) as ByOption<Prefix, Values>; // its type is computed in the same way
}

/** The option of a setting on the command line: `--upstream-url` for UPSTREAM_URL. */
export function toCommandOption(name: string): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}
