// Kept for speed: without it, 50 of 20,000 records take 67 times the CPU (npm run bench -- --load page).

import { inferCertainRecords } from '../inference/records.ts';
import type { ListContract } from '../mapping/contract.ts';
import { recordsAt, SAMPLE_SIZE, splitAtWildcard } from '../mapping/list-page.ts';

/** Of a list of which the first records of a large response may be sufficient. */
export type PrefixOptions = {
  /** The entry `records` of the contract. */
  readonly recordsPointer: ListContract['records'] | undefined;
  /** Whether a body of unknown length is read whole. */
  readonly isLengthNeeded: boolean;
};

/**
 * Specifies how much of a response is sufficient for a number of records, or for the sample from which fields are
 * inferred, whichever is larger. Without a configured list, a prefix suffices only if the rest of the response cannot
 * change which list is inferred.
 */
export function sufficientPrefix(
  recordCount: number,
  { recordsPointer: configured, isLengthNeeded }: PrefixOptions,
) {
  const items = Math.max(recordCount, SAMPLE_SIZE);
  return {
    items,
    isLengthNeeded,
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
