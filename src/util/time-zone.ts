/**
 * Finds the instant at which the clocks of a zone show a time; both in milliseconds, the time as if it was in UTC. Null
 * if they skip it or show it twice, as in nights in which they are changed. With `isDate` the time is a midnight, and the
 * result the first instant of that day; null if the zone has no such day.
 */
export type TimeZone = (local: number, isDate?: boolean) => number | null;

const DAY = 86_400_000;

/**
 * Compiles a zone: `UTC`, a name of the IANA database such as `Europe/Berlin`, or an offset such as `+09:00`.
 * @throws RangeError if there is no such zone.
 */
export function compileTimeZone(timeZone: string): TimeZone {
  if (timeZone === 'UTC') return (local) => local;
  const formatter = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const offsetAt = (millis: number) => {
    const match = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(formatter.format(millis));
    const [, sign, hours = 0, minutes = 0, seconds = 0] = match ?? []; // no match: `GMT`
    const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return (sign === '-' ? -1000 : 1000) * offset;
  };
  const firstInstantOf = (midnight: number, before: number, after: number) => {
    let [last, first] = [before, after];
    while (first - last > 1000) {
      const between = 1000 * Math.floor((first + last) / 2000);
      if (between + offsetAt(between) < midnight) last = between;
      else first = between;
    }
    return first + offsetAt(first) < midnight + DAY ? first : null;
  };
  return (local, isDate = false) => {
    // No offset exceeds 14 hours: the change that could affect this time is between these two.
    const offsets = new Set([offsetAt(local - DAY), offsetAt(local + DAY)]);
    const instants = [...offsets].map((offset) => local - offset);
    const shown = instants.filter((one) => one + offsetAt(one) === local);
    if (!isDate) return shown.length === 1 ? (shown[0] ?? null) : null;
    if (shown.length > 0) return Math.min(...shown);
    return firstInstantOf(local, Math.min(...instants), Math.max(...instants));
  };
}

/** Whether there is such a zone. */
export function isTimeZone(text: string): boolean {
  try {
    return compileTimeZone(text) !== undefined;
  } catch {
    return false;
  }
}
