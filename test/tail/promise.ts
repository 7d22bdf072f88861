import { expect } from 'vitest';
import { MAX_PAGES } from '../../src/gateway/pagination/fetch-pages.ts';
import type { Batch } from '../helpers/subscribe.ts';
import type { Listing, Trail, TrailRecord } from './trail.ts';

/** What a client has when it keeps a checkpoint. */
export type Progress = {
  /** Null: it begins at `filter.since`. */
  readonly checkpoint: string | null;
  /** Records that it received, or that were there when it began, and those between that do not meet the filter. */
  readonly had: ReadonlySet<TrailRecord>;
  /** Records that were not promised and did not come: they are never promised any more. */
  readonly passed: ReadonlySet<TrailRecord>;
  /** The records that the checkpoint knows, in its order. */
  readonly known: readonly TrailRecord[];
  /** What it knew when the poll began, and where it began. */
  readonly poll: {
    readonly start: number;
    readonly known: readonly TrailRecord[];
    /** What the client had. */
    readonly had: ReadonlySet<TrailRecord>;
    readonly isWhole: boolean;
  };
  /** Whether each poll so far has read what all replicas have. */
  readonly isFresh: boolean;
  /** With the oldest first: the index in the list at which the next poll begins. */
  readonly start: number;
  /** The length of the longest list that the polls up to this checkpoint have read. */
  readonly maxLength: number;
  /** Whether the checkpoint knows every record that the list has had, but for removed ones. */
  readonly isWhole: boolean;
  /** Whether it has ever known a record behind an older one, because a replica lacked the newer one. */
  readonly isMixed: boolean;
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
 * Knows what was promised to a client: every record from `since` on once, if ten pages hold what is new and what is
 * known, few were removed and each response was complete. Otherwise, every record once if a known record that is older is
 * within the pages of a poll. No record comes again that the checkpoint knows, or that is older than all that it knows.
 */
export function createPromise(trail: Trail, listing: Listing, since: number | null) {
  const { order, isOrderGiven, style, size } = listing;
  const isWanted = ({ at }: TrailRecord) => since === null || (at !== null && at >= since);
  const isReversed = order === 'oldest-first';
  /** Index in the list, from that of the trail. */
  const toListed = (index: number) => (isReversed ? trail.listed().length - 1 - index : index);
  /** Whether a poll that begins at `start` reads a record. With the oldest first, it goes on to the end. */
  const isRead = (index: number, start: number) =>
    isReversed ? toListed(index) >= start : index < MAX_PAGES * size;

  /**
   * Where the next poll begins: at the first page if it meets no known record at `start`, or if its cursor has expired.
   * Null if it meets none, or if the known records are not in order: then a poll may forget those that it needs.
   */
  const startOf = ({ known, start, maxLength, had, isMixed }: Progress): number | null => {
    if (isMixed) return null;
    const list = trail.listed();
    const isAt = (index: number, from: number, pages: number) =>
      toListed(index) >= from && toListed(index) < from + pages * size;
    const meets = (from: number, pages: number) =>
      list.some((one, index) => known.includes(one) && isAt(index, from, pages));
    if (style !== 'cursor' && meets(start, MAX_PAGES)) return start;
    // It is not known where it begins if it may know others than these.
    const mayMeet = (one: TrailRecord, index: number) =>
      had.has(one) && isAt(index, start, MAX_PAGES);
    if (isReversed && style !== 'cursor' && start > 0 && list.some(mayMeet)) return null;
    // It searches for the known records, unless every other one is new.
    const mayBeWhole = maxLength <= Math.min(MAX_KNOWN, MAX_PAGES * size);
    return meets(0, isReversed && !mayBeWhole ? Infinity : MAX_PAGES) ? 0 : null;
  };

  /**
   * How many of the newest records a poll reads at least, if the list is not whole: until it has met all known ones, or all
   * but 31 and 33 others after one of them.
   */
  const reachOf = ({ known, isWhole }: Pick<Progress, 'known' | 'isWhole'>): number => {
    const list = trail.listed();
    if (isWhole) return list.length;
    let last = Number.NaN;
    let met = 0;
    const end = list.findIndex((one, index) => {
      if (known.includes(one)) [last, met] = [index, met + 1];
      const missing = known.length - met;
      return missing === 0 || (missing < MAX_LATE && index - last > MAX_LATE);
    });
    return end < 0 ? list.length : end + 1;
  };

  /** The records to know after a poll: in the order of the list, and those that it did not meet. The first 64 are known. */
  const knownAfter = (
    read: readonly TrailRecord[],
    { known: before, had }: Progress['poll'],
  ): readonly TrailRecord[] => {
    const isMet = (one: TrailRecord) => before.includes(one) && read.includes(one);
    if (!read.some(isMet)) return [...read, ...before.slice(0, MAX_LATE - 1)];
    const known: TrailRecord[] = [];
    const unmet = before.slice(0, before.findIndex(isMet));
    for (const one of read) {
      const at = before.indexOf(one);
      if (at >= 0 || had.has(one)) known.push(...unmet.splice(0));
      known.push(one);
      for (const next of before.slice(at + 1)) {
        if (at < 0 || isMet(next)) break;
        unmet.push(next);
      }
    }
    return [...known, ...unmet];
  };

  const progress = (
    checkpoint: string | null,
    had: ReadonlySet<TrailRecord>,
    previous: Progress | null,
    isFresh: boolean,
    newest = 0,
  ): Progress => {
    const list = trail.listed();
    const maxLength = Math.max(previous?.maxLength ?? 0, list.length);
    const poll = previous?.poll ?? { start: 0, known: [], had, isWhole: true };
    const reach = reachOf(poll);
    // Several polls: what is newer than undelivered events is read by a later one. What was known before, and was not read,
    // may not be known any more.
    const isBehind = isReversed && list.length - poll.start > MAX_PAGES * size;
    const isLater = (one: TrailRecord) => isBehind && list.indexOf(one) < newest;
    const isDelivered = (one: TrailRecord, index: number) =>
      had.has(one) && isRead(index, poll.start) && index < reach && !isLater(one);
    const read = [...new Set(list.filter(isDelivered))];
    const unread = isBehind ? poll.known.filter((one) => !read.includes(one)) : [];
    const toKnow =
      list.length === 0 ? poll.known : [...new Set([...unread, ...knownAfter(read, poll)])];
    const known = toKnow.slice(0, MAX_KNOWN).filter((one) => !unread.includes(one));
    const first = read.slice(0, MAX_KNOWN);
    const pageOf = (one: TrailRecord | undefined) =>
      one === undefined ? 0 : Math.floor(toListed(list.indexOf(one)) / size);
    const page = Math.max(pageOf(first.at(-1)), pageOf(first[0]) - OVERLAP_PAGES);
    // Without a total, the end of the list is known by an empty page. The first poll does not request it after 64 records.
    const max = isReversed || listing.hasTotal ? MAX_KNOWN : MAX_KNOWN - 1;
    const isShort = maxLength <= Math.min(max, (MAX_PAGES - 1) * size);
    const isWhole = poll.isWhole && isShort && toKnow.length <= MAX_KNOWN;
    return {
      checkpoint,
      had,
      passed: previous?.passed ?? new Set(),
      known,
      poll,
      isFresh: isFresh && (previous?.isFresh ?? true),
      start: isReversed && !isWhole && list.length > 0 ? Math.max(0, page * size) : poll.start,
      maxLength,
      isWhole,
      isMixed:
        previous?.isMixed === true ||
        toKnow.some(({ position }, at) => position > (toKnow[at - 1]?.position ?? Infinity)),
      missed: previous?.missed ?? false,
      mayRepeat: previous?.mayRepeat ?? new Set(),
    };
  };

  /** Whether ten pages hold what is new and what is known, and few of these were removed. */
  const isOrdinary = ({ had, known, isWhole, isFresh }: Progress): boolean => {
    const { records } = trail;
    const left = known.filter((one) => records.includes(one)).length;
    // With the oldest first, any removal moves the records to earlier pages than those that are read.
    const removed = isReversed ? trail.removed() : known.length - left;
    if (removed >= MAX_LATE || !isFresh) return false;
    if (isReversed) return OVERLAP_PAGES * size > MAX_LATE + removed;
    // If none of 64 was met, 31 of them are still known.
    if (!isWhole && left <= MAX_LATE) return false;
    return MAX_PAGES * size >= MAX_KNOWN + records.filter((one) => !had.has(one)).length;
  };

  /** Records that are not known although older ones are: they come again. */
  const forgottenOf = ({ had, known, isMixed }: Progress): readonly TrailRecord[] => {
    if (isMixed) return [...had];
    const list = trail.listed();
    const oldest = list.findLastIndex((one) => known.includes(one));
    return list.filter((one, index) => had.has(one) && !known.includes(one) && index < oldest);
  };

  return {
    /** The client begins now, or at `since`. */
    begin: (checkpoint: string | null): Progress => {
      const had = new Set(checkpoint === null ? [] : trail.records);
      const begun = progress(checkpoint, had, null, true);
      return { ...begun, isWhole: begun.isWhole || checkpoint === null };
    },
    /** A poll begins, of the trail as it is now or of what a replica has. */
    poll: (at: Progress, isFresh: boolean): Progress => ({
      ...at,
      // An empty response changes nothing.
      poll: {
        known: at.known,
        start: trail.listed().length > 0 ? (startOf(at) ?? 0) : at.start,
        had: at.had,
        isWhole: at.isWhole,
      },
      isFresh: at.isFresh && isFresh,
      mayRepeat: new Set([...at.mayRepeat, ...forgottenOf(at)]),
      missed: false,
    }),
    /** The client receives a batch. */
    receive: (
      batch: { readonly texts: readonly string[] } & Omit<Batch<unknown>, 'nodes' | 'previous'>,
      before: Progress,
    ): Progress => {
      const list = trail.listed();
      const had = new Set(before.had);
      const mayRepeat = new Set(batch.missed ? had : before.mayRepeat);
      let newest = list.length;
      let last = list.length;
      for (const text of batch.texts) {
        const index = list.findLastIndex((one) => one.text === text && !had.has(one));
        const record = list[index];
        if (record === undefined) {
          const repeated = [...mayRepeat].find((one) => one.text === text);
          if (repeated === undefined) expect.fail(`delivered twice: ${text}`);
          mayRepeat.delete(repeated);
          continue;
        }
        expect(isWanted(record), `not from since on: ${text}`).toBe(true);
        had.add(record);
        newest = Math.min(newest, index);
        // Few times may say nothing about the order, and equal records cannot be told apart.
        if (!isOrderGiven || list.filter((one) => one.text === text).length > 1) continue;
        expect(index, `out of order: ${text}`).toBeLessThan(last);
        last = index;
      }
      for (const one of list.slice(newest)) if (!isWanted(one)) had.add(one);
      const missed = before.missed || batch.missed;
      const from = batch.hasMore ? newest : 0;
      return progress(batch.checkpoint, had, { ...before, missed, mayRepeat }, true, from);
    },
    /** What a checkpoint says after the stream has polled to the end, and the client has all of `had`. */
    pass: (at: Progress, had: ReadonlySet<TrailRecord>): Progress => {
      // After a gap, some of the records that a replica did not list may not come any more.
      const listed = at.missed ? [...trail.listed(), ...trail.records] : trail.listed();
      return { ...at, passed: new Set([...at.passed, ...listed.filter((one) => !had.has(one))]) };
    },
    /**
     * After the last payload: the stream knows what it has read last, the client's checkpoint what was read before. What
     * does not meet the filter does not come.
     */
    settle: (after: Progress): Progress => {
      const others = trail.listed().filter((one) => !isWanted(one));
      return progress(after.checkpoint, new Set([...after.had, ...others]), after, true);
    },
    /** The records that the next poll must deliver. */
    promised: (at: Progress): readonly TrailRecord[] => {
      const { had, passed, known, isWhole } = at;
      const list = trail.listed();
      const start = startOf(at);
      const isEachPromised = isOrdinary(at);
      const reach = reachOf(at);
      if (at.checkpoint === null) {
        // It stops after 64 in a row that are older.
        const isOld = ({ at }: TrailRecord) => since !== null && at !== null && at < since;
        const end = list.findIndex((_, index) => list.slice(index, index + MAX_KNOWN).every(isOld));
        return list.slice(0, end < 0 || isReversed ? list.length : end).filter(isWanted);
      }
      const isKnown = (one: TrailRecord, index: number) =>
        start !== null && known.includes(one) && isRead(index, start) && index < reach;
      const isUnread = (one: TrailRecord) =>
        !list.some((record, index) => record === one && isRead(index, start ?? at.start));
      const unread = new Set([...had].filter(isUnread).map(({ text }) => text));
      return list.filter((record, index) => {
        if (had.has(record) || passed.has(record) || !isWanted(record)) return false;
        // It cannot be told from an equal one that is not read any more.
        if (unread.has(record.text)) return false;
        // Of equal ones, it is not known which is older.
        const isOlder = (one: TrailRecord, at: number) =>
          at > index &&
          isKnown(one, at) &&
          list.every(({ text }, other) => other === at || text !== one.text);
        if (isEachPromised) return true;
        if (start === null || !isRead(index, start)) return false;
        if (isReversed && style === 'cursor') return false; // it is not known where the poll begins
        return (isWhole && known.length > 0) || list.some(isOlder);
      });
    },
    /**
     * Polls after the next one that it needs at most, because without new events it does not go on beyond 60 pages without
     * a pause.
     */
    extraPolls: (at: Progress): number => {
      // The cursor of the checkpoint leads to known records, unless a replica does not have them.
      const isAtKnown = style === 'cursor' && !trail.hasExpired() && at.isFresh;
      if (!isReversed || isAtKnown) return 0;
      const pages = (trail.listed().length - (startOf(at) ?? 0)) / size;
      return Math.max(0, Math.ceil((pages - 60) / 4));
    },
    /** Whether a poll meets a known record, and whether it cannot: then some may be missed. */
    connection: (at: Progress): { readonly isConnected: boolean; readonly isCut: boolean } => {
      const list = trail.listed();
      const known = new Set([...at.had, ...at.passed].map(({ text }) => text));
      const isBegun = at.checkpoint !== null;
      return {
        isConnected: isBegun
          ? list.length === 0 || startOf(at) !== null
          : isReversed || list.length <= (MAX_PAGES - 1) * size, // an empty page shows the end
        isCut: at.known.length > 0 && list.length > 0 && !list.some(({ text }) => known.has(text)),
      };
    },
  };
}
