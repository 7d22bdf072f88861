import { type Answer, finder, type PagingContract, take } from './contract.ts';
import { textOf } from './names.ts';

/** What leads to another page than the first: a link, or a query parameter. */
export type Step =
  | { readonly link: string }
  | { readonly parameter: string; readonly value: string };

/**
 * How a trail goes on: not at all, by a step, in a way that is only known once the contract has this entry, or in the
 * same answer, of which the rest was not read.
 */
export type Next = Step | { readonly missing: string } | { readonly isCut: true } | null;

/** What is known of the page of an answer. */
type Facts = {
  readonly length: number;
  readonly total: () => number | null;
  readonly lastId: () => string | null;
};

/** Reads from an answer how the trail goes on behind it. An empty page is the end of every trail. */
export function readNext(
  paging: PagingContract,
  answer: Answer,
  page: Facts,
  step: Step | null,
): Next {
  const { style, parameter } = paging;
  const isEnd = page.length === 0 || finder(paging.more)(answer.body) === false;
  if (isEnd || style === 'none') return null;
  const next = textOf(take(paging.next, answer));
  const link = style === 'link-header' ? readLinkHeader(answer.headers['link']) : next;
  if (style === 'link-header' || style === 'next-link') return link === null ? null : { link };
  const id = style === 'last-id' ? page.lastId() : '';
  if (id === null) return { missing: 'audit.event.id' };
  const value = style === 'cursor' ? next : id || readPosition(paging, answer, page, step);
  if (value === null) return null;
  return parameter === null ? { missing: 'audit.paging.parameter' } : { parameter, value };
}

/** The number of the next page, or the next offset; null when the answer's own numbers say that this was the last. */
function readPosition(
  { style, position, pages, start, parameter }: PagingContract,
  { body }: Answer,
  page: Facts,
  step: Step | null,
): string | null {
  const { length } = page;
  const total = page.total();
  const asked = step !== null && 'value' in step ? step.value : start;
  const here = Number(finder(position)(body) ?? asked);
  const first = step === null ? here : start;
  const isLast =
    style === 'page'
      ? here - first + 1 >= Number(finder(pages)(body) ?? Number.POSITIVE_INFINITY)
      : total !== null && here + length >= total;
  // Without a parameter nothing is asked for, and only what the service says tells that there is more.
  const isWhole = parameter === null && total !== null && total <= length;
  return isLast || isWhole || !Number.isSafeInteger(here)
    ? null
    : String(here + (style === 'page' ? 1 : length));
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
