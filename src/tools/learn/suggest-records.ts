import { containTime } from '../../inference/records.ts';
import { splitMemberName } from '../../mapping/member-names.ts';
import { isObject } from '../../mapping/values.ts';

/** A list of objects in a response, or the lists of all groups. */
export type RecordList = {
  /** As in `audit.records`, where `*` stands for every member of a list or an object. */
  readonly pointer: string;
  readonly length: number;
};

/** Levels of a body that are searched. */
const MAX_DEPTH = 5;

/** Members examined per object or list, and lists found. */
const MAX_MEMBERS = 500;
const MAX_LISTS = 3;

/** Lists the pointers of lists of objects, those with times first, then the longest. */
export function suggestRecords(body: unknown): readonly RecordList[] {
  return findLists(body, '', 0)
    .map(({ pointer, items }) => ({
      pointer,
      length: items.length,
      hasTime: containTime(items),
    }))
    .sort((a, b) => Number(b.hasTime) - Number(a.hasTime) || b.length - a.length)
    .slice(0, MAX_LISTS)
    .map(({ pointer, length }) => ({ pointer, length }));
}

type FoundList = { readonly pointer: string; readonly items: readonly unknown[] };

function findLists(value: unknown, pointer: string, depth: number): readonly FoundList[] {
  if (depth === MAX_DEPTH) return [];
  const members = membersOf(value);
  const own = isListOfObjects(value) ? [{ pointer, items: value }] : [];
  const nested = Array.isArray(value)
    ? []
    : members.flatMap(([key, member]) =>
        findLists(member, `${pointer}/${splitMemberName(key).pointerToken}`, depth + 1),
      );
  return [...own, ...findGroups(members, pointer), ...nested];
}

/** Finds lists of objects that several members have under the same key, or are themselves. */
function findGroups(
  members: readonly (readonly [string, unknown])[],
  pointer: string,
): readonly FoundList[] {
  const values = members.map(([, value]) => value);
  if (values.length > 0 && values.every(isListOfObjects))
    return [{ pointer: `${pointer}/*`, items: values.flat() }];
  if (values.length === 0 || !values.every(isObject)) return [];
  const keys = Object.keys(values[0] ?? {}).slice(0, MAX_MEMBERS);
  return keys
    .filter((key) => values.some((value) => isListOfObjects(value[key])))
    .map((key) => ({
      pointer: `${pointer}/*/${splitMemberName(key).pointerToken}`,
      items: values.flatMap((value) => (Array.isArray(value[key]) ? value[key] : [])),
    }));
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).slice(0, MAX_MEMBERS)
    : [];
}

function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.slice(0, 50).every(isObject);
}

/** Whether a body has rows of values, whose names are elsewhere, instead of objects. */
export function hasRowsOfValues(body: unknown): boolean {
  const isRows = (value: unknown) =>
    Array.isArray(value) && value.length > 0 && value.slice(0, 50).every(Array.isArray);
  return isRows(body) || membersOf(body).some(([, value]) => isRows(value) || isRowsIn(value));
}

function isRowsIn(value: unknown): boolean {
  return membersOf(value).some(
    ([, member]) => Array.isArray(member) && member.length > 0 && member.every(Array.isArray),
  );
}
