import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { PagingContract, Source } from './contract.ts';
import { compilePointers } from './json-pointer.ts';
import { splitMemberName } from './member-names.ts';
import {
  type Announcement,
  type Claim,
  type PageCounts,
  type PageEvidence,
  saidBy,
} from './page-evidence.ts';
import { isAbsent, readLinkHeader, readSource } from './read-source.ts';
import { firstNames, toCount, toFlag, toText } from './values.ts';
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

/** Whether the next page can be requested. */
export function isToken(next: NextPage): next is PageToken {
  return next !== null && ('link' in next || 'parameter' in next);
}

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

/** What is known of the page of a response. */
export type PageFacts = UncountedPage & {
  /** Number of pages and of records that were read up to this page; null if that is unknown. */
  readonly read: PageCounts | null;
};

/** What is known before that. */
export type UncountedPage = {
  readonly response: UpstreamResponse;
  readonly request: PageRequest;
  readonly paging: PagingContract;
  readonly values: PagingValues;
  readonly evidence: PageEvidence;
  /** Number of items in the list, with the nulls: the service has counted them, too. */
  readonly length: number;
  /** Number of records in it. */
  readonly records: number;
  readonly idAt: (index: number) => string | null;
  /** A record as the service sent it. */
  readonly recordAt: (index: number) => unknown;
  readonly entryNames: EntryNames;
};

/** What a response has at the entries of the contract. */
type PagingValues = ReturnType<typeof readPagingValues>;

/** Reads what a response has at the entries of the contract: null for nothing, NaN for a value that is no number. */
export function readPagingValues(
  paging: PagingContract,
  total: Source,
  response: UpstreamResponse,
) {
  const numberAt = (source: Source) => {
    const value = readSource(source, response);
    return value === null ? null : Number(value);
  };
  const { style, next } = paging;
  return {
    /** The link to the next page, or its cursor. */
    next:
      style === 'link-header'
        ? readLinkHeader(response.headers['link'])
        : toText(readSource(next, response)),
    more: toFlag(readSource(paging.more, response)),
    position: numberAt(paging.position),
    pages: numberAt(paging.pages),
    total: toCount(readSource(total, response)),
  };
}

/**
 * Decides from a response how to request the next page. A link or a cursor leads on from a page without records too, and
 * so does the number of a page that was announced: a service may filter its pages after it has cut them. What the
 * response announces counts even if the contract leads to no next page: no record is lost silently because an entry is
 * wrong.
 */
export function readNextPage(page: PageFacts): NextPage {
  const { response, paging, values, evidence, request, length, entryNames } = page;
  const { style } = paging;
  const hasNext = isLinkOrCursor(style);
  const claim = findClaim(page);
  const says = claim && saidBy(claim, page.read);
  const isMore = says === 'more';
  // A link or a cursor leads on even if a configured flag is false: the entry may be wrong.
  if (says === 'end' && !(hasNext && claim === END)) return null;
  const next = readByStyle(page, isMore);
  const missing = (entry: string) => ({ missing: entry, announcers: announcersOf(page) });
  if (next !== null)
    return 'missing' in next && next.reason === undefined ? missing(next.missing) : next;
  // A configured `next` that is null says that this is the last page. One that is absent may be misspelt.
  const hasOtherNext =
    request.token === null &&
    evidence.hasNext &&
    (length === 0 ||
      style === 'none' ||
      style === 'link-header' ||
      (hasNext && isAbsent(paging.next, response)));
  const isFull = style === 'none' && isOfRequestedSize(page);
  // A total next to an empty first page counts something else.
  const isCounted = length > 0 || request.token !== null || claim?.entry === 'more';
  if (!(isMore && isCounted) && !isFull && !hasOtherNext) return null;
  if (style === 'none') return missing(`${entryNames.paging}.style`);
  if (hasNext) return missing(`${entryNames.paging}.next`);
  // Pages are missing if they are counted from another number.
  const isFromUnknown = style === 'page' && values.position === null;
  return missing(isFromUnknown ? `${entryNames.paging}.start` : entryNames.paging);
}

/** What a response says about further pages, and the entries of what says that there are more. */
export type Announced = { readonly says: Announcement; readonly announcers: readonly string[] };

/** Reads what a flag or a count says about further pages. */
export function readAnnounced(page: PageFacts): Announced {
  const claim = findClaim(page);
  return { says: claim && saidBy(claim, page.read), announcers: announcersOf(page) };
}

/** Finds the claim that counts: the first one that says something. */
function findClaim(page: PageFacts): Claim | null {
  const { values, evidence, request, read } = page;
  const isFirst = request.token === null;
  const isSaid = (claim: Claim) => saidBy(claim, read) !== null;
  if (values.more === true) return MORE;
  return (
    // Counts show that a page was skipped, whatever another flag says.
    (isFirst ? null : listCounts(page).find(isSaid)) ??
    evidence.claims.find(isSaid) ??
    (values.more === false ? END : null) ??
    (isFirst ? evidence.ofFirstPage : null)
  );
}

/** What the flag of the contract says. */
const MORE: Claim = { entry: 'more', says: 'more' };
const END: Claim = { entry: 'more', says: 'end' };

/** What the total and the number of pages say: nothing, if they are unknown. */
function listCounts({ values: { total, pages } }: PageFacts): readonly Claim[] {
  return [
    { entry: 'total', of: 'records', count: total ?? 0 },
    { entry: 'pages', of: 'pages', count: pages ?? 0 },
  ];
}

/** The entries of what says that there are more: of flags and counts, or else of what is less certain. */
function announcersOf(page: PageFacts): readonly string[] {
  const { values, evidence, read, entryNames } = page;
  const { claims, ofFirstPage, isInexact, hasNext } = evidence;
  const { paging, total } = entryNames;
  const names = { more: `${paging}.more`, total, pages: `${paging}.pages` };
  const entriesOf = (all: readonly Claim[]) => [
    ...new Set(all.filter((one) => saidBy(one, read) === 'more').map(({ entry }) => names[entry])),
  ];
  const inferred = ofFirstPage === null ? claims : [...claims, ofFirstPage];
  const flags = inferred.filter(({ entry }) => entry === 'more');
  const certain = entriesOf([
    ...(values.more === true ? [MORE] : []),
    ...flags,
    ...listCounts(page),
  ]);
  if (certain.length > 0) return certain;
  // An estimate, the number of remaining records, or a number of pages that no page is requested by.
  const others = isInexact ? [total] : entriesOf(claims);
  return others.length === 0 && hasNext ? [`${paging}.next`] : others;
}

/**
 * Whether the second page is really the third, because pages are counted from another number: the response has its
 * position, and that is a whole page too far. Less than that may be what the service has filtered.
 */
export function isAfterHole({ paging, request, evidence, values: { total } }: PageFacts): boolean {
  const { range, size } = evidence.place;
  const { preceding } = request.token ?? {};
  const offset = range?.start ?? evidence.place.offset;
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
  const { paging, request, length, evidence } = page;
  const { parameter, size, style, start } = paging;
  const { range } = evidence.place;
  const isPosition = ({ name }: { readonly name: string }) =>
    name !== size && name === (parameter ?? name);
  if (!request.parameters.some(isPosition)) return { pages: 0, records: 0 };
  if (range !== null && style !== 'page') return { pages: 0, records: range.start };
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
  const { paging, values, entryNames } = page;
  switch (paging.style) {
    case 'none':
      return null;
    case 'page':
    case 'offset':
      return readCounted(page, isMore);
    case 'cursor':
      return readCursor(page, isMore);
    case 'next-link':
    case 'link-header':
      return toLink(values.next, page);
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
function readCursor(page: PageFacts, isMore: boolean): NextPage {
  const value = page.values.next;
  const next = value !== null && /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
  const { token } = page.request;
  const current = token !== null && 'value' in token ? Number(token.value) : Number.NaN;
  const isNone = next < 0 || (next === 0 && token !== null && next !== current - page.length);
  if (!isNone && next !== 0 && !(next < current)) return toToken(value, page);
  const isLast = isLastOfCounted(page);
  if (isLast === true) return null;
  if (!isNone) return toToken(value, page);
  return isLast === false || isMore
    ? { missing: `${page.entryNames.paging}.next`, reason: 'PAGING_REPEATS' }
    : null;
}

/** Whether the number of pages or the total says that this page is the last one; null if neither does. */
function isLastOfCounted(page: PageFacts): boolean | null {
  const { request, read, length, values } = page;
  const { page: number, pages } = page.evidence.place;
  if (number !== null && pages !== null && number >= pages) return true;
  const walk = request.token?.walk;
  const walked = walk && { pages: walk.pages + 1, records: walk.records + length };
  const counted = request.token === null ? read : walked;
  if (counted == null) return null;
  if (pages !== null) return counted.pages >= pages;
  return values.total === null ? null : counted.records >= values.total;
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
  const { paging, values, evidence, request, length, entryNames, read } = page;
  const { style, parameter } = paging;
  const { total, pages } = values;
  const { token } = request;
  // The token was a link or a cursor, and this response has none: it is the last page, whatever its counts say.
  if (read === null) return null;
  const isEmpty = length === 0;
  const isCounted = isEmpty || !evidence.isInexact;
  const isLastNumber = pages !== null && isCounted && read.pages >= pages;
  const isLast = pages === null ? total !== null && read.records >= total : isLastNumber;
  if (isLast && !isMore) return null;
  const announcedPages = pages ?? countPages(page, read);
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
  { request, paging, evidence, values: { total } }: PageFacts,
  read: PageCounts,
): number {
  const usual = usualSize(read);
  const requested = Number(requestedSize(request, paging) ?? Number.NaN);
  const stated = evidence.place.size ?? (Number.isNaN(usual) ? requested : usual);
  const size = usual > stated ? usual : stated;
  return total === null || size === 0 ? Number.NaN : Math.ceil(total / size);
}

/** The number of the page, or the offset of its first record: as the response says, or else as it was requested. */
function readPosition({ paging, request, values }: UncountedPage): number {
  const { style, start } = paging;
  const { position, total } = values;
  // An offset beyond the total is another number, such as the time of the first record.
  const isOther = style === 'offset' && total !== null && Number(position) > total;
  if (position !== null && !isOther) return position;
  return request.token !== null && 'value' in request.token ? Number(request.token.value) : start;
}

/** Whether as many records were returned as were requested, and nothing says whether there are more. */
function isOfRequestedSize({ response, paging, request, length, values }: PageFacts): boolean {
  const { body } = response;
  const isFull = length > 0 && requestedSize(request, paging) === String(length);
  if (!isFull || values.total !== null) return false;
  return Array.isArray(body) || firstNames(Object(body)).length === 1;
}

function requestedSize({ parameters }: PageRequest, { size }: PagingContract): string | undefined {
  const isSize = ({ name }: { readonly name: string }) =>
    name === size || SIZE_PARAMETER.test(splitMemberName(name).words);
  return parameters.findLast(isSize)?.value;
}
