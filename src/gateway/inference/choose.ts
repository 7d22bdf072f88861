import {
  CHOSEN_ENTRIES,
  type ChosenEntry,
  hasPossibleValues,
  isOfDoer,
  isOfSecondParty,
  toContender,
} from './candidates.ts';
import {
  type Choice,
  chooseForEntry,
  LIKELY,
  listOthers,
  type RankedField,
  type Scored,
} from './choose-entry.ts';
import { listFeatures } from './features.ts';
import { endsInClass, partyOf, roleOf, withoutWrappers } from './field-path.ts';
import { splitLevels } from './free-form.ts';
import type { RecordField, RecordShape } from './record-fields.ts';
import type { ValueKind } from './value-kind.ts';
import weights from './weights.json' with { type: 'json' };

export type Choices = Readonly<Record<ChosenEntry, Choice>>;

/** The weights of each feature: a number per entry, in the order of `CHOSEN_ENTRIES`. */
export type Weights = ReadonlyMap<string, readonly number[]>;

/** What decides among fields. */
export type Model = {
  readonly weights: Weights;
  /** A field is read from this confidence on. */
  readonly certain: number;
};

/** With 0.5 instead of 0.7, half as many values more are wrong: docs/decisions.md has the figures. */
export const MODEL: Model = { weights: new Map(Object.entries(weights)), certain: 0.7 };

/**
 * Chooses the fields of records for every entry of an event. Who is recorded must not choose what the record says: a field
 * in a member of free form counts only if the record itself has none, see `completeFromFree`.
 */
export function chooseFields(
  { fields, presences }: RecordShape,
  { weights, certain }: Model = MODEL,
): Choices {
  const scores = listFeatures(fields).map((names) => sumWeights(weights, names));
  const none = sumWeights(weights, ['none']);
  const scoreOf = new Map(fields.map((field, index) => [field, scores[index]]));
  const { own, free, isAmbiguous } = splitLevels(fields);
  const ownSets = setsOf(own, presences);
  const hasDoer = own.some(({ path }) => isOfDoer(path));
  const scored = (some: readonly RecordField[], entry: ChosenEntry, column: number) =>
    some
      .filter(({ path }) => !(hasDoer && isOfSecondParty(path)))
      .map((field): Scored => {
        const score = scoreOf.get(field)?.[column] ?? 0;
        return { ...toContender(entry, field), score };
      });
  const ownContenders = toEntries((entry, column) => scored(own, entry, column));
  const ofOwn = toEntries((entry, column) =>
    chooseForEntry(entry, ownContenders[entry], none[column] ?? 0, ownSets, certain),
  );
  const parties = {
    ...ofOwn,
    ...choosePartyFields('actor', ofOwn, own, certain),
    ...choosePartyFields('target', ofOwn, own, certain),
  };
  const choices = { ...parties, ...chooseTarget(parties, own, certain) };
  if (free.length === 0) return choices;
  const rankFree = (entry: ChosenEntry, column: number) =>
    rankEach(scored(free, entry, column), ownContenders[entry], none[column] ?? 0);
  const needed = isAmbiguous ? Number.POSITIVE_INFINITY : certain; // of several wrappers none is read
  return completeFromFree(choices, fields, rankFree, needed);
}

/** Every field that an entry may mean by its values, best first, however uncertain it is: a person may know it. */
export function rankCandidates(
  fields: readonly RecordField[],
  entry: ChosenEntry,
  { weights }: Model = MODEL,
): readonly RankedField[] {
  const column = CHOSEN_ENTRIES.indexOf(entry);
  const scores = listFeatures(fields).map((names) => sumWeights(weights, names)[column] ?? 0);
  const all = fields.map((field, index) => ({
    ...{ field, rank: null, isCandidate: hasPossibleValues(entry, field) },
    score: scores[index] ?? 0,
  }));
  return rankEach(all, all, sumWeights(weights, ['none'])[column] ?? 0);
}

function toEntries<Value>(
  create: (entry: ChosenEntry, column: number) => Value,
): Readonly<Record<ChosenEntry, Value>> {
  const values = CHOSEN_ENTRIES.map((entry, column) => [entry, create(entry, column)] as const);
  return Object.fromEntries(values) as Readonly<Record<ChosenEntry, Value>>; // has every entry
}

/** The different sets of some fields that records have, see `RecordShape.presences`. */
function setsOf(fields: readonly RecordField[], presences: readonly string[]): readonly string[] {
  const marks = new Set(fields.map(({ mark }) => mark));
  const sets = presences.map((one) => [...one].filter((mark) => marks.has(mark)).join(''));
  return [...new Set(sets)];
}

/** Ranks candidates in members of free form. Each is weighed against the record's own ones alone. */
function rankEach(
  free: readonly Scored[],
  own: readonly Scored[],
  none: number,
): readonly RankedField[] {
  const total = own
    .filter(({ isCandidate }) => isCandidate)
    .reduce((sum, { score }) => sum + Math.exp(score), Math.exp(none));
  return free
    .filter(({ isCandidate }) => isCandidate)
    .map(({ field: { pointer }, score }) => ({
      pointer,
      confidence: Math.exp(score) / (total + Math.exp(score)),
      isFree: true as const,
    }))
    .toSorted((a, b) => b.confidence - a.confidence);
}

/**
 * Completes choices by fields in members of free form: only if the record itself has no likely one, all records have the
 * field in the same place, and no other such field is certain. So no record has a say in another one, and a second field
 * makes the entry null, never other. A part of a party joins other parts only if all records have those.
 */
function completeFromFree(
  choices: Choices,
  fields: readonly RecordField[],
  rankFree: (entry: ChosenEntry, column: number) => readonly RankedField[],
  certain: number,
): Choices {
  const byPointer = new Map(fields.map((field) => [field.pointer, field]));
  const isInAll = ({ pointer }: RankedField) => byPointer.get(pointer)?.isInAll === true;
  const ranked = toEntries(rankFree);
  const certainOf = (entry: ChosenEntry) =>
    ranked[entry].filter((one) => one.confidence >= certain && isInAll(one));
  const mayJoin = (entry: ChosenEntry) => {
    const [role] = entry.split('.');
    const parts = CHOSEN_ENTRIES.filter((other) => other.startsWith(`${role}.`));
    return parts.every((part) => {
      const { chosen } = choices[part];
      return chosen.length === 0 || chosen.some(isInAll);
    });
  };
  /** An e-mail address that may identify a party names it as well, see `inferName`. */
  const isNamed = (entry: ChosenEntry) => {
    if (entry !== 'actor.name' && entry !== 'target.name') return false;
    const identifier = entry === 'actor.name' ? 'actor.identifier' : 'target.identifier';
    return [...choices[identifier].chosen, ...certainOf(identifier)].some(({ pointer }) =>
      isEmail(byPointer.get(pointer)),
    );
  };
  return toEntries((entry) => {
    const { chosen: own, others } = choices[entry];
    const hasOwn = [...own, ...others].some(({ confidence }) => confidence >= LIKELY);
    const [best, ...rivals] = certainOf(entry);
    const isOnly = best !== undefined && rivals.length === 0;
    const isRead = isOnly && !hasOwn && !isNamed(entry) && mayJoin(entry);
    const chosen = isRead ? [{ pointer: best.pointer, confidence: best.confidence }] : own;
    return { chosen, others: listOthers([...others, ...ranked[entry]], chosen) };
  });
}

/** Whether a field holds e-mail addresses only. */
export function isEmail(field: RecordField | undefined): boolean {
  return field?.kind === 'e-mail' && field.kinds.size === 1;
}

/** The sum of the weights of some features, per entry. */
function sumWeights(weights: Weights, names: readonly string[]): readonly number[] {
  const sums = CHOSEN_ENTRIES.map(() => 0);
  for (const name of names)
    weights.get(name)?.forEach((weight, column) => {
      sums[column] = (sums[column] ?? 0) + weight;
    });
  return sums;
}

/** Values that say what kind of thing something is. */
const KINDS_OF_TYPES: ReadonlySet<ValueKind> = new Set([
  'word',
  'Word',
  'CONSTANT',
  'camelCase',
  'snake_case',
]);

/** A target's word alone, beside its ID, is its type if its values are words, such as `{"resource": "license", "resourceId": 7}`. */
function chooseTarget(
  all: Choices,
  fields: readonly RecordField[],
  certain: number,
): Partial<Choices> {
  const { 'target.name': name, 'target.type': type } = all;
  if (type.chosen.length > 0) return {};
  for (const { path, pointer, kinds } of fields) {
    const own = withoutWrappers(path);
    const isBare = partyOf(own) === own.replaceAll('/', ' ') && roleOf(path) === 'target';
    const hasId = () =>
      fields.some((other) => other.path.startsWith(`${path} `) && endsInClass(other.path, ['id']));
    if (!isBare || !hasId() || [...kinds].some((kind) => !KINDS_OF_TYPES.has(kind))) continue;
    const confidence = [name, type]
      .flatMap(({ chosen, others }) => [...chosen, ...others])
      .filter((one) => one.pointer === pointer)
      .reduce((sum, one) => sum + one.confidence, 0);
    if (confidence < certain) continue;
    const without = (some: readonly RankedField[]) => some.filter((one) => one.pointer !== pointer);
    return {
      'target.type': {
        chosen: [{ pointer, confidence: Math.min(confidence, 1) }],
        others: without(type.others),
      },
      'target.name': { chosen: without(name.chosen), others: without(name.others) },
    };
  }
  return {};
}

/**
 * Names are those of the party that has the identifier. Without either, a field that is named after the party alone is
 * one of both, such as `{"actor": "ann"}`: together they are more certain.
 */
function choosePartyFields(
  role: 'actor' | 'target',
  all: Choices,
  fields: readonly RecordField[],
  certain: number,
): Partial<Choices> {
  const name = nameOf(role, all, fields);
  const identifier = all[`${role}.identifier`];
  if (identifier.chosen.length + name.chosen.length > 0) return { [`${role}.name`]: name };
  for (const { path, pointer } of fields) {
    const own = withoutWrappers(path);
    if (partyOf(own) !== own.replaceAll('/', ' ')) continue;
    const [asIdentifier, asName] = [identifier, name].map(({ others }) =>
      others.find((one) => one.pointer === pointer),
    );
    const confidence = (asIdentifier?.confidence ?? 0) + (asName?.confidence ?? 0);
    if (confidence < certain) continue;
    const isName = (asName?.confidence ?? 0) >= confidence / 2;
    const chosen = [{ pointer, confidence: Math.min(confidence, 1) }];
    return { [`${role}.${isName ? 'name' : 'identifier'}`]: { chosen, others: [] } };
  }
  return { [`${role}.name`]: name };
}

/**
 * The choice of a name, without names of another party than the one that has the identifier. One of the two may be in a
 * wrapper, such as `author_id` and `details.author_name`. A type may be elsewhere.
 */
function nameOf(role: 'actor' | 'target', all: Choices, fields: readonly RecordField[]): Choice {
  const paths = new Map(fields.map(({ pointer, path }) => [pointer, path]));
  const ownerOf = ({ pointer }: RankedField) => {
    const path = paths.get(pointer) ?? '';
    return { all: partyOf(path), own: partyOf(withoutWrappers(path)) };
  };
  const owners = all[`${role}.identifier`].chosen.map(ownerOf).filter(({ own }) => own !== null);
  const isOwn = (name: RankedField) => {
    const owner = ownerOf(name);
    const isSame = (other: typeof owner) =>
      owner.all === other.all ||
      (owner.own === other.own && (owner.all === owner.own || other.all === other.own));
    return owner.own === null || owners.length === 0 || owners.some(isSame);
  };
  const { chosen, others } = all[`${role}.name`];
  return { chosen: chosen.filter(isOwn), others: others.filter(isOwn) };
}
