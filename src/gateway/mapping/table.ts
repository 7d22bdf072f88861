import { splitMemberName } from './member-names.ts';
import { firstNames, isObject } from './values.ts';

/** Rows of values, whose names are in another list: what a query of a database returns. */
export type Table = {
  /** The pointer of the rows. */
  readonly rows: string;
  /** The pointer of the names. */
  readonly names: string;
  /** The name of each column. */
  readonly columns: readonly string[];
  readonly values: readonly (readonly unknown[])[];
};

/** Rows examined per table. */
const MAX_ROWS = 50;

/** Members examined per object, and levels. */
const MAX_MEMBERS = 100;
const MAX_DEPTH = 4;

/** Objects and lists examined per response: without a limit, a million members take two seconds. */
const MAX_NODES = 5000;

/** Finds the first table of a body, shallow ones first: in its members, or in those of the only item of a list. Null if there is none. */
export function findTable(body: unknown): Table | null {
  const nodes = [{ pointer: '', depth: 0, value: body }];
  // The array is the queue of the breadth-first search: it grows during the iteration.
  for (const { pointer, depth, value } of nodes) {
    const own = tableOf(value, pointer);
    if (own !== null) return own;
    if (depth === MAX_DEPTH || nodes.length === MAX_NODES) continue;
    const isOnly = Array.isArray(value) && value.length === 1;
    for (const [token, member] of isOnly ? [['0', value[0]] as const] : membersOf(value)) {
      if (nodes.length === MAX_NODES) break;
      if (typeof member === 'object')
        nodes.push({ pointer: `${pointer}/${token}`, depth: depth + 1, value: member });
    }
  }
  return null;
}

/** The table whose names and rows are two members of an object. */
export function tableOf(value: unknown, pointer = ''): Table | null {
  if (!isObject(value)) return null;
  for (const key of firstNames(value).slice(0, MAX_MEMBERS)) {
    const rows = value[key];
    if (!isRows(rows)) continue;
    const { pointerToken: token } = splitMemberName(key);
    for (const [other, names] of membersOf(value)) {
      const columns = readColumns(names, rows[0]?.length ?? 0);
      if (columns !== null)
        return {
          ...{ rows: `${pointer}/${token}`, names: `${pointer}/${other}`, columns },
          values: rows.slice(0, MAX_ROWS),
        };
    }
  }
  return null;
}

/** The members of an object, by the tokens of a JSON pointer. */
function membersOf(value: unknown): readonly (readonly [token: string, member: unknown])[] {
  if (!isObject(value)) return [];
  return firstNames(value)
    .slice(0, MAX_MEMBERS)
    .map((key) => [splitMemberName(key).pointerToken, value[key]]);
}

/** Whether a value is a list of lists of one length. */
function isRows(value: unknown): value is readonly (readonly unknown[])[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  const [first] = value;
  return (
    Array.isArray(first) &&
    first.length > 1 &&
    value.slice(0, MAX_ROWS).every((row) => Array.isArray(row) && row.length === first.length)
  );
}

/** The names of columns, one for each value of a row: texts, or objects with a name. */
function readColumns(value: unknown, count: number): readonly string[] | null {
  if (!Array.isArray(value) || value.length !== count) return null;
  const names = value.map((one) =>
    typeof one === 'string' ? one : (Object(one).name ?? Object(one).field ?? Object(one).title),
  );
  return names.every((name) => typeof name === 'string' && name !== '') ? names : null;
}
