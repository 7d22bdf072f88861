import { pointerMembers, tracePointer } from './json-pointer.ts';
import { type ListPage, SAMPLE_SIZE } from './list-page.ts';
import { isEmpty, isObject, toText } from './values.ts';

/** An entry of a contract that has pointers relative to a record. */
export type RecordEntry = {
  /** Its name in the part of the contract, such as `actor.name`. Items have a member of that name. */
  readonly name: string;
  readonly pointers: readonly string[];
  /** Whether all pointers must lead to a value. */
  readonly isJoined: boolean;
  readonly isSplit: boolean;
};

/** Lists the entries of a part of a contract that have pointers. */
export function listEntries(part: unknown, name = ''): readonly RecordEntry[] {
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

/** Items of a page. */
type Items = Pick<ListPage, 'item' | 'length'>;

/** Determines how an entry reads some items. Usually the first one decides. */
export function stateOfEntry(items: Items, entry: RecordEntry): EntryState {
  return hasValue(items, entry, 0, items.length) ? 'read' : stateWithoutValue(items, entry);
}

/** Whether a value of an entry is understood in an item of a range. */
export function hasValue(
  { item }: Items,
  { name }: RecordEntry,
  from: number,
  to: number,
): boolean {
  for (let index = from; index < to; index += 1)
    if (memberAt(item(index), name) != null) return true;
  return false;
}

/** Determines the same from a sample, if no value of the entry is understood. */
export function stateWithoutValue(
  { item, length }: Items,
  { pointers, isJoined }: RecordEntry,
): Exclude<EntryState, 'read'> {
  const states = pointers.map((pointer) => {
    let state: 'null' | 'nothing' = 'nothing';
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

/** The member at a path with points, such as `actor.name`. Undefined if there is none. */
export function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((member, key) => Object(member)[key], value);
}

/** Whether there is a value: no null, and nothing that services write instead, such as `""`, `-`, `[]` and `{}`. */
export function isValue(value: unknown): boolean {
  if (typeof value === 'object') return value !== null && !isEmpty(value);
  return typeof value === 'boolean' || toText(value) !== null;
}
