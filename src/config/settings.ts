import { z } from 'zod';

/** What a setting is, for people. */
export type About = {
  /** What its value must be, as the end of a sentence. */
  readonly form: string;
  readonly meaning: string;
  /** What holds without it, where that is not simply a value. */
  readonly otherwise?: string;
};

/** What each setting of {@link settings} is, for people. */
export const about = z.registry<About>();

const integer = (from: number, to: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(from).max(to));

const millis = (from: number, otherwise: number, meaning: string) =>
  integer(from, 600_000)
    .default(otherwise)
    .register(about, { form: `a whole number of milliseconds, ${from} to 600000`, meaning });

const flag = (meaning: string, otherwise: string) =>
  z
    .stringbool({ truthy: ['on', 'true'], falsy: ['off', 'false'] })
    .register(about, { form: 'on or off', meaning, otherwise });

const pemFile = (meaning: string, otherwise: string) =>
  z.string().optional().register(about, { form: 'the path of a PEM file', meaning, otherwise });

/** Every setting, as it is read from its variable. */
export const settings = z.object({
  UPSTREAM_URL: z
    .url({ protocol: /^https?$/ })
    .transform((text) => new URL(text))
    .refine(isBaseAddress)
    .optional()
    .register(about, {
      form: 'an http or https URL without user, password, query or fragment',
      meaning: 'base address of the service, a path prefix allowed',
      otherwise: 'the embedded sandbox; required in production',
    }),
  UPSTREAM_TIMEOUT_MS: millis(1, 10_000, 'deadline of one call, waiting for a connection included'),
  UPSTREAM_CONNECTIONS: integer(1, 65_535).default(64).register(about, {
    form: 'a whole number, 1 to 65535',
    meaning: 'sockets to the service',
  }),
  UPSTREAM_MAX_BYTES: integer(1, 2 ** 29)
    .default(2 ** 25)
    .register(about, {
      form: 'a whole number of bytes, 1 to 536870912',
      meaning: 'largest answer read',
    }),
  UPSTREAM_CA_FILE: pemFile('authorities that the service may be certified by', "Node's own list"),
  UPSTREAM_CERT_FILE: pemFile(
    'certificate shown to the service, together with UPSTREAM_KEY_FILE',
    'none',
  ),
  UPSTREAM_KEY_FILE: pemFile('private key of that certificate', 'none'),
  UPSTREAM_ALLOW_HTTP: flag('allow plain http to another host than loopback', 'off'),
  KEYTRAIL_CONTRACT: z.string().optional().register(about, {
    form: 'the path of a JSON file',
    meaning: "where the service's answers hold what, as far as it cannot be told from them",
    otherwise: 'told from each answer',
  }),
  HOST: z
    .string()
    .regex(/^[\w.:-]+$/)
    .default('127.0.0.1')
    .register(about, {
      form: 'a host name or an address',
      meaning: 'where to listen; 0.0.0.0 is everywhere',
    }),
  PORT: integer(0, 65_535).default(4000).register(about, {
    form: 'a port number, 0 to 65535, where 0 takes any free one',
    meaning: 'where to listen',
  }),
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development').register(about, {
    form: 'development, test or production',
    meaning: 'production turns introspection and the playground off and asks for UPSTREAM_URL',
  }),
  INTROSPECTION: flag('whether clients may ask for the schema', 'off in production, else on'),
  PLAYGROUND: flag('whether a browser at /graphql gets GraphiQL', 'off in production, else on'),
  CORS_ORIGINS: z
    .string()
    .transform((text) => text.split(',').map((item) => item.trim()))
    .refine((origins) => origins.every(isOrigin))
    .default([])
    .register(about, {
      form: 'a comma-separated list of origins such as https://app.example.com',
      meaning: 'whose pages may read the answers in a browser; never with cookies',
      otherwise: 'none',
    }),
  MAX_IN_FLIGHT: integer(1, 65_535).default(512).register(about, {
    form: 'a whole number, 1 to 65535',
    meaning: 'requests under way at once; more are answered with 503',
  }),
  LOGIN_RATE_LIMIT: integer(0, 10_000).default(10).register(about, {
    form: 'a whole number, 0 to 10000, where 0 is no limit',
    meaning: 'logins a minute for one client id, and as many for one address',
  }),
  RATE_LIMIT_REDIS_URL: z.string().refine(isRedisAddress).optional().register(about, {
    form: 'a redis or rediss URL without a query',
    meaning: 'the Redis in which replicas share that count',
    otherwise: 'each counts by itself',
  }),
  TRUSTED_PROXIES: integer(0, 10).default(0).register(about, {
    form: 'a whole number, 0 to 10',
    meaning: 'how many proxies in front add to X-Forwarded-For, by which addresses are told',
  }),
  METRICS_PORT: integer(0, 65_535).optional().register(about, {
    form: 'a port number, 0 to 65535, where 0 takes any free one',
    meaning: 'where Prometheus finds /metrics, on loopback only',
    otherwise: 'off',
  }),
  SHUTDOWN_DRAIN_MS: millis(0, 0, 'how long to go on serving, not ready, after SIGTERM'),
  SHUTDOWN_TIMEOUT_MS: millis(
    1,
    25_000,
    'hard deadline for a graceful shutdown, the drain period included',
  ),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .register(about, {
      form: 'trace, debug, info, warn, error, fatal or silent',
      meaning: 'what is logged',
    }),
});

/** Whether it can stand in front of the service's paths: http or https, without user, password, query or fragment. */
export function isBaseAddress({ protocol, username, password, href }: URL): boolean {
  return /^https?:$/.test(protocol) && username === '' && password === '' && !/[?#]/.test(href);
}

/** Whether it names a Redis and nothing else: a query could change how the client of Redis works. */
export function isRedisAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^rediss?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    /^(?:\/\d*)?$/.test(url.pathname) &&
    !/[?#]/.test(url.href)
  );
}

/** Whether it is an origin as a browser sends it, such as `https://app.example.com` (RFC 6454, section 6.2). */
export function isOrigin(text: string): boolean {
  return URL.parse(text)?.origin === text;
}

/** Whether whoever stands between here and there could read along: plain http to another host than loopback. */
export function isPlainAndFar(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && !/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
}
