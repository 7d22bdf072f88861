import { inferEvent } from '../../gateway/inference/event.ts';
import { containTime } from '../../gateway/inference/records.ts';
import { withoutNulls } from '../../gateway/mapping/list-page.ts';
import { splitMemberName } from '../../gateway/mapping/member-names.ts';
import { findTable, type Table } from '../../gateway/mapping/table.ts';
import { isObject } from '../../gateway/mapping/values.ts';
import type { ReadyLine } from './format.ts';

/** A list of objects in a response, or the lists of all groups. */
type RecordList = {
  /** As in `audit.records`, where `*` stands for every member of a list or an object. */
  readonly pointer: string;
  readonly items: readonly unknown[];
};

/** Levels of a body that are searched. */
const MAX_DEPTH = 5;

/** Members examined per object or list. */
const MAX_MEMBERS = 500;

/** Suggests lists of objects, those with times first, then the longest. */
export function suggestRecords(body: unknown): readonly ReadyLine[] {
  const table = findTable(body);
  if (table !== null) return [suggestTable(table)];
  return findLists(body, '', 0)
    .map((list) => ({ ...list, hasTime: containTime(list.items) }))
    .sort((a, b) => Number(b.hasTime) - Number(a.hasTime) || b.items.length - a.items.length)
    .map(({ pointer, items: { length } }) => ({
      contract: { audit: { records: pointer } },
      describe: () => `${length} ${length === 1 ? 'object' : 'objects'}`,
    }));
}

/** Suggests the rows of a table, with the index of the column that each entry reads: what inference finds by its names. */
function suggestTable({ rows, columns, values }: Table): ReadyLine {
  const toRecord = (row: readonly unknown[]) =>
    Object.fromEntries(columns.map((name, index) => [name, row[index]]));
  const indexes = new Map(columns.map((name, index) => [`/${tokenOf(name)}`, `/${index}`]));
  const event = withIndexes(inferEvent(values.map(toRecord)), indexes);
  return {
    contract: { audit: { records: rows, ...(event !== undefined && { event }) } },
    describe: () => `a table of ${values.length} rows`,
  };
}

/** An entry, or an object of entries, with other pointers. Undefined if it reads nothing. */
function withIndexes(entry: unknown, indexes: ReadonlyMap<string, string>): unknown {
  if (typeof entry === 'string')
    return indexes.get(entry) ?? (entry.startsWith('/') ? undefined : entry);
  if (Array.isArray(entry)) return entry.flatMap((one) => withIndexes(one, indexes) ?? []);
  if (!isObject(entry)) return undefined;
  const members = Object.entries(entry).flatMap(([name, member]) => {
    const changed = withIndexes(member, indexes);
    return changed === undefined ? [] : [[name, changed] as const];
  });
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

function findLists(value: unknown, pointer: string, depth: number): readonly RecordList[] {
  if (depth === MAX_DEPTH) return [];
  const members = membersOf(value);
  const own = isListOf(isObject, value) ? [{ pointer, items: withoutNulls(value) }] : [];
  const nested = Array.isArray(value)
    ? []
    : members.flatMap(([key, member]) =>
        findLists(member, `${pointer}/${tokenOf(key)}`, depth + 1),
      );
  const values = members.map(([, member]) => member);
  return [...own, ...findGroups(values, `${pointer}/*`), ...nested];
}

/** Finds lists of objects that several values have under the same key, or are themselves. */
function findGroups(values: readonly unknown[], pointer: string): readonly RecordList[] {
  if (values.length === 0) return [];
  if (values.every((value) => isListOf(isObject, value)))
    return [{ pointer, items: withoutNulls(values.flat()) }];
  if (!values.every(isObject)) return [];
  return membersOf(values[0])
    .filter(([key]) => values.some((value) => isListOf(isObject, value[key])))
    .map(([key]) => ({
      pointer: `${pointer}/${tokenOf(key)}`,
      items: withoutNulls(values.flatMap((value) => (Array.isArray(value[key]) ? value[key] : []))),
    }));
}

function tokenOf(key: string): string {
  return splitMemberName(key).pointerToken;
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).slice(0, MAX_MEMBERS)
    : [];
}

/** Nulls do not count. */
function isListOf(
  isItem: (value: unknown) => boolean,
  value: unknown,
): value is readonly unknown[] {
  const items = Array.isArray(value) ? withoutNulls(value) : [];
  return items.length > 0 && items.every(isItem);
}

/** Whether a body has rows of values, whose names are elsewhere, instead of objects. */
export function hasRowsOfValues(body: unknown, depth = 0): boolean {
  return (
    isListOf(Array.isArray, body) ||
    (depth < 2 && membersOf(body).some(([, member]) => hasRowsOfValues(member, depth + 1)))
  );
}
