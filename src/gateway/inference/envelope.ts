import { memoize } from '../../util/memoize.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type {
  DeepPartial,
  ListContract,
  PagingContract,
  PagingStyle,
  Source,
} from '../mapping/contract.ts';
import { parentOf } from '../mapping/json-pointer.ts';
import { classifyNames, splitMemberName } from '../mapping/member-names.ts';
import type { Announcement, Claim, PageEvidence, PagePlace } from '../mapping/page-evidence.ts';
import {
  CONTENT_RANGE,
  parseHeader,
  readLinkHeader,
  readRange,
  readSource,
} from '../mapping/read-source.ts';
import { isCount, toFlag } from '../mapping/values.ts';
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
  readonly evidence: PageEvidence;
};

/**
 * Infers the total, how the service paginates, and what the response says about further pages. The names of query
 * parameters are always null: no response contains them. What is configured as null is not looked for.
 * @param length number of records in this response.
 */
export function inferEnvelope(
  envelope: readonly EnvelopeField[],
  response: UpstreamResponse,
  length: number,
  { total: configuredTotal, paging: configured = {} }: DeepPartial<ListContract>,
): InferredEnvelope {
  const inHeaders = listHeaders(response);
  const found = findFields([...envelope, ...inHeaders], response);
  const total =
    configuredTotal === undefined ? inferTotal(found, inHeaders, length) : configuredTotal;
  const value = readSource(total, response);
  const isInexact = total !== null && (isBound(value) || isEstimate(total, found));
  const counted: Counted = { length, isInexact, total: total === null ? null : Number(value) };
  const paging = inferPaging(found, counted, configured, response);
  const place: PagePlace = {
    range: found.range,
    offset: countOf(found.offset),
    size: countOf(found.size),
    page: countOf(found.page),
    pages: configured.pages === null ? null : countOf(found.pages),
    remaining: configuredTotal === null ? null : countOf(found.remaining),
  };
  const hasFlags = configured.more !== null;
  const flag = hasFlags ? readFlag(found, length) : null;
  const isLast = hasFlags && saysLast(found);
  const isPart = hasFlags && mayBePart(place, counted, response);
  const denial = isPart ? 'more' : isInexact && paging.style === 'none' ? 'total' : null;
  return {
    total: isInexact ? null : total,
    paging,
    evidence: {
      claims: flag === null ? listClaims(place, counted, isLast) : [{ entry: 'more', says: flag }],
      ofFirstPage: length === 0 || denial === null ? null : { entry: denial, says: 'more' },
      hasFlags,
      hasNext: configured.next !== null && found.hasNext,
      isInexact,
      hasCount:
        configuredTotal !== null && (Number(value) > 0 || found.fields.some(isPositiveCount)),
      place,
    },
  };
}

/** The fields and headers that describe the list. */
type FoundFields = ReturnType<typeof findFields>;

function findFields(fields: readonly SourceField[], { headers }: UpstreamResponse) {
  const find = (kind: EnvelopeKind, accepts: (field: SourceField) => boolean) =>
    fields.find((field) => field.kinds.has(kind) && accepts(field));
  const findCount = (kind: EnvelopeKind) => find(kind, ({ value }) => isCount(value));
  const link =
    find('next', ({ value }) => /^https?:\/\//.test(String(value))) ??
    find('next', ({ value }) => isLink(value));
  const cursor = find('cursor', (field) => isCursor(field.value) && flagOf(field) === null);
  const hasLinkHeader = readLinkHeader(headers['link']) !== null;
  return {
    ...{ fields, find, link, cursor, hasLinkHeader },
    hasNext: hasLinkHeader || link !== undefined || cursor !== undefined,
    // Of flags that contradict one another, the one that says that there are more.
    more: find('more', isTrue) ?? find('more', (field) => flagOf(field) === false),
    page: findCount('page'),
    pages: findCount('pages'),
    offset: findCount('offset'),
    size: findCount('size'),
    remaining: findCount('remaining'),
    range: readRange(headers),
  };
}

/** A field that was found as a count. */
function countOf(field: SourceField | undefined): number | null {
  return field === undefined ? null : Math.min(Number(field.value), Number.MAX_SAFE_INTEGER);
}

/** A total in the body that is not larger than the page may be that of the page. */
function inferTotal(
  { find, range }: FoundFields,
  inHeaders: readonly SourceField[],
  length: number,
): Source {
  const counted =
    find('total', ({ value }) => isCount(value) || isBound(value)) ??
    find('count', ({ value }) => isBound(value) || (isCount(value) && Number(value) > length));
  const isOfPage = counted === undefined || Number(counted.value) <= length;
  if (!isOfPage) return counted.source;
  const larger = inHeaders.find(({ value, kinds }) => kinds.has('total') && Number(value) > length);
  const isRange = range?.total != null && (counted === undefined || range.total > length);
  return larger?.source ?? (isRange ? CONTENT_RANGE : (counted?.source ?? null));
}

/** Whether the name of a total, or a field next to it, says that it is no exact one. */
function isEstimate(total: Source, { fields }: FoundFields): boolean {
  return fields.some((field) =>
    field.source === total ? field.kinds.has('estimate') : saysInexact(field),
  );
}

/** What is known of the number of records. */
type Counted = {
  /** Number of records in this response. */
  readonly length: number;
  /** The total; NaN if it is no number, null without one. */
  readonly total: number | null;
  readonly isInexact: boolean;
};

function inferPaging(
  { link, cursor, hasLinkHeader, page, pages, offset, more }: FoundFields,
  { length, total, isInexact }: Counted,
  configured: DeepPartial<PagingContract>,
  response: UpstreamResponse,
): PagingContract {
  const isFlagged = more !== undefined && configured.more !== null && isTrue(more);
  const hasMore = Number(total) > length || isFlagged || (isInexact && length > 0);
  const mayFollowLinks = configured.parameter == null; // links contain their parameters
  const styles: readonly (readonly [PagingStyle, boolean])[] = [
    ['link-header', mayFollowLinks && hasLinkHeader],
    ['next-link', mayFollowLinks && link !== undefined],
    ['cursor', cursor !== undefined],
    ['page', pages !== undefined || (page !== undefined && hasMore)],
    ['offset', offset !== undefined && hasMore],
  ];
  const inferred = styles.find(([, isDetected]) => isDetected)?.[0] ?? 'none';
  const style = configured.style ?? styleOf(configured, response) ?? inferred;
  const next = { cursor, 'next-link': link };
  const position = { page, offset };
  return {
    style,
    next: style === 'cursor' || style === 'next-link' ? (next[style]?.source ?? null) : null,
    more: more?.source ?? null,
    position: style === 'page' || style === 'offset' ? (position[style]?.source ?? null) : null,
    pages: style === 'page' ? (pages?.source ?? null) : null,
    start: style === 'page' ? 1 : 0,
    parameter: null,
    size: null,
    follow: null,
    last: null,
    inclusive: null,
  };
}

/** What a flag says, or the range of a partial response. */
function readFlag({ fields, find, more, range }: FoundFields, length: number): Announcement {
  if (more !== undefined) return isTrue(more) ? 'more' : 'end';
  const isFalseOf = (kind: EnvelopeKind) => find(kind, (field) => flagOf(field) === false);
  // PHP and SQL write false as 0. With 1, a number under the name `last` is no flag.
  const notLast =
    isFalseOf('last') ??
    isFalseOf('done') ??
    isFalseOf('complete') ??
    find('last', ({ value, kinds, source }) => {
      const isZero = length > 0 && !kinds.has('pages') && String(value) === '0';
      return isZero && fields.every((one) => one.value !== 0 || !isFirstOf(one.source, source));
    }) ??
    find('partial', isTrue);
  const isPart = length > 0 && range !== null && range.end < (range.total ?? 0);
  return notLast !== undefined || isPart ? 'more' : null;
}

/** Whether a flag says that this is the last page. */
function saysLast({ find, hasNext }: FoundFields): boolean {
  const last = find('last', isTrue) ?? (hasNext ? undefined : find('done', isTrue));
  // A number next to a cursor may be that of the last record.
  return last !== undefined && !(hasNext && isCount(last.value));
}

/** Whether the response may be a part of an unknown whole, as each of several pages may, the last one too. */
function mayBePart(
  { range, pages }: PagePlace,
  { total, isInexact }: Counted,
  { status }: UpstreamResponse,
): boolean {
  const isCounted = (total !== null && !isInexact) || pages !== null;
  return (range === null ? status === 206 : range.total === null) && !isCounted;
}

/** Lists what counts say, and last a flag that is right only if they say nothing. */
function listClaims(
  { remaining, pages }: PagePlace,
  { total, isInexact }: Counted,
  isLast: boolean,
): readonly Claim[] {
  const claims: Claim[] = [];
  if (Number(remaining) > 0) claims.push({ entry: 'total', says: 'more' });
  if (pages !== null) claims.push({ entry: 'pages', of: 'pages', count: pages });
  else if (total !== null && !isInexact)
    claims.push({ entry: 'total', of: 'records', count: total });
  if (isLast) claims.push({ entry: 'more', says: 'end' });
  return claims;
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

function isTrue(field: SourceField): boolean {
  return flagOf(field) === true;
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
