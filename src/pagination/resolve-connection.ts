import { GatewayError } from '../errors.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import type { MissingPage, NextPage, PageToken } from '../mapping/next-page.ts';
import { lazy } from '../util/memoize.ts';
import { type CursorPosition, decodeCursor, type Edge, encodeCursor } from './cursor.ts';
import { containsRecord, findItem, fingerprint } from './find-item.ts';
import { type ItemSelector, selectAllItems } from './select-events.ts';

/** One page of a connection (GraphQL Cursor Connections Specification). Its size is the client's, not the service's. */
export type Connection<Item extends ListItem = ListItem> = {
  readonly edges: readonly Edge<Item>[];
  /** The cursor of the first item; undefined if there is none. */
  startCursor(): string | undefined;
  /** The cursor of the last item that was inspected, selected or not; undefined if there was none. */
  endCursor(): string | undefined;
  hasNextPage(): boolean;
  readonly hasPreviousPage: boolean;
  /** Number of selected items on all pages; null if that is unknown. */
  totalCount(): number | null;
  /** The body of the response that contains the first item. */
  readonly raw: unknown;
};

/** The arguments of a connection field. */
export type ConnectionArguments<Item extends ListItem> = {
  /** 1 to 1000; default 50. */
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  /** Default: all items. */
  readonly where?: ItemSelector<Item> | undefined;
  /** Called with the pages that were fetched. It throws if `where` cannot decide about their items. */
  readonly require?: ((pages: readonly ListPage<Item>[]) => void) | undefined;
  /** Called with the number of items that were selected of each page of the service. It may throw. */
  readonly admit?: (items: number) => void;
};

/** Fetches a page of the service, the first for a null token. With `recordsNeeded`, it may have only that many records. */
export type FetchPage<Item extends ListItem> = (
  token: PageToken | null,
  recordsNeeded?: number,
) => Promise<ListPage<Item>>;

const DEFAULT_FIRST = 50;
const MAX_FIRST = 1000;

/** Pages of the service that are fetched for one connection field. After that the client continues from `endCursor`. */
const MAX_PAGES = 10;

/** The largest Int of GraphQL. */
const MAX_INT = 2 ** 31 - 1;

/** Requests pages of 100 records if the contract names the parameter, so that few pages are needed. */
export function pageSizeParameter(paging: { readonly size?: string | null | undefined } = {}) {
  return paging.size == null ? [] : [{ name: paging.size, value: '100' }];
}

/**
 * Resolves a connection field. It fetches pages of the service as they are needed.
 * @throws GatewayError BAD_USER_INPUT for a `first` out of range or an `after` that is not a cursor;
 * UPSTREAM_BAD_RESPONSE if the client requests a page after the last one that can be fetched.
 */
export async function resolveConnection<Item extends ListItem>(
  fetchPage: FetchPage<Item>,
  { first, after, where = selectAllItems, require, admit }: ConnectionArguments<Item>,
): Promise<Connection<Item>> {
  const size = first ?? DEFAULT_FIRST;
  if (size < 1 || size > MAX_FIRST) {
    throw new GatewayError('BAD_USER_INPUT', { message: '`first` must be between 1 and 1000.' });
  }
  const position = after == null ? null : decodeCursor(after);
  const selected: Edge<Item>[] = [];
  // One more than the page shows whether there is a next page.
  const recordsNeeded = where === selectAllItems && position === null ? size + 1 : undefined;
  const { pages, next } = await fetchPages(fetchPage, position, recordsNeeded, (fetched) => {
    const { page, token, from } = fetched;
    admit?.(0); // other connections may have exhausted the bound: then nothing is selected
    const indices = where(page, from, size + 1 - selected.length);
    admit?.(indices.length);
    selected.push(...indices.map((index) => ({ page, token, index })));
    return selected.length < size;
  });
  require?.(pages.map(({ page }) => page));
  const edges = selected.slice(0, size);
  const isTruncated = selected.length > size;
  const toCursor = (edge: Edge<Item> | undefined) => edge && encodeCursor(edge);
  const lastEdge = () => {
    if (isTruncated || next() === null) return edges.at(-1);
    const last = pages.findLast(({ page }) => page.length > 0);
    return last && { ...last, index: last.page.length - 1 };
  };
  return {
    edges,
    startCursor: () => toCursor(edges[0]),
    endCursor: () => toCursor(lastEdge()),
    hasNextPage: () => isTruncated || next() !== null,
    hasPreviousPage: position !== null,
    totalCount: lazy(() => countSelected(pages, where)),
    raw: (selected[0] ?? pages[0])?.page.raw,
  };
}

/** A page of the service that was fetched. */
type FetchedPage<Item extends ListItem> = {
  readonly page: ListPage<Item>;
  /** How it was requested. */
  readonly token: PageToken | null;
  /** The index of its first item after the cursor and after the page before it. */
  readonly from: number;
  /** Number of pages, this one and those before it, that contain only records of the page before them. */
  readonly repeats: number;
};

/** Fetches pages from a position on, while more is wanted, there is a next page, and fewer than ten were fetched. */
async function fetchPages<Item extends ListItem>(
  fetchPage: FetchPage<Item>,
  position: CursorPosition | null,
  recordsNeeded: number | undefined,
  /** Collects the selected items of a page. Returns whether the connection needs more. */
  collect: (fetched: FetchedPage<Item>) => boolean,
): Promise<{ readonly pages: readonly FetchedPage<Item>[]; readonly next: () => NextPage }> {
  const pages: FetchedPage<Item>[] = [];
  let wanted = position;
  let token = position?.token ?? null;
  for (;;) {
    const page = await fetchPage(token, token === null ? recordsNeeded : undefined);
    const previous = pages.at(-1);
    const found = wanted === null ? countOverlap(previous?.page, page) - 1 : findItem(page, wanted);
    // If records were added to the list, the item may have moved to a later page.
    const from = wanted === null || found >= 0 ? found + 1 : page.length;
    const isOverlap = wanted === null && from > 0;
    if (wanted === null && isUnordered(previous?.page, page, from))
      throw toPagingError({ missing: page.entryNames.paging, reason: 'PAGING_REPEATS' });
    if (found >= 0) wanted = null;
    const fetched = {
      page,
      // Records are counted once, unless others were added, which move them to a later page.
      token: isOverlap && !mayBeMoved(page, previous?.page) ? withoutRecords(token, from) : token,
      from,
      repeats: isOverlap && from === page.length ? (previous?.repeats ?? 0) + 1 : 0,
    };
    pages.push(fetched);
    const next = lazy(() => nextAfter(pages));
    const needsMore = collect(fetched);
    if (!needsMore && wanted === null) return { pages, next };
    const following = next();
    // A bug: `sufficientPrefix` accepts only a prefix that contains the page.
    if (following !== null && 'isPartial' in following)
      throw new Error('The prefix of the response was too short.');
    if (following === null || 'missing' in following || pages.length === MAX_PAGES) {
      const isExhausted = position !== null && pages.every((one) => one.from === one.page.length);
      if (isExhausted && following !== null && 'missing' in following)
        throw toPagingError(following);
      if (wanted !== null) {
        throw new GatewayError('BAD_USER_INPUT', {
          message: 'The item at this cursor is no longer in the list: start again without `after`.',
        });
      }
      return { pages, next };
    }
    token = following;
  }
}

/**
 * How to request the page after the last one that was fetched. Null at the end of the list.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason PAGING_REPEATS, if the service repeats a page although it says that
 * there are more.
 */
function nextAfter<Item extends ListItem>(pages: readonly FetchedPage<Item>[]): NextPage {
  const [last, previous] = pages.toReversed();
  if (last === undefined) return null;
  const { page, token, repeats } = last;
  const following = page.next(token);
  const isRequested =
    following !== null && pages.some((one) => isSameRequest(one.token, following));
  const isNumbered = token?.preceding !== undefined;
  const canContinue = following !== null && !('missing' in following) && !isRequested;
  const problem = { missing: parameterEntry(token, page), reason: 'PAGING_REPEATS' } as const;
  const mayContinue =
    isNumbered && repeats === 1 && mayBeMoved(page, previous?.page) && canContinue;
  if (repeats > 0 && !mayContinue) {
    const announced = [previous?.page.announces(previous.token), page.announces(token)];
    if (announced.includes('more')) throw toPagingError(problem);
    if (announced.includes('end')) return null;
    if (!isNumbered) throw toPagingError(problem); // a link or a cursor announced it
    const isShort = page.length < Math.max(...pages.map((one) => one.page.length));
    return isShort ? null : problem;
  }
  if (!isRequested) return following;
  // Some services return a cursor on the last page as well.
  return isNumbered || page.announces(token) === 'more' ? problem : null;
}

/** Whether records of a page may have moved from the page before it: then the total has grown, if it is known. */
function mayBeMoved(page: ListPage, previous: ListPage | undefined): boolean {
  return (page.total() ?? 1) > (previous?.total() ?? 0);
}

function withoutRecords(token: PageToken | null, count: number): PageToken | null {
  if (token?.preceding === undefined) return token;
  const { pages, records } = token.preceding;
  return { ...token, preceding: { pages, records: records - count } };
}

/** The entry of the contract that led to a page. */
function parameterEntry(token: PageToken | null, { entryNames: { paging } }: ListPage): string {
  return token !== null && 'parameter' in token ? `${paging}.parameter` : paging;
}

function toPagingError({ missing, reason }: MissingPage): GatewayError {
  const styles = missing.endsWith('.style') ? ' (`page`, `offset` or `last-id`)' : '';
  const message =
    reason === undefined
      ? `The service has more records, but Keytrail cannot request the next page: set or correct \`${missing}\`${styles} in the contract (KEYTRAIL_CONTRACT).`
      : `The next page would repeat or skip records: correct \`${missing}\` in the contract (KEYTRAIL_CONTRACT).`;
  return new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: reason ?? 'PAGING_UNKNOWN', message });
}

/**
 * Number of items at the start of a page that the page before it already contained, because records were added between
 * the two requests, or because the page begins with the last value. Otherwise only items with ids can be compared, unless
 * the whole page is the same.
 */
function countOverlap(previous: ListPage | undefined, page: ListPage): number {
  if (previous === undefined || previous.length === 0) return 0;
  const end = previous.length - 1;
  // Several records of one operation may share an id, so the records are compared as well.
  const isSame = (at: number, index: number) =>
    previous.item(at).id === page.item(index).id &&
    fingerprint(previous, at) === fingerprint(page, index);
  const isOverlap = (size: number) =>
    size <= previous.length &&
    indices(size).every((index) => isSame(previous.length - size + index, index));
  if (previous.item(end).id === null && !page.isInclusive())
    return page.length === previous.length && isOverlap(page.length) ? page.length : 0;
  const size = 1 + indices(page.length).findIndex((index) => isSame(end, index));
  return isOverlap(size) ? size : 0;
}

/** Whether a page after the last record of the page before it has a record of that page again: it was not the last. */
function isUnordered(previous: ListPage | undefined, page: ListPage, from: number): boolean {
  if (previous === undefined || !page.isAfterLast()) return false;
  return indices(page.length).some(
    (index) => index >= from && containsRecord(previous, page, index),
  );
}

function isSameRequest(token: PageToken | null, next: NextPage): boolean {
  return JSON.stringify(token, REQUEST_KEYS) === JSON.stringify(next, REQUEST_KEYS);
}

/** The members of a token that are sent. */
const REQUEST_KEYS = ['link', 'parameter', 'value'];

function indices(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}

/** The service's total, or the length of a list that has one page. How many match a filter is known only of the latter. */
function countSelected<Item extends ListItem>(
  [first]: readonly FetchedPage<Item>[],
  where: ItemSelector<Item>,
): number | null {
  if (first === undefined) return null;
  const { page, token } = first;
  const isOnly = token === null && page.next() === null;
  const stated = page.total();
  const total = isOnly ? Math.max(stated ?? 0, page.length) : stated;
  if (total === null || total > MAX_INT) return null;
  if (where === selectAllItems) return total;
  return isOnly ? where(page, 0, page.length).length : null;
}
