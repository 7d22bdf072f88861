import { LIKELY, MODEL } from '../../inference/choose.ts';
import { listEnvelopeFields } from '../../inference/envelope.ts';
import { EVENT_ENTRIES, readPointers } from '../../inference/event-entries.ts';
import { profileFields } from '../../inference/profile-fields.ts';
import type { AuditContract, ConfiguredContract, Source } from '../../mapping/contract.ts';
import type { AuditEvent, AuditPage } from '../../mapping/event.ts';
import { wordsOfPointer } from '../../mapping/member-names.ts';
import { parseTime } from '../../mapping/time.ts';
import { isCount, parseOutcome } from '../../mapping/values.ts';
import { followLink, path } from '../../upstream/path.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';
import { cut, type ShowValue, showLength, showValue } from '../show-value.ts';
import { type ExplainedEntry, explainEntries } from './explain-entries.ts';
import {
  formatConfidence,
  formatReadyLines,
  formatSentence,
  formatSource,
  formatTable,
} from './format.ts';
import type { NamedResponse } from './report.ts';
import type { Suggestion } from './suggest-fields.ts';
import { isCertainlyTrail, isOpaque, readSample } from './trail-detection.ts';

/** Fields in the list of those that are not mapped, and values in that of those that are not understood. */
const MAX_UNMAPPED = 40;
const MAX_UNREAD = 8;

/**
 * Formats what a contract reads of the audit trail, which fields are null, with contracts to add, and what is unread. If
 * a response may be that of a login, only the lengths of values are shown.
 */
export function reportTrail(
  responses: readonly NamedResponse[],
  audit: AuditContract,
  configured: NonNullable<ConfiguredContract['audit']>['event'],
): readonly string[] {
  const samples = responses.map(({ response }) => readSample(response, audit));
  const pages = samples.map(({ page }) => page);
  const events = samples.flatMap((sample) => sample.events);
  const entries = explainEntries(events, audit.event, configured);
  const uncertain = responses.find(
    ({ response, isRequested = false }) =>
      !isRequested && !isCertainlyTrail(response, audit, configured),
  );
  const show = uncertain === undefined ? showValue : showLength;
  return [
    ...(events.length === 0
      ? ['The list of records is empty.']
      : [
          ...(uncertain === undefined ? [] : formatSentence(onlyLengths(uncertain.name), '  ')),
          'The first records, as mapped:',
          '',
          ...formatTable(events, audit.event, entries, show),
          '',
          ...reportConstants(events),
          ...entries.flatMap((entry) => reportEntry(entry, show)),
          ...reportUnmapped(events, audit, show),
        ]),
    ...reportList(pages, audit),
    ...responses
      .slice(0, 1)
      .flatMap(({ response }) => reportEnvelope(response, pages[0]?.length ?? 0, audit, show)),
    ...listNext(pages, audit, responses[0]?.url).flatMap((line) => formatSentence(`  ${line}`)),
  ];
}

function onlyLengths(name: string): string {
  return `Only the lengths of values are shown, as ${name} may be the response to a login: no time and action of its records, or a name around them, says otherwise. For values, run learn on the trail of the service, without --from.`;
}

/** Names the fields that have the same value in every one of several records. */
function reportConstants(events: readonly AuditEvent[]): readonly string[] {
  const constant = EVENT_ENTRIES.filter(({ read }) => {
    const [first, ...others] = events.map(read);
    return first !== null && others.length > 0 && others.every((value) => value === first);
  });
  const names = constant.map(({ name }) => name).join(', ');
  if (names === '') return [];
  return formatSentence(`  Check these, which are the same in every record: ${names}.`);
}

/** Reports why a field is null, and contracts that may read it; of one that is read with doubts, what it may be instead. */
function reportEntry(entry: ExplainedEntry, show: ShowValue): readonly string[] {
  const { name, why, unread, suggestions: all } = entry;
  const suggestions = show === showLength ? all.filter(hasOnlyWords) : all;
  const [first] = suggestions;
  if (unread.length === 0 && why === undefined) return reportDoubt(entry, show);
  const shown = unread
    .slice(0, MAX_UNREAD)
    .map(({ pointer, value }) => `${cut(pointer, 40)} ${show(pointer, value, 40)}`);
  const more = unread.length > MAX_UNREAD ? `, and ${unread.length - MAX_UNREAD} more` : '';
  const values = `because these values are not understood: ${shown.join(', ')}${more}`;
  const isUncertain = first !== undefined && first.confidence < MODEL.certain;
  const reason = isUncertain ? `${formatConfidence(first)}, not certain enough` : why;
  const sentence = `  ${name} is null${unread.length > 0 ? `, ${values}` : `: ${reason}`}.`;
  if (first === undefined) return formatSentence(sentence);
  const isAssumed = suggestions.some(({ contract }) => 'zone' in Object(contract.occurredAt));
  const assumption = isAssumed ? ', and replace UTC by the zone of the service' : '';
  const one = suggestions.length === 1 ? 'this' : 'one';
  const isLikely = Number(formatConfidence(first)) >= LIKELY;
  const start = isLikely ? `If ${one} is right,` : `Perhaps ${one} is right: then`;
  return [
    ...formatSentence(`${sentence} ${start} add it to the contract${assumption}:`),
    ...formatReadyLines(
      suggestions.map(({ contract, fields, confidence }) => ({
        contract: { audit: { event: contract } },
        describe: (width) =>
          `${formatConfidence({ confidence })}  ${fields.map(({ pointer, values }) => show(pointer, values[0], width)).join(', ')}`,
      })),
    ),
    ...reportUnmappedTexts(first, show),
  ];
}

/** Names the texts that a suggested map does not have. */
function reportUnmappedTexts(
  { contract: { outcome }, fields }: Suggestion,
  show: ShowValue,
): readonly string[] {
  const { map } = Object(outcome);
  const texts = map === undefined ? [] : fields.flatMap(({ values }) => values.map(String));
  const unmapped = [...new Set(texts)].filter((text) => !Object.hasOwn(map, text));
  if (unmapped.length === 0) return [];
  return formatSentence(
    `    Not in the map: ${unmapped.map((text) => show('', text, 40)).join(', ')}.`,
  );
}

/** Names the next candidate of an entry that is read with less confidence than this. */
const CLEAR = 0.9;

function reportDoubt(
  { name, chosen, suggestions }: ExplainedEntry,
  show: ShowValue,
): readonly string[] {
  const [first] = chosen;
  if (first === undefined || first.confidence >= CLEAR) return [];
  const isChosen = (pointer: string) => chosen.some((one) => one.pointer === pointer);
  for (const { confidence, fields } of suggestions)
    for (const { pointer, values } of fields)
      if (!isChosen(pointer)) {
        const value = show(pointer, values[0], 40);
        return formatSentence(
          `  ${name} is read from ${first.pointer} with ${formatConfidence(first)}. If that is wrong, perhaps it is ${pointer} (${formatConfidence({ confidence })}), such as ${value}.`,
        );
      }
  return [];
}

/** Whether the keys of a suggested map are words for an outcome: other values are not shown. */
function hasOnlyWords({ contract: { outcome } }: Suggestion): boolean {
  return Object.keys(Object(Object(outcome).map)).every((key) =>
    /^(?:[a-z]{1,12}|[01])$/i.test(key),
  );
}

/** Lists the fields that no entry reads, with the first value of each. */
function reportUnmapped(
  events: readonly AuditEvent[],
  { event }: AuditContract,
  show: ShowValue,
): readonly string[] {
  const mapped = readPointers(event);
  const unmapped = profileFields(events.map(({ raw }) => raw))
    .filter(({ pointer }) => pointer !== '' && !mapped.includes(pointer))
    .map(({ pointer, values }) => ({ pointer, shown: cut(pointer, 60), value: values[0] }));
  if (unmapped.length === 0) return [];
  const listed = unmapped.slice(0, MAX_UNMAPPED);
  const width = Math.max(...listed.map(({ shown }) => shown.length));
  const rest = unmapped.length - listed.length;
  return [
    '  Not mapped, only in `raw`:',
    ...listed.map(
      ({ pointer, shown, value }) =>
        `    ${shown.padEnd(width)}  ${show(pointer, value, 94 - width)}`,
    ),
    ...(rest > 0 ? [`    and ${rest} more.`] : []),
  ];
}

/** Reports the pointers of the records, their total and the next page. */
function reportList(
  pages: readonly AuditPage[],
  { records, total, paging }: AuditContract,
): readonly string[] {
  const length = pages.reduce((sum, page) => sum + page.length, 0);
  const count = pages.map((page) => page.total()).find((one) => one !== null) ?? 'unknown';
  const at = (source: Source) => (source === null ? '' : ` (${formatSource(source)})`);
  return formatSentence(
    `  Records: ${length} at ${records === '' ? 'the top' : records}. Total: ${count}${at(total)}. Paging: ${paging.style}${at(paging.next)}.`,
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
  if (followLink(link, path`/api/v1/audit`, base) === null)
    return `The service has more pages, but ${other}: ${advice}.`;
  return url === undefined && URL.canParse(link)
    ? `If ${other} than UPSTREAM_URL, ${advice}.`
    : null;
}
