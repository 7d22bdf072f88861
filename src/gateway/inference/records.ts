import { parentOf } from '../mapping/json-pointer.ts';
import { SAMPLE_SIZE, withoutNulls } from '../mapping/list-page.ts';
import { classifyNames, splitMemberName } from '../mapping/member-names.ts';
import { tableOf } from '../mapping/table.ts';
import { isLocalTime, parseTime } from '../mapping/time.ts';
import { firstNames, isObject } from '../mapping/values.ts';
import { LIST_NAMES } from './envelope-names.ts';
import { profileFields } from './profile-fields.ts';
import { classesOf, type WordClass } from './word-classes.ts';

/** A node of a response body that may hold the records. */
type BodyNode = {
  readonly pointer: string;
  /** The words of its key. */
  readonly words: string;
  readonly depth: number;
  readonly value: unknown;
};

/** Maximum number of keys in a pointer to the records. */
const MAX_DEPTH = 3;

/** Members examined per object. An envelope has a few, not thousands. */
const MAX_MEMBERS = 500;

/** Nodes examined per response, shallow ones first. */
const MAX_NODES = 5000;

/** Records examined for a time. */
const TIME_SAMPLE = 5;

/**
 * Finds the list of records in a response: the pointer of the best list, or else of an object whose members are records
 * with numbered keys. Null if there is none, or if the records are in several lists: one of them would lose the others.
 */
export function inferRecords(body: unknown): string | null {
  if (body === null) return '';
  const nodes = listNodes(body);
  const lists = nodes.filter(isList);
  if (lists.some((list) => isPartOfRecord(list, nodes))) return null;
  const [first, second] = lists.length > 1 ? rankByTier(lists) : [];
  const isOneOfSeveral =
    first?.hasTimes &&
    (['tier', 'isStrong'] as const).every((key) => first[key] === second?.[key]) &&
    parentOf(first.pointer) === parentOf(second?.pointer ?? '');
  const best = lists.length === 1 ? lists[0] : first; // a single list is the best one, whatever it contains
  if (isOneOfSeveral || (best && isOfTable(best, nodes))) return null;
  return pointerOfRecords(best ?? nodes.find(isNumberedRecords));
}

/** Whether a list has the names of a table, or a table as its only item. */
function isOfTable({ pointer, value }: BodyNode, nodes: readonly BodyNode[]): boolean {
  const parent = nodes.find((node) => node.pointer === parentOf(pointer) && node.depth > 0);
  const items = itemsOf(value);
  return (
    (items.length === 1 && tableOf(items[0]) !== null) ||
    tableOf((parent ?? nodes[0])?.value, parent?.pointer)?.names === pointer
  );
}

/** Like `inferRecords`, but null if the part of the body after the list could change the result. */
export function inferCertainRecords(body: unknown): string | null {
  const [best] = rankByTier(listNodes(body).filter(isList));
  const isCertain =
    best?.depth === 0 || (best?.depth === 1 && best.tier === 0 && isUnqualified(best.words));
  return isCertain ? pointerOfRecords(best) : null;
}

/** Whether a list has no name of a list of records, and is a member of what is one record where several may be. */
function isPartOfRecord({ pointer, words, depth }: BodyNode, nodes: readonly BodyNode[]): boolean {
  if (depth < 2 || isOfRecords(words)) return false;
  const parent = nodes.find((node) => node.pointer === parentOf(pointer));
  const { value } = parent ?? {};
  if (!isObject(value)) return false;
  const members = firstNames(value).map((name) => [name, value[name]] as const);
  const scalars = members.filter(([, one]) => typeof one !== 'object');
  return isOfRecords(parent?.words ?? '') && containTime([Object.fromEntries(scalars)]);
}

/** Whether a name such as `audit logs` has no word that tells one list from others, as in `login events`. */
function isUnqualified(words: string): boolean {
  return words.split(' ').every(isOfRecords);
}

function pointerOfRecords(list: BodyNode | undefined): string | null {
  return list === undefined || areGroups(itemsOf(list.value)) ? null : list.pointer;
}

/** Whether the items are groups of records: what happened, and when, is in lists that they contain. */
function areGroups(items: readonly unknown[]): boolean {
  const sample = items.slice(0, TIME_SAMPLE).filter(isObject);
  if (!sample.some((item) => hasList(item, MAX_DEPTH))) return false; // the most frequent case
  const members = sample.flatMap(listNodes);
  const lists = members.filter(({ value }) => {
    const list = itemsOf(value);
    return list.length > 0 && list.every(isObject) && containTime(list);
  });
  const own = members.filter(({ value }) => typeof value !== 'object');
  if (lists.length === 0 || !own.some(({ value, words }) => isTime(value, words)))
    return lists.length > 0;
  const isAction = ({ words }: BodyNode) => {
    const classes = words.split(' ').flatMap(classesOf);
    return classes.includes('action') || (!words.includes(' ') && classes.some(isWeakAction));
  };
  // A list in some items only may be what the caller of one record sent.
  const isInAll = ({ pointer }: BodyNode) =>
    members.filter((node) => node.pointer === pointer).length === sample.length;
  return (
    !own.some(isAction) && lists.some((list) => namesOf(list.words).has('strong') && isInAll(list))
  );
}

/** Whether a word alone may name an action: `type`, `message`. */
function isWeakAction(meaning: WordClass): boolean {
  return meaning === 'type' || meaning === 'name' || meaning === 'text';
}

/** Whether an object contains an array of objects. `depth` is the maximum number of keys on the path to it. */
function hasList(object: Readonly<Record<string, unknown>>, depth: number): boolean {
  for (const key of firstNames(object)) {
    const value = object[key];
    if (
      Array.isArray(value)
        ? isObject(value.find((one) => one !== null))
        : depth > 1 && isObject(value) && hasList(value, depth - 1)
    )
      return true;
  }
  return false;
}

/**
 * Ranks the lists that may hold the records, best first. Tier 0 has times and a matching name, tier 1 a strong name,
 * tier 2 times only, tier 3 a weak name, tier 4 is the only list. Shallow lists come first in a tier.
 */
function rankByTier(lists: readonly BodyNode[]): readonly RankedList[] {
  const filled = lists.filter(({ value }) => itemsOf(value).length > 0);
  const isOnly = (list: BodyNode) =>
    (filled.length > 0 ? filled : lists).every((one) => one === list);
  const rank = (list: BodyNode): RankedList => {
    const names = namesOf(list.words);
    const isWeak = names.has('weak');
    const isStrong = names.has('strong') || list.pointer === '';
    const hasTimes = containTime(itemsOf(list.value));
    if (hasTimes) return { ...list, hasTimes, isStrong, tier: isStrong || isWeak ? 0 : 2 };
    return { ...list, hasTimes, isStrong, tier: isStrong ? 1 : isWeak ? 3 : isOnly(list) ? 4 : 5 };
  };
  return lists
    .map(rank)
    .filter(({ tier }) => tier < 5)
    .sort(
      (a, b) => a.tier - b.tier || a.depth - b.depth || Number(b.isStrong) - Number(a.isStrong),
    );
}

/** A list of objects that may hold the records. */
type RankedList = BodyNode & {
  readonly tier: number;
  /** Whether one of the first items has a time. */
  readonly hasTimes: boolean;
  /** Whether its name is one of lists of records, or it is the body itself. */
  readonly isStrong: boolean;
};

/** Lists the nodes of a body breadth-first, to three keys deep. Arrays are not descended into. */
function listNodes(body: unknown): readonly BodyNode[] {
  const nodes: BodyNode[] = [{ pointer: '', words: '', depth: 0, value: body }];
  // The array is the queue of the breadth-first search: it grows during the iteration.
  for (const { pointer, depth, value } of nodes) {
    if (depth === MAX_DEPTH || !isObject(value)) continue;
    for (const key of firstNames(value).slice(0, MAX_MEMBERS)) {
      if (nodes.length === MAX_NODES) return nodes;
      const { pointerToken, words } = splitMemberName(key);
      nodes.push({
        pointer: `${pointer}/${pointerToken}`,
        words,
        depth: depth + 1,
        value: value[key],
      });
    }
  }
  return nodes;
}

/**
 * Whether a node is an array of objects, with nulls between them or without. With a strong name, or a weak plural one, null
 * counts as an empty array.
 */
function isList({ value, words, pointer }: BodyNode): boolean {
  if (pointer === '') return Array.isArray(value);
  const names = namesOf(words);
  if (names.has('excluded')) return false;
  if (Array.isArray(value)) return value.slice(0, SAMPLE_SIZE).every(isObjectOrNull);
  return value === null && (names.has('strong') || (names.has('weak') && /s$/i.test(pointer)));
}

const namesOf = classifyNames(LIST_NAMES);

/** Whether a list of this name may hold the records. */
function isOfRecords(words: string): boolean {
  return namesOf(words).has('strong') || namesOf(words).has('weak');
}

function isNumberedRecords({ value }: BodyNode): boolean {
  if (!isObject(value)) return false;
  const names = firstNames(value);
  const items = names.map((name) => value[name]);
  return (
    names.every((name) => /\d/.test(name)) &&
    items.every(isObjectOrNull) &&
    containTime(withoutNulls(items))
  );
}

function isObjectOrNull(value: unknown): boolean {
  return value === null || isObject(value);
}

/** The first items of a list that are no nulls. */
function itemsOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [];
  const first = value.findIndex((item) => item !== null);
  return first < 0 ? [] : withoutNulls(value.slice(first, first + SAMPLE_SIZE));
}

/** Whether one of the first records has a time. Times without a zone count, although mapping them needs a contract. */
export function containTime(records: readonly unknown[]): boolean {
  let isFound = false;
  const stopWhen = (value: unknown, path: string) => {
    isFound = isTime(value, path);
    return isFound;
  };
  profileFields(records.slice(0, TIME_SAMPLE), { stopWhen });
  return isFound;
}

function isTime(value: unknown, path: string): boolean {
  if (parseTime(value) !== null) return typeof value === 'string' || TIME_WORDS.test(path);
  return typeof value === 'string' && isLocalTime(value);
}

/** Required in the path of a number, because other numbers look like epochs too. */
const TIME_WORDS = /\b(?:time|clock|timestamp|date|at|on|when|created|ts)\b/;
