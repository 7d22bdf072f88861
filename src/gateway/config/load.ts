import { usedProxyOptions } from '../../util/proxy.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import { ConfigError } from './config-error.ts';
import { parseContract } from './contract-schema.ts';
import { SETTINGS, type Setting, type SettingName, toCommandOption } from './settings.ts';
import { parseUpstreamHeaders, type UpstreamHeaders } from './upstream-headers.ts';
import {
  type GivenTexts,
  isPlainHttp,
  isUsableTls,
  PLAIN_HTTP,
  parseFlag,
  readValues,
  type TlsTexts,
  toProblem,
  type ValuesOf,
} from './value-types.ts';

/** The checked values, by environment variable. A setting without a default may be undefined. */
export type Config = ValuesOf<typeof SETTINGS>;

/** Environment variables as Node gives them. Space around a value is ignored, and an empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Which settings a command takes, and where they come from. */
export type SettingsSources<Name extends SettingName> = {
  /** The settings that are read. All others are ignored. */
  readonly settings: readonly Name[];
  /** Texts that replace the defaults of {@link SETTINGS}, by environment variable. An empty one means no default. */
  readonly defaults?: Environment;
  readonly environment: Environment;
  /** The values of options, by environment variable. They override the environment. */
  readonly flags: Environment;
  /** The URL that is connected to. Default: UPSTREAM_URL, if it is set. */
  readonly gateway?: URL | undefined;
  /** Problems that were found before, to be reported with those of the settings. */
  readonly problems: readonly string[];
  /** Returns the text of a file, or throws if it cannot be read. */
  readonly readFile: (path: string) => string;
};

/** Checked settings and the contents of the files that they name. */
export type Settings<Name extends SettingName> = {
  readonly config: Pick<Config, Name>;
  readonly contract: ConfiguredContract;
  readonly tls: TlsTexts;
  readonly headers: UpstreamHeaders;
};

/**
 * Checks the settings and reads the files that they name.
 * @throws ConfigError with every problem of the options, the settings and the files.
 */
export function loadSettings<Name extends SettingName>(
  sources: SettingsSources<Name>,
): Settings<Name> {
  const { settings, defaults, environment, flags, problems, readFile, gateway } = sources;
  const pick = (from: Environment): Environment =>
    Object.fromEntries(
      settings.map((name) => [name, from[name]?.trim()]).filter(([, text]) => text),
    );
  const variableOf = (name: string): string => {
    const alias = ALIASES.get(name) ?? '';
    return environment[alias]?.trim() ? alias : name;
  };
  const variables = settings.map((name) => [name, environment[variableOf(name)]] as const);
  const set = pick({ ...defaults, ...pick(Object.fromEntries(variables)), ...pick(flags) });
  const isProduction = set['NODE_ENV'] === 'production';
  const development = Object.entries<Setting>(SETTINGS).map(([name, row]) => [
    name,
    row.development,
  ]);
  const texts = isProduction ? set : { ...Object.fromEntries(development), ...set };
  const given = { texts, label: (name: string) => nameAsGiven(name, flags, variableOf(name)) };
  const found = [...problems];
  const unread = unusedProxies(gateway ?? URL.parse(texts['UPSTREAM_URL'] ?? ''), texts);
  const read = settings.filter((name) => !unread.includes(name));
  const config = readValues(SETTINGS, read, given, found);
  found.push(...findConflicts(given));
  if (settings.some((name) => name === 'UPSTREAM_URL'))
    found.push(...findUnsafeVariables(environment, isProduction));
  const files = readFiles(given, readFile, found);
  if (found.length > 0) throw new ConfigError(found);
  return { config, ...files };
}

/**
 * The settings of proxies that are not used for a URL. They are set for all programs of a machine, so others may use what
 * this one cannot.
 */
function unusedProxies(url: URL | null, texts: Environment): readonly string[] {
  const { HTTPS_PROXY: httpsProxy, HTTP_PROXY: httpProxy, NO_PROXY: noProxy } = texts;
  const used = url === null ? [] : usedProxyOptions(url, { httpsProxy, httpProxy, noProxy });
  return Object.entries({ HTTPS_PROXY: 'httpsProxy', HTTP_PROXY: 'httpProxy', NO_PROXY: 'noProxy' })
    .filter(([, option]) => !used.some((one) => one === option))
    .map(([name]) => name);
}

const ALIASES = new Map(
  Object.entries<Setting>(SETTINGS).map(([name, { alias }]) => [name, alias]),
);

/** The name of a setting as the user gave it: the option, or the environment variable. */
export function nameAsGiven(name: string, flags: Environment, variable = name): string {
  return flags[name] === undefined ? variable : toCommandOption(name);
}

/** Reads and checks the files. Adds to `problems`. */
function readFiles(
  { texts, label }: GivenTexts,
  readFile: (path: string) => string,
  problems: string[],
): Omit<Settings<never>, 'config'> {
  const read = (name: SettingName, isValid: (text: string) => boolean) => {
    const path = texts[name];
    if (path === undefined) return undefined;
    const { form, ...setting }: Setting = SETTINGS[name];
    let problem = toProblem({ ...setting, form: `${form} that can be read` }, path);
    try {
      const text = toFileText(readFile(path));
      if (text === null) problem = UTF_16;
      else if (isValid(text)) return text;
    } catch {
      // Reported like a file that is invalid.
    }
    problems.push(`${label(name)} ${problem}`);
    return undefined;
  };
  const tls = {
    ca: read('UPSTREAM_CA_FILE', (ca) => isUsableTls({ ca })),
    cert: read('UPSTREAM_CERT_FILE', (cert) => isUsableTls({ cert })),
    key: read('UPSTREAM_KEY_FILE', (key) => isUsableTls({ key })),
  };
  if (tls.cert !== undefined && tls.key !== undefined && !isUsableTls(tls)) {
    problems.push(
      `${label('UPSTREAM_KEY_FILE')} must hold the key of ${label('UPSTREAM_CERT_FILE')}.`,
    );
  }
  const { headers, ...found } = parseUpstreamHeaders(
    read('UPSTREAM_HEADERS_FILE', () => true) ?? '',
  );
  problems.push(
    ...found.problems.map((problem) => `${label('UPSTREAM_HEADERS_FILE')} ${problem}.`),
  );
  const parsed = parseContract(read('KEYTRAIL_CONTRACT', () => true) ?? '{}');
  if ('contract' in parsed) return { contract: parsed.contract, tls, headers };
  problems.push(...parsed.problems.map((problem) => `${label('KEYTRAIL_CONTRACT')}: ${problem}`));
  return { contract: {}, tls, headers };
}

/** Removes the byte order mark of a file that was read as UTF-8. Null for a file in UTF-16: then it has NUL characters. */
export function toFileText(read: string): string | null {
  return read.includes('\0') ? null : read.replace(/^\uFEFF/, '');
}

/** The problem with a file in UTF-16. Completes "<variable or option> …". */
export const UTF_16 =
  'is in UTF-16, as Windows PowerShell writes files with >: save the file in UTF-8, for example with `| Out-File -Encoding utf8`.';

/** What must hold between settings. Checked on the texts, so that it is reported even if a value is invalid. */
function* findConflicts({ texts, label }: GivenTexts): Generator<string> {
  const numberOf = (name: 'PORT' | 'SHUTDOWN_DRAIN_MS' | 'SHUTDOWN_TIMEOUT_MS') =>
    Number(texts[name] ?? SETTINGS[name].default);
  if (texts['NODE_ENV'] === 'production' && texts['UPSTREAM_URL'] === undefined)
    yield `UPSTREAM_URL is required when ${label('NODE_ENV')} is production.`;
  const mayBePlain = parseFlag(texts['UPSTREAM_ALLOW_HTTP'] ?? '') === true;
  if (isPlainHttp(texts['UPSTREAM_URL'] ?? '') && !mayBePlain)
    yield `${label('UPSTREAM_URL')} ${PLAIN_HTTP} Set ${label('UPSTREAM_ALLOW_HTTP')}=on to allow it.`;
  if ((texts['UPSTREAM_CERT_FILE'] === undefined) !== (texts['UPSTREAM_KEY_FILE'] === undefined))
    yield `${label('UPSTREAM_CERT_FILE')} and ${label('UPSTREAM_KEY_FILE')} must be set together.`;
  if (numberOf('PORT') > 0 && numberOf('PORT') === Number(texts['METRICS_PORT']))
    yield `${label('METRICS_PORT')} must differ from ${label('PORT')}.`;
  if (numberOf('SHUTDOWN_DRAIN_MS') >= numberOf('SHUTDOWN_TIMEOUT_MS'))
    yield `${label('SHUTDOWN_DRAIN_MS')} must be less than ${label('SHUTDOWN_TIMEOUT_MS')}: requests in flight finish in the time between.`;
}

/** Variables of Node with which a command that calls the service would expose tokens. */
function* findUnsafeVariables(environment: Environment, isProduction: boolean): Generator<string> {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    yield 'NODE_TLS_REJECT_UNAUTHORIZED must not be 0: it sends tokens to any server. Trust the service with UPSTREAM_CA_FILE.';
  if (isProduction && environment['NODE_DEBUG'])
    yield 'NODE_DEBUG must not be set in production: it logs tokens.';
}
