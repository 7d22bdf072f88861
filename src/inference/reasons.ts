import { CHOSEN_ENTRIES, type ChosenEntry, chooseFields, isHttpStatus, MODEL } from './choose.ts';
import { listFeatures } from './features.ts';
import { listPresences, listRecordFields, type RecordField } from './record-fields.ts';
import type { ValueKind } from './value-kind.ts';
import type { WordClass } from './word-classes.ts';

/** A field that an entry may mean. The confidence is from 0 to 1. */
export type PossibleField = { readonly at: string; readonly confidence: number };

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
  const fields = listRecordFields(records);
  const features = listFeatures(fields);
  const choices = chooseFields(fields, listPresences(fields, records.length));
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
        .map(({ pointer, confidence }) => ({
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
  const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(feature) ?? [];
  const [about, toReason] = FEATURES[name] ?? [];
  const reason = SENTENCES[feature] ?? toReason?.(value);
  return about === undefined || reason === undefined ? undefined : { about, reason };
}

/** Reasons by the whole feature, if its value is one of a few. */
const SENTENCES: Readonly<Record<string, string>> = {
  outcome: 'a value says that something succeeded or failed',
  first: 'it is the first field',
  'head=none': 'its name is one word',
  'role=actor': 'its path names an actor first',
  'role=target': 'its path names a target first',
  'role=-': 'its path names no actor and no target',
  'spread=single': 'one record has a value',
  'spread=unique': 'no two records have the same value',
  'spread=constant': 'all records have the same value',
  'spread=varied': 'some records have the same value',
  'records=all': 'every record has a value',
  'records=some': 'some records have no value',
  'parent=none': 'it is a field of the record itself',
  'depth=1': 'it is a field of the record itself',
  'wrappers=0': 'it is in no object that only wraps fields',
  'place=beside the time': 'its object has the time',
  'place=below the time': 'an object around it has the time',
  'place=elsewhere': 'no object around it has the time',
};

/** What features are about and say, by their names before `=`. */
const FEATURES: Readonly<
  Record<string, readonly [about: string, toReason?: (value: string) => string | undefined]>
> = {
  last: ['name', (word) => `its name ends with "${word}"`],
  start: ['name', (word) => `its name begins with "${word}"`],
  pair: ['name', (words) => `its path has "${words}"`],
  class: ['name', (one) => `its name ends with ${wordFor(one)}`],
  head: ['name', (one) => `its name has ${wordFor(one)}`],
  'head+class': ['name', describeClasses],
  role: ['path'],
  'role+class': ['name', (both) => `its name ends with ${wordFor(withoutRole(both))}`],
  kind: ['values', describeKind],
  'role+kind': ['values', (both) => describeKind(withoutRole(both))],
  outcome: ['values'],
  spread: ['spread'],
  records: ['records'],
  beside: ['beside', (one) => `${NOUNS.get(one)} is beside it`],
  inside: ['path', (word) => `an object around it has "${word}" in its name`],
  within: ['path', (one) => `an object around it has ${wordFor(one)} in its name`],
  parent: ['path', (one) => `its object has ${wordFor(one)} in its name`],
  depth: ['path', () => 'it is in an object of the record'],
  wrapper: ['path', (word) => `it is in "${word}", which only wraps fields`],
  wrappers: ['path', () => 'it is in an object that only wraps fields'],
  place: ['path'],
  first: ['path'],
};

/** The role has a reason of its own. */
function withoutRole(both: string): string {
  return both.slice(both.indexOf(' ') + 1);
}

function describeClasses(both: string): string {
  const head = ['none', '-', ...NOUNS.keys()].find((one) => both.startsWith(`${one} `)) ?? '';
  const last = wordFor(both.slice(head.length + 1));
  return head === 'none' ? `its name is ${last}` : `its name has ${wordFor(head)}, then ${last}`;
}

function describeKind(kind: string): string | undefined {
  const noun = KINDS.get(kind);
  return noun && `its values are ${noun}`;
}

function wordFor(meaning: string): string {
  const noun = NOUNS.get(meaning);
  return noun === undefined ? 'a word that Keytrail does not know' : `a word for ${noun}`;
}

const NOUNS = toMap<WordClass>({
  id: 'an ID',
  name: 'a name',
  email: 'an e-mail address',
  type: 'a type',
  actor: 'an actor',
  target: 'a target',
  time: 'a time',
  happening: 'something that happened',
  recording: 'a recording',
  'other time': 'another time',
  action: 'an action',
  text: 'a description',
  outcome: 'an outcome',
  failure: 'a failure',
  address: 'an address',
  'other address': 'a machine or a version',
  agent: 'a user agent',
  record: 'a record',
  surroundings: 'an organization, a place or a role',
  request: 'a request',
  wrapper: 'a container',
});

/** Complete "its values are …". */
const KINDS = toMap<ValueKind | 'mixed'>({
  JSON: 'JSON',
  'record word': 'words for a record',
  word: 'words in lower case',
  Word: 'capitalized words',
  CONSTANT: 'words in capitals',
  camelCase: 'words in camel case',
  snake_case: 'words with hyphens or underscores',
  'dotted.word': 'words with dots',
  'colon:word': 'words with colons',
  time: 'times',
  UUID: 'UUIDs',
  address: 'IP addresses',
  hexadecimal: 'hexadecimal',
  code: 'codes of letters and digits',
  'e-mail': 'e-mail addresses',
  link: 'links',
  URN: 'URNs',
  path: 'paths',
  'user agent': 'names of programs with a version',
  opaque: 'long codes',
  words: 'a few words',
  sentence: 'sentences',
  flag: 'true or false',
  epoch: 'times in seconds or milliseconds since 1970',
  status: 'numbers from 200 to 599',
  integer: 'integers',
  decimal: 'decimal numbers',
  'local time': 'times without a zone',
  text: 'texts',
  mixed: 'of several kinds',
});

/** Has every name, and is asked for any. */
function toMap<Name extends string>(words: Readonly<Record<Name, string>>) {
  return new Map<string, string>(Object.entries(words));
}
