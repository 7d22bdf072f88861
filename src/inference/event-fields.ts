import type { EventContract } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { compilePointer, pointerMembers } from '../mapping/json-pointer.ts';
import { isObject } from '../mapping/values.ts';

/** A field of an event that a contract maps by an entry of its own. */
export type EventField = {
  /** The name of its entry in `audit.event`. */
  readonly name: string;
  readonly read: (event: AuditEvent) => string | null;
  readonly entryOf: (contract: EventContract) => unknown;
};

/** Every field, in the order of the report. */
export const EVENT_FIELDS: readonly EventField[] = [
  toField('id'),
  toField('occurredAt'),
  toField('action'),
  ...toPartyFields('actor'),
  ...toPartyFields('target'),
  toField('outcome'),
  toField('ipAddress'),
  toField('userAgent'),
];

function toField(
  name: 'id' | 'occurredAt' | 'action' | 'outcome' | 'ipAddress' | 'userAgent',
): EventField {
  return { name, read: (event) => event[name], entryOf: (contract) => contract[name] };
}

function toPartyFields(role: 'actor' | 'target'): readonly EventField[] {
  return (['identifier', 'name', 'type'] as const).map((part) => ({
    name: `${role}.${part}`,
    read: (event) => event[role]?.[part] ?? null,
    entryOf: (contract) => contract[role][part],
  }));
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
  const field = EVENT_FIELDS.find((one) => one.name === name);
  if (field === undefined) return [];
  const pointers = readPointers(field.entryOf(contract));
  const unread = events
    .filter((event) => field.read(event) === null)
    .map(({ raw }) => findUsed(pointers, raw))
    .filter((found) => found !== undefined && typeof found.value !== 'object' && found.value !== '')
    .filter((found) => found !== undefined);
  return [...new Map(unread.map((found) => [String(found.value), found])).values()];
}
