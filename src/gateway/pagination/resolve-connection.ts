import { GatewayError, isPassing } from '../../errors.ts';
import { TURN_SIZE, visitInTurns } from '../../util/event-loop.ts';
import { lazy } from '../../util/memoize.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import { isToken, type NextPage } from '../mapping/next-page.ts';
import { decodeCursor, type Edge, encodeCursor, encodePageCursor } from './cursor.ts';
import { type FetchedPage, type FetchPage, fetchPages, lastFilled } from './fetch-pages.ts';
import { type ItemSelector, selectAllItems } from './select-events.ts';

/** One page of a connection (GraphQL Cursor Connections Specification). Its size is the client's, not the service's. */
export type Connection<Item extends ListItem = ListItem> = {
  readonly edges: readonly Edge<Item>[];
  /** The cursor of the first item; undefined if there is none. */
  startCursor(): string | undefined;
  /**
   * The cursor of the last item that was inspected, selected or not. After pages without items, the cursor of the next
   * page. Undefined at the end of a list without items.
   */
  endCursor(): string | undefined;
  hasNextPage(): boolean;
  readonly hasPreviousPage: boolean;
  /** Number of selected items on all pages; null if that is unknown. A promise if a long list has to be filtered. */
  totalCount(): number | null | Promise<number>;
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
  /**
   * Called if no item was selected, with the pages that were fetched, and whether they are the first. It rejects if
   * `where` cannot decide about their items.
   */
  readonly require?:
    | ((pages: readonly ListPage<Item>[], isStart: boolean) => Promise<void>)
    | undefined;
  /** Called with the number of items that were selected of each page of the service. It may throw. */
  readonly admit?: (items: number) => void;
};

const DEFAULT_FIRST = 50;
const MAX_FIRST = 1000;

/** The largest Int of GraphQL. */
const MAX_INT = 2 ** 31 - 1;

/** Requests pages of 100 records if the contract names the parameter, so that few pages are needed. */
export function pageSizeParameter(paging: { readonly size?: string | null | undefined } = {}) {
  return paging.size == null ? [] : [{ name: paging.size, value: '100', shown: 'all' as const }];
}

/**
 * Resolves a connection field. It fetches pages of the service as they are needed. If a page after the first selected item
 * fails for a reason that may pass, the connection has the items before it, and a next page.
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
  const from = {
    ...{ token: position?.token ?? null, position, recordsNeeded },
    // The items before it are returned. The next request begins with the page that failed.
    isLimit: (error: unknown) =>
      selected.length > 0 && error instanceof GatewayError && isPassing(error.extensions),
  };
  const { pages, next } = await fetchPages(fetchPage, from, async ({ page, token, from, next }) => {
    await visitInTurns(from, page.length, (start, end) => {
      admit?.(0); // other connections may have exhausted the bound: then nothing is selected
      const indices = where(page, start, end, size + 1 - selected.length);
      admit?.(indices.length);
      selected.push(...indices.map((index) => ({ page, token, index, next })));
      return selected.length <= size;
    });
    return selected.length < size;
  });
  if (selected.length === 0) await require?.(pages.map(({ page }) => page), position === null);
  const edges = selected.slice(0, size);
  const isTruncated = selected.length > size;
  const hasPreviousPage = position !== null && (position.index >= 0 || position.origin === 1);
  const toCursor = (edge: Edge<Item> | undefined) => edge && encodeCursor(edge);
  const endCursor = () => {
    const following = isTruncated ? null : next();
    if (following === null) return toCursor(edges.at(-1));
    const [last, filled] = [pages.at(-1), lastFilled(pages)];
    const canContinue = isToken(following);
    // From the last record on, the same empty pages would be all that is read each time.
    if (filled === undefined || (canContinue && filled !== last))
      return encodePageCursor(
        canContinue ? following : (last?.token ?? null),
        hasPreviousPage || filled !== undefined,
      );
    return toCursor({ ...filled, index: filled.page.length - 1 });
  };
  return {
    edges,
    startCursor: () => toCursor(edges[0]),
    endCursor,
    hasNextPage: () => isTruncated || next() !== null,
    hasPreviousPage,
    totalCount: lazy(() => countSelected(pages, next, where)),
    raw: (selected[0] ?? pages[0])?.page.raw,
  };
}

/** The service's total, or the length of a list that has one page. How many match a filter is known only of the latter. */
function countSelected<Item extends ListItem>(
  pages: readonly FetchedPage<Item>[],
  next: () => NextPage,
  where: ItemSelector<Item>,
): number | null | Promise<number> {
  const [first] = pages;
  if (first === undefined) return null;
  const filled = pages.filter(({ page }) => page.length > 0);
  const { page } = filled[0] ?? first;
  const isOnly = first.token === null && filled.length < 2 && next() === null;
  const stated = page.total();
  const { length, nulls } = page;
  // The total may count the nulls of the list.
  const total = isOnly ? Math.max((stated ?? 0) - nulls, length) : stated;
  // A total of 0 next to a next page is that of an empty page.
  if (total === null || total > MAX_INT || (total === 0 && !isOnly)) return null;
  if (where === selectAllItems) return total;
  return isOnly ? countMatches(page, where) : null;
}

/** Not a promise for a list that is counted in one turn: the fast path leaves promises to graphql-js. */
function countMatches<Item extends ListItem>(
  page: ListPage<Item>,
  where: ItemSelector<Item>,
): number | Promise<number> {
  const countIn = (from: number, to: number) => where(page, from, to, to - from).length;
  if (page.length <= TURN_SIZE) return countIn(0, page.length);
  let count = 0;
  const add = (from: number, to: number) => {
    count += countIn(from, to);
    return true;
  };
  return visitInTurns(0, page.length, add).then(() => count);
}
