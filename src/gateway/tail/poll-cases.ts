import { ENOUGH_OLD } from '../mapping/late-records.ts';
import type { Checkpoint } from './checkpoint.ts';
import { isBefore, type PollOptions, type Reading } from './read-list.ts';

/** What was read of a list, and what it starts with. */
export type Found = { readonly reading: Reading } & Pick<Checkpoint, 'startsWith'>;

/** What a poll gives. A known record is met if it was read again; the rest is what was read and is not known. */
export type Outcome = {
  /**
   * Which records are new: all unknown ones, or only those before the last record that was met. The others are older than
   * all that are new, or were known before: a checkpoint knows nothing else until the new ones are delivered.
   */
  readonly fresh: 'none' | 'unknown' | 'beforeLastMet';
  /** Whether events may have been missed. */
  readonly missed: boolean;
  /** What the next checkpoint knows: the same, or what was read, and the known ones that were not met before it, among it or after it. */
  readonly known: 'same' | 'unmetBefore' | 'unmetAmong' | 'unmetAfter';
  /** Where the next poll begins. `overlap`: some pages before the newest known record with the oldest first, or the first page. */
  readonly next: 'same' | 'firstPage' | 'followingPage' | 'overlap';
};

/** The cases of a poll, and what each gives. */
export const POLL_CASES = {
  /** There is no checkpoint, and no `since`: nothing is new. */
  begins: { fresh: 'none', missed: false, known: 'unmetAfter', next: 'overlap' },
  /** There is no checkpoint: all is new, and the filter drops what has no time, or is older than `since`. */
  beginsAtSince: { fresh: 'unknown', missed: false, known: 'unmetAfter', next: 'overlap' },
  /** The same, and pages that were not read may have events from `since` on, too. */
  sinceNotReached: { fresh: 'unknown', missed: true, known: 'unmetAfter', next: 'overlap' },
  /** The page of the checkpoint is refused, or has no known record any more, and no page is left to read the first one. */
  pageLost: { fresh: 'none', missed: false, known: 'same', next: 'firstPage' },
  /** An empty response says nothing: it may come from a replica that has not caught up. */
  emptyResponse: { fresh: 'none', missed: false, known: 'same', next: 'same' },
  /** With the oldest first, the known records may be on later pages: then all that was read is older. */
  noneMetMorePages: { fresh: 'none', missed: false, known: 'same', next: 'followingPage' },
  /** The known records were removed, or are on pages that no poll reads. Other records may have been there, too. */
  noneMet: { fresh: 'unknown', missed: true, known: 'unmetAfter', next: 'overlap' },
  /** No record was known, or the poll began after the known ones. */
  onlyNewExpected: { fresh: 'unknown', missed: false, known: 'unmetAfter', next: 'overlap' },
  /** What the list has after the last known record may be older than all that are known. */
  met: { fresh: 'beforeLastMet', missed: false, known: 'unmetAmong', next: 'overlap' },
  /** With the oldest first, late records may have moved known ones to pages after those that were read. */
  metMorePages: { fresh: 'beforeLastMet', missed: false, known: 'unmetBefore', next: 'overlap' },
  /** All that the list ever had is known, or the poll began after the known ones: the rest is new wherever it is. */
  metRestNew: { fresh: 'unknown', missed: false, known: 'unmetAmong', next: 'overlap' },
  /** Both: the rest is new wherever it is, and known records may be on pages after those that were read. */
  metRestNewMorePages: { fresh: 'unknown', missed: false, known: 'unmetBefore', next: 'overlap' },
} as const satisfies Readonly<Record<string, Outcome>>;

/** Decides the case of a poll. `found` is null if the poll has read all the pages that it may, and found nothing of use. */
export function caseOf(
  found: Found | null,
  { checkpoint, since }: PollOptions,
): keyof typeof POLL_CASES {
  if (found === null) return 'pageLost';
  const { startsWith } = found;
  const { records, unread, last, isStart } = found.reading;
  if (checkpoint === null) {
    if (since === null) return 'begins';
    const timed = records.filter(({ event }) => event.occurredAt !== null);
    // One that is older may have arrived late among those from `since` on.
    const isReached = timed.slice(-ENOUGH_OLD).every(({ event }) => isBefore(event, since));
    return unread !== 'older' || isReached ? 'beginsAtSince' : 'sinceNotReached';
  }
  const { known, isWhole } = checkpoint;
  if (last >= 0) {
    const isRestNew = startsWith === 'newer' || (isWhole && isStart);
    if (unread === 'newer') return isRestNew ? 'metRestNewMorePages' : 'metMorePages';
    return isRestNew ? 'metRestNew' : 'met';
  }
  if (unread === 'older') return 'noneMet';
  if (unread === 'none' && records.length === 0 && startsWith === undefined) return 'emptyResponse';
  if (known.length === 0 || startsWith === 'newer') return 'onlyNewExpected';
  return unread === 'newer' && !isWhole ? 'noneMetMorePages' : 'noneMet';
}
