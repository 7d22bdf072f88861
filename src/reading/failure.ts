import { isObject, wordsOf } from './names.ts';
import { readOutcome } from './outcome.ts';

/** Yes or no, under these names. */
const FLAGS = /^(?:is )?(?:success|successful|ok|succeeded|deleted|removed)$/;

/** A word or an HTTP status, under these. */
const WORDS = /^(?:result|status|outcome|status code|http status|http status code)$/;

/** Whether a body speaks against the success that its status announced: at its top, or one wrapper down. */
export function saysItFailed(body: unknown): boolean {
  if (!isObject(body)) return body === false;
  return [body, ...Object.values(body).filter(isObject)]
    .flatMap(Object.entries)
    .some(speaksAgainst);
}

function speaksAgainst([name, value]: readonly [string, unknown]): boolean {
  const words = wordsOf(name).join(' ');
  if (words === 'error') return isComplaint(value); // what went wrong, if anything
  const isPlain = /^(?:string|number|boolean)$/.test(typeof value);
  const isNo = readOutcome(value) === 'FAILURE' || (isPlain && /^no$/i.test(String(value)));
  if (FLAGS.test(words)) return isNo || (isPlain && String(value) === '0');
  return WORDS.test(words) && (isNo || (isPlain && Number(value) >= 400));
}

function isComplaint(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== null && value !== '' && value !== false && value !== 0;
}
