import { memoize } from '../../util/memoize.ts';
import { classesOf, type WordClass } from './word-classes.ts';

/** What the path of a field says, whatever its values are. */
type PathFeatures = {
  readonly features: readonly string[];
  readonly keys: readonly string[];
  /** The last key without its last word: `user` in `user name`. */
  readonly head: string;
  readonly lastClasses: readonly (WordClass | '-')[];
  /** The party whose word comes first in the path. */
  readonly role: 'actor' | 'target' | '-';
  /** The path up to its first word for a party: `author` in `author name`. Null without one. */
  readonly party: string | null;
  /** Whether the field belongs to something that a party has, or to a person who made another thing. */
  readonly isRelated: boolean;
};

/** Reads a path. */
export const readPath = memoize((path): PathFeatures => {
  const all = path.split('/');
  const keys = all.slice(startOf(all));
  const lastWords = keys.at(-1)?.split(' ') ?? [];
  const ancestors = keys.slice(0, -1).flatMap((key) => key.split(' '));
  const words = [...ancestors, ...lastWords];
  const orNone = <T>(list: readonly T[]) => (list.length > 0 ? list : (['-'] as const));
  const lastClasses = orNone(classesOf(lastWords.at(-1) ?? ''));
  const headWords = lastWords.slice(0, -1);
  const headClasses = headWords.length === 0 ? ['none'] : orNone(classesOfAll(headWords));
  const parentClasses =
    keys.length === 1 ? ['none'] : orNone(classesOfAll(keys.at(-2)?.split(' ') ?? []));
  const role = findRole(keys);
  return {
    ...{ keys, head: headWords.join(' '), lastClasses, role },
    ...{ party: findParty(all), isRelated: isOfRelated(keys) },
    features: [
      `last=${lastWords.at(-1)}`,
      `start=${lastWords[0]}`,
      ...ancestors.map((word) => `inside=${word}`),
      ...words.slice(1).map((word, index) => `pair=${words[index]} ${word}`),
      ...lastClasses.map((one) => `class=${one}`),
      ...headClasses.map((one) => `head=${one}`),
      ...parentClasses.map((one) => `parent=${one}`),
      ...classesOfAll(ancestors).map((one) => `within=${one}`),
      ...headClasses.flatMap((head) => lastClasses.map((last) => `head+class=${head}, ${last}`)),
      ...lastClasses.map((one) => `role+class=${role} ${one}`),
      `role=${role}`,
      `depth=${Math.min(keys.length, 5)}`,
      `wrappers=${Math.min(all.length - keys.length, 3)}`,
      ...all.slice(0, all.length - keys.length).map((key) => `wrapper=${key}`),
    ],
  };
});

/** A path without the objects around it that only wrap the fields of a record. */
export function withoutWrappers(path: string): string {
  return readPath(path).keys.join('/');
}

/** Whether a field is one of the record itself, or of a party that is a member of it. */
export function isDirect(path: string): boolean {
  const [first = '', ...others] = path.split('/');
  return others.length === 0 || findRole([first]) !== '-';
}

/** The start of a path up to its first word for a party: `author` in `author name`. Null without one. */
export function partyOf(path: string): string | null {
  return readPath(path).party;
}

function findParty(keys: readonly string[]): string | null {
  const start = startOf(keys);
  const words: string[] = [];
  for (const [index, key] of keys.entries())
    for (const word of key.split(' ')) {
      words.push(word);
      if (index >= start && classesOf(word).some((one) => one === 'actor' || one === 'target'))
        return words.join(' ');
    }
  return null;
}

const TIME_CLASSES: ReadonlySet<WordClass> = new Set(['time', 'happening', 'recording']);

/** Whether a name has a word for a time. */
export function isNamedTime(name: string): boolean {
  return classesOfAll(name.split(/[ /]/)).some((one) => TIME_CLASSES.has(one));
}

/** The party whose word comes first in a path. */
export function roleOf(path: string): PathFeatures['role'] {
  return readPath(path).role;
}

/** Whether a field is nested in an object that is neither a wrapper nor one for a time. */
export function isInObject(path: string): boolean {
  const { keys } = readPath(path);
  return keys.length > 1 && !isNamedTime(keys[0] ?? '');
}

/**
 * Whether a field belongs to something that a party has, such as its organization, or to a person who made another thing:
 * neither is the party.
 */
export function isRelated(path: string): boolean {
  return readPath(path).isRelated;
}

function isOfRelated(keys: readonly string[]): boolean {
  const words = keys.flatMap((key) => key.split(' '));
  const is = (one: WordClass) => (word: string) => classesOf(word).includes(one);
  const party = words.findIndex((word) => is('actor')(word) || is('target')(word));
  const thing = words.findIndex((word, index) => index > party && is('surroundings')(word));
  if (party >= 0 && thing >= 0 && !words.slice(thing + 1).some(is('actor'))) return true;
  return keys.length > 1 && party >= (keys[0] ?? '').split(' ').length && words[party] === 'by';
}

/** Whether the last word of a path has one of the meanings. */
export function endsInClass(path: string, classes: readonly WordClass[]): boolean {
  return readPath(path).lastClasses.some((one) => one !== '-' && classes.includes(one));
}

/** Whether a field is nested in an object that is named after a party. */
export function isInParty(path: string): boolean {
  return readPath(path).features.some((one) => one === 'within=actor' || one === 'within=target');
}

function classesOfAll(words: readonly string[]): readonly WordClass[] {
  return [...new Set(words.flatMap(classesOf))];
}

/** The index of the first key after those of objects that only wrap the fields of a record. */
function startOf(keys: readonly string[]): number {
  const isWrapper = (key: string) =>
    key.split(' ').every((word) => classesOf(word).includes('wrapper'));
  return keys.findIndex((key, index) => index === keys.length - 1 || !isWrapper(key));
}

/** The party whose word comes first. */
function findRole(keys: readonly string[]): PathFeatures['role'] {
  const classes = keys.flatMap((key) => key.split(' ')).flatMap(classesOf);
  return classes.find((one) => one === 'actor' || one === 'target') ?? '-';
}
