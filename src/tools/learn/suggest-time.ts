import { parentOf } from '../../inference/classify-paths.ts';
import type { FormattedTime } from '../../mapping/contract.ts';
import { compileTime, parseTime } from '../../mapping/time.ts';
import { compileTimePattern } from '../../util/time-pattern.ts';
import { areAll, type Candidate, type Suggestion } from './candidates.ts';

/** How to read the times of a field. */
type TimeFormat = Pick<FormattedTime, 'as' | 'zone' | 'join'>;

/** A field, or two, with the time of an event. */
type TimeCandidate = {
  readonly rank: number;
  readonly at: string | readonly string[];
  readonly format: TimeFormat | null;
  readonly examples: readonly unknown[];
};

/** Longer texts are no times. */
const MAX_LENGTH = 60;

/**
 * Suggests where and in which format the time of the event is. A time without a zone is assumed to be in UTC. The names
 * decide among several, and times of another event (`updated at`, `expires`) come last.
 */
export function suggestTime(candidates: readonly Candidate[]): readonly Suggestion[] {
  const short = candidates.filter(({ texts }) => texts.every((text) => text.length <= MAX_LENGTH));
  const single = short.flatMap((candidate) =>
    detectFormats(candidate.values).map((format) => ({
      rank: rankOf(candidate),
      at: candidate.pointer,
      format,
      examples: [candidate.texts[0]],
    })),
  );
  return [...single, ...joinDatesAndTimes(short)]
    .sort((a, b) => a.rank - b.rank)
    .map(({ at, format, examples }) => ({
      contract: { occurredAt: format === null ? at : { at, ...format } },
      examples: [at].flat().map((pointer, index) => ({ pointer, value: examples[index] })),
    }));
}

function rankOf({ meaning, path, depth }: Candidate): number {
  const { ranks, isOtherTime, isInParty, isExcluded } = meaning;
  const named = ranks.occurredAt < 0 ? 10 : ranks.occurredAt;
  const other = isExcluded || isInParty ? 40 : isOtherTime ? 20 : 0;
  const isExact = /^(?:time|timestamp|date|date time|datetime|when)$/.test(path);
  return named + other + depth / 10 - (isExact ? 0.5 : 0);
}

/** A date or a time alone: each is half of an instant. */
const DATE = /^(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d?[-/.]\d\d?[-/.]\d{4}|\d{8})$/;
const TIME_OF_DAY = /^\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?[AaPp]M)?$/;

/** Joins a field with dates and one next to it with times of the day. */
function joinDatesAndTimes(candidates: readonly Candidate[]): readonly TimeCandidate[] {
  const dates = candidates.filter((candidate) => areAll(candidate, DATE));
  const times = candidates.filter((candidate) => areAll(candidate, TIME_OF_DAY));
  const pairs = dates.flatMap((date) =>
    times
      .filter(({ pointer }) => parentOf(pointer) === parentOf(date.pointer))
      .filter(({ texts }) => texts.length === date.texts.length)
      .map((time) => ({ date, time })),
  );
  return pairs.flatMap(({ date, time }) => {
    const texts = date.texts.map((text, index) => `${text} ${time.texts[index]}`);
    const formats = detectFormats(texts).filter((format) => format !== null);
    return formats.map((format) => ({
      rank: Math.min(rankOf(date), rankOf(time)) - 1,
      at: [date.pointer, time.pointer],
      format: { join: ' ', ...format },
      examples: [date.texts[0], time.texts[0]],
    }));
  });
}

const parseIsoInUtc = compileTime({ as: 'iso8601', zone: 'UTC' });

/** Detects the formats in which every value is a time, best first; null for a time that needs none. */
export function detectFormats(values: readonly unknown[]): readonly (TimeFormat | null)[] {
  if (values.length === 0) return [];
  if (values.every((value) => parseTime(value) !== null)) return [null];
  const texts = values.map(String);
  if (texts.every((text) => parseIsoInUtc(text) !== null)) return [{ as: 'iso8601', zone: 'UTC' }];
  const readings = patternsOf(texts[0] ?? '').flatMap((pattern) => {
    const times = texts.map((text) => readPattern(text, pattern));
    return times.every((time) => time !== null) ? [{ pattern, span: spanOf(times) }] : [];
  });
  // Day and month may be in either order: the records of a page are close together.
  const byOrder = new Map(readings.map((one) => [one.span, one] as const).toReversed());
  return [...byOrder.values()]
    .sort((a, b) => a.span - b.span)
    .map(({ pattern }) => ({
      as: { pattern },
      ...(!/[XZ]/.test(pattern) && { zone: 'UTC' as const }),
    }));
}

/** Milliseconds from the earliest to the latest. */
function spanOf(times: readonly number[]): number {
  return Math.max(...times) - Math.min(...times);
}

function readPattern(text: string, pattern: string): number | null {
  if (compileTimePattern(pattern) === null) return null;
  const time = compileTime({ as: { pattern }, zone: 'UTC' })(text);
  return time === null ? null : Date.parse(time);
}

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
function patternsOf(text: string): readonly string[] {
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
