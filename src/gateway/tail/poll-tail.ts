import { GatewayError } from '../../errors.ts';
import type { ListOrder } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { MAX_LATE } from '../mapping/late-records.ts';
import type { ListPage } from '../mapping/list-page.ts';
import { type FetchPage, MAX_PAGES } from '../pagination/fetch-pages.ts';
import { type Checkpoint, MAX_KNOWN } from './checkpoint.ts';
import { createKnownMatcher } from './match-known.ts';
import { caseOf, type Found, type Outcome, POLL_CASES } from './poll-cases.ts';
import {
  isExhausted,
  isRefused,
  type PollOptions,
  type Reading,
  readList,
  type TailEvent,
} from './read-list.ts';

/** The new events of one poll. */
export type Poll = {
  /** In order of arrival. Without a checkpoint, also those before `since`. */
  readonly events: readonly TailEvent[];
  /** The pages that were read. */
  readonly pages: readonly ListPage<AuditEvent>[];
  /** Whether events may have been missed. */
  readonly missed: boolean;
  /** Whether the list has more than one poll reads, and the next poll begins at another page. */
  readonly isBehind: boolean;
  /** The checkpoint after the first `count` events. */
  checkpointAfter(count: number): Checkpoint;
};

/** Pages between the newest known record and the one at which the next poll begins, with the oldest first: half of a poll is left for new records. */
const OVERLAP_PAGES = MAX_PAGES / 2;

/**
 * Polls a list for what is new since a checkpoint: the records before the last known one that are not known themselves.
 * It reads pages until it has found all that are known, or all but 31 and 33 records after the last of them; ten pages at
 * most, and no more bytes than one request may read.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason ORDER_UNKNOWN or TRAIL_TOO_LONG.
 */
export async function pollTail(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
): Promise<Poll> {
  const found = await readKnown(fetchPage, options);
  const order =
    found === null || options.order !== null ? null : contradictedBy(found.reading, options);
  if (order === null) return toPoll(found, options);
  // The loader of the poll has the pages that were read already.
  const turned = { ...options, order };
  const reading = await readList(fetchPage, turned, null, MAX_PAGES, false);
  return { ...toPoll({ reading }, turned), missed: true };
}

/**
 * Reads the list from where the checkpoint says or, if the service refuses that page or no known record is there, from
 * its first page. Null if that is left to the next poll, because this one has read ten pages.
 */
async function readKnown(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
): Promise<Found | null> {
  const { start = null, startsWith } = options.checkpoint ?? {};
  let requests = 0;
  const fetchCounted: FetchPage<AuditEvent> = (...page) => {
    requests += 1;
    return fetchPage(...page);
  };
  try {
    const reading = await readList(fetchCounted, options, start, MAX_PAGES);
    // A number of a page may be that of no page any more.
    const isBeyond =
      start?.preceding !== undefined && reading.unread === 'none' && reading.records.length === 0;
    const isExpected = startsWith === 'older' || (startsWith === 'newer' && !isBeyond);
    if (start === null || isExpected || reading.last >= 0) return { reading, startsWith };
    // Old records were removed, so the known ones have moved to an earlier page.
  } catch (error) {
    if (start === null || !isRefused(error)) throw error;
    // The service's cursor has expired.
  }
  if (requests >= MAX_PAGES) return null;
  try {
    return { reading: await readList(fetchCounted, options, null, MAX_PAGES - requests) };
  } catch (error) {
    if (isExhausted(error)) return null;
    throw error;
  }
}

/**
 * The order of the list, if its times contradict that of the checkpoint: the list has turned round, or the checkpoint
 * is forged. Null if nothing contradicts it: a few records may have arrived late, so the times alone say little while
 * known records are found in their order.
 */
function contradictedBy(reading: Reading, { checkpoint }: PollOptions): ListOrder | null {
  const { records, order, inferred, unread, found, last } = reading;
  if (checkpoint === null || order === null || inferred === null || inferred === order) return null;
  const reversed = createKnownMatcher(checkpoint.known.toReversed());
  for (const record of records) reversed.add(record.digest);
  return unread === 'newer' || last < 0 || reversed.found() > found ? inferred : null;
}

/** What a poll gives in its case. */
function toPoll(found: Found | null, options: PollOptions): Poll {
  const { checkpoint, isSinceForwarded, selection } = options;
  const { pages = [], unread = 'newer' } = found?.reading ?? {};
  if (checkpoint === null && unread === 'newer' && !isSinceForwarded) throw trailTooLong();
  const before = checkpoint ?? { known: [], isWhole: true, order: null, start: null, selection };
  const { missed, ...outcome } = POLL_CASES[caseOf(found, options)];
  const { events, checkpointAfter } =
    found === null || outcome.known === 'same'
      ? { events: [], checkpointAfter: () => stay(before, outcome.next, found?.reading) }
      : advance(before, outcome, found.reading);
  const isMoved = positionOf(before) !== positionOf(checkpointAfter(events.length));
  return { events, pages, missed, isBehind: unread === 'newer' && isMoved, checkpointAfter };
}

const positionOf = ({ start, startsWith }: Checkpoint) => JSON.stringify([start, startsWith]);

/** The checkpoint of a poll that has found nothing. */
function stay(before: Checkpoint, next: Outcome['next'], reading: Reading | undefined): Checkpoint {
  if (next === 'firstPage') return { ...before, start: null, startsWith: undefined };
  if (next !== 'followingPage' || reading === undefined) return before;
  return { ...before, order: reading.order, start: reading.following, startsWith: 'older' };
}

/** The new events of a poll, and its checkpoints. */
function advance(
  before: Checkpoint,
  outcome: Omit<Outcome, 'missed'>,
  { records, tokens, pages, order, isStart, unread, following, ...match }: Reading,
): Pick<Poll, 'events' | 'checkpointAfter'> {
  const { matched, last, left, after } = match;
  const end = { none: 0, beforeLastMet: last, unknown: records.length }[outcome.fresh];
  const isNew = (index: number) => index < end && !matched.has(index);
  const fresh = [...records.keys()].filter(isNew).reverse();
  const met = [...matched].sort((a, b) => a - b);

  /** The index from which on all records are older than the events after the first `count`. */
  const olderAfter = (count: number) => 1 + (fresh[count] ?? -1);
  /** Indices of the newest records that are older than these events, or known, at the cost of those alone. */
  const newestAfter = (count: number): readonly number[] => {
    const from = olderAfter(count);
    const indices = met.filter((index) => index < from);
    for (let index = from; index < records.length && indices.length < MAX_KNOWN; index += 1)
      indices.push(index);
    return indices;
  };
  const unmetAfter = (index: number) => left.filter((_, at) => after[at] === index);
  /**
   * The newest of the records that were read, and of the known ones that were not met. These keep their places: a replica
   * may lag, and a response be incomplete. If none was met, at most 31 of them are kept, so that new ones are the majority.
   */
  const toKnown = (newest: readonly number[]): readonly string[] => {
    const first = unmetAfter(-1);
    const known = outcome.known === 'unmetBefore' ? first.splice(0) : [];
    const unmet = outcome.known === 'unmetAfter' ? first.slice(0, MAX_LATE - 1) : first;
    for (const index of newest) {
      if (unmet.length > 0 && !isNew(index)) known.push(...unmet.splice(0));
      known.push(...records.slice(index, index + 1).map(({ digest }) => digest));
      if (left.length > 0) unmet.push(...unmetAfter(index));
    }
    return [...known, ...unmet];
  };
  /** Where the next poll of a list with the oldest first begins. */
  const startAfter = (
    count: number,
    newest: readonly number[],
  ): Pick<Checkpoint, 'start' | 'startsWith'> => {
    const pageAt = (index = 0) => records[index]?.page ?? 0;
    const page = Math.max(pageAt(newest.at(-1)), pageAt(olderAfter(count)) - OVERLAP_PAGES);
    // After empty pages, or pages of many bytes, there may be others that a poll from here would not reach.
    if (unread === 'newer' && count === fresh.length && page === 0) {
      const isLastEmpty = pages.length > 1 && pages.at(-1)?.length === 0;
      return { start: isLastEmpty ? (tokens.at(-1) ?? null) : following, startsWith: 'newer' };
    }
    if (newest.length === 0) return { start: tokens.at(-1) ?? null, startsWith: 'newer' };
    return { start: tokens[page] ?? null };
  };
  const checkpointAfter = (count: number): Checkpoint => {
    const newest = newestAfter(count);
    const all = toKnown(newest);
    const known = all.slice(0, MAX_KNOWN);
    const delivered = records.length - (fresh.length - count);
    const isWhole =
      before.isWhole &&
      unread === 'none' &&
      isStart &&
      delivered === newest.length &&
      known.length === all.length; // those that were not met may leave no room for some that were read
    const start =
      order === 'oldest-first' && !isWhole ? startAfter(count, newest) : { start: null };
    return { known, isWhole, order, ...start, selection: before.selection };
  };
  return { events: fresh.flatMap((index) => records[index] ?? []), checkpointAfter };
}

function trailTooLong(): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', {
    reason: 'TRAIL_TOO_LONG',
    message:
      'The trail begins with its oldest record, and its end cannot be reached: it has more than ten pages, or the service refuses one of them. Start with `filter.since`, which the contract forwards to the service (`audit.parameters.since`), or with `after`, a checkpoint.',
  });
}
