import type { UpstreamResponse } from '../util/upstream-response.ts';
import type { Announcements, PageCounts, PagingContract, Source } from './contract.ts';
import { compilePointers } from './json-pointer.ts';
import { splitMemberName } from './member-names.ts';
import { isAbsent, readLinkHeader, readSource } from './read-source.ts';
import { toFlag, toText } from './values.ts';
import { SIZE_PARAMETER } from './vocabulary.ts';

/**
 * How to request a page other than the first: the service's link, or a query parameter. `preceding` counts what precedes
 * the page, if that is known. It identifies the last page.
 */
export type PageToken = (
  | { readonly link: string; readonly preceding?: undefined }
  | { readonly parameter: string; readonly value: string; readonly preceding?: PageCounts }
) & { readonly walk?: Walk };

/** The pages before one that a link or a cursor leads to. */
export type Walk = {
  readonly pages: number;
  readonly records: number;
  /** Identifies one of them, to recognise a circle of pages. */
  readonly print: string;
};

/** A next page that cannot be requested: the entry of the contract to set or to correct, and why. */
export type MissingPage = {
  readonly missing: string;
  /** `PAGING_REPEATS`: with this entry, records would be repeated or skipped. Default: `PAGING_UNKNOWN`. */
  readonly reason?: 'PAGING_REPEATS';
  /** The entries from which it is known that there are more records: with null for each, the list ends here. */
  readonly announcers?: readonly string[];
  /** Where the link is that leads to another host or path: a pointer, or a header. */
  readonly linkAt?: Source;
};

/** How to request the next page. `isPartial`: the rest of the same response was not read. Null: this is the last page. */
export type NextPage = PageToken | MissingPage | { readonly isPartial: true } | null;

/** Full names of entries of the contract, such as `audit.paging` and `audit.event.id`, for error messages. */
export type EntryNames = Readonly<Record<'paging' | 'id' | 'total', string>>;

/** How a page was requested. */
export type PageRequest = {
  /** Null for the first page. */
  readonly token: PageToken | null;
  /** The query parameters of the first page. */
  readonly parameters: readonly { readonly name: string; readonly value: string }[];
};

/** The first page of a list, without query parameters. */
export const FIRST_PAGE: PageRequest = { token: null, parameters: [] };

/** What a response says about further pages. */
export type Announcement = 'more' | 'end' | null;

/** What is known of the page of a response. */
export type PageFacts = UncountedPage & {
  /** Number of pages and of records that were read up to this page; null if that is unknown. */
  readonly read: PageCounts | null;
};

/** What is known before that. */
export type UncountedPage = {
  readonly response: UpstreamResponse;
  readonly paging: PagingContract;
  readonly request: PageRequest;
  readonly announcements: Announcements;
  /** Number of items in the list, with the nulls: the service has counted them, too. */
  readonly length: number;
  /** Number of records in it. */
  readonly records: number;
  /** Number of all records, as the service states it. */
  readonly total: number | null;
  readonly idAt: (index: number) => string | null;
  /** A record as the service sent it. */
  readonly recordAt: (index: number) => unknown;
  readonly entryNames: EntryNames;
};

/**
 * Reads from a response how to request the next page. A link or a cursor leads on from a page without records too, and
 * so does the number of a page that was announced: a service may filter its pages after it has cut them. What the
 * response announces counts even if the contract leads to no next page: no record is lost silently because an entry is
 * wrong.
 */
export function readNextPage(page: PageFacts): NextPage {
  const { response, paging, request, announcements, length, entryNames, read } = page;
  const { style } = paging;
  const announced = readAnnouncement(page);
  const isMore = announced === 'more';
  const hasNext = isLinkOrCursor(style);
  // A link or a cursor leads on even if a configured flag is false: the entry may be wrong.
  const isEnd = hasNext ? announcements.announcedBy(read) === 'end' : announced === 'end';
  if (isEnd && !isMore) return null;
  const next = readByStyle(page, isMore);
  const missing = (entry: string) => ({
    missing: entry,
    announcers: announcersOf(page),
  });
  if (next !== null)
    return 'missing' in next && next.reason === undefined ? missing(next.missing) : next;
  // A configured `next` that is null says that this is the last page. One that is absent may be misspelt.
  const hasOtherNext =
    request.token === null &&
    announcements.hasNext &&
    (length === 0 ||
      style === 'none' ||
      style === 'link-header' ||
      (hasNext && isAbsent(paging.next, response)));
  const isFull = style === 'none' && isOfRequestedSize(page);
  // A total next to an empty first page counts something else.
  const isCounted = length > 0 || request.token !== null || readFlag(page) === 'more';
  if (!(isMore && isCounted) && !isFull && !hasOtherNext) return null;
  if (style === 'none') return missing(`${entryNames.paging}.style`);
  if (hasNext) return missing(`${entryNames.paging}.next`);
  // Pages are missing if they are counted from another number.
  const isFromUnknown = style === 'page' && readSource(paging.position, response) === null;
  return missing(isFromUnknown ? `${entryNames.paging}.start` : entryNames.paging);
}

/** What a flag or a count says about further pages. */
export function readAnnouncement(page: PageFacts): Announcement {
  const flag = readFlag(page);
  const said = page.announcements.announcedBy(page.read);
  // Counts show that a page was skipped, whatever a flag says.
  const isSkipped = page.request.token !== null && isBehind(page).includes(true);
  if (flag === 'more' || said === 'more' || isSkipped) return 'more';
  return flag ?? said ?? (isFirstOfMore(page) ? 'more' : null);
}

function isFirstOfMore({ request, announcements }: PageFacts): boolean {
  return request.token === null && announcements.firstOfMore !== null;
}

/** What a flag says, that of the contract or another one. */
function readFlag({ response, paging, announcements }: PageFacts): Announcement {
  const flag = toFlag(readSource(paging.more, response));
  if (flag === true) return 'more';
  return announcements.flag ?? (flag === null ? null : 'end');
}

/** Whether the total, and whether the number of pages, is larger than what was read. */
function isBehind({ response, paging, total, read }: PageFacts): readonly [boolean, boolean] {
  if (read === null) return [false, false];
  const pages = readSource(paging.pages, response);
  return [Number(total) > read.records, Number(pages) > read.pages];
}

/** The entries of what says that there are more. */
export function announcersOf(page: PageFacts): readonly string[] {
  const { paging, total } = page.entryNames;
  const [isTotal, isPages] = isBehind(page);
  const { firstOfMore, hasNext, isInexact, announcedBy } = page.announcements;
  const isFlag = readFlag(page) === 'more' || firstOfMore === 'more';
  const found = [
    ...(isFlag ? [`${paging}.more`] : []),
    ...(isTotal ? [total] : []),
    ...(isPages ? [`${paging}.pages`] : []),
  ];
  if (found.length > 0) return found;
  // The number of remaining records, or an estimate.
  if (isInexact || announcedBy(page.read) === 'more') return [total];
  return hasNext ? [`${paging}.next`] : [];
}

/**
 * Whether the second page is really the third, because pages are counted from another number: the response has its
 * position, and that is a whole page too far. Less than that may be what the service has filtered.
 */
export function isAfterHole({ paging, request, announcements, total }: PageFacts): boolean {
  const { range, size } = announcements;
  const { preceding } = request.token ?? {};
  const offset = range?.start ?? announcements.offset;
  if (paging.style !== 'page' || preceding?.pages !== 1 || preceding.empty) return false;
  if (offset === null) return false;
  // An offset beyond the total is another number, such as the time of the first record.
  if (range === null && (total === null || offset >= total)) return false;
  const isRangeFull = range !== null && range.end < (range.total ?? 0);
  const stated = size ?? (isRangeFull ? range.end - range.start : null);
  // The first page may have been full. Offsets start at 0 or at 1.
  if (stated === null) return [0, 1].includes(offset - 2 * preceding.records);
  const full = Math.max(stated, preceding.records);
  return offset > full + Math.max(1, full - 1);
}

/** The number of records of the largest page; NaN if all were empty. */
function usualSize({ pages, records, empty = 0, largest }: PageCounts): number {
  return largest ?? (pages > empty ? records / (pages - empty) : Number.NaN);
}

/** Counts the pages and the records that were read up to this page, but not an empty page. */
export function countRead(page: UncountedPage): PageCounts | null {
  const { token } = page.request;
  const preceding = token === null ? countSkipped(page) : (token.preceding ?? null);
  if (preceding === null || page.length === 0) return preceding;
  const { pages, records, empty = 0 } = preceding;
  const read = { ...preceding, pages: pages + 1, records: records + page.length };
  const largest = Math.max(page.length, pages > empty ? usualSize(preceding) : 0);
  return largest * (pages + 1 - empty) === read.records ? read : { ...read, largest };
}

/** Counts what precedes the first page that was read: the client may have requested a later one by `parameters`. */
function countSkipped(page: UncountedPage): PageCounts {
  const { paging, request, length, announcements } = page;
  const { parameter, size, style, start } = paging;
  const isPosition = ({ name }: { readonly name: string }) =>
    name !== size && name === (parameter ?? name);
  if (!request.parameters.some(isPosition)) return { pages: 0, records: 0 };
  if (announcements.range !== null && style !== 'page')
    return { pages: 0, records: announcements.range.start };
  const count = Math.max(0, readPosition(page) - start);
  // An offset of whole pages plus one means that offsets start at 1.
  const isFromOne = count === 1 || count % length === 1;
  return style === 'page'
    ? { pages: count, records: count * length }
    : { pages: 0, records: isFromOne ? count - 1 : count };
}

function isLinkOrCursor(style: PagingContract['style']): boolean {
  return style === 'cursor' || style === 'next-link' || style === 'link-header';
}

/** Null if no link, cursor, number or record of the page leads to another one. */
function readByStyle(page: PageFacts, isMore: boolean): NextPage {
  const { response, paging, entryNames } = page;
  const { style, next } = paging;
  switch (style) {
    case 'none':
      return null;
    case 'page':
    case 'offset':
      return readCounted(page, isMore);
    case 'cursor':
      return readCursor(toText(readSource(next, response)), page);
    case 'next-link':
      return toLink(toText(readSource(next, response)), page);
    case 'link-header':
      return toLink(readLinkHeader(response.headers['link']), page);
    case 'last-id':
      return readLast(page.idAt, entryNames.id, page);
    case 'last-value': {
      const lastOf = compilePointers(paging.last);
      const valueAt = (index: number) => toText(lastOf(page.recordAt(index)));
      return readLast(valueAt, `${entryNames.paging}.last`, page);
    }
  }
}

/**
 * Reads a cursor. A number may say that there is no next page: -1 follows no page, and 0 none but the first, unless offsets
 * are counted down. A number that has become smaller may be the cursor of a list that is counted down, or lead back to its
 * beginning.
 */
function readCursor(value: string | null, page: PageFacts): NextPage {
  const next = value !== null && /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
  const { token } = page.request;
  const current = token !== null && 'value' in token ? Number(token.value) : Number.NaN;
  const isNone = next < 0 || (next === 0 && token !== null && next !== current - page.length);
  if (!isNone && next !== 0 && !(next < current)) return toToken(value, page);
  const isLast = isLastOfCounted(page);
  if (isLast === true) return null;
  if (!isNone) return toToken(value, page);
  return isLast === false || readAnnouncement(page) === 'more'
    ? { missing: `${page.entryNames.paging}.next`, reason: 'PAGING_REPEATS' }
    : null;
}

/** Whether the number of pages or the total says that this page is the last one; null if neither does. */
function isLastOfCounted(page: PageFacts): boolean | null {
  const { request, read, length, total, announcements } = page;
  const { page: number, pages } = announcements;
  if (number !== null && pages !== null && number >= pages) return true;
  const walk = request.token?.walk;
  const walked = walk && { pages: walk.pages + 1, records: walk.records + length };
  const counted = request.token === null ? read : walked;
  if (counted == null) return null;
  if (pages !== null) return counted.pages >= pages;
  return total === null ? null : counted.records >= total;
}

function toToken(value: string | null, { paging, entryNames }: PageFacts): NextPage {
  const { parameter } = paging;
  if (value === null) return null;
  return parameter === null ? { missing: `${entryNames.paging}.parameter` } : { parameter, value };
}

function toLink(link: string | null, { paging }: PageFacts): NextPage {
  if (link === null) return null;
  return { link: paging.follow === 'query' ? queryOf(link) : link };
}

/** The query of a link, which can be sent to any path. */
export function queryOf(link: string): string {
  return link.replace(/^[^?]*/, '');
}

/** By the id or a value of the last record. */
function readLast(
  valueAt: (index: number) => string | null,
  entry: string,
  page: PageFacts,
): NextPage {
  const { paging, entryNames, length, records, read, request } = page;
  // Nulls alone end the list where they are fewer than the items of a page before.
  const { preceding } = request.token ?? {};
  const isEnd = records === 0 && preceding !== undefined && length < usualSize(preceding);
  if (length === 0 || isEnd) return null;
  const value = records === 0 ? null : valueAt(records - 1);
  if (value === null) return { missing: entry };
  // The next page would begin after all records with this value, also those that are on no page.
  const isShared = records > 1 && valueAt(records - 2) === value;
  if (paging.style === 'last-value' && !paging.inclusive && isShared)
    return { missing: `${entryNames.paging}.inclusive`, reason: 'PAGING_REPEATS' };
  const token = toToken(value, page);
  return read === null || token === null || !('value' in token)
    ? token
    : { ...token, preceding: read };
}

/** By page number or offset. Null if the numbers in the response say that this page is the last. */
function readCounted(page: PageFacts, isMore: boolean): NextPage {
  const { response, paging, request, announcements, total, length, entryNames, read } = page;
  const { style, pages, parameter } = paging;
  const { token } = request;
  // The token was a link or a cursor, and this response has none: it is the last page, whatever its counts say.
  if (read === null) return null;
  const isEmpty = length === 0;
  const pageCount = readSource(pages, response);
  const isCounted = isEmpty || !announcements.isInexact;
  const isLastNumber = pageCount !== null && isCounted && read.pages >= Number(pageCount);
  const isLast = pageCount === null ? total !== null && read.records >= total : isLastNumber;
  if (isLast && !isMore) return null;
  const announcedPages = pageCount === null ? countPages(page, read) : Number(pageCount);
  if (isEmpty && (style !== 'page' || !(read.pages + 1 < announcedPages))) return null;
  // Of a list with empty pages, the number of the records is not expected to be that of the total.
  if (!isEmpty && isCounted && read.empty && read.pages >= announcedPages)
    return { missing: entryNames.paging };
  if (isLastNumber) return { missing: `${entryNames.paging}.pages` };
  if (parameter === null) return { missing: `${entryNames.paging}.parameter` };
  const current = readPosition(page);
  if (!Number.isSafeInteger(current)) return null;
  // The response has another number than was requested, so the next one would skip or repeat records.
  if (token !== null && 'value' in token && current !== Number(token.value))
    return { missing: `${entryNames.paging}.position`, reason: 'PAGING_REPEATS' };
  const preceding = isEmpty
    ? { ...read, pages: read.pages + 1, empty: (read.empty ?? 0) + 1 }
    : read;
  return { parameter, value: String(current + (style === 'page' ? 1 : length)), preceding };
}

/** The number of pages that follows from the total and the size of a page; NaN if that is unknown. */
function countPages(
  { request, paging, announcements, total }: PageFacts,
  read: PageCounts,
): number {
  const usual = usualSize(read);
  const requested = Number(requestedSize(request, paging) ?? Number.NaN);
  const stated = announcements.size ?? (Number.isNaN(usual) ? requested : usual);
  const size = usual > stated ? usual : stated;
  return total === null || size === 0 ? Number.NaN : Math.ceil(total / size);
}

/** The number of the page, or the offset of its first record: as the response says, or else as it was requested. */
function readPosition({ response, paging, request, total }: UncountedPage): number {
  const { style, position, start } = paging;
  const found = readSource(position, response);
  // An offset beyond the total is another number, such as the time of the first record.
  const isOther = found === null || (style === 'offset' && total !== null && Number(found) > total);
  if (!isOther) return Number(found);
  return request.token !== null && 'value' in request.token ? Number(request.token.value) : start;
}

/** Whether as many records were returned as were requested, and nothing says whether there are more. */
function isOfRequestedSize({ paging, request, announcements, length, total }: PageFacts): boolean {
  const isFull = length > 0 && requestedSize(request, paging) === String(length);
  return isFull && total === null && announcements.isListOnly;
}

function requestedSize({ parameters }: PageRequest, { size }: PagingContract): string | undefined {
  const isSize = ({ name }: { readonly name: string }) =>
    name === size || SIZE_PARAMETER.test(splitMemberName(name).words);
  return parameters.findLast(isSize)?.value;
}
