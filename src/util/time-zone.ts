/** Whether a text is a zone: a name of the IANA database, such as `Europe/Berlin`, or an offset, such as `+09:00`. */
export function isTimeZone(text: string): boolean {
  try {
    return offsetsOf(text) !== undefined;
  } catch {
    return false;
  }
}

const DAY = 86_400_000;

/**
 * Finds the instant at which the clocks of a zone show a time.
 * @param local the time, in milliseconds since the epoch as if it was in UTC.
 * @returns null if the clocks skip the time or show it twice, as in nights in which they are changed.
 */
export function toUtc(local: number, zone: string): number | null {
  const offsetAt = offsetsOf(zone);
  // No offset exceeds 14 hours: the change that could affect this time is between these two.
  const offsets = new Set([offsetAt(local - DAY), offsetAt(local + DAY)]);
  const instants = [...offsets].map((offset) => local - offset);
  const [instant = null, second] = instants.filter((one) => local - offsetAt(one) === one);
  return second === undefined ? instant : null;
}

/** The offset of a zone from UTC at an instant; both in milliseconds. */
type Offsets = (millis: number) => number;

/** The zones that were used: creating a formatter takes 60 times as long as using it. A contract has one or two. */
const KNOWN = new Map<string, Offsets>();

/** @throws RangeError if there is no such zone. */
function offsetsOf(timeZone: string): Offsets {
  const offsetAt = KNOWN.get(timeZone) ?? createOffsets(timeZone);
  KNOWN.set(timeZone, offsetAt);
  return offsetAt;
}

function createOffsets(timeZone: string): Offsets {
  const formatter = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const offsetAt = (millis: number) => {
    const match = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(formatter.format(millis));
    const [, sign, hours, minutes, seconds = 0] = match ?? [];
    if (match === null) return 0; // `GMT`
    const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return (sign === '-' ? -1000 : 1000) * offset;
  };
  const isFixed = /^(?:utc$|[+-])/i.test(timeZone);
  const fixed = offsetAt(0);
  return isFixed ? () => fixed : offsetAt; // formatting takes two microseconds
}
