import type {
  Announcements,
  DeepPartial,
  ListContract,
  PagingContract,
  PagingStyle,
  Source,
} from '../mapping/contract.ts';
import { readLinkHeader } from '../mapping/next-page.ts';
import { readSource } from '../mapping/read-source.ts';
import { isCount } from '../mapping/values.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { memoize } from '../util/memoize.ts';
import { parentOf } from './classify-paths.ts';
import { profileFields } from './profile-fields.ts';
import { ENVELOPE_FIELDS } from './vocabulary.ts';

/** What a field of the envelope may hold, judged by its name. */
type EnvelopeKind = keyof typeof ENVELOPE_FIELDS;

/** A field of the envelope: the part of a response outside of the list of records. */
export type EnvelopeField = {
  readonly pointer: string;
  readonly value: unknown;
  readonly kinds: ReadonlySet<EnvelopeKind>;
};

/** Lists the fields of the envelope. Those next to the records come first: others may count something else. */
export function listEnvelopeFields(
  body: unknown,
  records: string | null,
): readonly EnvelopeField[] {
  const parent = `${parentOf(records ?? '')}/`;
  const distanceFromRecords = ({ pointer }: EnvelopeField) => Number(!pointer.startsWith(parent));
  const [list = ''] = (records ?? '').split('/*', 1);
  return profileFields([body], { exclude: list })
    .map(({ pointer, path, values: [value] }) => {
      // Words are singular, but `pages` is a number of pages, not a page number.
      const kinds = kindsOf(/pages$/i.test(pointer) ? `${path} count` : path);
      return { pointer, value, kinds };
    })
    .sort((a, b) => distanceFromRecords(a) - distanceFromRecords(b));
}

const ENVELOPE_KINDS = Object.keys(ENVELOPE_FIELDS) as readonly EnvelopeKind[]; // Object.keys() returns string[]

const kindsOf = memoize((path): ReadonlySet<EnvelopeKind> => {
  const words = path.replaceAll('/', ' ');
  return new Set(ENVELOPE_KINDS.filter((kind) => ENVELOPE_FIELDS[kind].test(words)));
});

/**
 * Infers where the response holds the number of all records: in a total, in a count larger than the page, or in a
 * header. Null if there is none.
 * @param length number of records in this response.
 */
export function inferTotal(
  envelope: readonly EnvelopeField[],
  { headers }: UpstreamResponse,
  length: number,
): Source {
  const pointer =
    findField(envelope, 'total', isCount) ??
    findField(envelope, 'count', (value) => isCount(value) && Number(value) > length);
  const header = ['x-total-count', 'x-total'].find((name) => isCount(headers[name]));
  return pointer ?? (header === undefined ? null : { header });
}

/**
 * Infers how the service paginates. The names of query parameters are always null: no response contains them.
 * @param length number of records in this response.
 */
export function inferPagination(
  envelope: readonly EnvelopeField[],
  response: UpstreamResponse,
  length: number,
  configured: DeepPartial<PagingContract> = {},
): PagingContract {
  const link =
    findField(envelope, 'next', (value) => /^https?:\/\//.test(String(value))) ??
    findField(envelope, 'next', isLink);
  const cursor = findField(envelope, 'cursor', isCursor) ?? findNextHeader(response);
  const page = findField(envelope, 'page', isCount);
  const pages = findField(envelope, 'pages', isCount);
  const offset = findField(envelope, 'offset', isCount);
  const more = findField(envelope, 'more', isFlag);
  const hasMore =
    Number(readSource(inferTotal(envelope, response, length), response)) > length ||
    String(readSource(more, response)) === 'true';
  const mayFollowLinks = configured.parameter == null; // links contain their parameters
  const styles: readonly (readonly [PagingStyle, boolean])[] = [
    ['link-header', mayFollowLinks && readLinkHeader(response.headers['link']) !== null],
    ['next-link', mayFollowLinks && link !== null],
    ['cursor', cursor !== null],
    ['page', pages !== null || (page !== null && hasMore)],
    ['offset', offset !== null && hasMore],
  ];
  const inferred = styles.find(([, isDetected]) => isDetected)?.[0] ?? 'none';
  const style = configured.style ?? styleOf(configured, response) ?? inferred;
  const next = { cursor, 'next-link': link };
  const position = { page, offset };
  return {
    style,
    next: style === 'cursor' || style === 'next-link' ? next[style] : null,
    more,
    position: style === 'page' || style === 'offset' ? position[style] : null,
    pages: style === 'page' ? pages : null,
    start: style === 'page' ? 1 : 0,
    parameter: null,
    size: null,
    follow: null,
    last: null,
    inclusive: null,
  };
}

/**
 * Lists what a response announces. An entry that is configured as null is not looked for.
 * @param length number of records in this response.
 */
export function listAnnouncements(
  envelope: readonly EnvelopeField[],
  response: UpstreamResponse,
  length: number,
  { total, paging = {} }: DeepPartial<Pick<ListContract, 'total' | 'paging'>>,
): Announcements {
  const firstValue = (kind: EnvelopeKind, accepts: (value: unknown) => boolean) =>
    envelope.find((field) => field.kinds.has(kind) && accepts(field.value))?.value;
  const more = paging.more === null ? undefined : firstValue('more', isFlag);
  const isNotLast =
    paging.more !== null && firstValue('last', (value) => String(value) === 'false') !== undefined;
  const pages = paging.pages === null ? undefined : firstValue('pages', isCount);
  const stated =
    total === null ? null : readSource(inferTotal(envelope, response, length), response);
  const remaining = findField(envelope, 'remaining', isCount);
  const { body } = response;
  return {
    says: (read) => {
      if (more !== undefined) return String(more) === 'true' ? 'more' : 'end';
      const isBehind =
        read !== null &&
        (pages === undefined ? Number(stated) > read.records : Number(pages) > read.pages);
      return isNotLast || isBehind || Number(readSource(remaining, response)) > 0 ? 'more' : null;
    },
    hasNext: () =>
      paging.next !== null &&
      (firstValue('next', isLink) !== undefined ||
        firstValue('cursor', isCursor) !== undefined ||
        findNextHeader(response) !== null ||
        readLinkHeader(response.headers['link']) !== null),
    isBare: () => Array.isArray(body) || Object.keys(Object(body)).length === 1,
    remaining: () => (total === null ? null : remaining),
  };
}

/** Names of headers with the next page or its cursor, if they have a value. */
const NEXT_HEADER = /^(?!.*\bprev)(?:.*-)?(?:next-(?:page|cursor|token)|cursor|continuation.*)$/;

function findNextHeader({ headers }: UpstreamResponse): Source {
  const header = Object.keys(headers).find((name) => NEXT_HEADER.test(name) && headers[name]);
  return header === undefined ? null : { header };
}

/** The style of a configured `next`, whose name inference may not know: a link, or a cursor for `parameter`. */
function styleOf(
  { next, parameter }: DeepPartial<PagingContract>,
  response: UpstreamResponse,
): PagingStyle | null {
  if (next == null) return null;
  return parameter == null && isLink(readSource(next, response)) ? 'next-link' : 'cursor';
}

/** Finds the first field of a kind whose value is accepted, and returns its pointer. */
function findField(
  envelope: readonly EnvelopeField[],
  kind: EnvelopeKind,
  accepts: (value: unknown) => boolean,
): string | null {
  return envelope.find(({ kinds, value }) => kinds.has(kind) && accepts(value))?.pointer ?? null;
}

function isLink(value: unknown): boolean {
  return typeof value === 'string' && /^(?:https?:\/\/|\/|\?)/.test(value);
}

function isFlag(value: unknown): boolean {
  return /^(?:true|false)$/.test(String(value));
}

function isCursor(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && !isLink(value));
}
