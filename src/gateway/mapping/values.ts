import { wordsOfPointer } from './member-names.ts';
import { FAILURE, FAILURE_FLAG, FLAG, NO_VALUE, SUCCESS } from './vocabulary.ts';

/** Whether a value is a JSON object: not an array, not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object with more members is no record: its keys are data, such as IDs. */
const MAX_MEMBERS = 1000;

/** Members of such an object that are examined. */
const SAMPLE_SIZE = 100;

/** The names of the first members of objects with too many. */
const FIRST_NAMES = new WeakMap<object, readonly string[]>();

/**
 * The names of the members of an object; the first 100 of more than 1,000. V8 collects the names of all before a loop has the
 * first one: of 300,000 members it takes 60 ms, half the time of parsing them, so it is done once.
 */
export function firstNames(object: object): readonly string[] {
  const known = FIRST_NAMES.get(object);
  if (known !== undefined) return known;
  const names = Object.keys(object);
  if (names.length <= MAX_MEMBERS) return names;
  const first = names.slice(0, SAMPLE_SIZE);
  FIRST_NAMES.set(object, first);
  return first;
}

/** Whether an object has more members than {@link firstNames} lists. */
export function hasManyMembers(object: object): boolean {
  return firstNames(object) === FIRST_NAMES.get(object);
}

/** Whether an object or an array is empty. */
export function isEmpty(value: object): boolean {
  return (Array.isArray(value) ? value : firstNames(value)).length === 0;
}

/** Converts text and numbers to text. Null for anything else, and for text that means "no value", see NO_VALUE. */
export function toText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && (value.length > 4 || !NO_VALUE.test(value)) ? value : null;
}

/** The key of a value in a map: of a list or an object, the number of its items; `null` if there is no value. */
export function toKey(value: unknown): string {
  const isContainer = typeof value === 'object' && value !== null;
  return String(isContainer ? Object.keys(value).length : (value ?? null));
}

/** Reads a flag, in any of the ways in which services write one: true, "True", "Y", "on", 1. Null for anything else. */
export function toFlag(value: unknown): boolean | null {
  const match = typeof value === 'object' ? null : FLAG.exec(String(value));
  return match && match[1] !== undefined;
}

/** Whether a value is a whole number of digits, as a number or as text. */
export function isCount(value: unknown): boolean {
  return typeof value !== 'object' && /^\d+$/.test(String(value));
}

/** Reads a count. One beyond 2^53 has lost digits; it is then larger than any list. */
export function toCount(value: unknown): number | null {
  return isCount(value) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
}

/** Whether an action succeeded. */
export type EventOutcome = 'SUCCESS' | 'FAILURE';

/** Longer texts are never outcomes. */
const MAX_LENGTH = 1000;

/** A single word, which needs no splitting. */
const WORD = /^(?:[a-z]+|[A-Z]+)$/;

/** Parses a boolean or a text in any case style. Null for anything else, and for text that is both or neither. */
export function parseOutcome(value: unknown): EventOutcome | null {
  if (typeof value !== 'boolean' && typeof value !== 'string') return null;
  const given = String(value);
  if (given.length > MAX_LENGTH) return null;
  const text = WORD.test(given) ? given : given.replace(/[_-]|(?<=[a-z])(?=[A-Z])/g, ' ');
  const isSuccess = SUCCESS.test(text);
  if (isSuccess === FAILURE.test(text)) return null;
  return isSuccess ? 'SUCCESS' : 'FAILURE';
}

/** Parses an HTTP status: 2xx and 3xx are success, 4xx and 5xx failure (RFC 9110, section 15). Null for anything else. */
export function parseHttpStatus(value: unknown): EventOutcome | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  if (!/^[2-5]\d\d$/.test(String(value))) return null;
  return Number(value) < 400 ? 'SUCCESS' : 'FAILURE';
}

/** Whether a pointer leads to a flag such as `is_failure`, whose `true` would be read as success. */
export function isFailureFlag(pointer: string): boolean {
  return FAILURE_FLAG.test(wordsOfPointer(pointer));
}
