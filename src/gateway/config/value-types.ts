import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { isLoopback } from '../../util/loopback.ts';
import { toProxyUrl } from '../../util/proxy.ts';
import { type Instant, parseTime, parseZeroTime } from '../mapping/time.ts';

/** A type of setting: how its value is checked, and how the text of a variable becomes a value. */
export type ValueType<Value = unknown> = {
  /** Checks the value as a program passes it. Its messages complete "<option> …". */
  readonly value: z.ZodType<Value>;
  /** What the text must be. Completes "<variable or option> must be …". */
  readonly form: string;
  /** What stands for the value of an option in the help, such as `FILE`. Default: nothing. */
  readonly placeholder?: string;
  /** Converts the text; undefined if it cannot. Default: the text is the value. */
  readonly fromText?: (text: string) => unknown;
  /** Whether a problem may quote the text. Omitted if the text may hold a secret. */
  readonly isQuotable?: true;
  /** The problem with a text that is nearly right. Completes "<variable or option> …". */
  readonly advise?: (text: string) => string | undefined;
  /** The text of an option that is given without a value. Omitted if the option needs one. */
  readonly impliedText?: string;
};

/** A value that a user may give on the command line. */
export type Parameter = ValueType & {
  /** Without a default the parameter is optional. */
  readonly default?: unknown;
  /** The default in words, if it is not simply `default`. */
  readonly defaultText?: string;
  readonly description: string;
};

/** The values of parameters. One without a default may be undefined. */
export type ValuesOf<Table extends Readonly<Record<string, Parameter>>> = {
  readonly [Name in keyof Table]:
    | z.output<Table[Name]['value']>
    | (Table[Name] extends { readonly default: unknown } ? never : undefined);
};

/** The texts of the parameters that are set, and the name of each as the user gave it. */
export type GivenTexts = {
  readonly texts: Readonly<Record<string, string | undefined>>;
  readonly label: (name: string) => string;
};

/** Converts and checks texts. Adds to `problems`; only if there are none is the result complete. */
export function readValues<Name extends string, Table extends Readonly<Record<Name, Parameter>>>(
  table: Table,
  names: readonly Name[],
  { texts, label }: GivenTexts,
  problems: string[],
): Pick<ValuesOf<Table>, Name> {
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const parameter: Parameter = table[name];
    const text = texts[name];
    const result =
      text === undefined ? null : parameter.value.safeParse(parameter.fromText?.(text) ?? text);
    if (result?.success === false)
      problems.push(`${label(name)} ${toProblem(parameter, String(text))}`);
    else values[name] = result ? result.data : parameter.default;
  }
  return values as Pick<ValuesOf<Table>, Name>; // every name was checked
}

/** The problem with an invalid text. Completes "<variable or option> …". */
export function toProblem({ form, isQuotable, advise }: ValueType, given: string): string {
  const problem = advise?.(given) ?? `must be ${form}${isQuotable ? `, not ${quote(given)}` : ''}`;
  return `${problem}.`;
}

/** Quotes a text in one line. A text of more than 40 characters is cut. */
export function quote(given: string): string {
  return JSON.stringify(given.length > 40 ? `${given.slice(0, 40)}…` : given);
}

/** A whole number from `from` to `to`; as a text, decimal digits. */
export function integer(from: number, to: number, unit = ''): ValueType<number> {
  const form = `a whole number${unit}, ${from} to ${to}`;
  const error = `must be ${form}`;
  return {
    value: z.int(error).min(from, error).max(to, error),
    form,
    placeholder: 'N',
    fromText: (given) => (/^\d{1,15}$/.test(given) ? Number(given) : undefined),
    isQuotable: true,
  };
}

/** A text. `form` completes "must be …". */
export function text(form: string, isValid = (_: string) => true): ValueType<string> {
  const error = `must be ${form}`;
  return { value: z.string(error).refine(isValid, error), form };
}

/** The path of a file. */
export function filePath(kind: string): ValueType<string> {
  return { ...text(`the path of a ${kind} file`), placeholder: 'FILE', isQuotable: true };
}

/** One of these names. */
export function choice<const Name extends string>(...names: readonly Name[]): ValueType<Name> {
  const form = `one of ${names.join(', ')}`;
  const placeholder = names.join('|');
  return { value: z.enum(names, `must be ${form}`), form, placeholder, isQuotable: true };
}

/** `on`, `true`, `off` or `false`, in any case, as a boolean; undefined for any other text. */
export function parseFlag(given: string): boolean | undefined {
  if (/^(?:on|true)$/i.test(given)) return true;
  return /^(?:off|false)$/i.test(given) ? false : undefined;
}

/** A boolean; as a text, one for {@link parseFlag}. */
export const flag: ValueType<boolean> = {
  value: z.boolean('must be true or false'),
  form: 'on or off',
  fromText: parseFlag,
  isQuotable: true,
  impliedText: 'on',
};

/** Values of one type; as a text, separated by commas. */
export function listOf<Value>({ value, form, ...type }: ValueType<Value>): ValueType<Value[]> {
  return {
    ...{ ...type, value: z.array(value), form: `${form}, or several, separated by commas` },
    fromText: (given) => given.split(',').map((part) => part.trim()),
  };
}

/** A number of items, or `all`, which is infinite. */
export const limit: ValueType<number> = {
  value: z.custom<number>((given) => typeof given === 'number' && given >= 1),
  form: 'a whole number, 1 or more, or all',
  placeholder: 'N|all',
  fromText: (given) =>
    given === 'all'
      ? Number.POSITIVE_INFINITY
      : /^\d{1,15}$/.test(given)
        ? Number(given)
        : undefined,
  isQuotable: true,
};

/** An instant, the milliseconds since then, or the begin of a day: 0 days ago is today. */
export type PointInTime =
  | { readonly instant: Instant }
  | { readonly agoMs: number }
  | { readonly daysAgo: number };

const UNITS_MS = {
  ...{ s: 1000, sec: 1000, secs: 1000, second: 1000, seconds: 1000 },
  ...{ m: 60_000, min: 60_000, mins: 60_000, minute: 60_000, minutes: 60_000 },
  ...{ h: 3_600_000, hr: 3_600_000, hrs: 3_600_000, hour: 3_600_000, hours: 3_600_000 },
  ...{ d: 86_400_000, day: 86_400_000, days: 86_400_000 },
  ...{ w: 604_800_000, week: 604_800_000, weeks: 604_800_000 },
} as const;
const UNIT_NAMES = Object.keys(UNITS_MS).toSorted((a, b) => b.length - a.length);
const PART = `(\\d{1,6}) ?(${UNIT_NAMES.join('|')})`;
const DURATION = new RegExp(`^${PART}(?: ?${PART})*$`);

/** The milliseconds of `90m`, `1h30m` or `2 days`; undefined for any other text, and if a unit does not follow a longer one. */
export function parseDuration(given: string): number | undefined {
  if (!DURATION.test(given)) return undefined;
  let total = 0;
  let previous = Number.POSITIVE_INFINITY;
  for (const [, count, name = ''] of given.matchAll(new RegExp(PART, 'g'))) {
    const unit = Object.entries(UNITS_MS).find(([each]) => each === name)?.[1] ?? 0;
    if (unit >= previous) return undefined; // 30m1h and 1h1h are more likely a mistake
    previous = unit;
    total += Number(count) * unit;
  }
  return total;
}

const DAYS_AGO = new Map([
  ['today', 0],
  ['yesterday', 1],
]);

/** A point in time; as a text, an instant, a date, which begins in UTC, a duration before now, today or yesterday. */
export const pointInTime: ValueType<PointInTime> = {
  value: z.custom<PointInTime>((given) => typeof given === 'object'),
  form: 'a time: 90m, 1h30m, 7d, today, yesterday, 2026-11-24, or 2026-11-24T09:30:00Z with its zone',
  placeholder: 'TIME',
  fromText: (given) => {
    const daysAgo = DAYS_AGO.get(given.toLowerCase());
    if (daysAgo !== undefined) return { daysAgo };
    const agoMs = parseDuration(given);
    if (agoMs !== undefined) return { agoMs };
    const instant = parseTime(toDateTime(given), 'iso8601');
    return instant === null ? undefined : { instant };
  },
  isQuotable: true,
};

/** A point in time from which on something is wanted. The year 1, the zero time of Go and .NET, means no bound. */
export const startTime: ValueType<PointInTime> = {
  ...pointInTime,
  fromText: (given) => {
    const instant = parseZeroTime(toDateTime(given));
    return pointInTime.fromText?.(given) ?? (instant === null ? undefined : { instant });
  },
};

/** A date begins in UTC. */
function toDateTime(given: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(given) ? `${given}T00:00:00Z` : given;
}

const BASE_URL = 'an http or https URL without user, password, query or fragment';

/** A URL to which paths can be appended. */
export const baseUrl: ValueType<URL> = {
  value: z.custom<string | URL>(isBaseUrl, `must be ${BASE_URL}`).transform((url) => new URL(url)),
  form: BASE_URL,
  placeholder: 'URL',
};

/** The URL of the service, without the path that all of its operations begin with. */
export const serviceUrl: ValueType<URL> = {
  ...baseUrl,
  value: z
    .custom<string | URL>((url) => isBaseUrl(url) && adviseBase(String(url)) === undefined, {
      error: ({ input }) => adviseBase(String(input)) ?? `must be ${BASE_URL}`,
    })
    .transform((url) => new URL(url)),
  advise: adviseBase,
};

function adviseBase(given: string): string | undefined {
  if (!isBaseUrl(given)) return undefined;
  const { href } = new URL(given);
  const base = href.replace(/\/api\/v1\/*$/, '');
  return base === href ? undefined : `must be without /api/v1, which Keytrail adds: ${base}`;
}

const EXAMPLE = 'such as https://app.example.com';

/** An origin as browsers send it (RFC 6454, section 6.2). */
const origin = text(`an origin ${EXAMPLE}`, (value) => URL.parse(value)?.origin === value);

/** Web origins; as a text, separated by commas. */
export const origins: ValueType<readonly string[]> = {
  value: z.array(origin.value, `must be a list of origins ${EXAMPLE}`),
  form: `a comma-separated list of origins ${EXAMPLE}`,
  fromText: (given) => given.split(',').map((part) => part.trim()),
};

/** A path without a trailing slash or dot segments, of characters that mean nothing in a pattern of paths. */
export const graphqlPath = text('a path such as /api/graphql', (value) =>
  /^(?:\/|(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)+)$/.test(value),
);

/** The URL of a Redis. */
export const redisUrl = text('a redis or rediss URL without query or fragment', isRedisUrl);

const PROXY_URL =
  'an http or https URL of a proxy, such as http://proxy.example.com:3128; with https it has a host name, not an address. A SOCKS proxy cannot be used: set an HTTP proxy, or list the host in NO_PROXY';

/** The URL of a proxy. */
export const proxyUrl = text(PROXY_URL, (given) => isProxyUrl(toProxyUrl(given)));

/** Hosts that are connected to without a proxy. Networks such as 10.0.0.0/8 have no effect, but are common in this variable. */
export const hostList = {
  ...text('a list of hosts, such as .example.com,10.0.0.1', (value) =>
    /^[\w.:*/,\s[\]-]*$/.test(value),
  ),
  isQuotable: true,
} as const;

function isBaseUrl(value: unknown): boolean {
  const url = typeof value === 'string' || value instanceof URL ? URL.parse(String(value)) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && !/[?#]/.test(url.href);
}

/** Rejects what undici does: a path, an address instead of a name for TLS, and wrong percent-encoding of a user or a password. */
function isProxyUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/') return false;
  if (!/^(?:[\w.-]+|\[[\da-f:.]+\])$/.test(url.hostname)) return false; // such as quotes
  if (url.protocol === 'https:' && isIP(url.hostname.replace(/[[\]]/g, '')) > 0) return false;
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    return false;
  }
  return !/[?#]/.test(url.href);
}

/** Rejects a query, because ioredis reads client options from it. */
function isRedisUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') return false;
  return /^(?:\/\d*)?$/.test(url.pathname) && !/[?#]/.test(url.href);
}

/** PEM texts for TLS to the service: authorities to trust, and a client certificate with its private key. */
export type TlsTexts = Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>>;

/** Whether OpenSSL accepts each PEM text that is given, and the key belongs to the certificate if both are. */
export function isUsableTls({ ca, cert, key }: TlsTexts): boolean {
  try {
    createSecureContext({ cert: ca }); // as `ca`, a text without a certificate is ignored
    createSecureContext({ cert, key });
  } catch {
    return false;
  }
  // OpenSSL accepts an empty text as a certificate.
  return [ca, cert, key].every((pem) => pem?.includes('-----BEGIN ') ?? true);
}

/** Whether tokens sent to this URL can be read on the network: plain http to a host other than loopback. */
export function isPlainHttp(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' && !isLoopback(parsed.hostname);
}

/** The problem with such a URL. Completes "<setting> …". */
export const PLAIN_HTTP =
  'must be https, unless the host is loopback: over plain http anyone on the network can read the tokens.';
