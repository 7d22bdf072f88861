import { GatewayError } from '../errors.ts';
import type { Answer } from './contract.ts';
import { saysItFailed } from './failure.ts';

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
export function readDeletion({ status, body = null }: Pick<Answer, 'status' | 'body'>): Deletion {
  if (saysItFailed(body)) {
    throw new GatewayError('UPSTREAM_ERROR', { reason: 'SAYS_IT_FAILED', upstreamStatus: status });
  }
  return { outcome: status === 202 ? 'ACCEPTED' : 'DELETED', raw: body };
}
