import { GatewayError } from '../errors.ts';
import type { Answer } from './contract.ts';
import { isObject, wordsOf } from './names.ts';
import { readOutcome } from './outcome.ts';

/** Yes or no, under these names. */
const FLAGS = /^(?:is )?(?:success|successful|ok|succeeded|deleted|removed)$/;

/** A word or an HTTP status, under these. */
const WORDS = /^(?:result|status|outcome|status code|http status|http status code)$/;

/**
 * Takes the word of a body that speaks against the success that its status announced: at its top, or one wrapper down.
 * @throws GatewayError UPSTREAM_ERROR when it does.
 */
export function refuseFailed({ body, status: upstreamStatus }: Pick<Answer, 'body' | 'status'>) {
  const parts = isObject(body) ? [body, ...Object.values(body).filter(isObject)] : [];
  if (body === false || parts.flatMap(Object.entries).some(speaksAgainst))
    throw new GatewayError('UPSTREAM_ERROR', { reason: 'SAYS_IT_FAILED', upstreamStatus });
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
