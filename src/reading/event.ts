import { isObject, lookUp, type Members, membersOf, NAMES, textOf, wordOf } from './names.ts';
import { readTime } from './time.ts';

/** Somebody or something that a record names. */
export type Party = {
  readonly id: string | null;
  readonly name: string | null;
  readonly type: string | null;
};

/** How an action ended. */
export type Outcome = 'SUCCESS' | 'FAILURE';

/** One record of the trail; null stands for what could not be told. */
export type AuditEvent = {
  readonly id: string | null;
  readonly occurredAt: Date | null;
  readonly action: string | null;
  readonly actor: Party | null;
  readonly target: Party | null;
  readonly outcome: Outcome | null;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  /** The record as it came. */
  readonly raw: unknown;
};

/** Reads one record by the usual names. A reading is never invented: when in doubt it is null. */
export function readEvent(record: unknown): AuditEvent {
  const members = membersOf(record);
  return {
    id: textOf(lookUp(members, NAMES.id)),
    occurredAt: readTime(lookUp(members, NAMES.occurredAt)),
    action: textOf(lookUp(members, NAMES.action)),
    actor: readParty(members, NAMES.actor),
    target: readParty(members, NAMES.target),
    outcome: readOutcome(lookUp(members, NAMES.outcome)),
    ipAddress: textOf(lookUp(members, NAMES.ipAddress)),
    userAgent: textOf(lookUp(members, NAMES.userAgent)),
    raw: record,
  };
}

/** `actor: {id, name}`, `actor: "ann"`, or `actor_id` and `actor_name` beside each other. */
function readParty(members: Members, roles: readonly string[]): Party | null {
  const found = lookUp(members, roles);
  const value = Array.isArray(found) ? found[0] : found;
  const own = membersOf(value);
  const read = (names: readonly string[]) =>
    textOf(lookUp(own, names)) ?? textOf(lookUp(members, prefixed(roles, names)));
  const party = {
    id: read(NAMES.partyId),
    name: read(NAMES.partyName) ?? textOf(value),
    type: read(NAMES.partyType),
  };
  return party.id === null && party.name === null && party.type === null ? null : party;
}

function prefixed(roles: readonly string[], names: readonly string[]): readonly string[] {
  return roles.flatMap((role) => names.map((name) => `${role}${name}`));
}

const OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ...['true', 'success', 'succeeded', 'successful', 'ok', 'allowed', 'granted'].map(
    (word) => [word, 'SUCCESS'] as const,
  ),
  ...['false', 'failure', 'failed', 'fail', 'error', 'denied', 'rejected'].map(
    (word) => [word, 'FAILURE'] as const,
  ),
]);

function readOutcome(value: unknown): Outcome | null {
  const word = isObject(value) ? lookUp(membersOf(value), NAMES.outcome) : value;
  return OUTCOMES.get(wordOf(word)) ?? null;
}
