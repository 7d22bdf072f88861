import type { Pointers } from '../reading/contract.ts';
import type { Place } from './survey.ts';
import { ROLES, WRAPPERS } from './vocabulary.ts';

/** A place of a record, looked at. */
export type Candidate = Place & {
  /** Its words behind the names that only wrap. */
  readonly words: string;
  readonly depth: number;
  /** Whose it is, when the record names somebody or something by it: the role's word, and what follows it. */
  readonly party: {
    readonly role: keyof typeof ROLES;
    readonly word: number;
    readonly rest: string;
  } | null;
  /** Whether it is inside of an object that speaks of that party. */
  readonly isInside: boolean;
};

/** How many alternatives an entry keeps, for records that differ among themselves. */
const MAX_ALTERNATIVES = 3;

/** Looks at a place; what stands in front of the record's home says nothing about it. */
export function look(place: Place, home = ''): Candidate {
  const isAtHome = home !== '' && place.path.startsWith(`${home}/`);
  const path = place.path.slice(isAtHome ? home.length + 1 : 0).replace(WRAPPERS, '');
  const words = path.replaceAll('/', ' ');
  const party = findParty(words);
  const outer = path.split('/').slice(0, -1).join(' ');
  return {
    ...place,
    words,
    depth: place.pointer.split('/').length - 1,
    party,
    isInside: findParty(outer) !== null,
  };
}

/** The role of the first of its words that has one; further such words say nothing: `actor/user/id` is the actor's id. */
function findParty(text: string): Candidate['party'] {
  const words = text.split(' ');
  for (const [index, word] of words.entries()) {
    for (const role of ['target', 'actor'] as const) {
      const names: readonly string[] = ROLES[role];
      if (!names.includes(word)) continue;
      const isLastRef = /^ref(?:erence)?$/.test(words.at(-1) ?? '');
      const after = words.slice(index + 1, isLastRef ? -1 : undefined);
      const rest = [...after.filter((next) => !SILENT.has(next)), ...(isLastRef ? ['ref'] : [])];
      // An e-mail address alone is the user's.
      const isAlone = word === 'email';
      return {
        role,
        word: names.indexOf(isAlone ? 'user' : word),
        rest: (isAlone ? [word, ...rest] : rest).join(' '),
      };
    }
  }
  return null;
}

/** Names between a role and its attribute that say nothing. */
const NEUTRAL = ['ref', 'reference', 'attribute', 'metadata', 'detail', 'data', 'info', 'profile'];

const SILENT: ReadonlySet<string> = new Set(
  [...ROLES.actor, ...ROLES.target, ...NEUTRAL].filter(
    (word) => word !== 'email' && word !== 'login',
  ),
);

/** The pointers of those that fit, best first: by rule, then by depth, then as they stand in the record. */
export function select(
  places: readonly Candidate[],
  rules: readonly RegExp[],
  fits: (place: Candidate, rule: number) => boolean,
): readonly string[] {
  return places
    .map((place) => ({ place, rule: rules.findIndex((rule) => rule.test(place.words)) }))
    .filter(({ place, rule }) => rule >= 0 && fits(place, rule))
    .sort((a, b) => a.rule - b.rule || a.place.depth - b.place.depth)
    .map(({ place }) => place.pointer);
}

/** As an entry of a contract. */
export function toPointers(pointers: readonly string[]): Pointers {
  const [first = null, ...others] = new Set(pointers);
  return others.length > 0 ? [first ?? '', ...others].slice(0, MAX_ALTERNATIVES) : first;
}

/** What stands in front of the last slash; nothing where there is none. */
export function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(pointer.lastIndexOf('/'), 0));
}

/** Values that say only that a record is one. */
export const KINDS = /^(?:(?:audit|event|log|record|entry|activity|item)s?[\s_-]?)+$/i;
