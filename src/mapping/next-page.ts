import type { UpstreamResponse } from '../upstream/types.ts';
import { readLinkHeader } from '../util/link-header.ts';
import type { Announcements, PageCounts, PagingContract } from './contract.ts';
import { splitMemberName } from './member-names.ts';
import { compilePointers, isAbsent, readSource } from './read-source.ts';
import { toText } from './values.ts';

/**
 * How to request a page other than the first: the service's link, or a query parameter. `preceding` counts what precedes
 * the page, if that is known. It identifies the last page.
 */
export type PageToken =
  | { readonly link: string; readonly preceding?: undefined }
  | { readonly parameter: string; readonly value: string; readonly preceding?: PageCounts };

/** A next page that cannot be requested: the entry of the contract to set or to correct, and why. */
export type MissingPage = {
  readonly missing: string;
  /** `PAGING_REPEATS`: with this entry, records would be repeated or skipped. Default: `PAGING_UNKNOWN`. */
  readonly reason?: 'PAGING_REPEATS';
};

/** How to request the next page. `isPartial`: the rest of the same response was not read. Null: this is the last page. */
export type NextPage = PageToken | MissingPage | { readonly isPartial: true } | null;

/** Full names of two entries of the contract, such as `audit.paging` and `audit.event.id`, for error messages. */
export type EntryNames = Readonly<Record<'paging' | 'id', string>>;

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
export type PageFacts = {
  readonly paging: PagingContract;
  readonly request: PageRequest;
  readonly announcements: Announcements;
  readonly length: number;
  /** Number of all records, as the service states it. */
  readonly total: number | null;
  readonly idAt: (index: number) => string | null;
  /** A record as the service sent it. */
  readonly recordAt: (index: number) => unknown;
  readonly entryNames: EntryNames;
};

/**
 * Reads from a response how to request the next page. A link or a cursor leads on from a page without records too: a
 * service may filter its pages after it has cut them. What the response announces counts even if the contract leads to
 * no next page: no record is lost silently because an entry is wrong.
 */
export function readNextPage(response: UpstreamResponse, page: PageFacts): NextPage {
  const { paging, request, announcements, length, entryNames } = page;
  const { style } = paging;
  const read = countRead(response, page);
  const announced = readAnnouncement(response, page);
  const isMore = announced === 'more';
  const hasNext = isLinkOrCursor(style);
  // A link or a cursor leads on even if a configured flag is false: the entry may be wrong.
  const isEnd = hasNext ? announcements.says(read) === 'end' : announced === 'end';
  if (!isMore && (isEnd || (length === 0 && !hasNext))) return null;
  const next = readByStyle(response, page, read, isMore);
  if (next !== null && (hasNext || length > 0)) return next;
  // A configured `next` that is null says that this is the last page. One that is absent may be misspelt.
  const hasOtherNext =
    request.token === null &&
    (style === 'none' || style === 'link-header' || (hasNext && isAbsent(paging.next, response))) &&
    announcements.hasNext;
  // A total next to an empty first page counts something else.
  if (length === 0 && request.token === null && !hasOtherNext) return null;
  const isFull = style === 'none' && isOfRequestedSize(page);
  if (!isMore && !isFull && !hasOtherNext) return null;
  if (style === 'none') return { missing: `${entryNames.paging}.style` };
  return { missing: hasNext ? `${entryNames.paging}.next` : entryNames.paging };
}

/** What a flag or a count says about further pages. */
export function readAnnouncement(response: UpstreamResponse, page: PageFacts): Announcement {
  const { paging, request, announcements, total } = page;
  const read = countRead(response, page);
  const flag = String(readSource(paging.more, response));
  const said = announcements.says(read);
  // Counts show that a page was skipped, whatever a flag says.
  const pages = readSource(paging.pages, response);
  const isSkipped =
    request.token !== null &&
    read !== null &&
    (Number(total) > read.records || Number(pages) > read.pages);
  if (flag === 'true' || said === 'more' || isSkipped) return 'more';
  return flag === 'false' ? 'end' : said;
}

/** Number of pages and of records that were read up to this page; null if that is unknown. */
export function countRead(response: UpstreamResponse, page: PageFacts): PageCounts | null {
  const { token } = page.request;
  const preceding = token === null ? countSkipped(response, page) : (token.preceding ?? null);
  if (preceding === null || page.length === 0) return preceding;
  return { pages: preceding.pages + 1, records: preceding.records + page.length };
}

/** Counts what precedes the first page that was read: the client may have requested a later one by `parameters`. */
function countSkipped(response: UpstreamResponse, page: PageFacts): PageCounts {
  const { paging, request, length } = page;
  const { parameter, size, style, start } = paging;
  const isPosition = ({ name }: { readonly name: string }) =>
    name !== size && name === (parameter ?? name);
  if (!request.parameters.some(isPosition)) return { pages: 0, records: 0 };
  const count = Math.max(0, readPosition(response, page) - start);
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
function readByStyle(
  response: UpstreamResponse,
  page: PageFacts,
  read: PageCounts | null,
  isMore: boolean,
): NextPage {
  const { paging, entryNames } = page;
  const { style, next } = paging;
  switch (style) {
    case 'none':
      return null;
    case 'page':
    case 'offset':
      return readCounted(response, page, read, isMore);
    case 'cursor':
      return toToken(toText(readSource(next, response)), page);
    case 'next-link':
      return toLink(toText(readSource(next, response)), page);
    case 'link-header':
      return toLink(readLinkHeader(response.headers['link']), page);
    case 'last-id':
      return readLast(page.idAt, entryNames.id, page, read);
    case 'last-value': {
      const lastOf = compilePointers(paging.last);
      const valueAt = (index: number) => toText(lastOf(page.recordAt(index)));
      return readLast(valueAt, `${entryNames.paging}.last`, page, read);
    }
  }
}

function toToken(value: string | null, { paging, entryNames }: PageFacts): NextPage {
  const { parameter } = paging;
  if (value === null) return null;
  return parameter === null ? { missing: `${entryNames.paging}.parameter` } : { parameter, value };
}

function toLink(link: string | null, { paging }: PageFacts): NextPage {
  if (link === null) return null;
  return { link: paging.follow === 'query' ? link.replace(/^[^?]*/, '') : link };
}

/** By the id or a value of the last record. */
function readLast(
  valueAt: (index: number) => string | null,
  entry: string,
  page: PageFacts,
  read: PageCounts | null,
): NextPage {
  const { paging, entryNames, length } = page;
  if (length === 0) return null;
  const value = valueAt(length - 1);
  if (value === null) return { missing: entry };
  // The next page would begin after all records with this value, also those that are on no page.
  const isShared = length > 1 && valueAt(length - 2) === value;
  if (paging.style === 'last-value' && !paging.inclusive && isShared)
    return { missing: `${entryNames.paging}.inclusive`, reason: 'PAGING_REPEATS' };
  const token = toToken(value, page);
  return read === null || token === null || !('value' in token)
    ? token
    : { ...token, preceding: read };
}

/** By page number or offset. Null if the numbers in the response say that this page is the last. */
function readCounted(
  response: UpstreamResponse,
  page: PageFacts,
  read: PageCounts | null,
  isMore: boolean,
): NextPage {
  const { paging, request, total, length, entryNames } = page;
  const { style, pages, parameter } = paging;
  const { token } = request;
  // The token was a link or a cursor, and this response has none: it is the last page, whatever its counts say.
  if (read === null) return null;
  const pageCount = readSource(pages, response);
  const isLastNumber = pageCount !== null && read.pages >= Number(pageCount);
  const isLast = pageCount === null ? total !== null && read.records >= total : isLastNumber;
  if (isLast && !isMore) return null;
  if (isLastNumber) return { missing: `${entryNames.paging}.pages` };
  if (parameter === null) return { missing: `${entryNames.paging}.parameter` };
  const current = readPosition(response, page);
  if (!Number.isSafeInteger(current)) return null;
  // The response has another number than was requested, so the next one would skip or repeat records.
  if (token !== null && 'value' in token && current !== Number(token.value))
    return { missing: `${entryNames.paging}.position`, reason: 'PAGING_REPEATS' };
  return { parameter, value: String(current + (style === 'page' ? 1 : length)), preceding: read };
}

/** The number of the page, or the offset of its first record: as the response says, or else as it was requested. */
function readPosition(response: UpstreamResponse, { paging, request, total }: PageFacts): number {
  const { style, position, start } = paging;
  const found = readSource(position, response);
  // An offset beyond the total is another number, such as the time of the first record.
  const isOther = found === null || (style === 'offset' && total !== null && Number(found) > total);
  if (!isOther) return Number(found);
  return request.token !== null && 'value' in request.token ? Number(request.token.value) : start;
}

/** Names of query parameters for the page size, as words. */
const SIZE_NAMES = /\b(?:limit|size|per page|top|take|first|row|count|max result)$/;

/** Whether as many records were returned as were requested, and nothing says whether there are more. */
function isOfRequestedSize({ paging, request, announcements, length, total }: PageFacts): boolean {
  const isSize = ({ name }: { readonly name: string }) =>
    name === paging.size || SIZE_NAMES.test(splitMemberName(name).words);
  const size = request.parameters.findLast(isSize)?.value;
  return size === String(length) && total === null && announcements.isBare;
}
