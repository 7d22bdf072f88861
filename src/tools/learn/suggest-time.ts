import { parentOf } from '../../inference/classify-paths.ts';
import type { FormattedTime } from '../../mapping/contract.ts';
import { compileTime, parseTime } from '../../mapping/time.ts';
import { compileTimePattern } from '../../util/time-pattern.ts';
import { areAll, type Candidate, type Suggestion } from './candidates.ts';

/** A date or a time alone: each is half of an instant. */
const DATE = /^(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d?[-/.]\d\d?[-/.]\d{4}|\d{8})$/;
const TIME_OF_DAY = /^\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?[AaPp]M)?$/;

/**
 * Suggests where and in which format the time of the event is: in one field, or in one with the date and one next to it
 * with the time of the day. A time without a zone is assumed to be in UTC. The names decide among several, and times of
 * another event (`updated at`, `expires`) come last.
 */
export function suggestTime(candidates: readonly Candidate[]): readonly Suggestion[] {
  const single = candidates.map((field) => ({
    ...{ rank: rankOf(field), fields: [field], values: field.values },
    source: { at: field.pointer },
  }));
  const dates = candidates.filter((field) => areAll(field, DATE));
  const times = candidates.filter((field) => areAll(field, TIME_OF_DAY));
  const joined = dates.flatMap((date) =>
    times
      .filter(({ pointer }) => parentOf(pointer) === parentOf(date.pointer))
      .map((time) => ({
        rank: Math.min(rankOf(date), rankOf(time)) - 1,
        fields: [date, time],
        values: date.texts.map((text, index) => `${text} ${time.texts[index]}`),
        source: { at: [date.pointer, time.pointer], join: ' ' },
      })),
  );
  return [...single, ...joined]
    .sort((a, b) => a.rank - b.rank)
    .flatMap(({ fields, values, source }) =>
      detectFormats(values).map((format) => ({
        contract: { occurredAt: format === null ? source.at : { ...source, ...format } },
        fields,
      })),
    );
}

function rankOf({ meaning, depth }: Candidate): number {
  const { ranks, isOtherTime, isInParty, isExcluded } = meaning;
  const named = ranks.occurredAt < 0 ? 10 : ranks.occurredAt;
  const other = isExcluded || isInParty ? 40 : isOtherTime ? 20 : 0;
  return named + other + depth / 10;
}

const parseIsoInUtc = compileTime({ as: 'iso8601', zone: 'UTC' });

/** Detects the formats in which every value is a time, best first; null for a time that needs none. */
export function detectFormats(
  values: readonly unknown[],
): readonly (Pick<FormattedTime, 'as' | 'zone'> | null)[] {
  if (values.length === 0) return [];
  if (values.every((value) => parseTime(value) !== null)) return [null];
  const texts = values.map(String);
  if (texts.every((text) => parseIsoInUtc(text) !== null)) return [{ as: 'iso8601', zone: 'UTC' }];
  const readings = patternsOf(texts).flatMap((pattern) => {
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

const MONTH = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;
const WEEKDAY = /^(?:mon|tue|wed|thu|fri|sat|sun)/i;

/** Digits without separators. */
const COMPACT = /^\d{8}([T _-]?)(\d{6}|\d{4})(\d{3})?$/;

/**
 * Lists the patterns (Unicode TR35) that texts may have, such as `dd.MM.yyyy HH:mm` for `20.11.2026 16:05`. If day and
 * month may be in either order, both are listed.
 */
function patternsOf(texts: readonly string[]): readonly string[] {
  const [text = ''] = texts;
  const [, separator = '', { length } = '', millis] = COMPACT.exec(text) ?? [];
  if (length > 0)
    return [`yyyyMMdd${quote(separator)}${'HHmmss'.slice(0, length)}${millis ? 'SSS' : ''}`];
  if (!/\d:\d\d/.test(text)) return [];
  const all = texts.map((one) => one.split(/([+-]\d\d:?\d\d$|\d+|[a-z]+)/i));
  const [tokens = []] = all;
  const monthFirst = ['M', 'd'];
  const dayFirst = ['d', 'M']; // everywhere, with points
  if (tokens.some((token) => MONTH.test(token))) return [toPattern(tokens, all, ['d'])];
  if (/^\d{4}\D/.test(text)) return [toPattern(tokens, all, monthFirst)];
  const orders = /^\d\d?\.\d/.test(text) ? [dayFirst] : [monthFirst, dayFirst];
  return orders.map((order) => toPattern(tokens, all, order));
}

/** The pattern of the tokens of a text. Numbers that have two digits in all texts have two letters. */
function toPattern(
  tokens: readonly string[],
  all: readonly (readonly string[])[],
  date: readonly string[],
): string {
  const hour = tokens.some((token) => /^[ap]m$/i.test(token)) ? 'h' : 'H';
  const [dateLetters, clockLetters] = [[...date], [hour, 'm', 's']];
  const pattern = tokens.map((token, index) => {
    const [before = '', after = ''] = [tokens[index - 1], tokens[index + 1]];
    if (/^[+-]\d/.test(token)) return token.includes(':') ? 'XXX' : 'XX';
    if (/^[ap]m$/i.test(token)) return 'a';
    if (MONTH.test(token)) return token.length > 3 ? 'MMMM' : 'MMM';
    if (WEEKDAY.test(token)) return token.length > 3 ? 'EEEE' : 'EEE';
    if (!/^\d+$/.test(token)) return quote(token);
    if (/^[.,]$/.test(before) && tokens[index - 3] === ':') return 'S'.repeat(token.length);
    if (token.length > 2) return token.length === 4 ? 'yyyy' : token;
    const letter = [before, after].includes(':') ? clockLetters.shift() : dateLetters.shift();
    if (letter === undefined) return 'yy';
    return all.every((other) => other[index]?.length === 2) ? letter.repeat(2) : letter;
  });
  return pattern.join('');
}

/** Letters that are no field are in quotes. */
function quote(text: string): string {
  return /[a-z]/i.test(text) ? `'${text}'` : text;
}
