import { parseOutcome } from '../mapping/values.ts';
import { isCacheableKey, memoize } from '../util/memoize.ts';
import { type FieldProfile, profileFields } from './profile-fields.ts';
import { kindsOf, type ValueKind } from './value-kind.ts';
import { classesOf } from './word-classes.ts';

/** A field of records, with what its values have in common. */
export type RecordField = FieldProfile & {
  /** The kind of more than half of its values. A time without a zone counts as a time if its name says UTC. */
  readonly kind: ValueKind | 'mixed';
  /** Every kind of its values, in the order found. */
  readonly kinds: ReadonlySet<ValueKind>;
  /** Whether its values differ: `unique` if no two are equal, `single` if there is one. */
  readonly spread: 'single' | 'unique' | 'constant' | 'varied';
  /** Whether its name may be one of an outcome, and a value says that something succeeded or failed. */
  readonly isOutcome: boolean;
  /** Whether its keys are certainly names, not data, so that its path may outlive the request. */
  readonly mayBeCached: boolean;
  /** Whether every record has a value. */
  readonly isInAll: boolean;
};

/** Lists the fields of records, without those that never describe the event itself. */
export function listRecordFields(records: readonly unknown[]): readonly RecordField[] {
  const fields: RecordField[] = [];
  for (const field of profileFields(records)) {
    const name = readName(field.path);
    if (!name.isExcluded) fields.push(describeField(field, name, records.length));
  }
  return fields;
}

function describeField(
  { pointer, path, depth, values, records }: FieldProfile,
  { mayBeOutcome, isUtc, mayBeCached }: FieldName,
  count: number,
): RecordField {
  const kinds = kindsOf(values);
  const [first = 'text'] = kinds;
  const isUniform = kinds.every((kind) => kind === first);
  const kind = isUniform ? first : majorityOf(kinds);
  return {
    pointer,
    path,
    depth,
    values,
    records,
    mayBeCached,
    kind: kind === 'local time' && isUtc ? 'time' : kind,
    kinds: isUniform ? new Set([first]) : new Set(kinds),
    spread: spreadOf(values),
    isOutcome: mayBeOutcome && values.some((value) => parseOutcome(value) !== null),
    isInAll: values.length === count,
  };
}

function majorityOf(kinds: readonly ValueKind[]): ValueKind | 'mixed' {
  const isMajority = (kind: ValueKind) =>
    2 * kinds.filter((one) => one === kind).length > kinds.length;
  return kinds.find(isMajority) ?? 'mixed';
}

/**
 * The different sets of fields that records have: each a text with a character per field that not all records have, see
 * `presenceMark`.
 */
export function listPresences(fields: readonly RecordField[], records: number): readonly string[] {
  const marks = Array.from({ length: records }, () => '');
  for (const [index, { isInAll, records: present }] of fields.entries())
    if (!isInAll) for (const record of present) marks[record] += presenceMark(index);
  return [...new Set(marks)].sort();
}

/** The character for a field, by its index. */
export function presenceMark(index: number): string {
  return String.fromCharCode(index);
}

function spreadOf(values: readonly unknown[]): RecordField['spread'] {
  const [first] = values;
  if (values.length === 1) return 'single';
  if (values.every((value) => value === first)) return 'constant';
  return new Set(values).size === values.length ? 'unique' : 'varied';
}

type FieldName = ReturnType<typeof readName>;

const readName = memoize((path) => ({
  isExcluded: path === '' || EXCLUDED.test(path),
  /** Whether its keys are certainly names, no data. */
  mayBeCached: isCacheableKey(path),
  isUtc: UTC.test(path),
  mayBeOutcome: path.split(/[ /]/).some((word) => classesOf(word).some((one) => OUTCOME.has(one))),
}));

/** Paths that never describe the event itself: states before and after a change, links, parents. Not `change type`. */
const EXCLUDED =
  /\b(?:old|new|prev|previous|before|after|change(?! type$)|changed|diff|delta|impersonated|link|href|parent)\b/;

/** Times that are in UTC even if they have no zone. `gmt` is the last word: `gmt create` is often a local time. */
const UTC = /\butc\b|\bgmt$/;

const OUTCOME: ReadonlySet<string> = new Set(['outcome', 'failure']);
