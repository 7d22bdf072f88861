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
import { listUnreadValues, readPointers, type UnreadValue } from './event-fields.ts';
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

const NULL_REASONS: Readonly<Record<EventEntry, string>> = {
  id: 'no field has the name of a record ID',
  occurredAt: 'no field with the name of an event time holds a time with a zone',
  action: 'no field has the name of an action',
  actor: 'no field has the name of an actor',
  target: 'no field has the name of a target',
  outcome:
    'no field with the name of an outcome holds a success flag, or a word for success or failure',
  ipAddress: 'no field holds the IP address of an actor',
  userAgent: 'no field has the name or the format of a user agent',
};

const ENTRIES = Object.keys(NULL_REASONS) as readonly EventEntry[]; // it has no other keys

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
    reason: inferred.includes(entry)
      ? NULL_REASONS[entry]
      : 'the pointer in the contract leads to no value',
    unread: listUnreadValues(events, contract, entry),
    suggestions: suggestions.get(entry) ?? [],
  }));
  const roles = (['actor', 'target'] as const).filter((role) => !nullEntries.includes(role));
  const parts = roles.flatMap((role) =>
    PARTS.filter((part) => configured[role]?.[part] === undefined)
      .filter((part) => events.every((event) => (event[role]?.[part] ?? null) === null))
      .map((part) => ({
        name: `${role}.${part}`,
        reason: 'no field next to the others has its name',
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
