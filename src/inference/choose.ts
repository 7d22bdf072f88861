import {
  CHOSEN_ENTRIES,
  type ChosenEntry,
  type Contender,
  toContender,
  withoutOutranked,
} from './candidates.ts';
import { listFeatures, partyOf, withoutWrappers } from './features.ts';
import type { RecordField, RecordShape } from './record-fields.ts';
import weights from './weights.json' with { type: 'json' };

/** A field, and the probability that it is what an entry means: from 0 to 1. */
export type RankedField = { readonly pointer: string; readonly confidence: number };

/** The fields for an entry. */
export type Choice = {
  /** Those that are certain enough to be read, best first: each is the best of some record. At most three. */
  readonly chosen: readonly RankedField[];
  /** The best of the others, for a person to decide. At most three. */
  readonly others: readonly RankedField[];
};

export type Choices = Readonly<Record<ChosenEntry, Choice>>;

/** The weights of each feature: a number per entry, in the order of `CHOSEN_ENTRIES`. */
export type Weights = ReadonlyMap<string, readonly number[]>;

/** What decides among fields. */
export type Model = {
  readonly weights: Weights;
  /** A field is read from this confidence on. */
  readonly certain: number;
};

/** With 0.5 instead of 0.7, nearly twice as many values are wrong: docs/explain.md has the figures. */
export const MODEL: Model = { weights: new Map(Object.entries(weights)), certain: 0.7 };

/** From this confidence on, a field is more likely right than wrong. */
export const LIKELY = 0.5;

/** A field is shown from this confidence on. */
const POSSIBLE = 0.03;

/** Fields that are read for an entry, as records differ; and others that are shown. */
export const MAX_FIELDS = 3;

/** Chooses the fields of records for every entry of an event: a softmax over the candidates and "none". */
export function chooseFields(
  { fields, presences }: RecordShape,
  { weights, certain }: Model = MODEL,
): Choices {
  const scores = listFeatures(fields).map((names) => sumWeights(weights, names));
  const none = sumWeights(weights, ['none']);
  const choices = CHOSEN_ENTRIES.map((entry, column) => {
    const contenders = fields.map((field, index) => ({
      ...toContender(entry, field),
      score: scores[index]?.[column] ?? 0,
    }));
    return [entry, choose(entry, contenders, none[column] ?? 0, presences, certain)] as const;
  });
  const all = Object.fromEntries(choices) as Choices; // has every entry
  return {
    ...all,
    ...choosePartyFields('actor', all, fields, certain),
    ...choosePartyFields('target', all, fields, certain),
  };
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

type Scored = Contender & { readonly score: number };

/** Chooses for each set of fields that records have. */
function choose(
  entry: ChosenEntry,
  contenders: readonly Scored[],
  none: number,
  presences: readonly string[],
  certain: number,
): Choice {
  const sorted = contenders.toSorted((a, b) => b.score - a.score);
  const confidences = new Map<string, number>();
  const raise = (pointer: string, confidence: number) =>
    confidences.set(pointer, Math.max(confidences.get(pointer) ?? 0, confidence));
  const chosen = new Set<string>();
  for (const presence of presences) {
    const present = withoutOutranked(
      sorted.filter(({ field }) => field.isInAll || presence.includes(field.mark)),
    );
    const [top] = present;
    if (top === undefined) continue;
    const best = present.find(({ field }) => isDisplayName(entry, field, top.field)) ?? top;
    const total = present.reduce((sum, { score }) => sum + Math.exp(score), Math.exp(none));
    let ofBest = 0;
    for (const { field, score } of present) {
      const confidence = Math.exp(score) / total;
      raise(field.pointer, confidence);
      if (field === best.field || isSameName(entry, field, best.field)) ofBest += confidence;
    }
    raise(best.field.pointer, ofBest);
    if (ofBest >= certain) chosen.add(best.field.pointer);
  }
  const ranked = sorted.map(({ field: { pointer } }) => ({
    pointer,
    confidence: confidences.get(pointer) ?? 0,
  }));
  const others = ranked.filter(
    ({ pointer, confidence }) => !chosen.has(pointer) && confidence >= POSSIBLE,
  );
  // A record with both has a value of each: that of its own field comes first.
  const own = new Set(
    contenders.flatMap(({ field, rank }) => (rank === 'own' ? field.pointer : [])),
  );
  return {
    chosen: ranked
      .filter(({ pointer }) => chosen.has(pointer))
      .toSorted((a, b) => Number(own.has(b.pointer)) - Number(own.has(a.pointer)))
      .slice(0, MAX_FIELDS),
    others: others.toSorted((a, b) => b.confidence - a.confidence).slice(0, MAX_FIELDS),
  };
}

/** Whether two fields are names of the same party, as a name and an e-mail address are: either is right. */
function isSameName(entry: ChosenEntry, a: RecordField, b: RecordField): boolean {
  return entry.endsWith('.name') && partyOf(a.path) === partyOf(b.path);
}

/** Whether a field is the name of a party whose e-mail address is the best candidate. */
function isDisplayName(entry: ChosenEntry, field: RecordField, best: RecordField): boolean {
  return best.kind === 'e-mail' && isSameName(entry, field, best) && DISPLAY_NAME.test(field.path);
}

/** At the top, the word for the party is part of the name: `author name`. */
const DISPLAY_NAME =
  /(?:^\w+ |(?:^|\/))(?:(?:display|full|friendly|common) )?(?<!(?:first|last|middle) )name$/;
