import { GatewayError } from '../errors.ts';
import type { ListOrder } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import type { ListPage } from '../mapping/list-page.ts';
import type { PageToken } from '../mapping/next-page.ts';
import type { Instant } from '../mapping/time.ts';
import { visitInTurns } from '../util/turns.ts';
import { type Checkpoint, MAX_KNOWN, MAX_LATE } from './checkpoint.ts';
import { digest } from './digest.ts';
import { type FetchPage, fetchPages, MAX_PAGES, toPagingError } from './fetch-pages.ts';
import { createKnownMatcher, type KnownMatcher } from './match-known.ts';

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

/** An event, and the length of its record as JSON. */
export type TailEvent = { readonly event: AuditEvent; readonly length: number };

/** A record that a poll has read. */
type ReadRecord = TailEvent & {
  readonly digest: string;
  /** The index of its page. */
  readonly page: number;
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

/** What was read of a list. */
type Reading = Pick<ReturnType<KnownMatcher['match']>, 'matched' | 'last' | 'left' | 'newer'> & {
  /** Newest first. */
  readonly records: readonly ReadRecord[];
  readonly pages: readonly ListPage<AuditEvent>[];
  /** How each page was requested. */
  readonly tokens: readonly (PageToken | null)[];
  readonly order: ListOrder | null;
  /** The order that the times show. */
  readonly inferred: ListOrder | null;
  /** Number of known records that were found in their order. */
  readonly found: number;
  /** Whether the first page of the list was read. */
  readonly isStart: boolean;
  /** Whether the end of the list was read. */
  readonly isEnd: boolean;
};

/**
 * Records of the beginning of a large response that are enough for most polls of a list with the newest first. Parsing
 * all of 20,000 records takes 50 ms, and with 100 streams 700 MB of memory.
 */
const USUAL_RECORDS = 2 * MAX_KNOWN;

/** Records that are digested at a time: a list without pages may have thousands, of which few are needed. */
const STEP = 100;

async function readList(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
  token: PageToken | null,
  maxPages: number,
  mayBePartial = true,
): Promise<Reading> {
  const { checkpoint } = options;
  // Few records may have arrived late and suggest the wrong order. A whole list needs none, so it is inferred again.
  const knownOrder = options.order ?? (checkpoint?.isWhole ? null : checkpoint?.order) ?? null;
  const records: ReadRecord[] = [];
  const tokens: (PageToken | null)[] = [];
  const identified = new Set<string>();
  const known = checkpoint?.known ?? [];
  const matcher = createKnownMatcher(known);
  const isEnough = createEnough(matcher, records, options);
  let order = knownOrder;
  let isMoreNeeded = true;
  let isReadWhole = true;
  let isTooShort = false; // the beginning of the response
  const add = (event: AuditEvent) => {
    const text = JSON.stringify(event.raw);
    const own = digest(text);
    // Pages may overlap. Of equal records without an id, each counts.
    if (event.id !== null && identified.has(own)) return;
    identified.add(own);
    records.push({ event, digest: own, length: text.length, page: tokens.length });
    matcher.add(own);
  };
  const recordsNeeded = mayBePartial && knownOrder !== 'oldest-first' ? USUAL_RECORDS : undefined;
  const first = { token, position: null, recordsNeeded, maxPages, isLimit: isExhausted };
  const { pages, next } = await fetchPages(fetchPage, first, async ({ page, from, token }) => {
    let index = from;
    await visitInTurns(from, page.length, (_, to) => {
      while (isMoreNeeded && index < to) {
        const end = Math.min(to, index + STEP);
        for (; index < end; index += 1) add(page.item(index));
        order = knownOrder ?? inferOrder(records);
        isMoreNeeded = order !== 'newest-first' || !isEnough();
      }
      return isMoreNeeded;
    });
    isReadWhole = index === page.length;
    isTooShort = isMoreNeeded && page.isPartial;
    tokens.push(token);
    return isMoreNeeded && !isTooShort;
  });
  if (isTooShort) return readList(fetchPage, options, token, maxPages, false);
  const following = next();
  if (order === 'oldest-first' && following !== null && 'missing' in following)
    throw toPagingError(following);
  const isReversed = order === 'oldest-first';
  const newestFirst = isReversed ? records.toReversed() : records;
  return {
    ...(isReversed ? matchReversed(newestFirst, known) : toMatch(matcher)),
    records: newestFirst,
    tokens,
    pages: pages.map(({ page }) => page),
    order: order ?? requireNoOrder(records),
    inferred: inferOrder(records),
    isStart: token === null,
    isEnd: isReadWhole && following === null,
  };
}

/** With the oldest first, the list is read to its end before the known records can be found from its newest one on. */
function matchReversed(newestFirst: readonly ReadRecord[], known: readonly string[]) {
  const matcher = createKnownMatcher(known);
  for (const record of newestFirst) matcher.add(record.digest);
  return toMatch(matcher);
}

function toMatch(matcher: KnownMatcher) {
  return { ...matcher.match(), found: matcher.found() };
}

/** The bound of bytes of one request is a limit of a poll, as that of pages is. */
function isExhausted(error: unknown): boolean {
  return error instanceof GatewayError && error.extensions.code === 'OPERATION_TOO_COMPLEX';
}

/** Creates a function that says whether enough of a list with the newest first was read. `records` grows between the calls. */
function createEnough(
  matcher: KnownMatcher,
  records: readonly ReadRecord[],
  { checkpoint, since }: PollOptions,
): () => boolean {
  let inspected = 0;
  let newest = -1; // the last one that is not older than `since`
  return () => {
    if (checkpoint === null) {
      const isOlder = ({ event }: ReadRecord) => since === null || isBefore(event, since);
      for (; inspected < records.length; inspected += 1) {
        const record = records[inspected];
        if (record !== undefined && !isOlder(record)) newest = inspected;
      }
      return records.length - 1 - newest >= MAX_KNOWN;
    }
    if (checkpoint.isWhole) return false;
    const isComplete = matcher.found() === checkpoint.known.length;
    const last = matcher.last();
    return last >= 0 && (isComplete || matcher.length() - 1 - last > MAX_LATE);
  };
}

/** Whether an event is older than an instant. False if its time is not known. */
function isBefore({ occurredAt }: AuditEvent, since: Instant): boolean {
  return occurredAt !== null && occurredAt < since;
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
