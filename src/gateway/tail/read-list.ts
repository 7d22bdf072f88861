import { GatewayError, isPageRefusal, isPassing } from '../../errors.ts';
import { digest } from '../../util/digest.ts';
import { visitInTurns } from '../../util/event-loop.ts';
import type { ListOrder } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { identityText } from '../mapping/identity-text.ts';
import { ENOUGH_OLD, MAX_LATE } from '../mapping/late-records.ts';
import type { ListPage } from '../mapping/list-page.ts';
import { isToken, type PageToken } from '../mapping/next-page.ts';
import type { Instant } from '../mapping/time.ts';
import { type FetchPage, fetchPages } from '../pagination/fetch-pages.ts';
import { DIGEST_LENGTH } from '../pagination/find-item.ts';
import { toPagingError } from '../pagination/paging-error.ts';
import { type Checkpoint, MAX_KNOWN } from './checkpoint.ts';
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

/** An event, and the length of its record as JSON. */
export type TailEvent = { readonly event: AuditEvent; readonly length: number };

/** A record that a poll has read. */
export type ReadRecord = TailEvent & {
  readonly digest: string;
  /** The index of its page. */
  readonly page: number;
};

/** What was read of a list. */
export type Reading = Pick<
  ReturnType<KnownMatcher['match']>,
  'matched' | 'last' | 'left' | 'after'
> & {
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
  /** Which records after the last that was read may be in the list: newer ones if it begins with the oldest, else older ones. */
  readonly unread: 'none' | 'newer' | 'older';
  /** How to request the page after those that were read. Null at the end. */
  readonly following: PageToken | null;
};

/**
 * Records of the beginning of a large response that are enough for most polls of a list with the newest first. Parsing
 * all of 20,000 records takes 50 ms, and with 100 streams 700 MB of memory.
 */
const USUAL_RECORDS = 2 * MAX_KNOWN;

/** Records that are digested at a time: a list without pages may have thousands, of which few are needed. */
const STEP = 100;

/**
 * Reads a list until it has found all known records, or all but 31 and 33 records after the last of them; with the oldest
 * first, from its end. No more than `maxPages`, and no more bytes than one request may read.
 * @param mayBePartial Whether the beginning of a large response may be enough. If it is not, all of it is requested.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason ORDER_UNKNOWN.
 */
export async function readList(
  fetchPage: FetchPage<AuditEvent>,
  options: PollOptions,
  token: PageToken | null,
  maxPages: number,
  mayBePartial = true,
): Promise<Reading> {
  // Few records may have arrived late and suggest the wrong order. A whole list needs none, so it is inferred again.
  const { checkpoint } = options;
  const knownOrder = options.order ?? (checkpoint?.isWhole ? null : checkpoint?.order) ?? null;
  const tokens: (PageToken | null)[] = [];
  const read = createRecords(options);
  let order = knownOrder;
  let unneeded = 0; // records at the end of the last page
  const isEnough = () => order === 'newest-first' && read.isEnough();
  // It is read from its end later. More records may suggest the other order, up to those that are compared.
  const isReversed = () =>
    order === 'oldest-first' && (knownOrder !== null || read.records.length >= MAX_COMPARED);
  const first = {
    ...{ token, position: null, maxPages },
    recordsNeeded: mayBePartial && knownOrder !== 'oldest-first' ? USUAL_RECORDS : undefined,
    isLimit: (error: unknown) =>
      isExhausted(error) || isPageUnneeded(error, order, read.matcher, options),
  };
  const { pages, next } = await fetchPages(fetchPage, first, async ({ page, from, token }) => {
    let index = from;
    await visitInTurns(from, page.length, (_, to) => {
      while (index < to && !isEnough() && !isReversed()) {
        const end = Math.min(to, index + STEP);
        for (; index < end; index += 1) read.add(page.item(index), tokens.length);
        order = knownOrder ?? inferOrder(read.records);
      }
      return index === to;
    });
    unneeded = page.length - index;
    tokens.push(token);
    return !isEnough() && !page.isPartial;
  });
  if (pages.at(-1)?.page.isPartial && !isEnough())
    return readList(fetchPage, options, token, maxPages, false);
  order ??= checkpoint?.order ?? null; // a burst of records with one time shows no other one
  const following = next();
  if (order === 'oldest-first' && following !== null && 'missing' in following)
    throw toPagingError(following);
  const { records, matcher, isToStart } =
    order === 'oldest-first' ? await readBackwards(pages, options) : { ...read, isToStart: true };
  const rest = order === 'oldest-first' ? 'newer' : 'older';
  return {
    ...matcher.match(),
    found: matcher.found(),
    records,
    tokens,
    pages: pages.map(({ page }) => page),
    order: order ?? requireNoOrder(records),
    inferred: inferOrder(order === 'oldest-first' ? records.toReversed() : records),
    isStart: token === null && isToStart,
    unread: following === null && (rest === 'newer' || unneeded === 0) ? 'none' : rest,
    following: isToken(following) ? following : null,
  };
}

/** Reads a list with the oldest first from its end, until it has found enough. `isToStart`: whether it has read all of it. */
async function readBackwards(
  pages: readonly { readonly page: ListPage<AuditEvent>; readonly from: number }[],
  options: PollOptions,
) {
  const read = createRecords(options);
  // Without a checkpoint, an event may have arrived late anywhere in the list.
  const isAllNeeded = options.checkpoint === null && options.since !== null;
  for (const [number, { page, from }] of [...pages.entries()].reverse()) {
    const length = page.length - from; // before that are records of the page before
    let count = 0;
    await visitInTurns(0, length, (_, to) => {
      while (count < to && (isAllNeeded || count % STEP !== 0 || !read.isEnough())) {
        count += 1;
        read.add(page.item(page.length - count), number);
      }
      return count === to;
    });
    if (count < length) return { ...read, isToStart: false };
  }
  return { ...read, isToStart: true };
}

/** Creates what collects the records of a list, each once, and finds the known ones among them. */
function createRecords(options: PollOptions) {
  const records: ReadRecord[] = [];
  const identified = new Set<string>();
  const matcher = createKnownMatcher(options.checkpoint?.known ?? []);
  return {
    records,
    matcher,
    isEnough: createEnough(matcher, records, options),
    add: (event: AuditEvent, page: number) => {
      const text = identityText(event);
      const own = digest(text, DIGEST_LENGTH);
      // Pages may overlap. Of equal records without an id, each counts.
      if (isIdentified(event) && identified.has(own)) return;
      identified.add(own);
      records.push({ event, digest: own, length: text.length, page });
      matcher.add(own);
    },
  };
}

/** Whether equal records are the same one. */
function isIdentified({ id, identity }: AuditEvent): boolean {
  return id !== null || identity !== undefined;
}

/** The bound of bytes of one request is a limit of a poll, as that of pages is. */
export function isExhausted(error: unknown): boolean {
  return error instanceof GatewayError && error.extensions.code === 'OPERATION_TOO_COMPLEX';
}

/** Whether an error says that the service refuses a page because of how it was requested. */
export function isRefused(error: unknown): boolean {
  return error instanceof GatewayError && isPageRefusal(error.extensions);
}

/**
 * Whether a poll goes on without a page after the first that failed. The newest records come first, so those that were
 * read suffice if a known one is among them or none is needed. A refused page is refused at each poll: then some may be
 * missed. With the oldest first, the end of the list is unknown without it.
 */
function isPageUnneeded(
  error: unknown,
  order: ListOrder | null,
  matcher: KnownMatcher,
  { checkpoint, since, isSinceForwarded }: PollOptions,
): boolean {
  if (isRefused(error))
    return order !== 'oldest-first' || (checkpoint === null && !isSinceForwarded);
  if (!(error instanceof GatewayError) || order !== 'newest-first') return false;
  const isEnough = checkpoint === null ? since === null : matcher.last() >= 0;
  return isEnough && isPassing(error.extensions);
}

/** Creates a function that says whether enough of a list was read from its newest record on. `records` grows between the calls. */
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
    const missing = checkpoint.known.length - matcher.found();
    const last = matcher.last();
    // If more are missing, late records may have come between them.
    const isOld = missing < MAX_LATE && matcher.length() - 1 - last >= ENOUGH_OLD;
    return last >= 0 && (missing === 0 || isOld);
  };
}

/** Whether an event is older than an instant. False if its time is not known. */
export function isBefore({ occurredAt }: AuditEvent, since: Instant): boolean {
  return occurredAt !== null && occurredAt < since;
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
