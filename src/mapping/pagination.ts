import type { UpstreamResponse } from '../upstream/types.ts';
import { compilePointers, type PagingContract, readSource } from './contract.ts';
import { toText } from './tokenize-key.ts';

/** What leads to another page than the first: a link, or a query parameter. */
export type PageToken = { readonly link: string } | Query;

type Query = {
  readonly parameter: string;
  readonly value: string;
  /** How much lies in front of the page, where pages or records are counted: its last page is known by it. */
  readonly passed?: PrecedingCounts;
};

/** How many pages and records. */
export type PrecedingCounts = Readonly<Record<'pages' | 'records', number>>;

/**
 * How a trail goes on: not at all, by a step, in a way that is only known once the contract has this entry, or in the
 * same answer, of which the rest was not read.
 */
export type NextPage = PageToken | { readonly missing: string } | { readonly isCut: true } | null;

/** What is known of the page of an answer. */
type Facts = {
  readonly length: number;
  readonly total: () => number | null;
  readonly lastId: () => string | null;
};

/** Reads from an answer how the trail goes on behind it. An empty page is the end of every trail. */
export function readNextPage(
  paging: PagingContract,
  answer: UpstreamResponse,
  page: Facts,
  step: PageToken | null,
): NextPage {
  const { style, parameter } = paging;
  const isEnd = page.length === 0 || readMore(paging, answer) === 'false';
  if (isEnd || style === 'none') return null;
  if (style === 'page' || style === 'offset') return readCounted(paging, answer, page, step);
  const next = toText(readSource(paging.next, answer));
  const link = style === 'link-header' ? readLinkHeader(answer.headers['link']) : next;
  if (style === 'link-header' || style === 'next-link') return link === null ? null : { link };
  const id = style === 'last-id' ? page.lastId() : '';
  if (id === null) return { missing: 'audit.event.id' };
  const value = style === 'cursor' ? next : id;
  if (value === null) return null;
  return parameter === null ? MISSING : { parameter, value };
}

const MISSING = { missing: 'audit.paging.parameter' };

function readMore({ more }: PagingContract, { body }: UpstreamResponse): string {
  return String(compilePointers(more)(body));
}

/** By the number of the next page, or the next offset; null when the answer's own numbers say that this was the last. */
function readCounted(
  paging: PagingContract,
  answer: UpstreamResponse,
  { length, total: readTotal }: Facts,
  step: PageToken | null,
): NextPage {
  // A link or a cursor led here, and nothing leads on: this was the last, whatever is counted.
  if (step !== null && !('passed' in step)) return null;
  const { style, position, pages, start, parameter } = paging;
  const total = readTotal();
  const told = compilePointers(position)(answer.body);
  const asked = step === null ? start : Number(step.value);
  // An offset beyond the end is something else, as the time from which on was asked.
  const isOther = told == null || (style === 'offset' && total !== null && Number(told) > total);
  const here = isOther ? asked : Number(told);
  const passed = step?.passed ?? passedBy(Math.max(0, here - start), paging, length);
  const pageCount = compilePointers(pages)(answer.body);
  const records = passed.records + length;
  const isLast =
    pageCount == null ? total !== null && records >= total : passed.pages + 1 >= Number(pageCount);
  if (isLast && readMore(paging, answer) !== 'true') return null;
  if (parameter === null) return MISSING;
  if (!Number.isSafeInteger(here)) return null;
  const value = String(here + (style === 'page' ? 1 : length));
  return { parameter, value, passed: { pages: passed.pages + 1, records } };
}

/** What lies in front of the first page that is read: the caller may have asked for a later one. Offsets that are one too many for whole pages begin at 1. */
function passedBy(count: number, { style }: PagingContract, length: number): PrecedingCounts {
  return style === 'page'
    ? { pages: count, records: count * length }
    : { pages: 0, records: count === 1 || count % length === 1 ? count - 1 : count };
}

/** A link with its parameters, and one of these (RFC 8288, section 3). */
const PARAMETER = /;\s*([\w*!-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))/;
const LINK = new RegExp(`<([^>]*)>((?:\\s*${PARAMETER.source})*)`, 'g');

/** The first link whose relation types hold `next`. */
function readLinkHeader(header: string | readonly string[] | undefined): string | null {
  for (const [, link = '', parameters = ''] of [header].flat().join(', ').matchAll(LINK)) {
    for (const [, name, quoted, token = ''] of parameters.matchAll(new RegExp(PARAMETER, 'g'))) {
      const relations = (quoted ?? token).toLowerCase().split(/\s+/);
      if (name?.toLowerCase() === 'rel' && relations.includes('next')) return link;
    }
  }
  return null;
}
