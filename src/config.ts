import { z } from 'zod';
import { isBaseAddress, isOrigin, isPlainAndFar } from './address.ts';
import { ConfigError } from './config-error.ts';

/** What a setting is, for people. */
type About = {
  /** What its value must be, as the end of a sentence. */
  readonly form: string;
  readonly meaning: string;
  /** What holds without it, where that is not simply a value. */
  readonly otherwise?: string;
};

const about = z.registry<About>();

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

const settings = z.object({
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
  SHUTDOWN_DRAIN_MS: millis(0, 0, 'how long to go on serving, not ready, after SIGTERM'),
  SHUTDOWN_FUSE_MS: millis(1, 25_000, 'how long after SIGTERM whatever is left is cut off'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .register(about, {
      form: 'trace, debug, info, warn, error, fatal or silent',
      meaning: 'what is logged',
    }),
});

/** The settings, each under the name of its variable. Without UPSTREAM_URL the sandbox stands in for the service. */
export type Config = z.output<typeof settings>;

/** Every setting for people: the variable, its default in words, and what it means. */
export const SETTINGS: readonly (About & { readonly name: string; readonly otherwise: string })[] =
  Object.entries(settings.shape).map(([name, schema]) => {
    const { form = '', meaning = '', otherwise } = about.get(schema) ?? {};
    return { name, form, meaning, otherwise: otherwise ?? String(schema.parse(undefined)) };
  });

/** Environment variables as Node gives them; an empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings.
 * @throws ConfigError that names every problem at once.
 */
export function loadConfig(environment: Environment): Config {
  const given = Object.entries(environment).filter(([, value]) => value !== '');
  const byProfile = environment['NODE_ENV'] === 'production' ? 'off' : 'on';
  const env: Environment = {
    UPSTREAM_ALLOW_HTTP: 'off',
    INTROSPECTION: byProfile,
    PLAYGROUND: byProfile,
    ...Object.fromEntries(given),
  };
  const { data, error } = settings.safeParse(env);
  const wrong = new Set(error?.issues.map(({ path }) => String(path[0])));
  const problems = [
    ...SETTINGS.filter(({ name }) => wrong.has(name)).map(
      ({ name, form }) => `${name} must be ${form}.`,
    ),
    ...RULES.filter(({ isBroken }) => isBroken(env)).map(({ problem }) => problem),
  ];
  if (data === undefined || problems.length > 0) throw new ConfigError(problems);
  return data;
}

/** What no single setting can tell. They hold whatever else is wrong, so that all is said at once. */
const RULES: readonly {
  readonly isBroken: (env: Environment) => boolean;
  readonly problem: string;
}[] = [
  {
    isBroken: (env) => env['NODE_ENV'] === 'production' && env['UPSTREAM_URL'] === undefined,
    problem: 'UPSTREAM_URL is required when NODE_ENV is production.',
  },
  {
    isBroken: (env) =>
      isPlainAndFar(env['UPSTREAM_URL'] ?? '') &&
      !/^(?:on|true)$/i.test(env['UPSTREAM_ALLOW_HTTP'] ?? ''),
    problem:
      'UPSTREAM_URL must be https, unless it is on loopback: over plain http everybody on the way reads the tokens. UPSTREAM_ALLOW_HTTP=on allows it all the same.',
  },
  {
    isBroken: (env) =>
      (env['UPSTREAM_CERT_FILE'] === undefined) !== (env['UPSTREAM_KEY_FILE'] === undefined),
    problem: 'UPSTREAM_CERT_FILE and UPSTREAM_KEY_FILE must be given together.',
  },
  {
    isBroken: (env) => env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0',
    problem:
      'NODE_TLS_REJECT_UNAUTHORIZED must not be 0: it would send tokens to anybody. Trust the service by UPSTREAM_CA_FILE.',
  },
  {
    isBroken: (env) => env['NODE_ENV'] === 'production' && env['NODE_DEBUG'] !== undefined,
    problem: 'NODE_DEBUG must not be set in production: it writes tokens to the log.',
  },
];
