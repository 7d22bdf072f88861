import { whyNull } from '../../inference/describe-mapping.ts';
import {
  EVENT_ENTRIES,
  listUnreadValues,
  readPointers,
  type UnreadValue,
} from '../../inference/event-entries.ts';
import type { ConfiguredContract, EventContract } from '../../mapping/contract.ts';
import type { AuditEvent } from '../../mapping/event.ts';
import { memberAt } from '../../mapping/read-entry.ts';
import { type Candidate, listCandidates, type Suggestion } from './candidates.ts';
import { MAX_SUGGESTIONS } from './format.ts';
import { suggestAction, suggestId, suggestOutcome, suggestUserAgent } from './suggest-event.ts';
import { suggestActor, suggestPart, suggestTarget } from './suggest-party.ts';
import { suggestTime } from './suggest-time.ts';

/** A field of an event that is null in some records. */
export type NullField = {
  /** An entry of `audit.event`, such as `actor` or `actor.type`. */
  readonly name: string;
  /** Why it is null. Completes "… is null". */
  readonly why: string | undefined;
  /** Values that its entry leads to, although it is null. */
  readonly unread: readonly UnreadValue[];
  /** Contracts that may read it, best first. None if no field of the records is likely. */
  readonly suggestions: readonly Suggestion[];
};

type Suggest = (candidates: readonly Candidate[]) => readonly Suggestion[];

/** The most certain first: a field that one entry reads is no candidate for the next. Inference finds any IP address. */
const SUGGEST: readonly (readonly [keyof EventContract, Suggest])[] = [
  ['occurredAt', suggestTime],
  ['id', suggestId],
  ['userAgent', suggestUserAgent],
  ['outcome', suggestOutcome],
  ['action', suggestAction],
  ['actor', suggestActor],
  ['target', suggestTarget],
];

/**
 * Explains which fields are null in all of some records, and which contracts may read them; then which are null in some,
 * as a value is not understood. Parts of a party that has others are included only if there is a suggestion: few
 * services have all. A pure function.
 */
export function explainNulls(
  events: readonly AuditEvent[],
  contract: EventContract,
  configured: NonNullable<ConfiguredContract['audit']>['event'] = {},
): readonly NullField[] {
  const fields = listCandidates(events.map(({ raw }) => raw));
  const read = new Set(readPointers(contract));
  const candidates = () => fields.filter((field) => !read.has(field.pointer));
  const isNull = (name: string) => events.every((event) => memberAt(event, name) == null);
  const suggestions = new Map<string, readonly Suggestion[]>();

  for (const role of ['actor', 'target'] as const)
    for (const part of ['identifier', 'name', 'type'] as const) {
      const name = `${role}.${part}`;
      if (isNull(role) || !isNull(name) || memberAt(configured, name) !== undefined) continue;
      const found = suggestPart(role, part, candidates(), readPointers(contract[role]));
      if (found.length > 0) suggestions.set(name, found.slice(0, MAX_SUGGESTIONS));
    }
  for (const [name, suggest] of SUGGEST) {
    if (!isNull(name) || configured[name] !== undefined) continue;
    const found = suggest(candidates()).slice(0, MAX_SUGGESTIONS);
    suggestions.set(name, found);
    for (const { pointer } of found[0]?.fields ?? []) read.add(pointer);
  }

  const explain = (name: string): NullField => ({
    name,
    why: whyNull(
      memberAt(contract, name),
      memberAt(configured, name),
      events,
      'event',
      ...name.split('.'),
    ),
    unread: listUnreadValues(events, contract, name),
    suggestions: suggestions.get(name) ?? [],
  });
  const names = EVENT_ENTRIES.map(({ name }) => name);
  const entries = new Set(names.map((name) => name.replace(/\..*/, '')));
  const inAll = [
    ...[...entries].filter(isNull),
    ...names.filter((name) => name.includes('.') && suggestions.has(name)),
  ];
  const inSome = names.filter((name) => !inAll.includes(name)).map(explain);
  return [...inAll.map(explain), ...inSome.filter(({ unread }) => unread.length > 0)];
}
