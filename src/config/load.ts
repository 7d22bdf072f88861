import type { z } from 'zod';
import { ConfigError } from './config-error.ts';
import { type About, about, isPlainAndFar, settings } from './settings.ts';

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
    isBroken: (env) => {
      const port = numberOf(env, 'PORT');
      return port > 0 && port === Number(env['METRICS_PORT']);
    },
    problem: 'METRICS_PORT must be another than PORT.',
  },
  {
    isBroken: (env) => Number(env['SHUTDOWN_DRAIN_MS']) >= numberOf(env, 'SHUTDOWN_TIMEOUT_MS'),
    problem:
      'SHUTDOWN_DRAIN_MS must be less than SHUTDOWN_TIMEOUT_MS: the difference is for what is then under way.',
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

function numberOf(env: Environment, name: 'PORT' | 'SHUTDOWN_TIMEOUT_MS'): number {
  return Number(env[name] ?? settings.shape[name].parse(undefined));
}
