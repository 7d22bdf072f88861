import type { RecordField } from '../../gateway/inference/record-fields.ts';
import type { FormattedTime } from '../../gateway/mapping/contract.ts';
import { parentOf } from '../../gateway/mapping/json-pointer.ts';
import { compileTime, cutToMillis, parseTime } from '../../gateway/mapping/time.ts';
import { compileTimePattern } from '../../util/time-pattern.ts';
import type { SuggestedEntry } from './suggested-entry.ts';

/** A date or a time alone: each is half of an instant. */
const DATE = /^(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d?[-/.]\d\d?[-/.]\d{4}|\d{8})$/;
const TIME_OF_DAY = /^\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?[AaPp]M)?$/;

/**
 * By pointer, suggests in which format a time is that inference does not read, or a date with a time of the day next to
 * it. A time without a zone is assumed to be in UTC.
 */
export function suggestFormats(
  fields: readonly RecordField[],
): ReadonlyMap<string, readonly SuggestedEntry[]> {
  const clocks = fields.filter(({ values }) => areAll(values, TIME_OF_DAY));
  const unread = fields.filter(({ kind }) => kind !== 'time' && kind !== 'epoch');
  const readings = unread.map((date) => {
    const { pointer, values } = date;
    const [clock] = areAll(values, DATE)
      ? clocks.filter((one) => parentOf(one.pointer) === parentOf(pointer))
      : [];
    const texts = values.map((value, index) => (clock ? `${value} ${clock.values[index]}` : value));
    const source = clock ? { at: [pointer, clock.pointer], join: ' ' } : { at: pointer };
    const all = detectFormats(texts).map(
      (format): SuggestedEntry => ({
        entry: format === null ? pointer : { ...source, ...format },
        fields: clock ? [date, clock] : [date],
      }),
    );
    return [pointer, all] as const;
  });
  return new Map(readings.filter(([, all]) => all.length > 0));
}

function areAll(values: readonly unknown[], pattern: RegExp): boolean {
  return values.every((value) => pattern.test(String(value)));
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
  return time === null ? null : Date.parse(cutToMillis(time));
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
