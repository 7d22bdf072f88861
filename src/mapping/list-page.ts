import { GatewayError } from '../errors.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { lazy } from '../util/memoize.ts';
import type { LazyListContract } from './contract.ts';
import { compilePointer } from './json-pointer.ts';
import {
  type Announcement,
  countRead,
  type EntryNames,
  FIRST_PAGE,
  type NextPage,
  type PageFacts,
  type PageRequest,
  type PageToken,
  readAnnouncement,
  readNextPage,
} from './next-page.ts';
import { readSource } from './read-source.ts';
import { CONTRACT_HINT, throwOnSoftFailure } from './soft-failure.ts';
import { isCount, isObject } from './values.ts';

/** An item of a list: one record of the service, read. A cursor identifies it by both fields. */
export type ListItem = {
  /** The service's own id; null if the record has none. */
  readonly id: string | null;
  /** The record as the service sent it. */
  readonly raw: unknown;
  /** What identifies it, if the contract says so. Default: the record. */
  readonly identity?: unknown;
};

/** One page of a list of the service, from one response. Items and counts are read when they are used. */
export type ListPage<Item extends ListItem = ListItem> = {
  /** The whole body; null if the response is partial. */
  readonly raw: unknown;
  /** Whether only the beginning of the response was read. */
  readonly isPartial: boolean;
  readonly entryNames: EntryNames;
  /** Number of records that were read. */
  readonly length: number;
  /** Number of records on all pages according to the service; null if it does not say. */
  total(): number | null;
  /** The item at an index from 0 to length - 1, in the service's order. The same object at every call. */
  item(index: number): Item;
  /** How to request the next page. @param token How this page was requested; its counts may be corrected. */
  next(token?: PageToken | null): NextPage;
  /** What a flag or a count of the response says about further pages. */
  announces(token?: PageToken | null): Announcement;
  /** Whether pages are requested by the last record of the page before them, and whether they begin with it. */
  isAfterLast(): boolean;
  isInclusive(): boolean;
  /** Empties the list in the body. After that neither items nor `raw` may be read. */
  release(): void;
};

/** Number of records that are inspected to infer what all of them contain. */
export const SAMPLE_SIZE = 50;

/**
 * Reads one page of a list.
 * @param request What was requested; default: the first page.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if the response has no list of records; see `throwOnSoftFailure` if its body
 * says that the request failed.
 */
export function readListPage<Item extends ListItem>(
  contract: LazyListContract,
  response: UpstreamResponse,
  reader: { readonly entryNames: EntryNames; readonly toItem: (record: unknown) => Item },
  request: PageRequest = FIRST_PAGE,
): ListPage<Item> {
  const { body, isPartial = false } = response;
  const records = recordsAt(contract.records, body);
  if (records === null) {
    throwOnSoftFailure(response, 'read');
    const problem =
      contract.records === null
        ? "Keytrail finds no list of records in the service's response. For records in groups, set `audit.records` to a pattern such as `/data/*/logs`."
        : "The pointer `audit.records` of the contract leads to no list in the service's response.";
    const message = `${problem} ${CONTRACT_HINT}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_RECORDS', message });
  }
  // An empty list with a `message` is normal; with an `error` it is not.
  if (records.length === 0) throwOnSoftFailure(response, 'read', /^error$/);
  const { length } = records;
  const { entryNames } = reader;
  // The page lives on after release(). Its closures must not hold the records, nor the contract inferred from them.
  const { total: totalSource, paging, announcements } = contract;
  let toItem: typeof reader.toItem | undefined = reader.toItem;
  const items: Item[] = [];
  const item = (index: number) => {
    if (toItem === undefined) throw new Error('This page was released.');
    const existing = items[index];
    if (existing !== undefined) return existing;
    const created = toItem(records[index]);
    items[index] = created;
    return created;
  };
  const facts = lazy<PageFacts>(() => ({
    paging: paging(),
    request,
    announcements: announcements(),
    length,
    total: toCount(readSource(totalSource(), response)),
    idAt: (index) => item(index).id,
    recordAt: (index) => item(index).raw,
    entryNames,
  }));
  const factsFor = (token = request.token) => ({ ...facts(), request: { ...request, token } });
  const readTotal = () => {
    const { total, announcements } = facts();
    const remaining = toCount(readSource(announcements.remaining, response));
    const read = countRead(response, facts());
    return total ?? (remaining === null || read === null ? null : read.records + remaining);
  };
  return {
    raw: isPartial ? null : body,
    isPartial,
    entryNames,
    length,
    total: lazy(() => (isPartial ? null : readTotal())),
    item,
    next: (token) => (isPartial ? { isPartial: true } : readNextPage(response, factsFor(token))),
    announces: (token) => readAnnouncement(response, factsFor(token)),
    isAfterLast: () => /^last-/.test(facts().paging.style),
    isInclusive: () => facts().paging.inclusive === true,
    release: () => {
      records.splice(0);
      items.splice(0);
      toItem = undefined;
    },
  };
}

/**
 * The records at a pointer: the items of an array, or the members of an object; null if neither is there. With a token
 * `*`, those of every group, in order.
 */
export function recordsAt(pointer: string | null, body: unknown): unknown[] | null {
  const wildcard = pointer === null ? null : splitAtWildcard(pointer);
  if (wildcard !== null) {
    const groups = recordsAt(wildcard.groups, body);
    const lists = groups?.map(compilePointer(wildcard.records)).filter(Array.isArray) ?? [];
    // A group without records may lack the list. If all groups lack it, the pointer is wrong.
    return lists.length > 0 || groups?.length === 0 ? lists.flat() : null;
  }
  const found = pointer === null ? undefined : compilePointer(pointer)(body);
  if (Array.isArray(found)) return found;
  if (isObject(found)) return Object.values(found);
  return found === null ? [] : null;
}

/** The pointer of the groups, and that of the records in a group; null without a token `*`. */
export function splitAtWildcard(
  pointer: string,
): Readonly<Record<'groups' | 'records', string>> | null {
  const [groups = '', records] = pointer.split(/\/\*(?=\/|$)/, 2);
  return records === undefined ? null : { groups, records };
}

/** A count beyond 2^53 has lost digits; it is then larger than any list. */
function toCount(value: unknown): number | null {
  return isCount(value) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
}
