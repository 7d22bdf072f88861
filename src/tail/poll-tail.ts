import { GatewayError } from '../errors.ts';
import type { ListOrder } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { MAX_LATE } from '../mapping/late-records.ts';
import type { ListPage } from '../mapping/list-page.ts';
import { type FetchPage, MAX_PAGES } from '../pagination/fetch-pages.ts';
import { type Checkpoint, MAX_KNOWN } from './checkpoint.ts';
import { createKnownMatcher } from './match-known.ts';
import {
  isBefore,
  isExhausted,
  isRefused,
  type PollOptions,
  type Reading,
  type ReadRecord,
  readList,
  type TailEvent,
} from './read-list.ts';

/** The new events of one poll. */
export type Poll = {
  /** In order of arrival. */
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
 * It reads pages until it has found all that are known, or 33 records after the last of them; ten pages at most, and no
 * more bytes than one request may read.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason ORDER_UNKNOWN or TRAIL_TOO_LONG.
 */
export async function pollTail(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
): Promise<Poll> {
  const found = await readKnown(fetchPage, options);
  if (found === null) return toRestart(options.checkpoint);
  const order = options.order === null ? contradictedBy(found.reading, options) : null;
  if (order === null) return toPoll(found, options, false);
  // The loader of the poll has the pages that were read already.
  const turned = { ...options, order };
  const reading = await readList(fetchPage, turned, null, MAX_PAGES, false);
  return toPoll({ reading }, turned, true);
}

/** What was read of a list, and what it starts with. */
type Found = { readonly reading: Reading } & Pick<Checkpoint, 'startsWith'>;

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
      start?.preceding !== undefined && reading.isEnd && reading.records.length === 0;
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

/** The next poll begins with the first page, at once. */
function toRestart(checkpoint: Checkpoint | null): Poll {
  if (checkpoint === null)
    throw new Error('A poll without a checkpoint begins with the first page.');
  const restarted = { ...checkpoint, start: null, startsWith: undefined };
  return { events: [], pages: [], missed: false, isBehind: true, checkpointAfter: () => restarted };
}

/**
 * The order of the list, if its times contradict that of the checkpoint: the list has turned round, or the checkpoint
 * is forged. Null if nothing contradicts it: a few records may have arrived late, so the times alone say little while
 * known records are found in their order.
 */
function contradictedBy(reading: Reading, { checkpoint }: PollOptions): ListOrder | null {
  const { records, order, inferred, isEnd, found, last } = reading;
  if (checkpoint === null || order === null || inferred === null || inferred === order) return null;
  const isBehind = order === 'oldest-first' && !isEnd;
  const reversed = createKnownMatcher(checkpoint.known.toReversed());
  for (const record of records) reversed.add(record.digest);
  return isBehind || last < 0 || reversed.found() > found ? inferred : null;
}

function toPoll({ reading, startsWith }: Found, options: PollOptions, isTurned: boolean): Poll {
  const { checkpoint, since, isSinceForwarded, selection } = options;
  const { records, tokens, pages, order, isStart, isEnd, following } = reading;
  const { matched, last, left, after } = reading;
  const isReversed = order === 'oldest-first';
  if (checkpoint === null && isReversed && !isEnd && !isSinceForwarded) throw trailTooLong();
  const isLost =
    last < 0 && checkpoint !== null && checkpoint.known.length > 0 && startsWith !== 'newer';
  // Nothing that was read is new if the known records are on later pages.
  const isSearch = isLost && isReversed && !isEnd && !checkpoint.isWhole;
  // An empty response says nothing: it may come from a replica that has not caught up.
  const isEmpty = checkpoint !== null && records.length === 0 && isEnd && startsWith === undefined;
  const isNew = ({ event }: ReadRecord, index: number): boolean => {
    if (checkpoint === null)
      return since !== null && event.occurredAt !== null && event.occurredAt >= since;
    if (matched.has(index) || isSearch) return false;
    const isAllNew = startsWith === 'newer' || (checkpoint.isWhole && isStart);
    return index < last || last < 0 || isAllNew;
  };
  // Indices of the records that are new, and of the newest that are not.
  const found: number[] = [];
  const others: number[] = [];
  for (const [index, record] of records.entries()) {
    if (isNew(record, index)) found.push(index);
    else if (others.length < MAX_KNOWN) others.push(index);
  }
  found.reverse();
  const isUnread = !isReversed && !isEnd && (checkpoint !== null || since !== null);
  const isSinceReached = since === null || records.some(({ event }) => isBefore(event, since));
  const isGap =
    last < 0 &&
    (isLost || isUnread) &&
    !(isSearch || isEmpty) &&
    !(checkpoint === null && isSinceReached);
  // Late records may have moved known ones beyond the pages that were read. Older ones are before those pages.
  const isAhead = isReversed && !isEnd && last >= 0;

  /** Indices of the newest records after the first `count` new ones, at the cost of those alone. */
  const newestAfter = (count: number): readonly number[] => {
    const newest = found[count - 1] ?? records.length; // all from here on were delivered
    const indices = others.filter((index) => index < newest);
    for (let index = newest; index < records.length && indices.length < MAX_KNOWN; index += 1)
      indices.push(index);
    return indices;
  };
  /**
   * The newest of the records that were read, and of the known ones that were not met. These keep their
   * places: a replica may lag, and a response be incomplete. If none was met, at most 31 of them are kept, so that new
   * ones are the majority.
   */
  const toKnown = (newest: readonly number[]): readonly string[] => {
    const leftAfter = (index: number) => left.filter((_, at) => after[at] === index);
    const known = isAhead ? leftAfter(-1) : [];
    let unmet = isAhead ? [] : leftAfter(-1).slice(0, last < 0 ? MAX_LATE - 1 : MAX_KNOWN);
    for (const index of newest) {
      if (unmet.length > 0 && others.includes(index)) {
        known.push(...unmet);
        unmet = [];
      }
      known.push(...records.slice(index, index + 1).map(({ digest }) => digest));
      if (left.length > 0) unmet.push(...leftAfter(index));
    }
    return [...known, ...unmet];
  };
  /** Where the next poll of a list with the oldest first begins. */
  const startAfter = (
    count: number,
    newest: readonly number[],
  ): Pick<Checkpoint, 'start' | 'startsWith'> => {
    if (isSearch) return { start: following, startsWith: 'older' };
    const pageAt = (index = 0) => records[index]?.page ?? 0;
    const page = Math.max(pageAt(newest.at(-1)), pageAt(newest[0]) - OVERLAP_PAGES);
    // After empty pages, or pages of many bytes, there may be others that a poll from here would not reach.
    if (!isEnd && count === found.length && page === 0) {
      const isLastEmpty = pages.length > 1 && pages.at(-1)?.length === 0;
      return { start: isLastEmpty ? (tokens.at(-1) ?? null) : following, startsWith: 'newer' };
    }
    if (newest.length === 0) return { start: tokens.at(-1) ?? null, startsWith: 'newer' };
    return { start: tokens[page] ?? null };
  };
  const checkpointAfter = (count: number): Checkpoint => {
    if (isEmpty) return checkpoint;
    const newest = newestAfter(count);
    const delivered = records.length - (found.length - count);
    const all = isSearch ? checkpoint.known : toKnown(newest);
    const known = all.slice(0, MAX_KNOWN);
    // Known ones that were not met may leave no room for some that were read.
    const isWhole =
      (checkpoint?.isWhole ?? true) &&
      isEnd &&
      isStart &&
      delivered === newest.length &&
      known.length === all.length;
    const start = isReversed && !isWhole ? startAfter(count, newest) : { start: null };
    return { known, isWhole, order, ...start, selection };
  };
  const positionOf = ({ start, startsWith }: Partial<Checkpoint>) =>
    JSON.stringify([start ?? null, startsWith]);
  const isMoving = positionOf(checkpoint ?? {}) !== positionOf(checkpointAfter(found.length));
  return {
    events: found.flatMap((index) => records[index] ?? []),
    pages,
    missed: isTurned || isGap,
    isBehind: isReversed && !isEnd && isMoving,
    checkpointAfter,
  };
}

function trailTooLong(): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', {
    reason: 'TRAIL_TOO_LONG',
    message:
      'The trail begins with its oldest record, and its end cannot be reached: it has more than ten pages, or the service refuses one of them. Start with `filter.since`, which the contract forwards to the service (`audit.parameters.since`), or with `after`, a checkpoint.',
  });
}
