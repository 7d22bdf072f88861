import { ENTRY_REASONS, NULL_REASONS } from '../../inference/describe-mapping.ts';
import { listUnreadValues, readPointers, type UnreadValue } from '../../inference/event-fields.ts';
import type {
  AuditContract,
  ConfiguredContract,
  EventContract,
  PartyPart,
} from '../../mapping/contract.ts';
import type { AuditEvent } from '../../mapping/event.ts';
import { splitMemberName } from '../../mapping/member-names.ts';
import { type Candidate, listCandidates } from './candidates.ts';
import { suggestAction, suggestId, suggestOutcome, suggestUserAgent } from './event-candidates.ts';
import { suggestActor, suggestPart, suggestTarget } from './party-candidates.ts';
import type { Suggestion } from './suggestion.ts';
import { suggestTime } from './time-candidates.ts';

/** A field of an event that is null in every one of some records. */
export type NullField = {
  /** An entry of `audit.event`, such as `actor` or `actor.type`. */
  readonly name: string;
  /** Why it is null. Completes "… is null". */
  readonly reason: string;
  /** Values that its entry leads to, although it is null. */
  readonly unread: readonly UnreadValue[];
  /** Contracts that may read it, best first. None if no field of the records is likely. */
  readonly suggestions: readonly Suggestion[];
};

type EventEntry = keyof EventContract;

/** Suggestions per field. */
const MAX_SUGGESTIONS = 3;

const SUGGEST: Readonly<
  Record<EventEntry, (candidates: readonly Candidate[], list: string) => readonly Suggestion[]>
> = {
  id: suggestId,
  occurredAt: suggestTime,
  action: suggestAction,
  actor: suggestActor,
  target: suggestTarget,
  outcome: suggestOutcome,
  ipAddress: () => [], // inference accepts any name with IP addresses
  userAgent: suggestUserAgent,
};

const ENTRIES = Object.keys(SUGGEST) as readonly EventEntry[]; // it has no other keys

/** The most certain first: a field that one entry reads is no candidate for the next. */
const ORDER: readonly EventEntry[] = [
  ...(['occurredAt', 'id', 'userAgent', 'outcome', 'ipAddress'] as const),
  ...(['action', 'actor', 'target'] as const),
];

const PARTS = ['identifier', 'name', 'type'] as const satisfies readonly PartyPart[];

/**
 * Explains which fields are null in all of some records, and which contracts may read them. Parts of a party that has
 * others are included only if there is a suggestion: few services have all. A pure function.
 */
export function explainNulls(
  events: readonly AuditEvent[],
  { event: contract, records: pointer }: Pick<AuditContract, 'event' | 'records'>,
  configured: NonNullable<ConfiguredContract['audit']>['event'] = {},
): readonly NullField[] {
  const list = splitMemberName(pointer?.split('/').at(-1) ?? '').words;
  const records = events.map(({ raw }) => raw);
  const nullEntries = ENTRIES.filter((entry) => events.every((event) => event[entry] === null));
  const inferred = nullEntries.filter((entry) => configured[entry] === undefined);
  const suggestions = suggestEntries(records, contract, inferred, list);
  const entries = nullEntries.map((entry) => ({
    name: entry,
    reason: inferred.includes(entry) ? NULL_REASONS[entry] : ENTRY_REASONS.contract,
    unread: listUnreadValues(events, contract, entry),
    suggestions: suggestions.get(entry) ?? [],
  }));
  const roles = (['actor', 'target'] as const).filter((role) => !nullEntries.includes(role));
  const parts = roles.flatMap((role) =>
    PARTS.filter((part) => configured[role]?.[part] === undefined)
      .filter((part) => events.every((event) => (event[role]?.[part] ?? null) === null))
      .map((part) => ({
        name: `${role}.${part}`,
        reason: NULL_REASONS.part,
        unread: [],
        suggestions: suggestParts(records, contract, role, part),
      })),
  );
  return [...entries, ...parts.filter((field) => field.suggestions.length > 0)];
}

/** Suggests contracts for some entries. A field of the records is the first choice for one entry only. */
function suggestEntries(
  records: readonly unknown[],
  contract: EventContract,
  entries: readonly EventEntry[],
  list: string,
): ReadonlyMap<EventEntry, readonly Suggestion[]> {
  const read = new Set(readPointers(contract));
  const suggestions = new Map<EventEntry, readonly Suggestion[]>();
  for (const entry of ORDER.filter((name) => entries.includes(name))) {
    const candidates = listCandidates(records, (pointer) => read.has(pointer));
    const found = SUGGEST[entry](candidates, list).slice(0, MAX_SUGGESTIONS);
    suggestions.set(entry, found);
    for (const { pointer } of found[0]?.examples ?? []) read.add(pointer);
  }
  return suggestions;
}

function suggestParts(
  records: readonly unknown[],
  contract: EventContract,
  role: 'actor' | 'target',
  part: PartyPart,
): readonly Suggestion[] {
  const read = new Set(readPointers(contract));
  const candidates = listCandidates(records, (pointer) => read.has(pointer));
  const ofParty = readPointers({ [role]: contract[role] });
  return suggestPart(role, part, candidates, ofParty).slice(0, MAX_SUGGESTIONS);
}
