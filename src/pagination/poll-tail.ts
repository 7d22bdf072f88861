import { GatewayError } from '../errors.ts';
import type { ListOrder } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import type { ListPage } from '../mapping/list-page.ts';
import { type Checkpoint, MAX_KNOWN } from './checkpoint.ts';
import { type FetchPage, MAX_PAGES } from './fetch-pages.ts';
import { createKnownMatcher } from './match-known.ts';
import {
  isBefore,
  isExhausted,
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
  /** Whether each record that was read was known. */
  readonly isIdle: boolean;
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
  const reading = await readKnown(fetchPage, options);
  const order = options.order === null ? contradictedBy(reading, options) : null;
  if (order === null) return toPoll(reading, options, false);
  // The loader of the poll has the pages that were read already.
  const turned = { ...options, order };
  return toPoll(await readList(fetchPage, turned, null, MAX_PAGES, false), turned, true);
}

/** Reads the list from where the checkpoint says or, if no known record is there, from its first page. */
async function readKnown(fetchPage: FetchPage<AuditEvent>, options: PollOptions): Promise<Reading> {
  const { start = null } = options.checkpoint ?? {};
  const reading = await readList(fetchPage, options, start, MAX_PAGES);
  const left = MAX_PAGES - reading.tokens.length;
  if (start === null || reading.last >= 0 || left === 0) return reading;
  // Old records were removed, so the known ones have moved to an earlier page.
  try {
    return await readList(fetchPage, options, null, left);
  } catch (error) {
    if (isExhausted(error)) return reading;
    throw error;
  }
}

/**
 * The order of the list, if its times contradict that of the checkpoint: the list has turned round, or the checkpoint
 * is forged. Null without doubt: a few records may have arrived late, so the times alone say little while known records
 * are found in their order.
 */
function contradictedBy(reading: Reading, { checkpoint }: PollOptions): ListOrder | null {
  const { records, order, inferred, isEnd, found, last } = reading;
  if (checkpoint === null || order === null || inferred === null || inferred === order) return null;
  const isBehind = order === 'oldest-first' && !isEnd;
  const reversed = createKnownMatcher(checkpoint.known.toReversed());
  for (const record of records) reversed.add(record.digest);
  return isBehind || last < 0 || reversed.found() > found ? inferred : null;
}

function toPoll(reading: Reading, options: PollOptions, isTurned: boolean): Poll {
  const { checkpoint, since, isSinceForwarded, selection } = options;
  const { records, tokens, pages, order, isStart, isEnd, matched, last, left, newer } = reading;
  const isReversed = order === 'oldest-first';
  if (checkpoint === null && isReversed && !isEnd && !isSinceForwarded) throw trailTooLong();
  const isNew = ({ event }: ReadRecord, index: number): boolean => {
    if (checkpoint === null)
      return since !== null && event.occurredAt !== null && event.occurredAt >= since;
    return !matched.has(index) && (index < last || last < 0 || (checkpoint.isWhole && isStart));
  };
  // Indices of the records that are new, and of the newest that are not.
  const found: number[] = [];
  const others: number[] = [];
  for (const [index, record] of records.entries()) {
    if (isNew(record, index)) found.push(index);
    else if (others.length < MAX_KNOWN) others.push(index);
  }
  found.reverse();
  const hasKnown = checkpoint !== null && checkpoint.known.length > 0;
  const isUnread = !isReversed && !isEnd && (checkpoint !== null || since !== null);
  const isSinceReached = since === null || records.some(({ event }) => isBefore(event, since));
  const isGap = last < 0 && (hasKnown || isUnread) && !(checkpoint === null && isSinceReached);
  // Late records may have moved known ones beyond the pages that were read. Older ones are before those pages.
  const unread = isReversed && !isEnd && last >= 0 ? left.slice(0, newer) : [];

  /** The newest records after the first `count` new ones, at the cost of those alone. */
  const newestAfter = (count: number): readonly ReadRecord[] => {
    const newest = found[count - 1] ?? records.length; // all from here on were delivered
    const indices = others.filter((index) => index < newest);
    for (let index = newest; index < records.length && indices.length < MAX_KNOWN; index += 1)
      indices.push(index);
    return indices.flatMap((index) => records[index] ?? []);
  };
  const checkpointAfter = (count: number): Checkpoint => {
    const newest = newestAfter(count);
    const [first, oldest] = [newest[0]?.page ?? 0, newest.at(-1)?.page ?? 0];
    const delivered = records.length - (found.length - count);
    const isWhole = isEnd && isStart && delivered === newest.length;
    const page = Math.max(oldest, first - OVERLAP_PAGES);
    return {
      known: [...unread, ...newest.map(({ digest }) => digest)].slice(0, MAX_KNOWN),
      isWhole,
      order,
      start: isReversed && !isWhole ? (tokens[page] ?? null) : null,
      selection,
    };
  };
  const begun = JSON.stringify(checkpoint?.start ?? null);
  const isMoving = JSON.stringify(checkpointAfter(found.length).start) !== begun;
  return {
    events: found.flatMap((index) => records[index] ?? []),
    pages,
    missed: isTurned || isGap,
    isBehind: isReversed && !isEnd && isMoving,
    isIdle: matched.size === records.length,
    checkpointAfter,
  };
}

function trailTooLong(): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', {
    reason: 'TRAIL_TOO_LONG',
    message:
      'The trail begins with its oldest record and has more than ten pages, so its end cannot be reached. Start with `filter.since`, which the contract forwards to the service (`audit.parameters.since`), or with `after`, a checkpoint.',
  });
}
