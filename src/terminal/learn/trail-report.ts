import { MODEL } from '../../gateway/inference/choose.ts';
import { EVENT_ENTRIES, readPointers } from '../../gateway/inference/event-entries.ts';
import { profileFields } from '../../gateway/inference/profile-fields.ts';
import type { AuditContract, ConfiguredContract } from '../../gateway/mapping/contract.ts';
import type { AuditEvent } from '../../gateway/mapping/event.ts';
import { cut, type ShowValue, showLength, showValue } from '../show-value.ts';
import { type ExplainedEntry, explainEntries } from './explain-entries.ts';
import { formatConfidence, formatReadyLines, formatSentence, formatTable } from './format.ts';
import type { NamedResponse } from './learn-contract.ts';
import { reportList } from './list-report.ts';
import type { Suggestion } from './suggest-fields.ts';
import { isCertainlyTrail, readSample } from './trail-detection.ts';

/** Fields in the list of those that are not mapped, and values in that of those that are not understood. */
const MAX_UNMAPPED = 40;
const MAX_UNREAD = 8;

/**
 * Formats what a contract reads of the audit trail, which fields are null, with contracts to add, what is unread, and the
 * list. If a response may be that of a login, only the lengths of values are shown.
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
    ...reportList(responses, pages, audit, show),
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
  const isUncertain = first !== undefined && isBelowCertain(first);
  const confidence = isUncertain ? formatConfidence(first) : '0.00';
  const reason = Number(confidence) > 0 ? `${confidence}, not certain enough` : why;
  const sentence = `  ${name} is null${unread.length > 0 ? `, ${values}` : `: ${reason}`}.`;
  if (first === undefined) return formatSentence(sentence);
  const isAssumed = suggestions.some(({ contract }) => 'zone' in Object(contract.occurredAt));
  const assumption = isAssumed ? ', and replace UTC by the zone of the service' : '';
  const one = suggestions.length === 1 ? 'this' : 'one';
  const start = isProbable(first) ? `If ${one} is right,` : `Perhaps ${one} is right: then`;
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

/** The least confidence of a probable line. */
const PROBABLE = 0.6;

/**
 * Whether a line is reported without "perhaps". In folds by vendor, at most 1 % of all values are wrong with these lines. One
 * that the caller may have written is probable only if its meaning is certain.
 */
export function isProbable(suggestion: Suggestion): boolean {
  const isDoubtful = suggestion.isFree === true && isBelowCertain(suggestion);
  return Number(formatConfidence(suggestion)) >= PROBABLE && !isDoubtful;
}

function isBelowCertain({ confidence }: Suggestion): boolean {
  return confidence < MODEL.certain;
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
