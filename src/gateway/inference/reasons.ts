import { CHOSEN_ENTRIES, type ChosenEntry, isHttpStatus } from './candidates.ts';
import { chooseFields, MODEL } from './choose.ts';
import type { RankedField } from './choose-entry.ts';
import { listFeatures } from './features.ts';
import { examineRecords, type RecordField } from './record-fields.ts';

/** A field that an entry may mean. The confidence is from 0 to 1. */
export type PossibleField = {
  readonly at: string;
  readonly confidence: number;
  readonly isFree?: RankedField['isFree'];
};

/** Why inference reads a field. Without a confidence, a rule decided. */
export type Grounds = { readonly confidence?: number; readonly because: readonly string[] };

/** What records say about the entries of an event. */
export type Evidence = {
  /** Why an entry leads to a field. Undefined for an entry that is not inferred. */
  readonly groundsOf: (entry: string, pointer: string) => Grounds | undefined;
  /** The fields that an entry or a party may mean, best first, although none is certain enough. At most three. */
  readonly possibleFor: (entry: string) => readonly PossibleField[];
};

/** Examines records again to explain what inference finds in them. The explanation has names of fields, but no value. */
export function weighRecords(records: readonly unknown[]): Evidence {
  const shape = examineRecords(records);
  const { fields } = shape;
  const features = listFeatures(fields);
  const choices = chooseFields(shape);
  /** A field has one meaning. */
  const read = new Set(
    CHOSEN_ENTRIES.flatMap((entry) => choices[entry].chosen).map(({ pointer }) => pointer),
  );
  return {
    groundsOf: (name, pointer) => {
      const entry = CHOSEN_ENTRIES.find((one) => one === name);
      const index = fields.findIndex((field) => field.pointer === pointer);
      const field = fields[index];
      if (entry === undefined || field === undefined) return undefined;
      const found = choices[entry].chosen.find((one) => one.pointer === pointer);
      if (found === undefined) return { because: [ruleFor(entry, field)] };
      const because = listReasons(entry, features[index] ?? []);
      return { confidence: roundConfidence(found.confidence), because };
    },
    possibleFor: (name) => {
      const others = CHOSEN_ENTRIES.filter((one) => one === name || one.startsWith(`${name}.`))
        .flatMap((entry) => choices[entry].others)
        .filter(({ pointer }) => !read.has(pointer))
        .toSorted((a, b) => b.confidence - a.confidence);
      return firstOfEach(others, 'pointer')
        .slice(0, MAX_SHOWN)
        .map(({ pointer, confidence, ...rest }) => ({
          ...rest,
          at: pointer,
          confidence: roundConfidence(confidence),
        }));
    },
  };
}

/** Reasons of a choice, and fields that may be meant. */
const MAX_SHOWN = 3;

/** Rounds a confidence down to two digits: one that is not certain enough does not look as if it were. */
export function roundConfidence(confidence: number): number {
  return Math.floor(100 * confidence) / 100;
}

/** Why inference reads a field that its weights did not choose, see `event.ts`. */
function ruleFor(entry: ChosenEntry, field: RecordField): string {
  if (entry === 'occurredAt') return 'another time shows that its values are in UTC';
  if (isHttpStatus(field)) return 'its name and its values are those of an HTTP status';
  return 'it is the e-mail address that identifies the party';
}

/** The strongest reasons for a field. Of features about the same, only the strongest is said. */
function listReasons(entry: ChosenEntry, features: readonly string[]): readonly string[] {
  const column = CHOSEN_ENTRIES.indexOf(entry);
  const weightOf = (feature: string) => MODEL.weights.get(feature)?.[column] ?? 0;
  const strongest = features
    .filter((feature) => weightOf(feature) > 0)
    .toReversed() // of equal weights the last one, which says more: `head+class=none id` than `head=none`
    .sort((a, b) => weightOf(b) - weightOf(a))
    .flatMap((feature) => describeFeature(feature) ?? []);
  return firstOfEach(strongest, 'about')
    .slice(0, MAX_SHOWN)
    .map(({ reason }) => reason);
}

/** The first of those that have an equal member. */
function firstOfEach<T, Key extends keyof T>(items: readonly T[], key: Key): readonly T[] {
  return items.filter((item) => item === items.find((other) => other[key] === item[key]));
}

type Described = { readonly about: string; readonly reason: string };

/** What a feature is about, and what it says in words. Undefined for one without words. */
export function describeFeature(feature: string): Described | undefined {
  const [, name = '', both = ''] = /^([^=]*)=?(.*)$/.exec(feature) ?? [];
  const value = /^role\+/.test(name) ? both.slice(both.indexOf(' ') + 1) : both; // the role has a reason of its own
  const [about, reason] = FEATURES[feature] ?? FEATURES[name] ?? [];
  if (about === undefined || reason === undefined) return undefined;
  const words = value.replace(/^none, /, '').replace(/(?<=^|, )-(?=,|$)/g, 'something unknown');
  return { about, reason: reason.replace('…', words) };
}

/** What features are about and say, by their names or as a whole; `…` is what is after `=`. */
const FEATURES: Readonly<Record<string, readonly [about: string, reason: string]>> = {
  last: ['name', 'its name ends with "…"'],
  start: ['name', 'its name begins with "…"'],
  pair: ['name', 'its path has the words "…"'],
  class: ['name', 'its name ends with a word for: …'],
  head: ['name', 'its name begins with a word for: …'],
  'head=none': ['name', 'its name is one word'],
  'head+class': ['name', 'its name has words for: …'],
  'role+class': ['name', 'its name ends with a word for: …'],
  'role=actor': ['path', 'its path names an actor first'],
  'role=target': ['path', 'its path names a target first'],
  'role=-': ['path', 'its path names no actor and no target'],
  kind: ['values', 'its values look like: …'],
  'role+kind': ['values', 'its values look like: …'],
  outcome: ['values', 'a value says that something succeeded or failed'],
  'spread=single': ['spread', 'one record has a value'],
  'spread=unique': ['spread', 'no two records have the same value'],
  'spread=constant': ['spread', 'all records have the same value'],
  'spread=varied': ['spread', 'some records have the same value'],
  'records=all': ['records', 'every record has a value'],
  'records=some': ['records', 'some records have no value'],
  beside: ['beside', 'beside it is a field for: …'],
  stem: ['beside', 'beside it is a field of the same name for: …'],
  'stem+kind': ['beside', 'beside it is a field of the same name for: …'],
  inside: ['path', 'an object around it has "…" in its name'],
  within: ['path', 'an object around it is named after: …'],
  parent: ['path', 'its object is named after: …'],
  'parent=none': ['path', 'it is a field of the record itself'],
  'depth=1': ['path', 'it is a field of the record itself'],
  depth: ['path', 'it is in an object of the record'],
  wrapper: ['path', 'it is in "…", which only wraps fields'],
  wrappers: ['path', 'it is in an object that only wraps fields'],
  'wrappers=0': ['path', 'it is in no object that only wraps fields'],
};
