import type { DeepPartial, EventContract, EventEntryName } from '../mapping/contract.ts';
import { SAMPLE_SIZE } from '../mapping/list-page.ts';
import { memberAt } from '../mapping/read-entry.ts';
import { CHOSEN_ENTRIES } from './candidates.ts';
import { inferEvent } from './event.ts';
import { readPointers } from './event-entries.ts';

/** An entry that is null in a contract, and the pointer of the field that inference would read for it. */
export type NullEntry = { readonly entry: EventEntryName; readonly at: string };

/**
 * Lists the entries that a contract says are null, although records have a field for them that no entry reads: what the
 * records of one page lacked, others may have.
 */
export function inferNullEntries(
  configured: DeepPartial<EventContract> | undefined,
  records: readonly unknown[],
): readonly NullEntry[] {
  const nulls = CHOSEN_ENTRIES.filter((entry) => memberAt(configured, entry) === null);
  if (nulls.length === 0) return [];
  const inferred = inferEvent(records.slice(0, SAMPLE_SIZE));
  const read = readPointers(configured);
  return nulls.flatMap((entry) => {
    const at = readPointers(memberAt(inferred, entry)).find((one) => !read.includes(one));
    return at === undefined ? [] : [{ entry, at }];
  });
}
