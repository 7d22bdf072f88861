/** Reads texts in the format of a pattern. */
export type TimePattern = {
  readonly hasZone: boolean;
  /** Whether it has no time of day: the time is then 00:00. */
  readonly isDate: boolean;
  /** Its smallest part: a number is that of the digits of a second after the point. */
  readonly precision: 'day' | 'minute' | number;
  /** Converts a text to ISO 8601, with a zone if the pattern has one. Null for a text in another format. */
  readonly toIso: (text: string) => string | null;
};

const MONTHS =
  'January February March April May June July August September October November December';
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday';

type Field = readonly [part: string, source: string];

/** Every field of a pattern (Unicode TR35, "Date Field Symbols"): its part of the time, and what it matches. */
const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['y', ['year', '\\d{4}']],
  ['yyyy', ['year', '\\d{4}']],
  ['yy', ['year', '\\d\\d']],
  ['M', ['month', '[1-9]|1[0-2]']],
  ['MM', ['month', '0[1-9]|1[0-2]']],
  ['MMM', ['month', anyOf(MONTHS, 3)]],
  ['MMMM', ['month', anyOf(MONTHS)]],
  ['d', ['day', '[1-9]|[12]\\d|3[01]']],
  ['dd', ['day', '0[1-9]|[12]\\d|3[01]']],
  ['EEE', ['weekday', anyOf(WEEKDAYS, 3)]],
  ['EEEE', ['weekday', anyOf(WEEKDAYS)]],
  ['H', ['hour', '1?\\d|2[0-3]']],
  ['HH', ['hour', '[01]\\d|2[0-3]']],
  ['h', ['hour', '[1-9]|1[0-2]']],
  ['hh', ['hour', '0[1-9]|1[0-2]']],
  ['a', ['half', '[AaPp][Mm]']],
  ['m', ['minute', '[1-5]?\\d']],
  ['mm', ['minute', '[0-5]\\d']],
  ['s', ['second', '[1-5]?\\d|60']],
  ['ss', ['second', '[0-5]\\d|60']],
  ['X', ['zone', 'Z|[+-]\\d\\d(?:\\d\\d)?']],
  ['XX', ['zone', 'Z|[+-]\\d{4}']],
  ['XXX', ['zone', 'Z|[+-]\\d\\d:\\d\\d']],
  ['Z', ['zone', '[+-]\\d{4}']],
]);

/**
 * Names in any case, as in `20-NOV-2026`. Without the modifier `(?i:…)`: V8 13.6 ignored it in half of the
 * runs of the whole test suite.
 */
function anyOf(names: string, length?: number): string {
  return names
    .split(' ')
    .map((name) =>
      name.slice(0, length).replace(/./g, (c) => `[${c.toUpperCase()}${c.toLowerCase()}]`),
    )
    .join('|');
}

function fieldOf(token: string): Field | undefined {
  const digits = /^S{1,9}$/.test(token) ? token.length : 0;
  return digits > 0 ? ['fraction', `\\d{${digits}}`] : FIELDS.get(token);
}

/** A quoted text, in which `''` is a quote; a field; any other character. */
const TOKENS = /'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']/g;

/** Parts without which a date is not known, or a time to the minute. */
const DATE = ['year', 'month', 'day'];
const TIME = ['hour', 'minute'];

/**
 * Compiles a pattern such as `yyyyMMddHHmmss`. Null if it has a letter that is no field, or a part twice; if it lacks a
 * required part; or if a number of one or two digits is directly before another number.
 */
export function compileTimePattern(pattern: string): TimePattern | null {
  const tokens = pattern.match(TOKENS) ?? [];
  const letters = tokens.filter((token) => /^[A-Za-z]/.test(token));
  const parts = letters.map((token) => fieldOf(token)?.[0]);
  const isAmbiguous = tokens.some(
    (token, index) =>
      /^[MdHhms]$/.test(token) && /^(?:MM?$|[ydHhmsS])/.test(tokens[index + 1] ?? ''),
  );
  const isDate = !parts.some((part) => /^(?:hour|half|minute|second|fraction)$/.test(part ?? ''));
  const isValid =
    tokens.join('') === pattern && // else a quote is not closed
    new Set([...parts, undefined]).size > parts.length &&
    (isDate ? DATE : [...DATE, ...TIME]).every((part) => parts.includes(part)) &&
    parts.includes('half') === letters.some((token) => token.startsWith('h'));
  if (!isValid || isAmbiguous) return null;
  const matches = new RegExp(`^${tokens.map(toSource).join('')}$`);
  const fraction = letters.find((token) => token.startsWith('S')) ?? '';
  return {
    ...{ hasZone: parts.includes('zone'), isDate },
    precision: isDate ? 'day' : parts.includes('second') ? fraction.length : 'minute',
    toIso: (text) => toIso(matches.exec(text)?.groups),
  };
}

/** A group named after its part for a field, and an escaped text for anything else. */
function toSource(token: string): string {
  const field = fieldOf(token);
  if (field !== undefined) return `(?<${field[0]}>${field[1]})`;
  const text = token === "''" ? "'" : token.replace(/^'|'$/g, '').replaceAll("''", "'");
  return text.replace(/[^\w\s]/g, '\\$&');
}

/** Joins the parts. Null if there are none, or if the weekday is not that of the date. */
function toIso(parts: Readonly<Record<string, string>> = {}): string | null {
  const { year, month, day, weekday, half } = parts;
  const { hour = 0, minute = 0, second = 0, fraction = 0 } = parts;
  if (year === undefined || month === undefined) return null;
  const pad = (part: unknown) => String(part).padStart(2, '0');
  const months = /\d/.test(month) ? month : indexIn(MONTHS, month) + 1;
  const hours = half === undefined ? hour : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  const date = `${year.padStart(4, '20')}-${pad(months)}-${pad(day)}`;
  const isOtherDay =
    weekday !== undefined && indexIn(WEEKDAYS, weekday) !== new Date(`${date}Z`).getUTCDay();
  const time = `${pad(hours)}:${pad(minute)}:${pad(second)}.${fraction}`;
  return isOtherDay ? null : `${date}T${time}${parts['zone'] ?? ''}`;
}

function indexIn(names: string, start: string): number {
  const isName = (name: string) => name.toLowerCase().startsWith(start.toLowerCase());
  return names.split(' ').findIndex(isName);
}
