import { GatewayError } from '../errors.ts';
import { isObject, lookUp, membersOf } from './names.ts';

/** What became of a deletion. */
export type Deletion = {
  readonly outcome: 'DELETED' | 'ACCEPTED';
  /** The whole answer; null when it was empty. */
  readonly raw: unknown;
};

/** The names under which a body says how it went. */
const VERDICTS = ['success', 'ok', 'succeeded', 'deleted', 'result', 'status', 'outcome'];

const NO = new Set(['false', 'failed', 'failure', 'fail', 'error']);

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

function saysItFailed(body: unknown): boolean {
  const members = membersOf(body);
  const verdicts = isObject(body) ? VERDICTS.map((name) => lookUp(members, [name])) : [body];
  return verdicts.some((verdict) => NO.has(String(verdict).toLowerCase()));
}
