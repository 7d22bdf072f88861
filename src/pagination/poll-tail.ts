import { hash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { ListOrder } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import type { ListPage } from '../mapping/list-page.ts';
import type { PageToken } from '../mapping/next-page.ts';
import type { Instant } from '../mapping/time.ts';
import { type Checkpoint, DIGEST_LENGTH, MAX_KNOWN, MAX_LATE } from './checkpoint.ts';
import { type FetchPage, fetchPages, MAX_PAGES, toPagingError } from './fetch-pages.ts';
import { matchKnown } from './match-known.ts';

/** What a poll looks for. */
export type PollOptions = {
  /** Null: begin now, or at `since`. */
  readonly checkpoint: Checkpoint | null;
  /** The order of the list, if the contract has it. */
  readonly order: ListOrder | null;
  /** Without a checkpoint: events from this instant on are new. */
  readonly since: Instant | null;
  /** Whether the service lists only events from `since` on. */
  readonly isSinceForwarded: boolean;
  /** See {@link Checkpoint}. */
  readonly selection: string;
};

/** The new events of one poll. */
export type Poll = {
  /** In order of arrival. */
  readonly events: readonly AuditEvent[];
  /** The pages that were read. */
  readonly pages: readonly ListPage<AuditEvent>[];
  /** Whether events may have been missed. */
  readonly missed: boolean;
  /** Whether the list has more new events than one poll reads. */
  readonly isBehind: boolean;
  /** The checkpoint after the first `count` events. */
  checkpointAfter(count: number): Checkpoint;
};

/** A record that a poll has read. */
type ReadRecord = {
  readonly event: AuditEvent;
  readonly digest: string;
  /** The index of its page. */
  readonly page: number;
};

/** Pages between the newest known record and the one at which the next poll begins, with the oldest first: half of a poll is left for new records. */
const OVERLAP_PAGES = MAX_PAGES / 2;

/**
 * Polls a list for what is new since a checkpoint: the records before the last known one that are not known themselves.
 * It reads pages until it has found all that are known, or 33 records after the last of them; ten pages at most.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason ORDER_UNKNOWN or TRAIL_TOO_LONG.
 */
export async function pollTail(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
): Promise<Poll> {
  const { known = [], start = null } = options.checkpoint ?? {};
  const reading = await readList(fetchPage, options, start, MAX_PAGES);
  const isFound = reading.records.some(({ digest }) => known.includes(digest));
  const left = MAX_PAGES - reading.tokens.length;
  if (start === null || isFound || left === 0) return toPoll(reading, options);
  // Old records were removed, so the known ones have moved to an earlier page.
  return toPoll(await readList(fetchPage, options, null, left), options);
}

/** What was read of a list. */
type Reading = {
  /** Newest first. */
  readonly records: readonly ReadRecord[];
  readonly pages: readonly ListPage<AuditEvent>[];
  /** How each page was requested. */
  readonly tokens: readonly (PageToken | null)[];
  readonly order: ListOrder | null;
  /** Whether the first page of the list was read. */
  readonly isStart: boolean;
  /** Whether the end of the list was read. */
  readonly isEnd: boolean;
};

/** Records that are digested at a time: a list without pages may have thousands, of which few are needed. */
const STEP = 100;

async function readList(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
  token: PageToken | null,
  maxPages: number,
): Promise<Reading> {
  const { checkpoint } = options;
  // Few records may have arrived late and suggest the wrong order. A whole list needs none, so it is inferred again.
  const knownOrder = options.order ?? (checkpoint?.isWhole ? null : checkpoint?.order) ?? null;
  const records: ReadRecord[] = [];
  const tokens: (PageToken | null)[] = [];
  const identified = new Set<string>();
  let order = knownOrder;
  let isMoreNeeded = true;
  let isReadWhole = true;
  const add = (event: AuditEvent) => {
    const digest = digestOf(event);
    // Pages may overlap. Of equal records without an id, each counts.
    if (event.id !== null && identified.has(digest)) return;
    identified.add(digest);
    records.push({ event, digest, page: tokens.length });
  };
  const first = { token, position: null, maxPages };
  const { pages, next } = await fetchPages(fetchPage, first, ({ page, from, token }) => {
    let index = from;
    while (isMoreNeeded && index < page.length) {
      const end = Math.min(page.length, index + STEP);
      for (; index < end; index += 1) add(page.item(index));
      order = knownOrder ?? inferOrder(records);
      isMoreNeeded = order !== 'newest-first' || needsMore(records, options);
    }
    isReadWhole = index === page.length;
    tokens.push(token);
    return isMoreNeeded;
  });
  const following = next();
  if (order === 'oldest-first' && following !== null && 'missing' in following)
    throw toPagingError(following);
  return {
    records: order === 'oldest-first' ? records.toReversed() : records,
    tokens,
    pages: pages.map(({ page }) => page),
    order: order ?? requireNoOrder(records),
    isStart: token === null,
    isEnd: isReadWhole && following === null,
  };
}

/** Whether more of a list with the newest first must be read. */
function needsMore(records: readonly ReadRecord[], { checkpoint, since }: PollOptions): boolean {
  const countAfter = (last: number) => records.length - 1 - last;
  if (checkpoint === null) {
    const isOlder = ({ event }: ReadRecord) => since === null || isBefore(event, since);
    return countAfter(records.findLastIndex((record) => !isOlder(record))) < MAX_KNOWN;
  }
  if (checkpoint.isWhole) return true;
  const { last, isComplete } = matchRecords(records, checkpoint);
  return last < 0 || (!isComplete && countAfter(last) <= MAX_LATE);
}

function matchRecords(records: readonly ReadRecord[], checkpoint: Checkpoint | null) {
  return matchKnown(
    records.map(({ digest }) => digest),
    checkpoint?.known ?? [],
  );
}

/** Whether an event is older than an instant. False if its time is not known. */
function isBefore({ occurredAt }: AuditEvent, since: Instant): boolean {
  return occurredAt !== null && occurredAt < since;
}

function toPoll(reading: Reading, options: PollOptions): Poll {
  const { checkpoint, since, isSinceForwarded, selection } = options;
  const { records, tokens, pages, order, isStart, isEnd } = reading;
  const isReversed = order === 'oldest-first';
  if (checkpoint === null && isReversed && !isEnd && !isSinceForwarded) throw trailTooLong();
  const { matched, last, left, newer } = matchRecords(records, checkpoint);
  const isNew = ({ event }: ReadRecord, index: number): boolean => {
    if (checkpoint === null)
      return since !== null && event.occurredAt !== null && event.occurredAt >= since;
    return !matched.has(index) && (index < last || last < 0 || (checkpoint.isWhole && isStart));
  };
  const events = records.filter(isNew).toReversed();
  const hasKnown = checkpoint !== null && checkpoint.known.length > 0;
  const isUnread = !isReversed && !isEnd && (checkpoint !== null || since !== null);
  const isSinceReached = since === null || records.some(({ event }) => isBefore(event, since));
  // Late records may have moved known ones beyond the pages that were read. Older ones are before those pages.
  const unread = isReversed && !isEnd && last >= 0 ? left.slice(0, newer) : [];
  return {
    events: events.map(({ event }) => event),
    pages,
    missed: last < 0 && (hasKnown || isUnread) && !(checkpoint === null && isSinceReached),
    isBehind: isReversed && !isEnd,
    checkpointAfter: (count) => {
      const undelivered = new Set(events.slice(count));
      const delivered = records.filter((record) => !undelivered.has(record));
      const newest = delivered.slice(0, MAX_KNOWN);
      const [first, oldest] = [newest[0]?.page ?? 0, newest.at(-1)?.page ?? 0];
      const isWhole = isEnd && isStart && delivered.length === newest.length;
      const page = Math.max(oldest, first - OVERLAP_PAGES);
      return {
        known: [...unread, ...newest.map(({ digest }) => digest)].slice(0, MAX_KNOWN),
        isWhole,
        order,
        start: isReversed && !isWhole ? (tokens[page] ?? null) : null,
        selection,
      };
    },
  };
}

function digestOf({ raw }: AuditEvent): string {
  return hash('sha256', JSON.stringify(raw), 'base64url').slice(0, DIGEST_LENGTH);
}

/** Records whose times are compared. More say nothing else. */
const MAX_COMPARED = 200;

/** By the times of neighbours, as a few may have arrived late; if they are undecided, by the first and the last. */
function inferOrder(records: readonly ReadRecord[]): ListOrder | null {
  const times = records
    .slice(0, MAX_COMPARED)
    .flatMap(({ event: { occurredAt } }) => occurredAt ?? []);
  const compare = (one: Instant | undefined, other: Instant | undefined) =>
    one === undefined || other === undefined || one === other ? 0 : one < other ? 1 : -1;
  const rise = times.reduce((sum, time, index) => sum + compare(times[index - 1], time), 0);
  const sign = rise === 0 ? compare(times[0], times.at(-1)) : rise;
  if (sign === 0) return null;
  return sign > 0 ? 'oldest-first' : 'newest-first';
}

/**
 * A list needs no order if it has one record, or only one time and few records.
 * @throws GatewayError ORDER_UNKNOWN if it needs one.
 */
function requireNoOrder(records: readonly ReadRecord[]): null {
  const hasTimes = records.every(({ event: { occurredAt } }) => occurredAt !== null);
  if (records.length < 2 || (hasTimes && records.length <= MAX_KNOWN)) return null;
  throw new GatewayError('UPSTREAM_BAD_RESPONSE', {
    reason: 'ORDER_UNKNOWN',
    message:
      'The times do not show whether the trail begins with its newest or its oldest record: set `audit.order` in the contract (KEYTRAIL_CONTRACT) to `newest-first` or `oldest-first`.',
  });
}

function trailTooLong(): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', {
    reason: 'TRAIL_TOO_LONG',
    message:
      'The trail begins with its oldest record and has more than ten pages, so its end cannot be reached. Start with `filter.since`, which the contract forwards to the service (`audit.parameters.since`), or with `after`, a checkpoint.',
  });
}
