import { completeAudit } from '../../inference/complete-contract.ts';
import { ENTRY_REASONS } from '../../inference/describe-mapping.ts';
import { listEnvelopeFields } from '../../inference/envelope.ts';
import { EVENT_FIELDS, listUnreadValues, readPointers } from '../../inference/event-fields.ts';
import type {
  AuditContract,
  ConfiguredContract,
  EventContract,
  Source,
} from '../../mapping/contract.ts';
import { type AuditEvent, type AuditPage, readAuditPage } from '../../mapping/event.ts';
import { SAMPLE_SIZE } from '../../mapping/list-page.ts';
import { followLink, path } from '../../upstream/path.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';
import { escapeUnprintable } from '../../util/escape-unprintable.ts';
import { wrap } from '../../util/wrap.ts';
import { cut, type ShowValue, showLength, showValue } from '../show-value.ts';
import { listCandidates } from './candidates.ts';
import { isCertainlyTrail } from './certain-trail.ts';
import { formatReadyLines } from './contract-lines.ts';
import { explainNulls, type NullField } from './explain-nulls.ts';
import type { NamedResponse } from './report.ts';
import type { Suggestion } from './suggestion.ts';
import { describeConstants, formatTable } from './table.ts';

/** Of the lines that continue another. */
const INDENT = '    ';

/** Fields in the list of those that are not mapped, and values in that of those that are not understood. */
const MAX_UNMAPPED = 40;
const MAX_UNREAD = 8;

type ConfiguredEvent = NonNullable<ConfiguredContract['audit']>['event'];

/**
 * Formats what a contract reads of the audit trail, which fields are null, with contracts to add, and what is unread. If
 * a response may be that of a login, only the lengths of values are shown.
 */
export function reportTrail(
  responses: readonly NamedResponse[],
  audit: AuditContract,
  configured: ConfiguredEvent,
): readonly string[] {
  const trails = responses.map(({ name, response, isRequested = false }) => {
    const trail = readAuditPage(completeAudit(response, audit), response);
    const length = Math.min(trail.length, SAMPLE_SIZE);
    const events = Array.from({ length }, (_, index) => trail.item(index));
    const isCertain = isRequested || isCertainlyTrail(response, audit, configured);
    return { name, trail, events, isCertain };
  });
  const uncertain = trails.find(({ isCertain }) => !isCertain);
  const events = trails.flatMap((one) => one.events);
  const show = uncertain === undefined ? showValue : showLength;
  const lines =
    events.length === 0
      ? ['The list of records is empty.']
      : [
          ...(uncertain === undefined
            ? []
            : wrap(escapeUnprintable(onlyLengths(uncertain.name)), '  ')),
          'The first records, as mapped:',
          '',
          ...formatTable(events, audit.event, show),
          '',
          ...wrapLines(describeConstants(events)),
          ...explainNulls(events, audit, configured).flatMap((field) => formatNull(field, show)),
          ...listUnread(events, audit.event, show),
          ...listUnmapped(events, audit.event, show),
        ];
  const pages = trails.map(({ trail }) => trail);
  return [
    ...lines,
    ...wrapLines(describeList(pages, audit)),
    ...wrapLines(
      listUnreadEnvelope(
        responses.map(({ response }) => response),
        audit,
        show,
      ),
    ),
    ...wrapLines(describeNext(pages, audit, responses[0]?.url)),
  ];
}

function onlyLengths(name: string): string {
  return `Only the lengths of values are shown, as ${name} may be the response to a login: no time and action of its records, or a name around them, says otherwise. For values, run learn on the trail of the service, without --from.`;
}

function wrapLines(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => wrap(escapeUnprintable(line), INDENT));
}

/** Formats why a field is null in every record, and contracts that may read it. */
function formatNull(
  { name, reason, unread, suggestions: all }: NullField,
  show: ShowValue,
): readonly string[] {
  const suggestions = show === showLength ? all.filter(hasOnlyWords) : all;
  const cause = unread.length > 0 ? ENTRY_REASONS.unread : reason;
  const sentence = `  ${name} is null: ${cause}.`;
  if (suggestions.length === 0) return wrap(sentence, INDENT);
  const isAssumed = suggestions.some(({ contract }) => 'zone' in Object(contract.occurredAt));
  const assumption = isAssumed ? ', and replace UTC by the zone of the service' : '';
  const [first] = suggestions;
  const unmapped = first?.unmapped ?? [];
  return [
    ...wrap(`${sentence} If one is right, add it to the contract${assumption}:`, INDENT),
    ...formatReadyLines(
      suggestions.map(({ contract, examples }) => ({
        contract: { audit: { event: contract } },
        examples,
      })),
      show,
    ),
    ...(unmapped.length === 0
      ? []
      : wrap(
          `    Not in the map: ${unmapped.map((text) => show('', text, 40)).join(', ')}.`,
          INDENT,
        )),
  ];
}

/** Whether the keys of a suggested map are words for an outcome: other values are not shown. */
function hasOnlyWords({ contract: { outcome } }: Suggestion): boolean {
  return Object.keys(Object(Object(outcome).map)).every((key) =>
    /^(?:[a-z]{1,12}|[01])$/i.test(key),
  );
}

/** Lists values that an entry leads to, but that are not understood: such a field is null in some records. */
function listUnread(
  events: readonly AuditEvent[],
  contract: EventContract,
  show: ShowValue,
): readonly string[] {
  return EVENT_FIELDS.flatMap(({ name }) => {
    const unread = listUnreadValues(events, contract, name);
    if (unread.length === 0) return [];
    const values = unread
      .slice(0, MAX_UNREAD)
      .map(({ pointer, value }) => `${cut(pointer, 40)} ${show(pointer, value, 40)}`);
    const more = unread.length > MAX_UNREAD ? `, and ${unread.length - MAX_UNREAD} more` : '';
    return wrap(
      `  ${name} is null, because these values are not understood: ${values.join(', ')}${more}.`,
      INDENT,
    );
  });
}

/** Lists the fields that no entry reads, with the first value of each. */
function listUnmapped(
  events: readonly AuditEvent[],
  contract: EventContract,
  show: ShowValue,
): readonly string[] {
  const mapped = new Set(readPointers(contract));
  const unmapped = listCandidates(
    events.map(({ raw }) => raw),
    (pointer) => mapped.has(pointer),
  );
  if (unmapped.length === 0) return [];
  const shown = unmapped.slice(0, MAX_UNMAPPED);
  const pointers = shown.map(({ pointer }) => cut(pointer, 60));
  const width = Math.max(...pointers.map((pointer) => pointer.length));
  const lines = shown.map(
    ({ pointer, values }, index) =>
      `    ${pointers[index]?.padEnd(width)}  ${show(pointer, values[0], 94 - width)}`,
  );
  const rest = unmapped.length - shown.length;
  return ['  Not mapped, only in `raw`:', ...lines, ...(rest > 0 ? [`    and ${rest} more.`] : [])];
}

/** Formats the pointers of the records, their total and the next page. */
function describeList(
  trails: readonly AuditPage[],
  { records, total, paging }: AuditContract,
): readonly string[] {
  const length = trails.reduce((sum, trail) => sum + trail.length, 0);
  const totals = trails.map((trail) => trail.total()).filter((count) => count !== null);
  return [
    `  Records: ${length} at ${records === '' ? 'the top' : records}. Total: ${totals[0] ?? 'unknown'}${describeSource(total)}. Paging: ${paging.style}${describeSource(paging.next)}.`,
  ];
}

/**
 * Lists fields outside of the records that no entry reads: one may be a total, a flag or a cursor with another name. Of
 * texts only the length, as one of them may be a credential.
 */
function listUnreadEnvelope(
  responses: readonly UpstreamResponse[],
  { records, total, paging }: AuditContract,
  show: ShowValue,
): readonly string[] {
  const read = [total, paging.next, paging.more, paging.position, paging.pages].flat();
  const unread = responses
    .slice(0, 1)
    .flatMap(({ body }) => listEnvelopeFields(body, records))
    .filter(({ pointer, kinds }) => pointer !== '' && kinds.size === 0 && !read.includes(pointer))
    .slice(0, MAX_UNREAD)
    .map(({ pointer, value }) => {
      const showOne = typeof value === 'string' ? showLength : show;
      return `${cut(pointer, 40)} ${showOne(pointer, value, 40)}`;
    });
  if (unread.length === 0) return [];
  return [
    `  Outside of the records, not read: ${unread.join(', ')}. If one of these is a total, a flag for more pages or a cursor, set audit.total, audit.paging.more or audit.paging.next.`,
  ];
}

function describeSource(source: Source): string {
  if (source === null) return '';
  if (typeof source === 'object' && 'header' in source) return ` (header ${source.header})`;
  return ` (${[source].flat().join(', ')})`;
}

/** Names what to set if the service has more pages, which Keytrail cannot request or may lose records of. */
function describeNext(
  trails: readonly AuditPage[],
  { paging }: AuditContract,
  url: URL | undefined,
): readonly string[] {
  const { style, next, position, follow, inclusive, last } = paging;
  const lines = trails.flatMap((trail): string | readonly string[] => {
    const found = trail.next();
    if (found === null || 'isPartial' in found || 'value' in found) return [];
    if ('link' in found) return follow === 'query' ? [] : describeLink(found.link, next, url);
    const entry = found.missing;
    if (entry.endsWith('.parameter'))
      return `  The service has more pages, in the style "${style}". To request them, set ${entry} to the name of its query parameter${/^(?:page|offset)$/.test(style) && position === null ? `, and ${START}` : '.'}`;
    if (entry.endsWith('.style'))
      return `  The service has more pages. To request them, set ${entry} to page, offset or last-id, and audit.paging.parameter to the name of its query parameter; for page and offset also ${START}`;
    return `  The service has more pages. To request them, set or correct ${entry}.`;
  });
  const isLossy = style === 'last-value' && inclusive === null;
  const loss = `  Records are lost if ${[last].flat().join(', ')} is the same in the last record of a page and the first of the next one. If the query parameter can include the value, set audit.paging.inclusive to true; if not, to false.`;
  return [...new Set(isLossy ? [...lines, loss] : lines)];
}

const START =
  'audit.paging.start to the number of its first page, or its first offset: 0 or 1. No response shows it, so check that the second page follows the first without a gap.';

/** Says that a link may not lead to the same host and path, if it is not known to. */
function describeLink(link: string, source: Source, url: URL | undefined): readonly string[] {
  const base = url ?? URL.parse('/', link) ?? new URL('http://localhost');
  const place = describeSource(source).replace(/^ \(|\)$/g, '') || 'the header Link';
  const other = `the link at ${place} leads to another host or path`;
  const advice = 'set audit.paging.follow to "query"';
  if (followLink(link, path`/api/v1/audit`, base) === null)
    return [`  The service has more pages, but ${other}: ${advice}.`];
  return url === undefined && URL.canParse(link)
    ? [`  If ${other} than UPSTREAM_URL, ${advice}.`]
    : [];
}
