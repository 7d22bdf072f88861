import { GatewayError } from '../../errors.ts';
import { digest } from '../../util/digest.ts';
import { lazy } from '../../util/memoize.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import { isToken, type MissingPage, type NextPage, type PageToken } from '../mapping/next-page.ts';
import type { CursorPosition } from './cursor.ts';
import { BEFORE_FIRST, containsRecord, DIGEST_LENGTH, findItem, fingerprint } from './find-item.ts';
import { placeFollowing } from './following-page.ts';
import { toPagingError } from './paging-error.ts';

/** Fetches a page of the service, the first for a null token. With `recordsNeeded`, it may have only that many records. */
export type FetchPage<Item extends ListItem> = (
  token: PageToken | null,
  recordsNeeded?: number,
) => Promise<ListPage<Item>>;

/** Pages of the service that are fetched for one connection field, or one poll. */
export const MAX_PAGES = 10;

/** A page of the service that was fetched. */
export type FetchedPage<Item extends ListItem> = {
  readonly page: ListPage<Item>;
  /** How it was requested. */
  readonly token: PageToken | null;
  /** The index of its first item after the cursor and after the page before it. */
  readonly from: number;
  /** How many pages in a row, up to this one, had nothing new. */
  readonly repeats: number;
  /**
   * How to request the page after it. Null at the end of the list.
   * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason PAGING_REPEATS, see `nextAfter`.
   */
  readonly next: () => NextPage;
};

/** Where to begin, and how much to fetch. */
export type FetchOptions = {
  /** How to request the first of the pages. */
  readonly token: PageToken | null;
  /** The item after which the pages begin. Null: with the first item. */
  readonly position: CursorPosition | null;
  /** Sufficient records of the list's first page. Default: all. */
  readonly recordsNeeded?: number | undefined;
  /** @default 10 */
  readonly maxPages?: number;
  /** Whether an error of a page after the first ends the fetching, as the tenth page does. Default: no error does. */
  readonly isLimit?: (error: unknown) => boolean;
};

/**
 * Fetches pages, while more is wanted, there is a next page, and fewer than ten were fetched.
 * @param collect Collects items of a page. Returns whether more are wanted.
 */
export async function fetchPages<Item extends ListItem>(
  fetchPage: FetchPage<Item>,
  { token: firstToken, position, recordsNeeded, maxPages = MAX_PAGES, isLimit }: FetchOptions,
  collect: (fetched: FetchedPage<Item>) => Promise<boolean>,
): Promise<{ readonly pages: readonly FetchedPage<Item>[]; readonly next: () => NextPage }> {
  const pages: FetchedPage<Item>[] = [];
  const next = () => pages.at(-1)?.next() ?? null;
  let wanted = position?.index === BEFORE_FIRST ? null : position;
  let token = firstToken;
  const place = await placeFollowing(fetchPage, wanted);
  if (place !== 'elsewhere') token = wanted?.following?.token ?? null;
  if (place === 'follows') wanted = null;
  for (;;) {
    let page: ListPage<Item>;
    try {
      page = await fetchPage(token, token === null ? recordsNeeded : undefined);
    } catch (error) {
      if (pages.length > 0 && isLimit?.(error)) return { pages, next };
      throw error;
    }
    const previous = lastFilled(pages);
    const found =
      wanted === null ? countOverlap(previous?.page, page) - 1 : await findItem(page, wanted);
    // If records were added to the list, the item may have moved to a later page.
    const from = wanted === null || found >= 0 ? found + 1 : page.length;
    // A page that a cursor names as the next one may repeat records too.
    const isOverlap = from > 0 && (wanted === null || (place === 'contains' && pages.length === 0));
    const totalBefore = previous?.page.total() ?? position?.following?.total ?? null;
    const wrong =
      token === null // the first page, which repeats and skips nothing
        ? null
        : await findWrongEntry(pages, page, token, wanted === null ? from : page.length);
    if (wrong !== null) throw toPagingError({ missing: wrong, reason: 'PAGING_REPEATS' });
    if (found >= 0) wanted = null;
    const fetched = {
      page,
      // Records are counted once, unless others were added, which move them to a later page.
      token: isOverlap && !mayBeMoved(page, totalBefore) ? withoutRecords(token, from) : token,
      from,
      repeats: isOverlap && from === page.length ? (previous?.repeats ?? 0) + 1 : 0,
      next: lazy(() => nextAfter(pages)),
    };
    pages.push(fetched);
    const needsMore = await collect(fetched);
    if (!needsMore && wanted === null) return { pages, next };
    const following = next();
    // A bug: `sufficientPrefix` accepts only a prefix that contains the page.
    if (following !== null && 'isPartial' in following)
      throw new Error('The prefix of the response was too short.');
    if (following === null || 'missing' in following || pages.length === maxPages) {
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
  const last = pages.at(-1);
  if (last === undefined) return null;
  const previous = lastFilled(pages.slice(0, -1));
  const { page, token, repeats } = last;
  const following = withWalk(page.next(token), last);
  if (
    page.length === 0 &&
    page.announced(token).says !== 'more' &&
    isTotalReached(pages, page.total())
  )
    return null;
  const isRequested =
    following !== null && pages.some((one) => isSameRequest(one.token, following));
  const isNumbered = token?.preceding !== undefined;
  const canContinue = following !== null && !('missing' in following) && !isRequested;
  const problem = { missing: parameterEntry(token, page), reason: 'PAGING_REPEATS' } as const;
  const mayContinue =
    isNumbered && repeats === 1 && mayBeMoved(page, previous?.page.total() ?? null) && canContinue;
  if (repeats > 0 && !mayContinue) {
    const announced = [previous, last].map((one) => one?.page.announced(one.token).says);
    if (announced.includes('more')) throw toPagingError(problem);
    // Some services return the cursor of the last page on that page as well.
    if (announced.includes('end') || isOwnPage(token, previous?.token ?? null)) return null;
    if (!isNumbered) throw toPagingError(problem); // a link or a cursor announced it
    const isShort = page.length < Math.max(...pages.map((one) => one.page.length));
    return isShort ? null : problem;
  }
  if (!isRequested) return following;
  if (isNumbered) return page.length > 0 ? problem : missingNext(last);
  // The same request may lead to other records, as with the ID of a scroll.
  if (page.length > 0) return following;
  return page.announced(token).says === 'more' ? missingNext(last) : null;
}

/** Whether a token that led to the same records is that of their page. 0 is the first page, if it leads there. */
function isOwnPage(token: PageToken | null, previous: PageToken | null): boolean {
  const isFirst = previous === null && token !== null && 'value' in token && token.value === '0';
  return isFirst || isSameRequest(token, previous);
}

function missingNext({ page, token }: FetchedPage<ListItem>): MissingPage {
  return {
    missing: `${page.entryNames.paging}.next`,
    announcers: page.announced(token).announcers,
  };
}

/** Identifies a page by its request and its first record. */
function pagePrint(page: ListPage, token: PageToken | null): string {
  const first = page.length === 0 ? '' : fingerprint(page, 0);
  return digest(`${JSON.stringify(token, REQUEST_KEYS)} ${first}`, DIGEST_LENGTH);
}

/**
 * Whether links or cursors have led to a page again. Of the pages that earlier requests have fetched, the token has one: the
 * last whose number is a power of two. So a circle is found after at most three times its pages (Brent, BIT 20, 1980).
 */
function isCircle(
  pages: readonly FetchedPage<ListItem>[],
  page: ListPage,
  token: PageToken | null,
): boolean {
  if (token?.walk === undefined) return false;
  const print = pagePrint(page, token);
  const [previous, ...others] = pages.map((one) => pagePrint(one.page, one.token)).toReversed();
  // A cursor that leads to its own page is no circle: see `nextAfter`.
  return previous !== print && (token.walk.print === print || others.includes(print));
}

/** Adds the page to those that were walked, if a link or a cursor leads to the next one. Numbers form no circle. */
function withWalk(next: NextPage, { page, token }: FetchedPage<ListItem>): NextPage {
  if (!isToken(next) || next.preceding !== undefined) return next;
  const { pages = 0, records = 0, print } = token?.walk ?? {};
  const walked = { pages: pages + 1, records: records + page.length + page.nulls };
  const isPowerOfTwo = Number.isInteger(Math.log2(walked.pages));
  const kept = print === undefined || isPowerOfTwo ? pagePrint(page, token) : print;
  return { ...next, walk: { ...walked, print: kept } };
}

/** The last page with records. Pages without records, as filters and permissions leave them, may come between others. */
export function lastFilled<Item extends ListItem>(
  pages: readonly FetchedPage<Item>[],
): FetchedPage<Item> | undefined {
  return pages.findLast(({ page }) => page.length > 0);
}

/** Whether as many records as the list has were read from its start on. A total of 0 may be that of the page. */
function isTotalReached(pages: readonly FetchedPage<ListItem>[], total: number | null): boolean {
  const read = pages.reduce((sum, { page, from }) => sum + page.length + page.nulls - from, 0);
  return pages[0]?.token === null && total !== null && total > 0 && read >= total;
}

/** Whether records of a page may have moved from the page before it: then the total has grown, if it is known. */
function mayBeMoved(page: ListPage, totalBefore: number | null): boolean {
  return (page.total() ?? 1) > (totalBefore ?? 0);
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
  if (previous.item(end).id === null && page.paging().inclusive !== true)
    return page.length === previous.length && isOverlap(page.length) ? page.length : 0;
  const size = 1 + indices(page.length).findIndex((index) => isSame(end, index));
  return isOverlap(size) ? size : 0;
}

/** The entry of the contract because of which a page repeats or skips records; null if it does neither. */
async function findWrongEntry(
  pages: readonly FetchedPage<ListItem>[],
  page: ListPage,
  token: PageToken | null,
  from: number,
): Promise<string | null> {
  const { paging } = page.entryNames;
  if (await isUnordered(lastFilled(pages)?.page, page, from)) return paging;
  if (isCircle(pages, page, token)) return `${paging}.next`;
  return page.isAfterHole(token) ? `${paging}.start` : null;
}

/** Whether a page after the last record of the page before it has a record of that page again: it was not the last. */
async function isUnordered(
  previous: ListPage | undefined,
  page: ListPage,
  from: number,
): Promise<boolean> {
  if (previous === undefined || !/^last-/.test(page.paging().style)) return false;
  for (let index = from; index < page.length; index += 1)
    if (await containsRecord(previous, page, index)) return true;
  return false;
}

function isSameRequest(token: PageToken | null, next: NextPage): boolean {
  return JSON.stringify(token, REQUEST_KEYS) === JSON.stringify(next, REQUEST_KEYS);
}

/** The members of a token that are sent. */
const REQUEST_KEYS = ['link', 'parameter', 'value'];

function indices(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}
