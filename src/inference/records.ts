// It exists for speed: it tells whether the beginning of an answer holds the records that are wanted of it.
import type { AuditContract } from '../mapping/contract.ts';
import { recordsAt, SAMPLE_SIZE } from '../mapping/list-page.ts';
import { rankLists } from './index.ts';

/**
 * What is enough of an answer for so many of its records: the first items of a list, and as many as tell what all of
 * them hold. Where no list is configured, one is sure to be the records, whatever stands behind it, when it is the
 * answer itself, or the first of the best tier among the members of the answer.
 */
export function sufficientPrefix(
  records: number,
  configured: AuditContract['records'] | undefined,
) {
  const items = Math.max(records, SAMPLE_SIZE);
  return {
    items,
    depths: configured == null ? [0, 1] : [configured.split('/').length - 1],
    suffices: (body: unknown) => {
      const pointer = configured === undefined ? findSure(body) : configured;
      return (recordsAt(pointer, body)?.length ?? 0) >= items;
    },
  };
}

function findSure(body: unknown): string | null {
  const [best] = rankLists(body);
  const isSure = best !== undefined && (best.depth === 0 || (best.depth === 1 && best.tier === 0));
  return isSure ? best.pointer : null;
}
