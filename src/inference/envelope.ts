import type {
  Announcements,
  DeepPartial,
  ListContract,
  PageCounts,
  PagingContract,
  PagingStyle,
  Source,
} from '../mapping/contract.ts';
import { parentOf } from '../mapping/json-pointer.ts';
import { classifyNames, splitMemberName } from '../mapping/member-names.ts';
import {
  CONTENT_RANGE,
  parseHeader,
  readLinkHeader,
  readRange,
  readSource,
} from '../mapping/read-source.ts';
import { isCount, toFlag } from '../mapping/values.ts';
import { memoize } from '../util/memoize.ts';
import type { UpstreamResponse } from '../util/upstream-response.ts';
import {
  BOUND,
  ENVELOPE_NAMES,
  HEADER_KINDS,
  INEXACT,
  JSON_HEADER,
  OTHER_HEADER,
} from './envelope-names.ts';
import { profileFields } from './profile-fields.ts';

/** What a field of the envelope may hold, judged by its name. */
type EnvelopeKind = keyof typeof ENVELOPE_NAMES;

/** A field of the envelope: the part of a response outside of the list of records. */
export type EnvelopeField = SourceField & { readonly pointer: string };

/** A field of the envelope, or a header, and where it is. */
type SourceField = {
  readonly source: Source;
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
  return profile(body, list).sort((a, b) => distanceFromRecords(a) - distanceFromRecords(b));
}

function profile(body: unknown, exclude: string | null): EnvelopeField[] {
  return profileFields([body], { exclude }).map(({ pointer, path, values: [value] }) => ({
    pointer,
    source: pointer,
    value,
    kinds: namesOf(withCount(path.replaceAll('/', ' '), pointer)),
  }));
}

/** Words are singular, but `pages` is a number of pages, not a page number. */
function withCount(words: string, name: string): string {
  return /pages$/i.test(name) ? `${words} count` : words;
}

const namesOf = classifyNames(ENVELOPE_NAMES);

const headerKindsOf = memoize((name): ReadonlySet<EnvelopeKind> => {
  const words = withCount(splitMemberName(name).words, name);
  const isOther = OTHER_HEADER.test(words);
  return new Set(isOther ? [] : [...namesOf(words)].filter((kind) => HEADER_KINDS.has(kind)));
});

/** Lists the headers that describe the list, and the members of those that hold a JSON object. */
function listHeaders({ headers }: UpstreamResponse): readonly SourceField[] {
  const fields: SourceField[] = [];
  for (const name in headers) {
    const header = headers[name];
    const value = typeof header === 'string' ? header : (header?.[0] ?? '');
    if (value.startsWith('{') && JSON_HEADER.test(name)) {
      for (const { pointer, value: member, kinds } of profile(parseHeader(value), null))
        fields.push({ source: { header: `${name}${pointer}` }, value: member, kinds });
    } else if (value !== '') {
      const kinds = headerKindsOf(name);
      if (kinds.size > 0) fields.push({ source: { header: name }, value, kinds });
    }
  }
  return fields;
}

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
  const { headers, body, status } = response;
  const inHeaders = listHeaders(response);
  const fields: readonly SourceField[] = [...envelope, ...inHeaders];
  const find = (kind: EnvelopeKind, accepts: (field: SourceField) => boolean) =>
    fields.find((field) => field.kinds.has(kind) && accepts(field));
  const sourceOf = (kind: EnvelopeKind, accepts: (value: unknown) => boolean): Source =>
    find(kind, ({ value }) => accepts(value))?.source ?? null;
  const numberAt = (source: Source) => Number(readSource(source, response));
  const link =
    sourceOf('next', (value) => /^https?:\/\//.test(String(value))) ?? sourceOf('next', isLink);
  const cursor =
    find('cursor', (field) => isCursor(field.value) && flagOf(field) === null)?.source ?? null;
  const hasLinkHeader = readLinkHeader(headers['link']) !== null;
  const hasNext = hasLinkHeader || link !== null || cursor !== null;
  const page = sourceOf('page', isCount);
  const pages = sourceOf('pages', isCount);
  const offset = sourceOf('offset', isCount);
  const size = sourceOf('size', isCount);
  const remaining = sourceOf('remaining', isCount);
  // Of flags that contradict one another, the one that says that there are more.
  const more =
    find('more', (field) => flagOf(field) === true) ??
    find('more', (field) => flagOf(field) === false);
  const range = readRange(headers);
  const counted =
    find('total', ({ value }) => isCount(value) || isBound(value)) ??
    find('count', ({ value }) => isBound(value) || (isCount(value) && Number(value) > length));
  // A total in the body that is not larger than the page may be that of the page.
  const larger = inHeaders.find(({ value, kinds }) => kinds.has('total') && Number(value) > length);
  const isOfPage = counted === undefined || Number(counted.value) <= length;
  const isRange = range?.total != null && (counted === undefined || range.total > length);
  const found =
    (isOfPage ? (larger?.source ?? (isRange ? CONTENT_RANGE : null)) : null) ??
    counted?.source ??
    null;
  const total = configuredTotal === undefined ? found : configuredTotal;
  const isInexact =
    total !== null &&
    (isBound(readSource(total, response)) ||
      fields.some((field) =>
        field.source === total ? field.kinds.has('estimate') : saysInexact(field),
      ));
  const flag = more === undefined || configured.more === null ? null : flagOf(more);
  const hasMore = numberAt(total) > length || flag === true || (isInexact && length > 0);
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
  const isPart = length > 0 && range !== null && range.end < (range.total ?? 0);
  // Of pages that follow one another, each may be a part, the last one too.
  const isCounted = (total !== null && !isInexact) || hasPages;
  const maybePart = (range === null ? status === 206 : range.total === null) && !isCounted;
  const isTrueOf = (kind: EnvelopeKind) => find(kind, (field) => flagOf(field) === true);
  const isFalseOf = (kind: EnvelopeKind) => find(kind, (field) => flagOf(field) === false);
  // PHP and SQL write false as 0. With 1, a number under the name `last` is no flag.
  const notLast =
    isFalseOf('last') ??
    isFalseOf('done') ??
    isFalseOf('complete') ??
    find('last', ({ value, kinds, source }) => {
      const isZero = length > 0 && !kinds.has('pages') && String(value) === '0';
      return isZero && fields.every((one) => one.value !== 0 || !isFirstOf(one.source, source));
    });
  const isNotLast = notLast !== undefined || isTrueOf('partial') !== undefined;
  const last = isTrueOf('last') ?? (hasNext ? undefined : isTrueOf('done'));
  // A number next to a cursor may be that of the last record.
  const isLast = last !== undefined && !(hasNext && isCount(last.value));
  const isCountedBehind = (read: PageCounts) =>
    hasPages
      ? numberAt(pages) > read.pages
      : configuredTotal !== null && !isInexact && numberAt(total) > read.records;
  const said = flag === null ? isNotLast || isPart : flag;
  const flagged =
    configured.more === null || (flag === null && !said) ? null : said ? 'more' : 'end';
  return {
    total: isInexact ? null : total,
    paging: {
      style,
      next: style === 'cursor' || style === 'next-link' ? next[style] : null,
      more: more?.source ?? null,
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
      flag: flagged,
      announcedBy: (read) => {
        if (flagged !== null) return flagged;
        const hasRemaining = configuredTotal !== null && numberAt(remaining) > 0;
        if (hasRemaining || (read !== null && isCountedBehind(read))) return 'more';
        return isLast && configured.more !== null ? 'end' : null;
      },
      firstOfMore:
        length > 0 && maybePart && configured.more !== null
          ? 'more'
          : length > 0 && isInexact && style === 'none'
            ? 'total'
            : null,
      hasNext: configured.next !== null && hasNext,
      isInexact,
      hasCount: configuredTotal !== null && (numberAt(total) > 0 || fields.some(isPositiveCount)),
      isListOnly: Array.isArray(body) || Object.keys(Object(body)).length === 1,
      remaining: configuredTotal === null ? null : remaining,
      range,
      offset: offset === null ? null : numberAt(offset),
      size: size === null ? null : numberAt(size),
      page: page === null ? null : numberAt(page),
      pages: hasPages ? numberAt(pages) : null,
    },
  };
}

/** Whether a field is named `first` next to one named `last`: both may be positions. */
function isFirstOf(first: Source, last: Source): boolean {
  return typeof last === 'string' && first === last.replace(/last$/i, 'first');
}

/** Reads a flag. A cursor may be 1, "0" or "t" as well, so these are flags only under the name of one. */
function flagOf({ value, kinds }: SourceField): boolean | null {
  const isLetter = kinds.has('last') && !isCount(value);
  return kinds.has('flag') || isLetter || isWordFlag(value) ? toFlag(value) : null;
}

function isWordFlag(value: unknown): boolean {
  return String(value).length > 1 && toFlag(value) !== null;
}

/** Whether a field counts records, and is not 0. */
function isPositiveCount({ value, kinds }: SourceField): boolean {
  const isCounter = kinds.has('total') || kinds.has('count') || kinds.has('remaining');
  return isCounter && (isBound(value) || (isCount(value) && Number(value) > 0));
}

/** Whether a field says of the total that it is no exact one. */
function saysInexact({ value, kinds }: SourceField): boolean {
  const isCounter = kinds.has('total') || kinds.has('count');
  if (kinds.has('exact')) return toFlag(value) === false || INEXACT.test(String(value));
  return (
    kinds.has('inexact') && !isCounter && (toFlag(value) === true || INEXACT.test(String(value)))
  );
}

/** Whether a text is a number with a mark of an estimate, such as `10000+`, or with separators. */
function isBound(value: unknown): boolean {
  return typeof value === 'string' && value.length < 40 && BOUND.test(value);
}

/** The style of a configured `next`, whose name inference may not know: a link, or a cursor for `parameter`. */
function styleOf(
  { next, parameter }: DeepPartial<PagingContract>,
  response: UpstreamResponse,
): PagingStyle | null {
  if (next == null) return null;
  return parameter == null && isLink(readSource(next, response)) ? 'next-link' : 'cursor';
}

function isLink(value: unknown): boolean {
  return typeof value === 'string' && /^(?:https?:\/\/|\/|\?)/.test(value);
}

function isCursor(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && !isLink(value));
}
