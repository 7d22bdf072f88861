declare const instant: unique symbol;

/** An instant in UTC, to the millisecond, always of 24 characters (RFC 3339): the earlier one is the smaller text. */
export type Instant = string & { readonly [instant]: true };

/** How an instant can be written. What has no zone is taken for UTC by the three in `-utc`, and only when a contract names them. */
export const INSTANT_FORMATS = [
  'iso8601',
  'rfc2822',
  'epoch-seconds',
  'epoch-milliseconds',
  'epoch-microseconds',
  'epoch-nanoseconds',
  'iso8601-utc',
  'us-utc',
  'european-utc',
] as const;

export type InstantFormat = (typeof INSTANT_FORMATS)[number];

/** RFC 3339 with its looser relatives of ISO 8601: a blank for the T, no seconds, no colon in the offset, UTC for Z. The zone must be there. */
const ISO =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s?(?:([Zz]|UTC|GMT)|([+-]\d\d):?(\d\d)?)$/;

/** RFC 3339 as most services write it, but for the 29th of February: V8 reads it right, and fast. */
const USUAL =
  /^[1-9]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)$/;

/** How every other form of an instant begins. */
const BEGINNING = /^(?:-?\d|\/Date\(|[A-Z][a-z]{2}, )/;

/** The basic format of ISO 8601. */
const BASIC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/;

/** RFC 2822, section 3.3, as in e-mail and HTTP. */
const RFC_2822 =
  /^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)? (?:[+-]\d{4}|GMT|UTC|UT|Z)$/;

/** Day and month in either order, the clock by 12 or 24 hours. */
const CIVIL =
  /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}),?[T ](\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?$/;

const PER_SECOND: Readonly<Record<string, number>> = {
  'epoch-seconds': 1,
  'epoch-milliseconds': 1e3,
  'epoch-microseconds': 1e6,
  'epoch-nanoseconds': 1e9,
};

/**
 * An instant from a text with a zone (ISO 8601, RFC 3339, RFC 2822) or an epoch of this century, its unit told by
 * magnitude, unless a format is given. Null when it is anything else, or ambiguous: a time is never guessed.
 */
export function parseTime(value: unknown, format?: InstantFormat): Instant | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const text = String(value);
  // A usual one whose last character is this Z is written as an instant is.
  if (USUAL.test(text) && (format ?? 'iso8601').startsWith('iso8601'))
    return text[23] === 'Z' ? (text as Instant) : toInstant(Date.parse(text));
  if (!BEGINNING.test(text)) return null;
  const epoch = /^(?:\/Date\()?(-?\d+(?:\.\d+)?)(?:[+-]\d{4}\)\/|\)\/)?$/.exec(text)?.[1];
  if (epoch !== undefined) return readEpoch(Number(epoch), PER_SECOND[format ?? '']);
  if (format === 'iso8601-utc') return parseIso(text) ?? parseIso(`${text}Z`);
  if (format === 'us-utc' || format === 'european-utc') return readCivil(text, format);
  return parseIso(text) ?? (RFC_2822.test(text) ? toInstant(Date.parse(text)) : null);
}

const FROM_2000 = Date.UTC(2000) / 1000;
const FROM_2100 = Date.UTC(2100) / 1000;

function readEpoch(value: number, unit: number | undefined): Instant | null {
  // Nothing else than an instant of this century: other numbers, as 20261121100000, have as many digits.
  const isUnit = (factor: number) => value >= FROM_2000 * factor && value < FROM_2100 * factor;
  const scale = unit ?? Object.values(PER_SECOND).find(isUnit);
  if (scale === undefined) return null;
  // A double of seconds is never quite what was meant, so it is rounded; finer units are cut off, but for what a double lacks.
  return toInstant(
    scale === 1 ? Math.round(value * 1000) : Math.floor(value / (scale / 1000) + 0.0005),
  );
}

/** An instant from a text with a zone (ISO 8601, RFC 3339); null when it is anything else. */
export function parseIso(text: string): Instant | null {
  const match = ISO.exec(text.replace(BASIC, '$1-$2-$3T$4:$5:$6'));
  if (match === null) return null;
  const [, day = '', minute, second = '00', fraction = '', zulu, hours, minutes = '00'] = match;
  // V8 reads the 30th of February as a day in March.
  if (new Date(`${day}T00:00:00Z`).getUTCDate() !== Number(day.slice(8))) return null;
  const zone = zulu === undefined ? `${hours}:${minutes}` : 'Z';
  const millis = fraction.slice(0, 3).padEnd(3, '0');
  // A leap second has no millisecond of its own: it is read as the last one before it.
  const clock = second === '60' ? '59.999' : `${second}.${millis}`;
  return toInstant(Date.parse(`${day}T${minute}:${clock}${zone}`));
}

function readCivil(text: string, format: 'us-utc' | 'european-utc'): Instant | null {
  const match = CIVIL.exec(text);
  if (match === null) return null;
  const [, one = '', two = '', year, hour = '', minute, second = '00', half] = match;
  const [month, day] = format === 'us-utc' ? [one, two] : [two, one];
  const hours =
    half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  const pad = (part: number | string) => String(part).padStart(2, '0');
  return parseIso(`${year}-${pad(month)}-${pad(day)}T${pad(hours)}:${minute}:${second}Z`);
}

/** The instant of so many milliseconds; null beyond the years 0 to 9999, as RFC 3339 has four digits for them. */
export function toInstant(millis: number): Instant | null {
  const date = new Date(millis);
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9999 ? (date.toISOString() as Instant) : null; // in these years it is the same form
}
