import type { EventContract } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { AUDIT_EVENT } from '../mapping/event-fields.ts';
import { compilePointer, pointerMembers } from '../mapping/json-pointer.ts';
import { memberAt } from '../mapping/read-entry.ts';
import { cutToMillis } from '../mapping/time.ts';
import { isObject, toText } from '../mapping/values.ts';

/** A field of an event that a contract maps by an entry of its own. */
export type EventEntry = {
  /** The name of its entry in `audit.event`, such as `actor.name`. */
  readonly name: string;
  readonly privacy: 'kept' | 'replaced';
  /** The value as the graph has it. */
  readonly read: (event: AuditEvent) => string | null;
  readonly entryOf: (contract: EventContract) => unknown;
};

const { id, occurredAt, action, actor, target, ...others } = AUDIT_EVENT;

/** Every field that is read from a record. As in a sentence, the parties come before the outcome. */
export const EVENT_ENTRIES: readonly EventEntry[] = Object.entries({
  ...{ id, occurredAt, action, actor, target },
  ...others,
}).flatMap(([name, field]) => {
  if (!('entries' in field)) return toField(name, field);
  const parts = Object.entries(field.entries);
  return parts.flatMap(([part, row]) => ('privacy' in row ? toField(`${name}.${part}`, row) : []));
});

function toField(name: string, { privacy }: Pick<EventEntry, 'privacy'>): EventEntry {
  const read =
    name === 'occurredAt'
      ? (event: AuditEvent) => event.occurredAt && cutToMillis(event.occurredAt)
      : (event: AuditEvent) => toText(memberAt(event, name));
  return {
    ...{ name, privacy, read },
    entryOf: (contract) => memberAt(contract, name),
  };
}

/** All pointers of an entry, or of an object of entries. */
export function readPointers(entry: unknown): readonly string[] {
  if (typeof entry === 'string') return [entry];
  if (Array.isArray(entry)) return entry.flatMap(readPointers);
  if (!isObject(entry)) return [];
  if ('at' in entry) return readPointers(entry['at']);
  return pointerMembers(entry).flatMap(([, member]) => readPointers(member));
}

/** The pointers of an entry that lead to the value of at least one record. */
export function usedPointers(entry: unknown, records: readonly unknown[]): readonly string[] {
  const pointers = readPointers(entry);
  if (isObject(entry) && 'join' in entry) return pointers;
  const used = records.map((record) => findUsed(pointers, record)?.pointer);
  return pointers.filter((pointer) => used.includes(pointer));
}

function findUsed(pointers: readonly string[], record: unknown) {
  return pointers
    .map((pointer) => ({ pointer, value: compilePointer(pointer)(record) ?? null }))
    .find(({ value }) => value !== null);
}

/** A value that an entry leads to, but that is not read. */
export type UnreadValue = { readonly pointer: string; readonly value: unknown };

/** Lists different values that the entry of a field leads to, in records in which the field is null. */
export function listUnreadValues(
  events: readonly AuditEvent[],
  contract: EventContract,
  name: string,
): readonly UnreadValue[] {
  const field = EVENT_ENTRIES.find((one) => one.name === name);
  if (field === undefined) return [];
  const pointers = readPointers(field.entryOf(contract));
  const unread = events
    .filter((event) => field.read(event) === null)
    .map(({ raw }) => findUsed(pointers, raw))
    .filter((found) => found !== undefined && typeof found.value !== 'object' && found.value !== '')
    .filter((found) => found !== undefined);
  return [...new Map(unread.map((found) => [String(found.value), found])).values()];
}
