/** RFC 3339 with its looser relatives of ISO 8601: a blank for the T, no seconds, no colon in the offset. The zone must be there. */
const ISO =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s?(?:([Zz])|([+-]\d\d):?(\d\d)?)$/;

/** From here to there a number of seconds is an instant between 1973 and 5138; a thousand times that is milliseconds, and so on. */
const EPOCH_SECONDS = [1e8, 1e11] as const;

/**
 * An instant from a text with a zone (ISO 8601, RFC 3339) or an epoch in seconds, milliseconds or microseconds,
 * told apart by magnitude. Null when it is anything else, or ambiguous: a time is never guessed.
 */
export function readTime(value: unknown): Date | null {
  if (typeof value === 'number') return readEpoch(value);
  if (typeof value !== 'string') return null;
  return /^\d{9,17}(\.\d+)?$/.test(value) ? readEpoch(Number(value)) : readIso(value);
}

function readEpoch(value: number): Date | null {
  const [from, to] = EPOCH_SECONDS;
  const scale = [1, 1e3, 1e6].find((factor) => value >= from * factor && value < to * factor);
  if (scale === undefined) return null;
  // Milliseconds are cut off, not rounded; a double of seconds may fall short of one by up to 15 µs.
  return validDate(Math.floor((value * 1000) / scale + 0.02));
}

/** An instant from a text with a zone (ISO 8601, RFC 3339); null when it is anything else. */
export function readIso(text: string): Date | null {
  const match = ISO.exec(text);
  if (match === null) return null;
  const [, day = '', minute, second = '00', fraction = '', zulu, hours, minutes = '00'] = match;
  if (!isCalendarDay(day)) return null;
  const zone = zulu === undefined ? `${hours}:${minutes}` : 'Z';
  const millis = fraction.slice(0, 3).padEnd(3, '0');
  // A leap second has no millisecond of its own: it is read as the last one before it.
  const clock = second === '60' ? '59.999' : `${second}.${millis}`;
  return validDate(Date.parse(`${day}T${minute}:${clock}${zone}`));
}

/** V8 reads the 30th of February as a day in March. */
function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** The instant of so many milliseconds; null beyond the years 0 to 9999, as RFC 3339 has four digits for them. */
export function validDate(millis: number): Date | null {
  const date = new Date(millis);
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9999 ? date : null;
}
