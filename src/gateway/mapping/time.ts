import { memoizeByObject } from '../../util/memoize.ts';
import { compileTimePattern } from '../../util/time-pattern.ts';
import { compileTimeZone } from '../../util/time-zone.ts';
import { toText } from './values.ts';

declare const instant: unique symbol;

/**
 * An instant in UTC: RFC 3339 with milliseconds, and after its `Z` the further digits of the second without the zeros at
 * their end, as in `2026-11-21T09:30:00.123Z4567`. So instants sort as texts, whatever number of digits they have.
 */
export type Instant = string & { readonly [instant]: true };

/** Every format of an instant, apart from patterns. */
export const INSTANT_FORMATS = [
  'iso8601',
  'rfc2822',
  'epoch-seconds',
  'epoch-milliseconds',
  'epoch-microseconds',
  'epoch-nanoseconds',
] as const;

/** A format of an instant. */
export type InstantFormat = (typeof INSTANT_FORMATS)[number];

/** A format of a time: one of an instant, or a pattern with the letters of Unicode TR35. */
export type TimeFormat = InstantFormat | { readonly pattern: string };

/** How a time is written. */
export type TimeNotation<Format = TimeFormat> = {
  readonly as: Format;
  /** The zone of values that have none: `UTC`, a name of the IANA database, or an offset such as `+09:00`. */
  readonly zone?: string | undefined;
};

/**
 * RFC 3339, also with a space for the T, with slashes or dots in the date, without seconds, without a colon in the offset,
 * and with UTC for Z or before the offset. After an offset Go writes the name of the zone and a monotonic clock. Annotations
 * in brackets (RFC 9557) do not change the instant.
 */
const ISO =
  /^(\d{4})([-/.])(\d\d?)\2(\d\d?)[Tt ](\d\d?:\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s?(?:([Zz]|UTC|GMT)|(?:UTC|GMT)?([+-]\d\d):?(\d\d)?(?: (?:[A-Z][A-Za-z]{1,5}|[+-]\d{2,4})(?: m=[+-][\d.]+)?)?)(?:\[[\w!+.,/:=~-]+\])*$/;

/** Valid RFC 3339 without a 29 February: `Date.parse` is correct for these, and fast. */
const RFC_3339 =
  /^[1-9]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)$/;

/** The start of an instant in any format. */
const START = /^(?:-?\d|\/Date\(|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )/;

/** The basic format of ISO 8601: `20261121T093000`. */
const BASIC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/;

/** The format of e-mail (RFC 2822, section 3.3) and HTTP: `Fri, 20 Nov 2026 10:00:00 +0000 (UTC)`. */
const DAY_FIRST =
  /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d(?::\d\d)?) ([+-]\d{4}|GMT|UTC|UT|Z)(?: \([^()]*\))?$/;

/** The formats of JavaScript, `Fri Nov 20 2026 10:00:00 GMT+0000 (UTC)`, and of Ruby, `Fri Nov 20 10:00:00 +0000 2026`. */
const MONTH_FIRST =
  /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d)(?: (\d{4}))? (\d\d:\d\d:\d\d) ((?:GMT)?[+-]\d{4})(?: (\d{4})| \([^()]*\))?$/;

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** The start of a date with day and month in either order, and a time. */
const US_OR_EUROPEAN = /^\d{1,2}[/.-]\d{1,2}[/.-]\d{4},?[T ]\d{1,2}:\d\d(?!\d)/;

const UNITS_PER_SECOND: Readonly<Record<string, number>> = {
  'epoch-seconds': 1,
  'epoch-milliseconds': 1e3,
  'epoch-microseconds': 1e6,
  'epoch-nanoseconds': 1e9,
};

/** The length of an instant without further digits. */
const MILLIS_LENGTH = 24;

/** Digits of a second after the third. */
const FURTHER = /\.\d{3}(\d+)/;

/**
 * Parses an instant. Without a format: a text with a zone (ISO 8601, RFC 3339, RFC 2822), or an epoch in this century,
 * whose unit is detected from its magnitude. Null for anything else, and for ambiguous dates: a time is never guessed.
 */
export function parseTime(value: unknown, format?: InstantFormat): Instant | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const text = String(value);
  if (RFC_3339.test(text) && (format ?? 'iso8601') === 'iso8601') {
    const next = text[23] ?? ''; // after the third digit
    // 24 characters that end in Z already have the format of an `Instant`.
    if (next === 'Z') return text as Instant;
    const hasFurther = text[19] === '.' && next >= '0' && next <= '9';
    return toInstant(Date.parse(text), hasFurther ? FURTHER.exec(text)?.[1] : '');
  }
  if (!START.test(text)) return null;
  const epoch = /^(?:\/Date\()?(-?\d+(?:\.\d+)?)(?:[+-]\d{4}\)\/|\)\/)?$/.exec(text)?.[1];
  if (epoch !== undefined)
    return parseEpoch(epoch, UNITS_PER_SECOND[format ?? ''], typeof value === 'number');
  return parseIso(text) ?? parseNamed(text);
}

const START_OF_2000 = Date.UTC(2000) / 1000;
const START_OF_2100 = Date.UTC(2100) / 1000;

function parseEpoch(
  text: string,
  unitsPerSecond: number | undefined,
  isDouble: boolean,
): Instant | null {
  const value = Number(text);
  // Only instants of this century: numbers such as 20261121100000, a date in digits, must not match another unit.
  const isUnit = (units: number) => value >= START_OF_2000 * units && value < START_OF_2100 * units;
  const scale = unitsPerSecond ?? Object.values(UNITS_PER_SECOND).find(isUnit);
  if (scale === undefined) return null;
  if (scale <= 1000 && !text.includes('.')) return toInstant(value * (1000 / scale));
  // Before 1970 further digits would count backwards.
  if (value < 0) return toInstant(Math.round(value / (scale / 1000)));
  const digits = String(scale).length - 1; // of a second in this unit
  // In this century, a double is exact to the microsecond.
  const exact = isDouble && text.includes('.') ? value.toFixed(Math.max(0, 6 - digits)) : text;
  const [whole = '', fraction = ''] = exact.split('.');
  const end = Math.max(0, whole.length - digits);
  const ofSecond = whole.slice(end).padStart(digits, '0') + fraction;
  const millis = Number(ofSecond.slice(0, 3).padEnd(3, '0'));
  return toInstant(1000 * Number(whole.slice(0, end)) + millis, ofSecond.slice(3));
}

/** Detects the format in which `parseTime` reads a value; null for a value that it does not read. */
export function detectFormat(value: unknown): InstantFormat | null {
  const time = parseTime(value);
  if (time === null) return null;
  if (parseIso(String(value)) !== null) return 'iso8601';
  if (parseNamed(String(value)) !== null) return 'rfc2822';
  const isEpoch = (format: InstantFormat) => format in UNITS_PER_SECOND;
  return (
    INSTANT_FORMATS.filter(isEpoch).find((format) => parseTime(value, format) === time) ?? null
  );
}

/** Parses a text with a zone (ISO 8601, RFC 3339, RFC 9557); null for anything else. */
export function parseIso(text: string): Instant | null {
  const match = ISO.exec(text.replace(BASIC, '$1-$2-$3T$4:$5:$6'));
  if (match === null) return null;
  const [, year, , month = '', date = '', minute = '', second = '00', fraction = '', zulu] = match;
  const [hours, minutes = '00'] = [match[9], match[10]];
  const day = `${year}-${month.padStart(2, '0')}-${date.padStart(2, '0')}`;
  // `Date` turns 30 February into a day in March.
  if (new Date(`${day}T00:00:00Z`).getUTCDate() !== Number(date)) return null;
  const zone = zulu === undefined ? `${hours}:${minutes}` : 'Z';
  // `Date` has no leap seconds: use the last nanosecond before it.
  const [clock, digits] = second === '60' ? ['59', '999999999'] : [second, fraction];
  const millis = digits.slice(0, 3).padEnd(3, '0');
  const time = Date.parse(`${day}T${minute.padStart(5, '0')}:${clock}.${millis}${zone}`);
  return toInstant(time, digits.slice(3));
}

/** Parses a text with the name of a month and a zone; null for anything else. */
function parseNamed(text: string): Instant | null {
  const [, day, name, year, time, zone] =
    DAY_FIRST.exec(text) ?? toDayFirst(MONTH_FIRST.exec(text));
  if (name === undefined) return null;
  const month = MONTHS.indexOf(name) / 3 + 1;
  return parseIso(`${year}-${month}-${day}T${time}${zone === 'UT' ? 'Z' : zone}`);
}

function toDayFirst(match: readonly string[] | null): readonly (string | undefined)[] {
  const [all, name, day, year = '', time, zone, yearAtEnd = ''] = match ?? [];
  return [all, day, name, year + yearAtEnd, time, zone]; // it has one of the years
}

/**
 * Compiles a notation into a function that parses a time. A time without a zone is null if there is no `zone`, or if
 * its clocks skip it or show it twice. A date alone is the first instant of that day, which is not always midnight.
 */
export const compileTime = memoizeByObject(({ as, zone }: TimeNotation) => {
  const toUtc = zone === undefined ? () => null : compileTimeZone(zone);
  const parseLocal = (iso: string | null, isDate = false) => {
    const asUtc = parseAsUtc(iso ?? '');
    const millis = asUtc === null ? null : toUtc(Date.parse(cutToMillis(asUtc)), isDate);
    return millis === null ? null : toInstant(millis, asUtc?.slice(MILLIS_LENGTH));
  };
  if (typeof as === 'string')
    return (value: unknown) => parseTime(value, as) ?? parseLocal(toText(value));
  const pattern = compileTimePattern(as.pattern);
  return (value: unknown) => {
    const iso = pattern?.toIso(toText(value) ?? '') ?? null;
    return iso === null ? null : (parseIso(iso) ?? parseLocal(iso, pattern?.isDate));
  };
});

/** Parses a text without a zone, in the format of ISO 8601. */
function parseAsUtc(text: string): Instant | null {
  return /^\d{4}[/.]/.test(text) ? null : parseIso(`${text}Z`);
}

/** Whether a text is a time without a zone: an instant only if the zone is known. */
export function isLocalTime(text: string): boolean {
  return /^\d/.test(text) && (US_OR_EUROPEAN.test(text) || parseAsUtc(text) !== null);
}

/**
 * Converts milliseconds since the epoch, and the digits of the second after them. Null after the year 9999, the last one of
 * RFC 3339, and before the year 2: the first day of the year 1 is the zero time of Go and .NET, which means "not set".
 */
export function toInstant(millis: number, further = ''): Instant | null {
  const date = new Date(millis);
  const year = date.getUTCFullYear();
  if (!(year >= 2 && year <= 9999)) return null;
  const iso = date.toISOString(); // has 24 characters in these years
  return (further === '' ? iso : iso + further.replace(/(?<!0)0+$/, '')) as Instant;
}

/** The zero time of Go and .NET: before every instant that is read. */
export const ZERO_TIME = '0001-01-01T00:00:00.000Z' as Instant;

/** Parses a time of the year 1, which programs in Go and .NET send if none is set; null for anything else. */
export function parseZeroTime(text: string): Instant | null {
  const inLaterYear = text.replace(/^0001/, '2001'); // with the same days
  return inLaterYear !== text && parseIso(inLaterYear) !== null ? ZERO_TIME : null;
}

/** The instant with milliseconds, as `DateTime` has it. Further digits are cut. */
export function cutToMillis(instant: Instant): Instant {
  return instant.slice(0, MILLIS_LENGTH) as Instant; // still the format of an instant
}

/** The instant in RFC 3339, with all its digits. */
export function formatInstant(instant: Instant): string {
  const end = MILLIS_LENGTH - 1;
  return `${instant.slice(0, end)}${instant.slice(MILLIS_LENGTH)}Z`;
}

/**
 * Rounds an instant to the unit of a format. A service that compares times in this unit may cut or round what it gets: then
 * nothing changes any more. Up, a date is one day later: the service may take it in any zone. Null after the year 9999.
 * @param format Default: milliseconds, also for texts of ISO 8601, which may have any number of digits.
 */
export function roundInstant(
  instant: Instant,
  direction: 'down' | 'up',
  format?: TimeFormat,
): Instant | null {
  const { ms, further: places, margin } = unitOf(format);
  const [millis, further] = [Date.parse(cutToMillis(instant)), instant.slice(MILLIS_LENGTH)];
  const start = Math.floor(millis / ms) * ms;
  const kept = further.slice(0, places);
  const isExact = start === millis && kept === further;
  if (direction === 'down') return toInstant(start, kept);
  if (isExact) return toInstant(start + margin, kept);
  const next = Number(kept.padEnd(places, '0')) + 1;
  return next === 10 ** places
    ? toInstant(start + ms + margin)
    : toInstant(start, String(next).padStart(places, '0'));
}

/** The digits of a second in each format. */
const DIGITS: Readonly<Record<InstantFormat, number>> = {
  iso8601: 3,
  rfc2822: 0,
  'epoch-seconds': 0,
  'epoch-milliseconds': 3,
  'epoch-microseconds': 6,
  'epoch-nanoseconds': 9,
};

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** Milliseconds, digits after them, and what is added when a time is rounded up. */
type Unit = Readonly<Record<'ms' | 'further' | 'margin', number>>;

function unitOf(format: TimeFormat = 'iso8601'): Unit {
  return typeof format === 'string' ? unitOfDigits(DIGITS[format]) : unitOfPattern(format);
}

function unitOfDigits(digits: number): Unit {
  return { ms: 10 ** Math.max(0, 3 - digits), further: Math.max(0, digits - 3), margin: 0 };
}

const unitOfPattern = memoizeByObject(({ pattern }: { readonly pattern: string }): Unit => {
  const precision = compileTimePattern(pattern)?.precision ?? DIGITS.iso8601;
  if (precision === 'day') return { ms: DAY, further: 0, margin: DAY };
  return precision === 'minute' ? { ms: MINUTE, further: 0, margin: 0 } : unitOfDigits(precision);
});
