import type { UpstreamResponse } from '../upstream/types.ts';
import type { PagingContract } from './contract.ts';
import { readSource } from './read-source.ts';
import { toText } from './values.ts';

/** How to request a page other than the first: the service's link, or a query parameter. */
export type PageToken =
  | { readonly link: string }
  | { readonly parameter: string; readonly value: string; readonly preceding?: PrecedingCounts };

/** Number of pages and of records before a page, if they are counted. This identifies the last page. */
type PrecedingCounts = Readonly<Record<'pages' | 'records', number>>;

/**
 * How to request the page after this one. `missing` names the contract entry without which that is unknown. `isPartial`:
 * the rest of the same response was not read. Null: this is the last page.
 */
export type NextPage =
  | PageToken
  | { readonly missing: string }
  | { readonly isPartial: true }
  | null;

/** Full names of two entries of the contract, such as `audit.paging` and `audit.event.id`, for error messages. */
export type EntryNames = Readonly<Record<'paging' | 'id', string>>;

/** What is known of the page of a response. */
type PageFacts = {
  readonly length: number;
  readonly total: () => number | null;
  readonly lastId: () => string | null;
  readonly entryNames: EntryNames;
};

/** Reads from a response how to request the next page. An empty page is the last one. */
export function readNextPage(
  paging: PagingContract,
  response: UpstreamResponse,
  page: PageFacts,
  token: PageToken | null,
): NextPage {
  const { style, parameter } = paging;
  const isLast = page.length === 0 || String(readSource(paging.more, response)) === 'false';
  if (isLast || style === 'none') return null;
  if (style === 'page' || style === 'offset') return readCounted(paging, response, page, token);
  const next = toText(readSource(paging.next, response));
  const link = style === 'link-header' ? readLinkHeader(response.headers['link']) : next;
  if (style === 'link-header' || style === 'next-link') return link === null ? null : { link };
  const id = style === 'last-id' ? page.lastId() : '';
  if (id === null) return { missing: page.entryNames.id };
  const value = style === 'cursor' ? next : id;
  if (value === null) return null;
  if (parameter === null) return { missing: `${page.entryNames.paging}.parameter` };
  return { parameter, value };
}

/** By page number or offset. Null if the numbers in the response say that this page is the last. */
function readCounted(
  paging: PagingContract,
  response: UpstreamResponse,
  page: PageFacts,
  token: PageToken | null,
): NextPage {
  // The token was a link or a cursor, and this response has none: it is the last page, whatever its counts say.
  if (token !== null && !('preceding' in token)) return null;
  const { style, position, pages, start, parameter } = paging;
  const { length } = page;
  const total = page.total();
  const found = readSource(position, response);
  const requested = token === null ? start : Number(token.value);
  // An offset beyond the total is another number, such as the time of the first record.
  const isOther = found === null || (style === 'offset' && total !== null && Number(found) > total);
  const current = isOther ? requested : Number(found);
  const preceding =
    token?.preceding ?? countPreceding(Math.max(0, current - start), paging, length);
  const pageCount = readSource(pages, response);
  const records = preceding.records + length;
  const isLast =
    pageCount === null
      ? total !== null && records >= total
      : preceding.pages + 1 >= Number(pageCount);
  if (isLast && String(readSource(paging.more, response)) !== 'true') return null;
  if (parameter === null) return { missing: `${page.entryNames.paging}.parameter` };
  if (!Number.isSafeInteger(current)) return null;
  const value = String(current + (style === 'page' ? 1 : length));
  return { parameter, value, preceding: { pages: preceding.pages + 1, records } };
}

/**
 * Counts what precedes the first page that was read: the client may have requested a later one by `parameters`. An
 * offset of whole pages plus one means that offsets start at 1.
 */
function countPreceding(count: number, { style }: PagingContract, length: number): PrecedingCounts {
  return style === 'page'
    ? { pages: count, records: count * length }
    : { pages: 0, records: count === 1 || count % length === 1 ? count - 1 : count };
}

/** A link with its parameters, and one of these (RFC 8288, section 3). */
const PARAMETER = /;\s*([\w*!-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))/;
const LINK = new RegExp(`<([^>]*)>((?:\\s*${PARAMETER.source})*)`, 'g');

/** The first link whose relation types include `next`. */
function readLinkHeader(header: string | readonly string[] | undefined): string | null {
  for (const [, link = '', parameters = ''] of [header].flat().join(', ').matchAll(LINK)) {
    for (const [, name, quoted, token = ''] of parameters.matchAll(new RegExp(PARAMETER, 'g'))) {
      const relations = (quoted ?? token).toLowerCase().split(/\s+/);
      if (name?.toLowerCase() === 'rel' && relations.includes('next')) return link;
    }
  }
  return null;
}
