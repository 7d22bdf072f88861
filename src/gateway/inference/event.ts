import type {
  EventContract,
  EventEntryName,
  FormattedTime,
  Pointers,
} from '../mapping/contract.ts';
import { AUDIT_EVENT, mapFields } from '../mapping/event-fields.ts';
import { compilePointer } from '../mapping/json-pointer.ts';
import { compileTime, parseTime } from '../mapping/time.ts';
import { isHttpStatus } from './candidates.ts';
import { type Choices, chooseFields, isEmail, MODEL } from './choose.ts';
import { type Choice, LIKELY, MAX_READ, type RankedField } from './choose-entry.ts';
import { splitLevels } from './free-form.ts';
import { examineRecords, type RecordField, type RecordShape } from './record-fields.ts';

/** Infers from a sample of records which field holds what. */
export function inferEvent(records: readonly unknown[], model = MODEL): EventContract {
  const shape = examineRecords(records);
  const contract =
    model === MODEL ? inferByShape(shape) : toContract(shape.fields, chooseFields(shape, model));
  if (contract.occurredAt !== null) return contract;
  const occurredAt = inferLocalTime(records, shape);
  return occurredAt === null ? contract : { ...contract, occurredAt };
}

const { actor, target, ...PLAIN } = AUDIT_EVENT;
const { apiKey, ...PARTS } = actor.entries;

/** Creates the contract with these pointers of each entry, in the order of the table. */
function mapEntries(pointersOf: (name: EventEntryName) => Pointers) {
  const party = (role: 'actor' | 'target') =>
    mapFields(PARTS, (part) => pointersOf(`${role}.${part}`));
  return {
    ...mapFields(AUDIT_EVENT, () => null),
    ...mapFields(PLAIN, pointersOf),
    ...{ actor: party('actor'), target: party('target') },
  };
}

/** A contract that reads nothing. */
export const NO_EVENT: EventContract = mapEntries(() => null);

/** Contracts by shape. */
const BY_SHAPE = new Map<string, EventContract>();
const MAX_SHAPES = 200;
const MAX_KEY_LENGTH = 20_000;

/**
 * Infers a contract once per shape: the paths, the kinds of values, their spread and their presence are the same in most
 * pages of a trail. Kept for speed: a new shape takes 0.5 ms, 30 times as long as a known one (10 records).
 */
function inferByShape(shape: RecordShape): EventContract {
  const key = toKey(shape);
  const known = BY_SHAPE.get(key);
  if (known !== undefined) return known;
  const { fields } = shape;
  const contract = toContract(fields, chooseFields(shape));
  if (key.length <= MAX_KEY_LENGTH && fields.every(({ mayBeCached }) => mayBeCached)) {
    if (BY_SHAPE.size === MAX_SHAPES) BY_SHAPE.clear();
    BY_SHAPE.set(key, contract);
  }
  return contract;
}

/** All that a choice depends on, as a text. Short, because its hash takes time with every page. */
function toKey({ fields, presences }: RecordShape): string {
  let key = presences.join('\n'); // says of each field whether all records have it
  for (const [index, { pointer, kind, kinds, spread, isOutcome, same }] of fields.entries()) {
    const all = kinds.size === 1 ? kind : `${kind} ${[...kinds].sort()}`;
    key += `\n${pointer} ${all} ${spread.charAt(0)}${isOutcome ? '!' : ''}${same === index ? '' : same}`;
  }
  return key;
}

function toContract(fields: readonly RecordField[], choices: Choices): EventContract {
  // A field that is never chosen is read only if the configured contract has an entry for it.
  const all: Readonly<Partial<Record<EventEntryName, Choice>>> = choices;
  const chosen = mapEntries((name) => toPointers(all[name]?.chosen ?? []));
  return {
    ...chosen,
    occurredAt: inferTime(fields, choices),
    outcome: inferOutcome(fields, choices),
    actor: { ...chosen.actor, name: inferName(fields, choices, 'actor') },
    target: { ...chosen.target, name: inferName(fields, choices, 'target') },
  };
}

function toPointers(fields: Iterable<Pick<RecordField, 'pointer'>>): Pointers {
  const pointers = [...new Set([...fields].map(({ pointer }) => pointer))].slice(0, MAX_READ);
  return pointers.length > 1 ? pointers : (pointers[0] ?? null);
}

/** An e-mail address that identifies a party also names it, if no field does. */
function inferName(
  fields: readonly RecordField[],
  choices: Choices,
  role: 'actor' | 'target',
): Pointers {
  const emails = choices[`${role}.identifier`].chosen.filter(({ pointer }) =>
    isEmail(fields.find((field) => field.pointer === pointer)),
  );
  return toPointers([...choices[`${role}.name`].chosen, ...emails]);
}

/** HTTP statuses come last, because words say more. What is in a member of free form counts only if it is the only one. */
function inferOutcome(fields: readonly RecordField[], { outcome }: Choices): Pointers {
  const { own, free, isAmbiguous } = splitLevels(fields);
  const isIn = (some: readonly RecordField[]) => (one: RankedField) =>
    some.some(({ pointer }) => pointer === one.pointer);
  const ofRecord = [...outcome.chosen.filter(isIn(own)), ...own.filter(isHttpStatus)];
  const inAll = free.filter(({ isInAll }) => isInAll);
  // A word that may be the outcome, but not the only one, says more than a status.
  const isUndecided =
    outcome.chosen.length === 0 &&
    outcome.others.some((one) => one.confidence >= LIKELY && isIn(inAll)(one));
  if (ofRecord.length > 0 || isAmbiguous || isUndecided) return toPointers(ofRecord);
  const others = toPointers([...outcome.chosen, ...inAll.filter(isHttpStatus)]);
  return typeof others === 'string' ? others : null;
}

/** A time without a zone is in UTC if its name says so: it was no candidate otherwise. */
function inferTime(
  fields: readonly RecordField[],
  { occurredAt: { chosen } }: Choices,
): Pointers | FormattedTime {
  const isLocal = ({ pointer }: RankedField) =>
    fields.some((field) => field.pointer === pointer && field.kinds.has('local time'));
  const at = toPointers(chosen);
  return at !== null && chosen.some(isLocal) ? { at, ...IN_UTC } : at;
}

/** A time without a zone is in UTC if another field is the same instant in every record that has both. */
function inferLocalTime(
  records: readonly unknown[],
  { fields, presences }: RecordShape,
): FormattedTime | null {
  if (!fields.some(({ kind }) => kind === 'local time')) return null;
  const asTimes = fields.map(
    (field): RecordField => (field.kind === 'local time' ? { ...field, kind: 'time' } : field),
  );
  const [found] = chooseFields({ fields: asTimes, presences }).occurredAt.chosen;
  const { own } = splitLevels(fields);
  const isSame = own.some((other) => found && isSameInUtc(records, found.pointer, other));
  return found !== undefined && isSame ? { at: found.pointer, ...IN_UTC } : null;
}

const IN_UTC = { as: 'iso8601', zone: 'UTC' } as const;

const parseInUtc = compileTime(IN_UTC);

/** Whether another field has a zone, and is in the same second as a time in UTC in every record that has both. */
function isSameInUtc(
  records: readonly unknown[],
  time: string,
  { pointer, values }: RecordField,
): boolean {
  if (parseTime(values[0]) === null) return false;
  const [read, readOther] = [compilePointer(time), compilePointer(pointer)];
  const pairs = records
    .map((record) => [parseInUtc(read(record)), parseTime(readOther(record))])
    .filter((pair) => !pair.includes(null));
  return (
    pairs.length > 0 && pairs.every(([one, other]) => one?.slice(0, 19) === other?.slice(0, 19))
  );
}
