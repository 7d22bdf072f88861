import { memoise } from '../memo.ts';
import type { Pointers } from '../reading/contract.ts';
import type { Place } from './survey.ts';
import { ASIDE, EVENT, OTHER_ADDRESSES, OTHER_TIMES, ROLES, WRAPPERS } from './vocabulary.ts';

/** A place of a record, looked at. */
export type Candidate = Place & { readonly traits: Traits };

/** What its path alone says. */
type Traits = {
  /** Its words behind the names that only wrap. */
  readonly words: string;
  /** The first rule of each entry that fits; -1 where none does. */
  readonly rules: Readonly<Record<keyof typeof EVENT, number>>;
  /** Whose it is, when the record names somebody or something by it: the role's word, and what follows it. */
  readonly party: {
    readonly role: keyof typeof ROLES;
    readonly word: number;
    readonly rest: string;
  } | null;
  /** Whether it is inside of an object that speaks of that party. */
  readonly isInside: boolean;
  readonly isAside: boolean;
  readonly isOtherTime: boolean;
  readonly isOtherAddress: boolean;
};

/** How many alternatives an entry keeps, for records that differ among themselves. */
const MAX_ALTERNATIVES = 3;

/** Looks at a place; what stands in front of the record's home says nothing about it. */
export function look({ pointer, path, depth, values }: Place, home = ''): Candidate {
  const isAtHome = home !== '' && path.startsWith(`${home}/`);
  const traits = traitsOf(isAtHome ? path.slice(home.length + 1) : path);
  return { pointer, path, depth, values, traits };
}

const traitsOf = memoise((way): Traits => {
  const path = way.replace(WRAPPERS, '');
  const words = path.replaceAll('/', ' ');
  const outer = path.split('/').slice(0, -1).join(' ');
  const ruleOf = (rules: readonly RegExp[]) => rules.findIndex((rule) => rule.test(words));
  return {
    words,
    rules: {
      id: ruleOf(EVENT.id),
      occurredAt: ruleOf(EVENT.occurredAt),
      action: ruleOf(EVENT.action),
      outcome: ruleOf(EVENT.outcome),
      ipAddress: ruleOf(EVENT.ipAddress),
      userAgent: ruleOf(EVENT.userAgent),
    },
    party: findParty(words),
    isInside: findParty(outer) !== null,
    isAside: ASIDE.test(way),
    isOtherTime: OTHER_TIMES.test(words),
    isOtherAddress: OTHER_ADDRESSES.test(words),
  };
});

/** The role of the first of its words that has one; further such words say nothing: `actor/user/id` is the actor's id. */
function findParty(text: string): Traits['party'] {
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
  entry: keyof Traits['rules'],
  fits: (place: Candidate, rule: number) => boolean,
): readonly string[] {
  const fitting: Candidate[] = [];
  for (const place of places) {
    const rule = place.traits.rules[entry];
    if (rule >= 0 && fits(place, rule)) fitting.push(place);
  }
  return fitting
    .sort((a, b) => a.traits.rules[entry] - b.traits.rules[entry] || a.depth - b.depth)
    .map(({ pointer }) => pointer);
}

/** As an entry of a contract. */
export function toPointers(pointers: readonly string[]): Pointers {
  if (pointers.length < 2) return pointers[0] ?? null;
  const [first = null, ...others] = new Set(pointers);
  return others.length > 0 ? [first ?? '', ...others].slice(0, MAX_ALTERNATIVES) : first;
}

/** What stands in front of the last slash; nothing where there is none. */
export function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(pointer.lastIndexOf('/'), 0));
}

/** Values that say only that a record is one. */
export const KINDS = /^(?:(?:audit|event|log|record|entry|activity|item)s?[\s_-]?)+$/i;
