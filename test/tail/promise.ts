import { expect } from 'vitest';
import { MAX_KNOWN } from '../../src/pagination/checkpoint.ts';
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
};

const KEPT_PAGES = MAX_PAGES / 2;

/** Knows what was promised to a client: every record once, if a known record that is older is within the pages of a poll. */
export function createPromise(trail: Trail, { order, isOrderGiven, size }: Listing) {
  const isReversed = order === 'oldest-first';
  const { records } = trail;
  /** Index in the list, from that of the trail. */
  const toListed = (index: number) => (isReversed ? records.length - 1 - index : index);
  const isRead = (index: number, start: number) =>
    isReversed ? toListed(index) >= start : index < MAX_PAGES * size;
  let maxLength = 0;

  const progress = (
    checkpoint: string,
    had: ReadonlySet<TrailRecord>,
    previous: Pick<Progress, 'start' | 'missed' | 'passed'> | null,
  ): Progress => {
    maxLength = Math.max(maxLength, records.length);
    const from = previous?.start ?? 0;
    const known = [...new Set(records.filter((one, index) => had.has(one) && isRead(index, from)))];
    const newest = known.slice(0, MAX_KNOWN);
    const pageOf = (one: TrailRecord | undefined) =>
      one === undefined ? 0 : Math.floor(toListed(records.indexOf(one)) / size);
    const page = Math.max(pageOf(newest.at(-1)), pageOf(newest[0]) - KEPT_PAGES);
    // Without a total, the end of the list is known by an empty page.
    const isWhole = maxLength <= Math.min(MAX_KNOWN, (MAX_PAGES - 1) * size);
    return {
      checkpoint,
      had,
      passed: previous?.passed ?? new Set(),
      known: newest,
      start: isWhole ? 0 : Math.max(0, page * size),
      isWhole,
      missed: previous?.missed ?? false,
    };
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
      const missed = before.missed || batch.missed;
      let last = records.length;
      for (const { raw } of batch.nodes) {
        const text = JSON.stringify(raw);
        const index = records.findLastIndex((one) => one.text === text && !had.has(one));
        const record = records[index];
        if (record === undefined) {
          // After a gap nothing is known, so older records may be delivered again.
          expect(missed, `delivered twice: ${text}`).toBe(true);
          continue;
        }
        had.add(record);
        // Few times may say nothing about the order, and equal records cannot be told apart.
        if (!isOrderGiven || records.filter((one) => one.text === text).length > 1) continue;
        expect(index, `out of order: ${text}`).toBeLessThan(last);
        last = index;
      }
      return progress(batch.checkpoint, had, { ...before, missed });
    },
    /** What a checkpoint says after the stream has polled to the end, and the client has all of `had`. */
    pass: (at: Progress, had: ReadonlySet<TrailRecord>): Progress => ({
      ...at,
      passed: new Set([...at.passed, ...records.filter((one) => !had.has(one))]),
    }),
    /** The stream knows what it has read last, the client's checkpoint what was read before. */
    settle: (after: Progress): Progress => progress(after.checkpoint, after.had, after),
    /** The records that the next poll must deliver. */
    promised: ({ had, passed, known, start, isWhole }: Progress): readonly TrailRecord[] => {
      const isKnown = (one: TrailRecord, index: number) =>
        known.includes(one) && isRead(index, start);
      const isUnread = (one: TrailRecord) =>
        !records.some((record, index) => record === one && isRead(index, start));
      const unread = new Set([...had].filter(isUnread).map(({ text }) => text));
      return records.filter((record, index) => {
        if (had.has(record) || passed.has(record) || !isRead(index, start)) return false;
        // It cannot be told from an equal one that is not read any more.
        if (unread.has(record.text)) return false;
        const isOlder = (one: TrailRecord, at: number) =>
          at > index && one.text !== record.text && isKnown(one, at);
        return (isWhole && known.length > 0) || records.some(isOlder);
      });
    },
    /** Whether a poll meets a known record. */
    isConnected: ({ known, start }: Progress): boolean =>
      records.some((one, index) => {
        const listed = toListed(index);
        return known.includes(one) && isRead(index, start) && listed < start + MAX_PAGES * size;
      }),
  };
}
