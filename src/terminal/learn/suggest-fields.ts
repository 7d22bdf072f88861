import { CHOSEN_ENTRIES, type ChosenEntry } from '../../gateway/inference/candidates.ts';
import { chooseFields, MODEL, type Model, rankCandidates } from '../../gateway/inference/choose.ts';
import type { RankedField } from '../../gateway/inference/choose-entry.ts';
import { examineRecords, type RecordField } from '../../gateway/inference/record-fields.ts';
import type { ConfiguredContract } from '../../gateway/mapping/contract.ts';
import { isSecret } from '../show-value.ts';
import { suggestMaps } from './suggest-outcome.ts';
import { suggestFormats } from './suggest-time.ts';
import type { SuggestedEntry } from './suggested-entry.ts';

/** Of an entry without a likelier field, one is shown from this confidence on: in folds by vendor, 4 of 5 that are right. */
const LEAST = 0.002;

/** A contract that may read an entry of an event. */
export type Suggestion = {
  /** What to add to `audit.event`. */
  readonly contract: NonNullable<NonNullable<ConfiguredContract['audit']>['event']>;
  /** The probability that it is right, from 0 to 1. */
  readonly confidence: number;
  /** Whether the caller may have written what it reads. */
  readonly isFree?: RankedField['isFree'];
  /** The fields that it reads. */
  readonly fields: readonly RecordField[];
};

/** By pointer, how a contract can read fields whose values inference does not read, and what they count as then. */
type Readings = {
  readonly of: ReadonlyMap<string, readonly SuggestedEntry[]>;
  readonly as: Partial<RecordField>;
};

/** The fields that inference reads for an entry, and contracts that may read it, best first. */
export type Suggestions = {
  readonly chosen: readonly RankedField[];
  readonly suggestions: readonly Suggestion[];
};

/**
 * Suggests fields for each entry of an event, with the confidence of inference. Times in any format and outcomes that need
 * a map count as if inference read them.
 */
export function suggestFields(
  records: readonly unknown[],
  model: Model = MODEL,
): Readonly<Record<ChosenEntry, Suggestions>> {
  const shape = examineRecords(records);
  const { fields } = shape;
  const byPointer = new Map(fields.map((field) => [field.pointer, field]));
  const inferred = chooseFields(shape, model);
  const readings: Readonly<Partial<Record<ChosenEntry, Readings>>> = {
    occurredAt: { of: suggestFormats(fields), as: { kind: 'time' } },
    outcome: { of: suggestMaps(fields), as: { isOutcome: true } },
  };
  const choose = (entry: ChosenEntry) => {
    const { of, as } = readings[entry] ?? { of: null, as: {} };
    if (of === null) return inferred[entry];
    const readable = fields.map((field) => (of.has(field.pointer) ? { ...field, ...as } : field));
    return chooseFields({ ...shape, fields: readable }, model)[entry];
  };
  const suggest = (entry: ChosenEntry, ranked: readonly RankedField[]): readonly Suggestion[] =>
    ranked.flatMap(({ pointer, confidence, isFree }) => {
      const field = byPointer.get(pointer);
      if (field?.values.some((value) => isSecret(pointer, value)) ?? true) return [];
      const plain = [{ entry: pointer, fields: field === undefined ? [] : [field] }];
      const all: readonly SuggestedEntry[] = readings[entry]?.of.get(pointer) ?? plain;
      return all.map((reading) => ({
        ...{ contract: toContract(entry, reading.entry), confidence, fields: reading.fields },
        ...(isFree && { isFree }),
      }));
    });
  const suggested = CHOSEN_ENTRIES.map((entry) => {
    const { chosen, others } = choose(entry);
    const ranked = [...chosen, ...others].sort((a, b) => b.confidence - a.confidence);
    return { entry, suggestions: suggest(entry, ranked) };
  });
  /** Whether another entry is more likely to be that of a field. */
  const isOfOther = ({ confidence, fields: [field] }: Suggestion) =>
    suggested.some(({ suggestions }) =>
      suggestions.some((one) => one.fields[0] === field && one.confidence > confidence),
    );
  /** Whether a field is the best for an entry that is no part of the same party. */
  const isBestElsewhere = (own: ChosenEntry, { fields: [field] }: Suggestion) =>
    suggested.some(
      ({ entry, suggestions: [best] }) =>
        best?.fields[0] === field && partyOf(entry) !== partyOf(own),
    );
  /** For an entry without others: a field may be more likely another part of its party. */
  const suggestAny = (entry: ChosenEntry) =>
    suggest(entry, rankCandidates(fields, entry, model)).filter(
      (one) => one.confidence >= LEAST && !isBestElsewhere(entry, one),
    );
  const all = suggested.map(({ entry, suggestions }): readonly [ChosenEntry, Suggestions] => {
    const { chosen } = inferred[entry];
    const own = suggestions.filter((one) => !isOfOther(one));
    const isUnknown = own.length === 0 && chosen.length === 0;
    return [entry, { chosen, suggestions: isUnknown ? suggestAny(entry) : own }];
  });
  return Object.fromEntries(all) as Readonly<Record<ChosenEntry, Suggestions>>; // has every entry
}

const partyOf = (entry: ChosenEntry) => entry.split('.')[0];

/** The contract with one entry. */
function toContract(name: ChosenEntry, entry: object | string): Suggestion['contract'] {
  const [first = '', second] = name.split('.');
  return { [first]: second === undefined ? entry : { [second]: entry } };
}
