import { expect } from 'vitest';
import { MAX_PAGES } from '../../src/pagination/fetch-pages.ts';
import type { Batch } from '../helpers/subscribe.ts';
import type { Listing, Trail, TrailRecord } from './trail.ts';

/** What a client has when it keeps a checkpoint. */
export type Progress = {
  readonly checkpoint: string;
  /** Records that it received, or that were there when it began. */
  readonly had: ReadonlySet<TrailRecord>;
  /** Records that were not promised and did not come: they are never promised any more. */
  readonly passed: ReadonlySet<TrailRecord>;
  /** The newest of them that the gateway read, which the checkpoint knows. */
  readonly known: readonly TrailRecord[];
  /** With the oldest first: the index in the list at which the next poll begins. */
  readonly start: number;
  /** Whether the list never had records that the checkpoint does not know. */
  readonly isWhole: boolean;
  /** Whether events may have been missed since the last pause. */
  readonly missed: boolean;
  /** Records that may come again, since there was a gap after them. */
  readonly mayRepeat: ReadonlySet<TrailRecord>;
};

const OVERLAP_PAGES = MAX_PAGES / 2;
/** As docs/live-tail.md promises. */
const MAX_LATE = 32;
const MAX_KNOWN = 64;

/**
 * Knows what was promised to a client: every record once, if ten pages hold what is new and what is known, and few were
 * removed. Otherwise, every record once if a known record that is older is within the pages of a poll.
 */
export function createPromise(trail: Trail, listing: Listing) {
  const { order, isOrderGiven, style, size, hasTotal } = listing;
  const isReversed = order === 'oldest-first';
  const { records } = trail;
  /** Index in the list, from that of the trail. */
  const toListed = (index: number) => (isReversed ? records.length - 1 - index : index);
  /** Whether a poll that begins at `start` reads a record. With the oldest first, it goes on to the end. */
  const isRead = (index: number, start: number) =>
    isReversed ? toListed(index) >= start : index < MAX_PAGES * size;
  let maxLength = 0;

  /** Where the next poll begins: at the first page if it meets no known record at `start`. Null if it meets none there. */
  const startOf = ({ known, start }: Progress): number | null => {
    if (style === 'cursor' && isReversed) return null; // unknown
    const meets = (from: number, pages: number) =>
      records.some((one, index) => {
        const listed = toListed(index);
        return known.includes(one) && listed >= from && listed < from + pages * size;
      });
    if (meets(start, MAX_PAGES)) return start;
    // Without a total, the end of the list is known by an empty page.
    const read = Math.ceil((records.length - start) / size) + Number(!hasTotal);
    return start > 0 && meets(0, MAX_PAGES - Math.max(1, read)) ? 0 : null;
  };

  const progress = (
    checkpoint: string,
    had: ReadonlySet<TrailRecord>,
    previous: Pick<Progress, 'start' | 'missed' | 'passed' | 'mayRepeat'> | null,
  ): Progress => {
    maxLength = Math.max(maxLength, records.length);
    const from = previous?.start ?? 0;
    const known = [...new Set(records.filter((one, index) => had.has(one) && isRead(index, from)))];
    const newest = known.slice(0, MAX_KNOWN);
    const pageOf = (one: TrailRecord | undefined) =>
      one === undefined ? 0 : Math.floor(toListed(records.indexOf(one)) / size);
    const page = Math.max(pageOf(newest.at(-1)), pageOf(newest[0]) - OVERLAP_PAGES);
    // Without a total, the end of the list is known by an empty page.
    const isWhole = maxLength <= Math.min(MAX_KNOWN, (MAX_PAGES - 1) * size);
    return {
      checkpoint,
      had,
      passed: previous?.passed ?? new Set(),
      known: newest,
      start: isReversed && !isWhole ? Math.max(0, page * size) : 0,
      isWhole,
      missed: previous?.missed ?? false,
      mayRepeat: previous?.mayRepeat ?? new Set(),
    };
  };

  /** Whether ten pages hold what is new and what is known, and few of these were removed. */
  const isOrdinary = ({ had, known }: Progress): boolean => {
    // With the oldest first, any removal moves the records to earlier pages than those that are read.
    const removed = isReversed
      ? trail.removed()
      : known.filter((one) => !records.includes(one)).length;
    if (removed >= MAX_LATE) return false;
    if (isReversed) return OVERLAP_PAGES * size > MAX_LATE + removed;
    return MAX_PAGES * size >= MAX_KNOWN + records.filter((one) => !had.has(one)).length;
  };

  return {
    /** The client begins now. */
    begin: (checkpoint: string) => progress(checkpoint, new Set(records), null),
    /** The client receives a batch. */
    receive: (
      batch: Omit<Batch<{ readonly raw: unknown }>, 'previous'>,
      before: Progress,
    ): Progress => {
      const had = new Set(before.had);
      const mayRepeat = new Set(batch.missed ? had : before.mayRepeat);
      let last = records.length;
      for (const { raw } of batch.nodes) {
        const text = JSON.stringify(raw);
        const index = records.findLastIndex((one) => one.text === text && !had.has(one));
        const record = records[index];
        if (record === undefined) {
          const repeated = [...mayRepeat].find((one) => one.text === text);
          if (repeated === undefined) expect.fail(`delivered twice: ${text}`);
          mayRepeat.delete(repeated);
          continue;
        }
        had.add(record);
        // Few times may say nothing about the order, and equal records cannot be told apart.
        if (!isOrderGiven || records.filter((one) => one.text === text).length > 1) continue;
        expect(index, `out of order: ${text}`).toBeLessThan(last);
        last = index;
      }
      const missed = before.missed || batch.missed;
      return progress(batch.checkpoint, had, { ...before, missed, mayRepeat });
    },
    /** What a checkpoint says after the stream has polled to the end, and the client has all of `had`. */
    pass: (at: Progress, had: ReadonlySet<TrailRecord>): Progress => ({
      ...at,
      passed: new Set([...at.passed, ...records.filter((one) => !had.has(one))]),
    }),
    /** The stream knows what it has read last, the client's checkpoint what was read before. */
    settle: (after: Progress): Progress => progress(after.checkpoint, after.had, after),
    /** The records that the next poll must deliver. */
    promised: (at: Progress): readonly TrailRecord[] => {
      const { had, passed, known, isWhole } = at;
      const start = startOf(at);
      const isEachPromised = isOrdinary(at);
      const isKnown = (one: TrailRecord, index: number) =>
        start !== null && known.includes(one) && isRead(index, start);
      const isUnread = (one: TrailRecord) =>
        !records.some((record, index) => record === one && isRead(index, start ?? at.start));
      const unread = new Set([...had].filter(isUnread).map(({ text }) => text));
      return records.filter((record, index) => {
        if (had.has(record) || passed.has(record)) return false;
        // It cannot be told from an equal one that is not read any more.
        if (unread.has(record.text)) return false;
        // Of equal ones, it is not known which is older.
        const isOlder = (one: TrailRecord, at: number) =>
          at > index &&
          isKnown(one, at) &&
          records.every(({ text }, other) => other === at || text !== one.text);
        if (isEachPromised) return true;
        if (start === null || !isRead(index, start)) return false;
        return (isWhole && known.length > 0) || records.some(isOlder);
      });
    },
    /** Whether a poll meets a known record, and whether it cannot: then some may be missed. */
    connection: (at: Progress): { readonly isConnected: boolean; readonly isCut: boolean } => {
      const known = new Set([...at.had, ...at.passed].map(({ text }) => text));
      return {
        isConnected: startOf(at) !== null,
        isCut: at.known.length > 0 && !records.some(({ text }) => known.has(text)),
      };
    },
  };
}
