// Kept for speed: without it, 50 of 20,000 records take 67 times the CPU (npm run bench -- --load page).

import { inferCertainRecords } from '../inference/records.ts';
import type { ListContract } from '../mapping/contract.ts';
import { recordsAt, SAMPLE_SIZE, splitAtWildcard } from '../mapping/list-page.ts';

/**
 * Specifies how much of a response is sufficient for a number of records, or for the sample from which fields are
 * inferred, whichever is larger. Without a configured list, a prefix suffices only if the rest of the response cannot
 * change which list is inferred.
 */
export function sufficientPrefix(
  recordCount: number,
  configured: ListContract['records'] | undefined,
) {
  const items = Math.max(recordCount, SAMPLE_SIZE);
  return {
    items,
    depths: depthsOf(configured),
    suffices: (body: unknown) => {
      const pointer = configured === undefined ? inferCertainRecords(body) : configured;
      return (recordsAt(pointer, body)?.length ?? 0) >= items;
    },
  };
}

/** Depths of the list in the body. None for records in groups: no single list has enough of them. */
function depthsOf(configured: ListContract['records'] | undefined): readonly number[] {
  if (configured == null) return [0, 1];
  return splitAtWildcard(configured) === null ? [configured.split('/').length - 1] : [];
}
