import {
  type DeepPartial,
  type PagingContract,
  type PagingStyle,
  readSource,
  type Source,
} from '../mapping/contract.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { memoize } from '../util/memoize.ts';
import { parentPointer } from './classify.ts';
import { type FieldProfile, profileFields } from './profile.ts';
import { ENVELOPE } from './vocabulary.ts';

/** A place around the records, with what its name may stand for. */
export type EnvelopeField = {
  readonly pointer: string;
  readonly value: unknown;
  readonly names: ReadonlySet<string>;
};

/** Looks at the places around the records; those beside them first, as other things are counted too. */
export function profileEnvelope(body: unknown, records: string | null): readonly EnvelopeField[] {
  const home = `${parentPointer(records ?? '')}/`;
  const isFar = ({ pointer }: EnvelopeField) => Number(!pointer.startsWith(home));
  return profileFields([body], { exclude: records })
    .map(toSign)
    .sort((a, b) => isFar(a) - isFar(b));
}

function toSign({ pointer, path, values }: FieldProfile): EnvelopeField {
  // "pages" is no page: the plural counts here.
  const names = namesOf(/pages$/i.test(pointer) ? `${path} count` : path);
  return { pointer, value: values[0], names };
}

const namesOf = memoize((path): ReadonlySet<string> => {
  const words = path.replaceAll('/', ' ');
  const rules = Object.entries(ENVELOPE).filter(([, rule]) => rule.test(words));
  return new Set(rules.map(([name]) => name));
});

/** Where the answer says how many records there are in all; a count larger than the page is of all pages. */
export function inferTotal(
  around: readonly EnvelopeField[],
  { headers }: UpstreamResponse,
  length: number,
): Source {
  const pointer =
    first(around, 'total', isCount) ??
    first(around, 'count', (value) => isCount(value) && Number(value) > length);
  const header = ['x-total-count', 'x-total'].find((name) => isCount(headers[name]));
  return pointer ?? (header === undefined ? null : { header });
}

/** How the service goes on, as far as one answer tells, which never names the parameters. */
export function inferPagination(
  around: readonly EnvelopeField[],
  answer: UpstreamResponse,
  length: number,
  configured: DeepPartial<PagingContract> = {},
): PagingContract {
  const link = first(around, 'next', isUrl) ?? first(around, 'next', isLink);
  const cursor = first(around, 'cursor', isCursor);
  const page = first(around, 'page', isCount);
  const pages = first(around, 'pages', isCount);
  const more = first(around, 'more', (value) => /^(?:true|false)$/.test(String(value)));
  const isPart =
    Number(readSource(inferTotal(around, answer, length), answer)) > length ||
    String(readSource(more, answer)) === 'true';
  const isFree = configured.parameter == null; // links need no parameter
  const styles: readonly (readonly [PagingStyle, boolean])[] = [
    ['link-header', isFree && /\bnext\b/.test(String(answer.headers['link']))],
    ['next-link', isFree && link !== null],
    ['cursor', cursor !== null],
    ['page', pages !== null || (page !== null && isPart)],
    ['offset', isPart],
  ];
  const style = configured.style ?? styles.find(([, isSeen]) => isSeen)?.[0] ?? 'none';
  const next = { cursor, 'next-link': link };
  const position = { page, offset: first(around, 'offset', isCount) };
  return {
    style,
    next: style === 'cursor' || style === 'next-link' ? next[style] : null,
    more,
    position: style === 'page' || style === 'offset' ? position[style] : null,
    pages: style === 'page' ? pages : null,
    start: style === 'page' ? 1 : 0,
    parameter: null,
    size: null,
  };
}

/** The first place of such a name that holds such a value. */
function first(
  around: readonly EnvelopeField[],
  name: keyof typeof ENVELOPE,
  fits: (value: unknown) => boolean,
): string | null {
  return around.find(({ names, value }) => names.has(name) && fits(value))?.pointer ?? null;
}

function isCount(value: unknown): boolean {
  return /^\d+$/.test(String(value)) && typeof value !== 'object';
}

function isUrl(value: unknown): boolean {
  return isLink(value) && String(value).startsWith('http');
}

function isLink(value: unknown): boolean {
  return typeof value === 'string' && /^(?:https?:\/\/|\/|\?)/.test(value);
}

function isCursor(value: unknown): boolean {
  return (
    !isLink(value) && (typeof value === 'number' || (typeof value === 'string' && value !== ''))
  );
}
