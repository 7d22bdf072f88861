import type { Pointers } from '../mapping/contract.ts';
import { memoize } from '../util/memoize.ts';
import type { FieldProfile } from './profile.ts';
import {
  ASIDE,
  EVENT,
  FIRST_GUESS,
  OTHER_ADDRESSES,
  OTHER_TIMES,
  ROLES,
  WRAPPERS,
} from './vocabulary.ts';

/** A place of a record, looked at. */
export type ClassifiedField = FieldProfile & { readonly traits: Traits };

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
  /** Whether it is inside of an object of which nothing says that it speaks of the event, or of a time. */
  readonly isForeign: boolean;
  readonly isOtherAddress: boolean;
};

/** How many alternatives an entry keeps, for records that differ among themselves. */
const MAX_ALTERNATIVES = 3;

/** Looks at a place; what stands in front of the record's home says nothing about it. */
export function classify(
  { pointer, path, depth, values }: FieldProfile,
  home = '',
): ClassifiedField {
  const isAtHome = home !== '' && path.startsWith(`${home}/`);
  const traits = traitsOf(isAtHome ? path.slice(home.length + 1) : path);
  return { pointer, path, depth, values, traits };
}

const traitsOf = memoize((way): Traits => {
  const path = way.replace(WRAPPERS, '');
  const words = path.replaceAll('/', ' ');
  const [head = ''] = path.split('/');
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
    party: findParty(path),
    isInside: outer.split(' ').some((word) => PARTIES.has(word)),
    isAside: ASIDE.test(way),
    isOtherTime: OTHER_TIMES.test(words),
    isForeign: head !== path && !EVENT.occurredAt.some((rule) => rule.test(head)),
    isOtherAddress: OTHER_ADDRESSES.test(words),
  };
});

/** The role of the first of its words that has one; further such words say nothing: `actor/user/id` is the actor's id. */
function findParty(path: string): Traits['party'] {
  const words = path.split(/[ /]/);
  const ownWords = path.split('/', 1).join().split(' ').length;
  for (const [index, word] of words.entries()) {
    for (const role of ['target', 'actor'] as const) {
      const names: readonly string[] = ROLES[role];
      if (!names.includes(word)) continue;
      const before = words[index - 1] ?? '';
      if (NOBODY.test(`${before} ${word}`)) return null;
      const isLastRef = /^ref(?:erence)?$/.test(words.at(-1) ?? '');
      const behind = words.slice(index + 1, isLastRef ? -1 : undefined);
      // What a session says of its user it says of the actor.
      const isSession = behind[0] === 'session' && names.includes(behind[1] ?? '');
      const after = isSession ? behind.slice(1) : behind;
      // An e-mail has a subject; its address alone is the user's.
      if (word === 'email' && after.some((next) => next !== 'address' && next !== 'id'))
        return null;
      const rest = [...after.filter((next) => !SILENT.has(next)), ...(isLastRef ? ['ref'] : [])];
      if (OTHERS[role].has(rest[0] ?? '')) return null;
      const isAlone = word === 'email';
      // Who is only named inside of something, or approved it, and what model a device is, are thought of last.
      const isOther =
        (index >= ownWords && INNER.has(word)) ||
        (word === 'by' && OTHER_ACTS.has(before)) ||
        (word === 'model' && index > 0);
      const rank = isOther ? names.length : names.indexOf(isAlone ? 'user' : word);
      return { role, word: rank, rest: (isAlone ? [word, ...rest] : rest).join(' ') };
    }
  }
  return null;
}

/** A flag of somebody, and a time. */
const NOBODY = /^(?:is|has|was|can) |^(?:last|next|first|previous) login$/;

/** What an actor, or a target, has and is not. */
const OTHERS: Readonly<Record<keyof typeof ROLES, ReadonlySet<string>>> = {
  actor: new Set(
    'session country city region location organization organisation org tenant workspace company department team group role owner manager parent agent browser device plan domain'.split(
      ' ',
    ),
  ),
  target: new Set(['owner', 'parent', 'manager', 'creator']),
};

/** Inside of something they are named for that, as the user that a request creates; an actor is one anywhere. */
const INNER: ReadonlySet<string> = new Set([
  'by',
  ...ROLES.actor.slice(ROLES.actor.indexOf('user')),
]);

/** What others do about it than who did it. */
const OTHER_ACTS: ReadonlySet<string> = new Set(
  'approved reviewed verified closed owned assigned sponsored used sorted grouped followed'.split(
    ' ',
  ),
);

/** Names between a role and its attribute that say nothing. */
const NEUTRAL = ['ref', 'reference', 'attribute', 'metadata', 'detail', 'data', 'info', 'profile'];

const PARTIES: ReadonlySet<string> = new Set([...ROLES.actor, ...ROLES.target]);

const SILENT: ReadonlySet<string> = new Set(
  [...PARTIES, ...NEUTRAL].filter((word) => word !== 'email' && word !== 'login'),
);

/** The pointers of those that fit, best first: by rule, then by depth, then as they stand in the record. What is only a guess counts where few records have anything better, and first where that stands deeper: it is something else's then. */
export function selectPointers(
  places: readonly ClassifiedField[],
  entry: keyof Traits['rules'],
  fits: (place: ClassifiedField, rule: number) => boolean,
): readonly string[] {
  const fitting: ClassifiedField[] = [];
  for (const place of places) {
    const rule = place.traits.rules[entry];
    if (rule >= 0 && fits(place, rule)) fitting.push(place);
  }
  fitting.sort((a, b) => a.traits.rules[entry] - b.traits.rules[entry] || a.depth - b.depth);
  const told = fitting.filter(({ traits }) => traits.rules[entry] < FIRST_GUESS[entry]);
  const best = fitting[told.length];
  const isRare = 2 * countValues(told) < (best?.values.length ?? 0);
  const guessed = fitting.filter(
    ({ traits }) => isRare && traits.rules[entry] === best?.traits.rules[entry],
  );
  const isInner = (told[0]?.depth ?? 0) > (best?.depth ?? 0);
  return (isInner ? [...guessed, ...told] : [...told, ...guessed]).map(({ pointer }) => pointer);
}

function countValues(places: readonly ClassifiedField[]): number {
  return places.reduce((sum, { values }) => sum + values.length, 0);
}

/** As an entry of a contract. */
export function toPointers(pointers: readonly string[]): Pointers {
  if (pointers.length < 2) return pointers[0] ?? null;
  const [first = null, ...others] = new Set(pointers);
  return others.length > 0 ? [first ?? '', ...others].slice(0, MAX_ALTERNATIVES) : first;
}

/** What stands in front of the last slash; nothing where there is none. */
export function parentPointer(pointer: string): string {
  return pointer.slice(0, Math.max(pointer.lastIndexOf('/'), 0));
}

/** Values that say only that a record is one. */
export const RECORD_KINDS = /^(?:(?:audit|event|log|record|entry|activity|item)s?[\s_-]?)+$/i;
