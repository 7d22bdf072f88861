import { GatewayError } from '../errors.ts';
import { isObject, type Members, membersOf, wordOf } from './names.ts';

/** What became of a deletion. */
export type Deletion = {
  readonly outcome: 'DELETED' | 'ACCEPTED';
  /** The whole answer; null when it was empty. */
  readonly raw: unknown;
};

/**
 * Reads the answer of a deletion, any 2xx: 202 is ACCEPTED, all else DELETED.
 * @throws GatewayError UPSTREAM_ERROR when the body says that it failed.
 */
export function readDeletion(answer: {
  readonly status: number;
  readonly body: unknown;
}): Deletion {
  const { status, body = null } = answer;
  if (saysItFailed(body)) {
    throw new GatewayError('UPSTREAM_ERROR', { reason: 'SAYS_IT_FAILED', upstreamStatus: status });
  }
  return { outcome: status === 202 ? 'ACCEPTED' : 'DELETED', raw: body };
}

/** Yes or no, under these names. */
const FLAGS = ['success', 'issuccess', 'successful', 'ok', 'succeeded', 'deleted', 'removed'];

/** A word or an HTTP status, under these. */
const WORDS = ['result', 'status', 'outcome', 'statuscode'];

/** What went wrong, if anything. */
const COMPLAINTS = ['error', 'errors'];

const NO: ReadonlySet<string> = new Set([
  ...['false', 'no', 'failed', 'failure', 'fail', 'error', 'denied', 'rejected'],
  ...['notfound', 'not_found', 'forbidden', 'unauthorized'],
]);

/** At the top or one wrapper down. A key is taken for deleted only where nothing speaks against it. */
function saysItFailed(body: unknown): boolean {
  if (!isObject(body)) return body === false;
  return [body, ...Object.values(body).filter(isObject)].map(membersOf).some(speaksAgainst);
}

function speaksAgainst(members: Members): boolean {
  const isNo = (name: string) => NO.has(wordOf(members.get(name)));
  const isZero = (name: string) => wordOf(members.get(name)) === '0';
  return (
    FLAGS.some((name) => isNo(name) || isZero(name)) ||
    WORDS.some((name) => isNo(name) || Number(wordOf(members.get(name))) >= 400) ||
    COMPLAINTS.some((name) => isComplaint(members.get(name)))
  );
}

function isComplaint(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== '' && value !== false && value !== 0;
}
