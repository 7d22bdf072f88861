import { MODEL, type Model } from '../../gateway/inference/choose.ts';
import type { RankedField } from '../../gateway/inference/choose-entry.ts';
import { whyNull } from '../../gateway/inference/describe-mapping.ts';
import {
  EVENT_ENTRIES,
  type EventEntry,
  listUnreadValues,
  readPointers,
  type UnreadValue,
} from '../../gateway/inference/event-entries.ts';
import {
  type ConfiguredContract,
  type EventContract,
  fillGaps,
} from '../../gateway/mapping/contract.ts';
import { AuditEvent, compileEventReaders } from '../../gateway/mapping/event.ts';
import { memberAt } from '../../gateway/mapping/read-entry.ts';
import { type Suggestion, type Suggestions, suggestFields } from './suggest-fields.ts';

/** What there is to say about an entry of an event. */
export type ExplainedEntry = {
  /** An entry of `audit.event`, such as `actor.type`; `actor` if nothing is known of any of its parts. */
  readonly name: string;
  /** The fields that inference reads. None if the contract has the entry. */
  readonly chosen: readonly RankedField[];
  /** Why the field is null in all events. Completes "… is null". Undefined if it is not, or there is nothing to say. */
  readonly why?: string | undefined;
  /** Values that its entry leads to, although it is null. */
  readonly unread: readonly UnreadValue[];
  /** Contracts that may read it instead, best first. */
  readonly suggestions: readonly Suggestion[];
};

/**
 * Explains every entry of an event: with which confidence it is read, why it is null in all of some records, and which
 * contracts may read it; then which are null in some, as a value is not understood. Parts of a party that has others are
 * null for a reason to report only if there is a suggestion: few services have all. A pure function.
 */
export function explainEntries(
  events: readonly AuditEvent[],
  contract: EventContract,
  configured: NonNullable<ConfiguredContract['audit']>['event'] = {},
  model: Model = MODEL,
): readonly ExplainedEntry[] {
  const records = events.map(({ raw }) => raw);
  const suggested: Readonly<Record<string, Suggestions>> = suggestFields(records, model);
  const isNull = (name: string) => events.every((event) => memberAt(event, name) == null);
  const whyIsNull = (name: string) =>
    whyNull(
      memberAt(contract, name),
      memberAt(configured, name),
      events,
      'event',
      ...name.split('.'),
    );
  /** Whether a contract reads another value than the one before, from a field that no other entry reads. */
  const isOther = (name: string, suggestion: Suggestion) => {
    const isReadBy = ({ entryOf, name: other }: EventEntry, pointer: string) =>
      other !== name && readPointers(entryOf(contract)).includes(pointer);
    if (
      suggestion.fields.some(({ pointer }) => EVENT_ENTRIES.some((one) => isReadBy(one, pointer)))
    )
      return false;
    const readers = compileEventReaders(fillGaps<EventContract>(suggestion.contract, contract));
    return events.some((event) => {
      const value = memberAt(new AuditEvent(event.raw, readers), name) ?? null;
      return value !== null && value !== memberAt(event, name);
    });
  };
  const all = EVENT_ENTRIES.map(({ name }): ExplainedEntry => {
    const isConfigured = memberAt(configured, name) !== undefined;
    const { chosen = [], suggestions = [] } = isConfigured ? {} : (suggested[name] ?? {});
    return {
      ...{ name, chosen, unread: listUnreadValues(events, contract, name) },
      why: isNull(name) ? whyIsNull(name) : undefined,
      suggestions: suggestions.filter((one) => isOther(name, one)),
    };
  });
  const hasNews = ({ unread, suggestions }: ExplainedEntry) =>
    unread.length > 0 || suggestions.length > 0;
  return all.map((entry, index) => {
    const [role = '', part] = entry.name.split('.');
    if (part === undefined || entry.why === undefined || hasNews(entry)) return entry;
    const first = all.findIndex(({ name }) => name.startsWith(`${role}.`));
    const isUnknown = index === first && isNull(role) && !all.slice(first, first + 3).some(hasNews);
    return isUnknown
      ? { ...entry, name: role, why: whyIsNull(role) }
      : { ...entry, why: undefined };
  });
}
