import { isCacheableKey, memoize } from '../../util/memoize.ts';
import { parseTime } from '../mapping/time.ts';
import { parseOutcome } from '../mapping/values.ts';
import { withoutWrappers } from './field-path.ts';
import { type FieldProfile, profileFields } from './profile-fields.ts';
import { kindsOf, type ValueKind } from './value-kind.ts';

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
  /** The number of the first field that has the same value in every record, or the same second: its own if there is none. */
  readonly same: number;
  /** The character for it in `RecordShape.presences`. */
  readonly mark: string;
};

/** What inference knows of records: all that its choices depend on. */
export type RecordShape = {
  /** Without those that never describe the event itself. */
  readonly fields: readonly RecordField[];
  /** The different sets of fields that records have: a text each, with the mark of every field that not all have. */
  readonly presences: readonly string[];
};

/** Values of a field that say what it is. More of them rarely say more: 50 records take twice as long. */
const MAX_VALUES = 20;

/** What a caller sends in one member leaves room for the others. */
const MAX_FIELDS_PER_MEMBER = 200;

/**
 * Records with more fields together have keys of their own, which are data: a field that only one record has does not count.
 * The choice among 1,000 fields takes 60 ms.
 */
const MANY = 500;

/** Marks are letters, never a line break. */
const FIRST_MARK = 0x100;

/** Examines the fields of records. */
export function examineRecords(records: readonly unknown[]): RecordShape {
  const fields: RecordField[] = [];
  const presences = records.map(() => '');
  const all = profileFields(records, { maxFieldsPerMember: MAX_FIELDS_PER_MEMBER });
  const isShared = (one: FieldProfile) => all.length <= MANY || one.records.length > 1;
  for (const profile of records.length > 1 ? all.filter(isShared) : all) {
    const name = readName(profile.path);
    if (name.isExcluded) continue;
    const mark = String.fromCharCode(FIRST_MARK + fields.length);
    const described = describeField(profile, name, records.length, mark);
    const field = { ...described, same: findSame(fields, described) };
    fields.push(field);
    if (!field.isInAll) for (const record of profile.records) presences[record] += mark;
  }
  return { fields, presences: [...new Set(presences)].sort() };
}

function describeField(
  { pointer, path, values, records }: FieldProfile,
  { mayBeOutcome, mayBeFailure, isUtc, mayBeCached }: FieldName,
  count: number,
  mark: string,
): Omit<RecordField, 'same'> {
  const sample = values.length > MAX_VALUES ? values.slice(0, MAX_VALUES) : values;
  // In pairs: up to 20 values that takes a third of the time of a set.
  const distinct = sample.filter((value, index) => sample.indexOf(value) === index);
  const { kind, kinds } = kindsOf(sample, distinct);
  return {
    pointer,
    path,
    values,
    records,
    mayBeCached,
    mark,
    kind: kind === 'local time' && isUtc ? 'time' : kind,
    kinds,
    spread: spreadOf(sample.length, distinct.length),
    isOutcome:
      mayBeOutcome &&
      !(mayBeFailure && kinds.has('flag')) &&
      distinct.some((value) => parseOutcome(value) !== null),
    isInAll: values.length === count,
  };
}

/** The number of the first field with the values of a new one, in the same records. */
function findSame(fields: readonly RecordField[], field: Omit<RecordField, 'same'>): number {
  const { values, records } = field;
  const toComparable = isTime(field) ? secondOf : (value: unknown) => value;
  const found = fields.findIndex(
    (other) =>
      other.values.length === values.length &&
      isTime(other) === isTime(field) &&
      other.values.every((value, index) => toComparable(value) === toComparable(values[index])) &&
      other.records.every((record, index) => record === records[index]),
  );
  return found < 0 ? fields.length : found;
}

const isTime = ({ kind }: Pick<RecordField, 'kind'>) => kind === 'time' || kind === 'epoch';

/** The second of a time in any format: services write the same instant in two, one of them without milliseconds. */
function secondOf(value: unknown): unknown {
  const time = parseTime(value);
  return time === null ? value : Math.floor(Date.parse(time) / 1000);
}

function spreadOf(count: number, distinct: number): RecordField['spread'] {
  if (count === 1) return 'single';
  if (distinct === 1) return 'constant';
  return distinct === count ? 'unique' : 'varied';
}

type FieldName = ReturnType<typeof readName>;

const readName = memoize((path) => ({
  isExcluded: path === '' || EXCLUDED.test(path),
  /** Whether its keys are certainly names, no data. */
  mayBeCached: isCacheableKey(path),
  isUtc: UTC.test(path),
  mayBeOutcome: OUTCOME.test(withoutWrappers(path)),
  mayBeFailure: FAILURE.test(path),
}));

/**
 * Paths that never describe the event itself: states before and after a change, links, parents. Not who made a change, and
 * what is said of it as of a record: `changed by`, `change type`.
 */
const EXCLUDED =
  /\b(?:old|new|prev|previous|before|after|changed?(?! (?:by|id|type|time|timestamp|date|at|on)\b)|diff|delta|impersonated|link|href|parent)\b/;

/** Times that are in UTC even if they have no zone. `gmt` is the last word: `gmt create` is often a local time. */
const UTC = /\butc\b|\bgmt$/;

/** Names of the outcome of an event. The `status` of a thing is another one. */
const OUTCOME =
  /^(?:(?:\w+[ /])?(?:outcome|result|success|successful|succeeded|response|disposition|decision|resultado|exitoso)|(?:action|event|operation|response|request)?[ /]?(?:status|state|estado|severity))(?:[ /]\w+)?$|\b(?:login|auth|authentication|authorization|access|api|call|request|operation|activity|execution|transaction|audit|attempt) status$/;

/** Names of flags that may be true of a failure. */
const FAILURE =
  /\b(?:not|non|no|un(?:successful|authori[sz]ed)|fail\w*|error\w*|denied|denial|blocked|rejected|invalid)\b/;
