/** The letters of a day and of a month in digits. */
type Letter = 'd' | 'M';

const MONTH = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;
const WEEKDAY = /^(?:mon|tue|wed|thu|fri|sat|sun)/i;

/** Digits without separators. */
const COMPACT = /^(\d{8})([T _-]?)(\d{6}|\d{4})(\d{3})?$/;

/**
 * Lists the patterns (Unicode TR35) that a text may have, such as `dd.MM.yyyy HH:mm` for `20.11.2026 16:05`. If day and
 * month may be in either order, both are listed.
 */
export function patternsOf(text: string): readonly string[] {
  const compact = COMPACT.exec(text);
  if (compact !== null) {
    const [, , separator = '', clock = '', millis] = compact;
    return [
      `yyyyMMdd${quoteLetters(separator)}${clock.length === 6 ? 'HHmmss' : 'HHmm'}${millis ? 'SSS' : ''}`,
    ];
  }
  // With points, the day is first everywhere.
  const orders = /^\d\d?\.\d/.test(text) ? DAY_AND_MONTH.slice(1) : DAY_AND_MONTH;
  const patterns = orders.flatMap((order) =>
    WIDTHS.map((isPadded) => toPattern(text, order, isPadded)),
  );
  return [...new Set(patterns)].filter((pattern) => pattern !== null);
}

/** Orders of the numbers of a date that do not have four digits. */
const DAY_AND_MONTH: readonly (readonly Letter[])[] = [
  ['M', 'd'],
  ['d', 'M'],
];

/** Which numbers always have two digits. Those with all are the most likely. */
const WIDTHS = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => ({
  M: (bits & 1) === 0,
  d: (bits & 2) === 0,
  hour: (bits & 4) === 0,
}));

function toPattern(
  text: string,
  order: readonly Letter[],
  isPadded: Readonly<Record<'M' | 'd' | 'hour', boolean>>,
): string | null {
  const hasNamedMonth = text.split(/[^a-z]+/i).some((word) => MONTH.test(word));
  const numbers: Letter[] = hasNamedMonth ? ['d'] : [...order];
  const startsWithYear = /^\d{4}\D/.test(text);
  if (startsWithYear && !hasNamedMonth && order[0] === 'd') return null; // a year is before the month
  const [, clock = '', half = ''] =
    /(?<!\d)(\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)( ?[ap]m)?/i.exec(text) ?? [];
  const width = (letter: string, padded: boolean) => (padded ? letter.repeat(2) : letter);
  const clockPattern = clock
    .replace(/[.,]\d+$/, (fraction) => `${fraction[0]}${'S'.repeat(fraction.length - 1)}`)
    .replace(/^\d\d?:\d\d/, `${width(half === '' ? 'H' : 'h', isPadded.hour)}:mm`)
    .replace(/:\d\d/, ':ss');
  const tokens = text.replace(clock + half, '\0').split(/(\0|\d+|[a-z]+|[+-]\d\d:?\d\d$)/i);
  const pattern = tokens.map((token) => {
    if (token === '\0') return clockPattern + half.replace(/[ap]m/i, 'a');
    if (/^[+-]\d\d:?\d\d$/.test(token)) return token.includes(':') ? 'XXX' : 'XX';
    if (/^\d{4}$/.test(token)) return 'yyyy';
    if (/^\d\d?$/.test(token)) {
      const letter = numbers.shift();
      return letter === undefined ? 'yy' : width(letter, isPadded[letter]);
    }
    if (MONTH.test(token)) return token.length > 3 ? 'MMMM' : 'MMM';
    if (WEEKDAY.test(token)) return token.length > 3 ? 'EEEE' : 'EEE';
    return quoteLetters(token);
  });
  return clock === '' ? null : pattern.join('');
}

/** Letters that are no field are in quotes. */
function quoteLetters(text: string): string {
  return /[a-z]/i.test(text) ? `'${text}'` : text;
}
