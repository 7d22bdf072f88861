import { GatewayError } from '../../errors.ts';
import { lazy, memoizeByObject } from '../../util/memoize.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { LazyListContract, PagingContract } from './contract.ts';
import { compilePointer } from './json-pointer.ts';
import { splitMemberName } from './member-names.ts';
import {
  type Announced,
  countRead,
  type EntryNames,
  FIRST_PAGE,
  isAfterHole,
  type NextPage,
  type PageFacts,
  type PageRequest,
  type PageToken,
  readAnnounced,
  readNextPage,
  readPagingValues,
  type UncountedPage,
} from './next-page.ts';
import { type Claim, type PageEvidence, saidBy } from './page-evidence.ts';
import { findTable } from './table.ts';
import { firstNames, hasManyMembers, isObject } from './values.ts';
import { judge, mayBePart, type Verdict } from './verdict.ts';
import { CONTRACT_HINT, requireSuccess } from './verdict-errors.ts';

/** An item of a list: one record of the service, read. A cursor identifies it by both fields. */
export type ListItem = {
  /** The service's own id; null if the record has none. */
  readonly id: string | null;
  /** The record as the service sent it. */
  readonly raw: unknown;
  /** What identifies it, if the contract says so. Default: the record. */
  readonly identity?: unknown;
  /** When it occurred, in a form that sorts by time; null if that is unknown. */
  readonly occurredAt?: string | null;
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
  /** Number of nulls in the list. They are no records, but the service has counted them. */
  readonly nulls: number;
  /** Number of records on all pages according to the service; null if it does not say. */
  total(): number | null;
  /** The item at an index from 0 to length - 1, in the service's order. The same object at every call. */
  item(index: number): Item;
  /** How to request the next page. @param token How this page was requested; its counts may be corrected. */
  next(token?: PageToken | null): NextPage;
  /** What a flag or a count of the response says about further pages, and the entries that say that there are more. */
  announced(token?: PageToken | null): Announced;
  /** Whether the response shows that records between the page before this one and this one were skipped. */
  isAfterHole(token?: PageToken | null): boolean;
  /** How the service paginates the list. */
  paging(): PagingContract;
  /** Empties the list in the body. After that neither items nor `raw` may be read. */
  release(): void;
};

/** Number of records that are inspected to infer what all of them contain. */
export const SAMPLE_SIZE = 50;

/**
 * Reads one page of a list.
 * @param request What was requested; default: the first page.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if the response has no list of records; see `requireSuccess` if it has no record
 * and says that the request failed.
 */
export function readListPage<Item extends ListItem>(
  contract: LazyListContract,
  response: UpstreamResponse,
  reader: { readonly entryNames: EntryNames; readonly toItem: (record: unknown) => Item },
  request: PageRequest = FIRST_PAGE,
): ListPage<Item> {
  const { body, isPartial = false } = response;
  const found = recordsAt(contract.records, body);
  const isAbsent = found === null || body === null;
  const records = found === null ? [] : withoutNulls(found);
  const isRead = records.length > 0 || isPartial;
  const says = isRead ? null : requireReading(contract, response, found);
  const list = isAbsent
    ? says !== 'UNKNOWN' && isEmptyPage(contract, response, request.token === null)
      ? []
      : null
    : found;
  if (list === null) {
    const isTable = contract.records === null && findTable(body) !== null;
    const problem = isTable
      ? 'The response is a table: a list of names, and rows of values. A contract reads the rows by index, such as `{"audit": {"records": "/data", "event": {"action": "/2"}}}`.'
      : contract.records === null
        ? "Keytrail finds no list of records in the service's response. For records in groups, set `audit.records` to a pattern such as `/data/*/logs`."
        : "The pointer `audit.records` of the contract leads to no list in the service's response.";
    const message = `${problem} ${CONTRACT_HINT}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_RECORDS', message });
  }
  const { length } = records;
  const nulls = list.length - length;
  const { entryNames } = reader;
  const beside = length > 0 && mayBePart(body) ? judgeRead(contract, response, list) : null;
  const isPart = beside !== null && !/^(?:DONE|NOTHING|UNKNOWN)$/.test(beside.says);
  // The page lives on after release(). Its closures must not hold the records, nor the contract inferred from them.
  const { total: totalSource, paging: pagingOf, evidence } = contract;
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
  const hasTime = () =>
    records.slice(0, SAMPLE_SIZE).some((_, index) => item(index).occurredAt != null);
  // A list of what is wrong, beside a code of a failure.
  if (isPart && beside.by === 'member' && !hasTime()) requireSuccess(beside, response, 'read');
  const facts = lazy((): UncountedPage => {
    const paging = pagingOf();
    return {
      ...{ response, request, paging, entryNames },
      values: readPagingValues(paging, totalSource(), response),
      evidence: isPart ? asPart(evidence()) : evidence(),
      length: length + nulls,
      records: length,
      idAt: (index) => item(index).id,
      recordAt: (index) => item(index).raw,
    };
  });
  const factsFor = (token = request.token): PageFacts => {
    const page = { ...facts(), request: { ...request, token } };
    return { ...page, read: countRead(page) };
  };
  const readTotal = () => {
    const { values, evidence, read } = factsFor();
    const { remaining } = evidence.place;
    return values.total ?? (remaining === null || read === null ? null : read.records + remaining);
  };
  return {
    raw: isPartial ? null : body,
    isPartial,
    entryNames,
    ...{ length, nulls },
    total: lazy(() => (isPartial ? null : readTotal())),
    item,
    next: (token) => (isPartial ? { isPartial: true } : readNextPage(factsFor(token))),
    announced: (token) => readAnnounced(factsFor(token)),
    // Most pages need no counts, so the envelope is not read for them.
    isAfterHole: (token = request.token) =>
      token?.preceding !== undefined && isAfterHole(factsFor(token)),
    paging: () => facts().paging,
    release: () => {
      list.splice(0);
      records.splice(0);
      items.splice(0);
      toItem = undefined;
    },
  };
}

/** What a response says of its own success. */
function judgeRead(
  { errors }: LazyListContract,
  response: UpstreamResponse,
  data: unknown,
): Verdict {
  return errors === null ? IGNORED : judge(response, { operation: 'read', data, errors });
}

const IGNORED: Verdict = { says: 'NOTHING', at: [], statuses: [], by: 'body', isNumber: false };

/** What a response without a record says of its own success. @throws GatewayError see `requireSuccess`. */
function requireReading(
  contract: LazyListContract,
  response: UpstreamResponse,
  data: unknown,
): Verdict['says'] {
  const verdict = judgeRead(contract, response, data);
  // Without a list, NO_RECORDS says more.
  if (data !== null || verdict.says !== 'UNKNOWN') requireSuccess(verdict, response, 'read');
  return verdict.says;
}

/** A failure beside records: they may be a part of what was requested. */
function asPart(evidence: PageEvidence): PageEvidence {
  const part: Claim = { entry: 'more', says: 'more' };
  return evidence.hasFlags ? { ...evidence, claims: [part, ...evidence.claims] } : evidence;
}

/** Statuses of a response that may have nothing to return. Others say that something is there, or not yet. */
const COMPLETE = /^20[0345]$/;

/**
 * Whether a response without the list is a page without records: it has no body, or services that leave out what is empty
 * sent it. A list that was renamed must not look empty, so the rest of the body may neither hold another value that could
 * contain it, nor a count above 0, nor a text that may say what is wrong.
 */
function isEmptyPage(
  { records: pointer, evidence }: LazyListContract,
  { body, status }: UpstreamResponse,
  isFirst: boolean,
): boolean {
  const { hasCount, hasNext, claims } = evidence();
  const says = claims.map((claim) => saidBy(claim, { pages: 1, records: 0 }));
  const isNotEnd = hasNext || !isFirst || says.find((one) => one !== null) === 'more';
  if (hasCount || !(COMPLETE.test(String(status)) || (status === 206 && isNotEnd))) return false;
  if (body === null) return true;
  let value: unknown = pointer === null ? undefined : body;
  for (const token of (pointer ?? '').split('/*', 1).join().split('/').slice(1)) {
    if (!isObject(value)) break;
    if (hasManyMembers(value)) return false;
    for (const key of firstNames(value)) {
      const other = value[key];
      const { pointerToken } = splitMemberName(key);
      if (pointerToken === token) continue;
      if (typeof other === 'object' && other !== null) return false;
    }
    value = compilePointer(`/${token}`)(value) ?? null;
  }
  return value === null || (value === '' && value !== body);
}

/**
 * The records at a pointer: the items of an array, or the members of an object; null if neither is there. With a token
 * `*`, those of every group, in order. A null among them is no record.
 */
export function recordsAt(pointer: string | null, body: unknown): unknown[] | null {
  const wildcard = pointer === null ? null : splitAtWildcard(pointer);
  if (wildcard !== null) {
    const parent = compilePointer(wildcard.groups)(body);
    const groups: unknown[] = Array.isArray(parent) ? parent : Object.values(Object(parent));
    const found = groups.map(compilePointer(wildcard.records));
    // Members that are no groups may be next to those that are.
    const isGroup = wildcard.records === '' ? Array.isArray : (list: unknown) => list != null;
    const lists = found.filter(isGroup).map(toRecords);
    // A group without records may lack the list. If all groups lack it, the pointer is wrong.
    if (lists.length === 0 && (groups.length > 0 || parent === undefined)) return null;
    return lists.every((list) => list !== null) ? lists.flat() : null;
  }
  return pointer === null ? null : toRecords(compilePointer(pointer)(body));
}

/** The records of a list. The same list if it has no null, as usual. */
export function withoutNulls<Items extends readonly unknown[]>(items: Items): Items | unknown[] {
  return items.includes(null) ? items.filter((item) => item !== null) : items;
}

function toRecords(found: unknown): unknown[] | null {
  if (Array.isArray(found)) return found;
  if (isObject(found)) return membersOf(found).records;
  return found === null ? [] : null;
}

/**
 * The records in an object: its members, if they are records with numbered keys or of the same kind. Where a list has one
 * record, the object may be that record, or contain it as its only member: XML that was converted does not tell a list
 * with one item from an item. Null if it is neither.
 */
function listMembers(object: Readonly<Record<string, unknown>>): unknown[] | null {
  const names = Object.keys(object);
  const values = names.map((name) => object[name]);
  if (names.every((name) => /\d/.test(name))) return values;
  const isScalar = (value: unknown) => typeof value !== 'object';
  const isNumbered = (value: unknown, index: number) =>
    isObject(value) && /^\d+$/.test(names[index] ?? '');
  const others = values.filter((value, index) => !isNumbered(value, index));
  if (others.length < values.length && others.every(isScalar)) return values.filter(isNumbered);
  if (values.some(isScalar)) return [object];
  const [only, ...more] = values;
  if (Array.isArray(only) && more.length === 0) return only;
  return areAlike(values) ? values : null;
}

/** Once per object, of which there may be as many members as a response may have. */
const membersOf = memoizeByObject((object: Readonly<Record<string, unknown>>) => ({
  records: listMembers(object),
}));

/** Whether all values are objects, or null, and each has at least half of its keys in common with the first. */
function areAlike(values: readonly unknown[]): boolean {
  const [first, ...others] = values.filter(isObject).map(firstNames);
  if (first === undefined || !values.every((one) => one === null || isObject(one))) return false;
  const names = new Set(first);
  return others.every((keys) => {
    const shared = keys.filter((key) => names.has(key)).length;
    return 3 * shared >= keys.length + first.length; // half of all keys of both
  });
}

/** The pointer of the groups, and that of the records in a group; null without a token `*`. */
export function splitAtWildcard(
  pointer: string,
): Readonly<Record<'groups' | 'records', string>> | null {
  const [groups = '', records] = pointer.split(/\/\*(?=\/|$)/, 2);
  return records === undefined ? null : { groups, records };
}
