import type { z } from 'zod';
import type { ConfiguredContract } from '../mapping/contract.ts';
import { ConfigError } from './config-error.ts';
import { parseContract } from './contract-schema.ts';
import { SETTINGS, type Setting, type SettingName } from './settings.ts';
import { isPlainHttp, isUsableTls, PLAIN_HTTP, parseFlag, type TlsTexts } from './value-types.ts';

/** The checked values, by environment variable. A setting without a default may be undefined. */
export type Config = {
  readonly [Name in SettingName]:
    | z.output<(typeof SETTINGS)[Name]['value']>
    | ((typeof SETTINGS)[Name] extends { readonly default: unknown } ? never : undefined);
};

/** Environment variables as Node gives them. An empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the settings come from. */
export type SettingsSources = {
  readonly environment: Environment;
  /** The values of flags, by environment variable. They override the environment. */
  readonly flags?: Environment;
  /** Problems that were found before, to be reported with those of the settings. */
  readonly problems?: readonly string[];
  /** Returns the text of a file, or throws if it cannot be read. */
  readonly readFile: (path: string) => string;
};

/** Checked settings and the contents of the files that they name. */
export type Settings = {
  readonly config: Config;
  readonly contract: ConfiguredContract;
  readonly tls: TlsTexts;
};

/** Turned on outside production. */
const DEVELOPMENT: Environment = { INTROSPECTION: 'on', PLAYGROUND: 'on' };

/**
 * Checks the settings and reads the files that they name.
 * @throws ConfigError with every problem of the flags, the settings and the files. None repeats a value.
 */
export function loadSettings(sources: SettingsSources): Settings {
  const { environment, flags, problems = [], readFile } = sources;
  const given = Object.entries({ ...environment, ...flags }).filter(([, text]) => text !== '');
  const set: Environment = Object.fromEntries(given);
  const env = set['NODE_ENV'] === 'production' ? set : { ...DEVELOPMENT, ...set };
  const found = [...problems];
  const config = checkValues(env, found);
  found.push(...findConflicts(env));
  const files = readFiles(env, readFile, found);
  if (found.length > 0) throw new ConfigError(found);
  return { config, ...files };
}

/** Converts and checks every text. Adds to `problems`; only if there are none is the result complete. */
function checkValues(env: Environment, problems: string[]): Config {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const text = env[name];
    if (text === undefined) {
      values[name] = setting.default;
      continue;
    }
    const { success, data } = setting.value.safeParse(setting.fromText?.(text) ?? text);
    if (success) values[name] = data;
    else problems.push(`${name} must be ${setting.form}.`);
  }
  return values as Config; // every row of the table was checked
}

/** Reads and checks the files. Adds to `problems`. */
function readFiles(
  env: Environment,
  readFile: SettingsSources['readFile'],
  problems: string[],
): Pick<Settings, 'contract' | 'tls'> {
  const read = (name: SettingName, isValid: (text: string) => boolean) => {
    const path = env[name];
    if (path === undefined) return undefined;
    try {
      const text = readFile(path);
      if (isValid(text)) return text;
    } catch {
      // Reported like a file that is invalid.
    }
    problems.push(`${name} must be ${SETTINGS[name].form} that can be read.`);
    return undefined;
  };
  const tls = {
    ca: read('UPSTREAM_CA_FILE', (ca) => isUsableTls({ ca })),
    cert: read('UPSTREAM_CERT_FILE', (cert) => isUsableTls({ cert })),
    key: read('UPSTREAM_KEY_FILE', (key) => isUsableTls({ key })),
  };
  if (tls.cert !== undefined && tls.key !== undefined && !isUsableTls(tls)) {
    problems.push('UPSTREAM_KEY_FILE must hold the key of UPSTREAM_CERT_FILE.');
  }
  const parsed = parseContract(read('KEYTRAIL_CONTRACT', () => true) ?? '{}');
  if ('contract' in parsed) return { contract: parsed.contract, tls };
  problems.push(...parsed.problems.map((problem) => `KEYTRAIL_CONTRACT: ${problem}`));
  return { contract: {}, tls };
}

/** What must hold between settings. Checked on the texts, so that it is reported even if a value is invalid. */
function* findConflicts(env: Environment): Generator<string> {
  const isProduction = env['NODE_ENV'] === 'production';
  const numberOf = (name: 'PORT' | 'SHUTDOWN_DRAIN_MS' | 'SHUTDOWN_TIMEOUT_MS') =>
    Number(env[name] ?? SETTINGS[name].default);
  if (isProduction && env['UPSTREAM_URL'] === undefined)
    yield 'UPSTREAM_URL is required when NODE_ENV is production.';
  const mayBePlain = parseFlag(env['UPSTREAM_ALLOW_HTTP'] ?? '') === true;
  if (isPlainHttp(env['UPSTREAM_URL'] ?? '') && !mayBePlain)
    yield `UPSTREAM_URL ${PLAIN_HTTP} Set UPSTREAM_ALLOW_HTTP=on to allow it.`;
  if ((env['UPSTREAM_CERT_FILE'] === undefined) !== (env['UPSTREAM_KEY_FILE'] === undefined))
    yield 'UPSTREAM_CERT_FILE and UPSTREAM_KEY_FILE must be set together.';
  if (numberOf('PORT') > 0 && numberOf('PORT') === Number(env['METRICS_PORT']))
    yield 'METRICS_PORT must differ from PORT.';
  if (numberOf('SHUTDOWN_DRAIN_MS') >= numberOf('SHUTDOWN_TIMEOUT_MS'))
    yield 'SHUTDOWN_DRAIN_MS must be less than SHUTDOWN_TIMEOUT_MS: requests in flight finish in the time between.';
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    yield 'NODE_TLS_REJECT_UNAUTHORIZED must not be 0: it sends tokens to any server. Trust the service with UPSTREAM_CA_FILE.';
  if (isProduction && env['NODE_DEBUG'] !== undefined)
    yield 'NODE_DEBUG must not be set in production: it logs tokens.';
}
