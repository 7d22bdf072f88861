import { followTrailLink } from '../../gateway/api/read-trail.ts';
import { listEnvelopeFields } from '../../gateway/inference/envelope.ts';
import type { AuditContract, Source } from '../../gateway/mapping/contract.ts';
import type { AuditPage } from '../../gateway/mapping/event.ts';
import { wordsOfPointer } from '../../gateway/mapping/member-names.ts';
import { parseTime } from '../../gateway/mapping/time.ts';
import { isCount, parseOutcome } from '../../gateway/mapping/values.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { cut, type ShowValue, showLength } from '../show-value.ts';
import { formatSentence, formatSource } from './format.ts';
import type { NamedResponse } from './learn-contract.ts';
import { isOpaque } from './trail-detection.ts';

/** Fields around the records that are listed. */
const MAX_UNREAD = 8;

/** Formats where the records, their total and the next page are, what is unread around them, and how to get more pages. */
export function reportList(
  responses: readonly NamedResponse[],
  pages: readonly AuditPage[],
  audit: AuditContract,
  show: ShowValue,
): readonly string[] {
  const [first] = responses;
  return [
    ...reportRecords(pages, audit),
    ...(first ? reportEnvelope(first.response, pages[0]?.length ?? 0, audit, show) : []),
    ...listNext(pages, audit, first?.url).flatMap((line) => formatSentence(`  ${line}`)),
  ];
}

/** Reports the pointers of the records, their total and the next page. */
function reportRecords(
  pages: readonly AuditPage[],
  { records, total, paging }: AuditContract,
): readonly string[] {
  const length = pages.reduce((sum, page) => sum + page.length, 0);
  const nulls = pages.reduce((sum, page) => sum + page.nulls, 0);
  const skipped = nulls === 0 ? '' : `, besides ${nulls} ${nulls === 1 ? 'null' : 'nulls'}`;
  const count = pages.map((page) => page.total()).find((one) => one !== null) ?? 'unknown';
  const at = (source: Source) => (source === null ? '' : ` (${formatSource(source)})`);
  return formatSentence(
    `  Records: ${length} at ${records === '' ? 'the top' : records}${skipped}. Total: ${count}${at(total)}. Paging: ${paging.style}${at(paging.next)}.`,
  );
}

/**
 * Lists fields outside of the records that no entry reads, and that may be a total, a flag or a cursor with another name.
 * Of texts only the length, as one of them may be a credential.
 */
function reportEnvelope(
  { body }: UpstreamResponse,
  length: number,
  { records, total, paging }: AuditContract,
  show: ShowValue,
): readonly string[] {
  const read = [total, paging.next, paging.more, paging.position, paging.pages].flat();
  const unread = listEnvelopeFields(body, records)
    .filter(({ pointer, kinds }) => pointer !== '' && kinds.size === 0 && !read.includes(pointer))
    .filter(({ pointer, value }) => mayBePaging(wordsOfPointer(pointer), value, length))
    .slice(0, MAX_UNREAD)
    .map(({ pointer, value }) => {
      const showOne = typeof value === 'string' ? showLength : show;
      return `${cut(pointer, 40)} ${showOne(pointer, value, 40)}`;
    });
  if (unread.length === 0) return [];
  return formatSentence(
    `  Outside of the records, not read: ${unread.join(', ')}. If one of these is a total, a flag for more pages or a cursor, set audit.total, audit.paging.more or audit.paging.next.`,
  );
}

/** Names of what describes the request, the response or another page. */
const NO_PAGING =
  /\b(?:id|status|code|version|limit|size|max|self|first|prev|previous|current|request|trace|correlation|etag)\b/;

/** Whether a field may be a total, which is larger than the page; a flag, unless it is one of success; or a cursor. */
function mayBePaging(words: string, value: unknown, length: number): boolean {
  if (NO_PAGING.test(words) || parseTime(value) !== null) return false;
  if (typeof value === 'boolean') return parseOutcome(words) === null;
  return isCount(value) ? Number(value) > length : isOpaque(String(value));
}

/** Names what to set if the service has more pages, which Keytrail cannot request or may lose records of. */
function listNext(
  pages: readonly AuditPage[],
  { paging }: AuditContract,
  url: URL | undefined,
): readonly string[] {
  const { style, next, position, follow, inclusive, last } = paging;
  const lines = pages.map((page) => {
    const found = page.next();
    if (found === null || 'isPartial' in found || 'value' in found) return null;
    if ('link' in found) return follow === 'query' ? null : describeLink(found.link, next, url);
    const entry = found.missing;
    if (entry.endsWith('.parameter')) {
      const isCounted = /^(?:page|offset)$/.test(style) && position === null;
      return `The service has more pages, in the style "${style}". To request them, set ${entry} to the name of its query parameter${isCounted ? `, and ${START}` : '.'}`;
    }
    if (entry.endsWith('.style'))
      return `The service has more pages. To request them, set ${entry} to page, offset or last-id, and audit.paging.parameter to the name of its query parameter; for page and offset also ${START}`;
    return `The service has more pages. To request them, set or correct ${entry}.`;
  });
  const loss =
    style === 'last-value' && inclusive === null
      ? `Records are lost if ${[last].flat().join(', ')} is the same in the last record of a page and the first of the next one. If the query parameter can include the value, set audit.paging.inclusive to true; if not, to false.`
      : null;
  return [...new Set([...lines, loss])].filter((line) => line !== null);
}

const START =
  'audit.paging.start to the number of its first page, or its first offset: 0 or 1. No response shows it, so check that the second page follows the first without a gap.';

/** Says that a link may not lead to the same host and path, if it is not known to. */
function describeLink(link: string, source: Source, url: URL | undefined): string | null {
  const base = url ?? URL.parse('/', link) ?? new URL('http://localhost');
  const place = source === null ? 'the header Link' : formatSource(source);
  const other = `the link at ${place} leads to another host or path`;
  const advice = 'set audit.paging.follow to "query"';
  if (followTrailLink(link, base) === null)
    return `The service has more pages, but ${other}: ${advice}.`;
  return url === undefined && URL.canParse(link)
    ? `If ${other} than UPSTREAM_URL, ${advice}.`
    : null;
}
