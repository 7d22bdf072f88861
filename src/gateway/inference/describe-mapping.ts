import { lazy } from '../../util/memoize.ts';
import type { DeepPartial, EventContract } from '../mapping/contract.ts';
import type { DeletionReading } from '../mapping/deletion.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { AUDIT_EVENT, mapFields } from '../mapping/event-fields.ts';
import { compilePointer, pointerMembers } from '../mapping/json-pointer.ts';
import { SAMPLE_SIZE } from '../mapping/list-page.ts';
import { isObject } from '../mapping/values.ts';
import { MODEL } from './choose.ts';
import { LIKELY } from './choose-entry.ts';
import { EVENT_ENTRIES, readPointers, usedPointers } from './event-entries.ts';
import { inferNullEntries, type NullEntry } from './null-entries.ts';
import { type Evidence, type PossibleField, weighRecords } from './reasons.ts';

/** Why no place was found for an entry. */
const NULL_REASONS = {
  ...mapFields(AUDIT_EVENT, (name) => AUDIT_EVENT[name].nullReason),
  part: 'no field next to the others has its name',
  accessToken:
    'no text, or more than one, has the name of an access token, or the response asks for a further step',
  refreshToken: 'no field, or more than one, has the name of a refresh token',
  tokenType: 'no field has the name of a token type',
  expires: 'no field with the name of an expiry holds a lifetime or a time',
  records: 'no list of records was found, or several',
  total: 'no field or header has the name of a total',
} as const;

/** Why a field is null although the contract or inference has an entry for it. */
const ENTRY_REASONS = {
  contract: 'the pointer in the contract leads to no value',
  inference: 'the pointer leads to no value',
  unread: 'its values are not understood',
  none: 'the contract says that there is none',
  outdated:
    'the contract says that there is none, but the records have a field for it: remove the entry, or let it name the field',
} as const;

const NO_FORMAT = { as: undefined, split: undefined, part: undefined };

/** The events that are described, and what inference saw in the first ones. */
type Seen = {
  readonly events: readonly AuditEvent[];
  readonly evidence: () => Evidence;
  /** The entries that the contract says are null, although the records have a field for them. */
  readonly nullEntries: () => readonly NullEntry[];
};

function toSeen(
  events: readonly AuditEvent[],
  sample = events,
  configured?: DeepPartial<EventContract>,
): Seen {
  const records = sample.slice(0, SAMPLE_SIZE).map(({ raw }) => raw);
  return {
    events,
    evidence: lazy(() => weighRecords(records)),
    nullEntries: lazy(() => inferNullEntries(configured, records)),
  };
}

/**
 * Describes the entries of a completed contract, some of which are functions: where each was found, whether the
 * contract or inference did and why, in how many of the events it has a value, and why it is null in the others. The
 * result has pointers and names of the contract, but no value.
 * @param sample The events of the page from which the contract was inferred.
 */
export function describeMapping(
  contract: object,
  configured: unknown,
  events: readonly AuditEvent[] = [],
  sample = events,
): object {
  const { event } = Object(configured);
  return describeEntry(contract, configured, toSeen(events, sample, event));
}

/** Describes what decides the outcome of a deletion, and why nothing does or it is not understood. */
export function describeDeletion({ result, at, by }: DeletionReading): object {
  const [only, ...others] = at;
  const why =
    result === null ? DELETION_REASONS[by] : at.length === 0 ? DELETION_REASONS.none : null;
  return { at: others.length > 0 ? at : (only ?? null), by, ...(why !== null && { why }) };
}

const DELETION_REASONS = {
  contract: 'the value is no key of the map',
  inference: 'its value is not understood',
  none: 'nothing else decides than the HTTP status',
} as const;

/** @param names Those of the entry: none for the contract. */
function describeEntry(
  entry: unknown,
  configured: unknown,
  seen: Seen,
  ...names: readonly string[]
): object {
  if (typeof entry === 'function') return describeEntry(entry(), configured, seen, ...names);
  if (isObject(entry) && 'style' in entry) {
    const { style, next, more, position, pages } = entry;
    const sources = [next, more, position, pages].flat().filter((source) => source !== null);
    return { style, ...describeEntry({ at: sources }, Object(configured).style, seen) };
  }
  const { at, as, split, part } =
    isObject(entry) && 'at' in entry ? entry : { ...NO_FORMAT, at: entry };
  if (isObject(at) && !('header' in at)) {
    const described = pointerMembers(at).map(([name, part]) => {
      const given = Object(configured)[name];
      return [name, describeEntry(part, given, seen, ...names, name)] as const;
    });
    return Object.fromEntries(described);
  }
  const { events, evidence, nullEntries } = seen;
  const by = configured === undefined ? 'inference' : 'contract';
  const why = () => explainNull(entry, configured, seen, names);
  const name = nameOfEntry(names);
  if (at === null) {
    const found = by === 'contract' ? nullEntries().filter(({ entry }) => entry === name) : [];
    if (found.length > 0)
      return {
        at,
        by,
        why: ENTRY_REASONS.outdated,
        candidates: found.map((one) => ({ at: one.at })),
      };
    const candidates = by === 'contract' ? [] : evidence().possibleFor(name);
    if (candidates.length === 0) return { at, by: by === 'contract' ? by : undefined, why: why() };
    const shown = candidates.map((one) => ({ at: one.at, confidence: one.confidence }));
    return { at, why: `${why()}: add it to the contract if it is right`, candidates: shown };
  }
  const field = EVENT_ENTRIES.find((one) => one.name === name);
  if (field === undefined || events.length === 0) return { at, as, split, part, by };
  const records = events.map(({ raw }) => raw);
  const [first = at, ...others] = usedPointers(entry, records);
  const found = events.filter((event) => field.read(event) !== null);
  return {
    ...{ at: others.length === 0 ? first : [first, ...others], as, split, part, by },
    found: `${found.length} of ${events.length}`,
    ...(by === 'inference' && evidence().groundsOf(name, String(first))),
    why: found.length < events.length ? why() : undefined,
  };
}

/** The name of an entry of an event: `actor.name`. Empty for any other part of the contract. */
function nameOfEntry([section, ...names]: readonly string[]): string {
  return section === 'event' ? names.join('.') : '';
}

/**
 * Why a field is null in some of the events, or in all: completes "… is null:". The command `learn` and explain give the
 * same reason.
 * @param names Those of the entry: `event`, `actor`, `name`.
 */
export function whyNull(
  entry: unknown,
  configured: unknown,
  events: readonly AuditEvent[],
  ...names: readonly string[]
): string | undefined {
  return explainNull(entry, configured, toSeen(events), names);
}

function explainNull(
  entry: unknown,
  configured: unknown,
  { events, evidence }: Seen,
  names: readonly string[],
): string | undefined {
  if (configured === null) return ENTRY_REASONS.none;
  const pointers = readPointers(entry);
  const [, role = '', part] = names;
  if (configured === undefined && pointers.length === 0) {
    const [best] = evidence().possibleFor(nameOfEntry(names));
    if (best !== undefined) return describeDoubt(best);
    const isPart = part !== undefined && events.some((event) => Object(event)[role] !== null);
    const keys = isPart ? ['part'] : names;
    return Object.entries(NULL_REASONS).find(([key]) => keys.includes(key))?.[1];
  }
  const isUnread = events.some((event) => {
    const party = Object(event)[role];
    const value = part === undefined ? party : party?.[part];
    return value == null && pointers.some((at) => (compilePointer(at)(event.raw) ?? '') !== '');
  });
  if (isUnread) return ENTRY_REASONS.unread;
  return configured === undefined ? ENTRY_REASONS.inference : ENTRY_REASONS.contract;
}

function describeDoubt({ confidence, isFree }: PossibleField): string {
  if (isFree && confidence >= MODEL.certain)
    return `the caller may have written the best candidate (${confidence})`;
  const doubt = confidence < LIKELY ? 'unlikely' : 'not certain enough';
  return `the best candidate is ${doubt} (${confidence})`;
}
