import { tracePointer } from './json-pointer.ts';
import { type ListItem, type ListPage, SAMPLE_SIZE } from './list-page.ts';
import { pointerMembers } from './read-source.ts';
import { isObject, toText } from './values.ts';

/** An entry of a contract that has pointers relative to a record. */
export type RecordEntry = {
  /** Its name in the part of the contract, such as `actor.name`. Items have a member of that name. */
  readonly name: string;
  readonly pointers: readonly string[];
  /** Whether all pointers must lead to a value. */
  readonly isJoined: boolean;
  readonly isSplit: boolean;
};

/** Lists the entries of a part of a contract, some of which may be functions that infer them. */
export function listEntries(part: unknown, name = ''): readonly RecordEntry[] {
  if (typeof part === 'function') return listEntries(part(), name);
  if (isObject(part) && !('at' in part))
    return pointerMembers(part).flatMap(([key, member]) =>
      listEntries(member, name === '' ? key : `${name}.${key}`),
    );
  const { at, join, split } = isObject(part) ? part : { at: part };
  const pointers = [at].flat().filter((pointer) => typeof pointer === 'string');
  const entry = { name, pointers, isJoined: join !== undefined, isSplit: split !== undefined };
  return pointers.length === 0 ? [] : [entry];
}

/** How an entry reads some records: a value of at least one; only values that are not understood; only null; or nothing. */
export type EntryState = 'read' | 'unread' | 'null' | 'nothing';

/** Determines how an entry reads the items of a page. Usually the first item decides. */
export function stateOfEntry(
  { item, length }: Pick<ListPage, 'item' | 'length'>,
  { name, pointers, isJoined }: RecordEntry,
): EntryState {
  for (let index = 0; index < length; index += 1)
    if (readMember(item(index), name) != null) return 'read';
  const states = pointers.map((pointer) => {
    let state: EntryState = 'nothing';
    for (let index = 0; index < Math.min(length, SAMPLE_SIZE); index += 1) {
      const found = tracePointer(pointer, item(index).raw);
      if (isValue(found)) return 'unread';
      if (found !== undefined) state = 'null';
    }
    return state;
  });
  if (isJoined && states.includes('nothing')) return 'nothing';
  return (['unread', 'null'] as const).find((state) => states.includes(state)) ?? 'nothing';
}

function readMember(item: ListItem, name: string): unknown {
  return name.split('.').reduce<unknown>((value, key) => Object(value)[key], item);
}

/** Whether there is a value: no null, and nothing that services write instead, such as `""`, `-`, `[]` and `{}`. */
export function isValue(value: unknown): boolean {
  if (typeof value === 'object') return Object.keys(value ?? {}).length > 0;
  return typeof value === 'boolean' || toText(value) !== null;
}
