import type {
  Announcements,
  DeepPartial,
  ListContract,
  PageCounts,
  PagingContract,
  PagingStyle,
  Source,
} from '../mapping/contract.ts';
import { readSource } from '../mapping/read-source.ts';
import { isCount } from '../mapping/values.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { readLinkHeader } from '../util/link-header.ts';
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

/** What is inferred from the envelope and the headers of a response. */
type InferredEnvelope = Pick<ListContract, 'total' | 'paging'> & {
  readonly announcements: Announcements;
};

/**
 * Infers the total, how the service paginates, and what the response announces. The names of query parameters are always
 * null: no response contains them. An announcement whose entry is configured as null is not looked for.
 * @param length number of records in this response.
 */
export function inferEnvelope(
  envelope: readonly EnvelopeField[],
  response: UpstreamResponse,
  length: number,
  { total: configuredTotal, paging: configured = {} }: DeepPartial<ListContract>,
): InferredEnvelope {
  const { headers, body } = response;
  const link =
    findField(envelope, 'next', (value) => /^https?:\/\//.test(String(value))) ??
    findField(envelope, 'next', isLink);
  const cursor = findField(envelope, 'cursor', isCursor) ?? findNextHeader(response);
  const hasLinkHeader = readLinkHeader(headers['link']) !== null;
  const page = findField(envelope, 'page', isCount);
  const pages = findField(envelope, 'pages', isCount);
  const offset = findField(envelope, 'offset', isCount);
  const more = findField(envelope, 'more', (value) => /^(?:true|false)$/.test(String(value)));
  const notLast = findField(envelope, 'last', (value) => String(value) === 'false');
  const remaining = findField(envelope, 'remaining', isCount);
  const totalHeader = ['x-total-count', 'x-total'].find((name) => isCount(headers[name]));
  const total =
    findField(envelope, 'total', isCount) ??
    findField(envelope, 'count', (value) => isCount(value) && Number(value) > length) ??
    (totalHeader === undefined ? null : { header: totalHeader });
  const numberAt = (source: Source) => Number(readSource(source, response));
  const flag = String(readSource(more, response));
  const hasMore = numberAt(total) > length || flag === 'true';
  const mayFollowLinks = configured.parameter == null; // links contain their parameters
  const styles: readonly (readonly [PagingStyle, boolean])[] = [
    ['link-header', mayFollowLinks && hasLinkHeader],
    ['next-link', mayFollowLinks && link !== null],
    ['cursor', cursor !== null],
    ['page', pages !== null || (page !== null && hasMore)],
    ['offset', offset !== null && hasMore],
  ];
  const inferred = styles.find(([, isDetected]) => isDetected)?.[0] ?? 'none';
  const style = configured.style ?? styleOf(configured, response) ?? inferred;
  const next = { cursor, 'next-link': link };
  const position = { page, offset };
  const hasPages = pages !== null && configured.pages !== null;
  const isBehind = (read: PageCounts) =>
    hasPages
      ? numberAt(pages) > read.pages
      : configuredTotal !== null && numberAt(total) > read.records;
  return {
    total,
    paging: {
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
    },
    announcements: {
      says: (read) => {
        if (more !== null && configured.more !== null) return flag === 'true' ? 'more' : 'end';
        const isNotLast = notLast !== null && configured.more !== null;
        const isMore = isNotLast || numberAt(remaining) > 0 || (read !== null && isBehind(read));
        return isMore ? 'more' : null;
      },
      hasNext: configured.next !== null && (hasLinkHeader || link !== null || cursor !== null),
      isBare: Array.isArray(body) || Object.keys(Object(body)).length === 1,
      remaining: configuredTotal === null ? null : remaining,
    },
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

function isCursor(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && !isLink(value));
}
