import type { Pointers } from '../mapping/contract.ts';
import { memoize } from '../util/memoize.ts';
import type { FieldProfile } from './profile-fields.ts';
import {
  EVENT_NAMES,
  EXCLUDED,
  FIRST_WEAK_PATTERN,
  OTHER_ADDRESSES,
  OTHER_TIMES,
  ROLES,
  SOURCE,
  WRAPPERS,
} from './vocabulary.ts';

/** A field of a record, with what its path says about it. */
export type ClassifiedField = FieldProfile & { readonly meaning: PathMeaning };

/** What a path alone says about a field. */
export type PathMeaning = {
  /** The words of the path without its leading wrappers, separated by spaces. */
  readonly words: string;
  /** For each field of an event, the index of the first pattern that matches; -1 if none does. */
  readonly ranks: Readonly<Record<keyof typeof EVENT_NAMES, number>>;
  /** The party that the field belongs to; null if its path has no word for a role. */
  readonly party: PartyPath | null;
  /** Whether an ancestor is named after a role, as in `actor/created`. */
  readonly isInParty: boolean;
  /** Whether the path never describes the event, see `EXCLUDED`. */
  readonly isExcluded: boolean;
  /** Whether it can only be a time other than that of the event. */
  readonly isOtherTime: boolean;
  /** Whether it is nested in an object that is neither a wrapper nor named like the time of an event. */
  readonly isInOtherObject: boolean;
  /** Whether it can only be an address other than that of the actor. */
  readonly isOtherAddress: boolean;
};

/** The role that a path names, and the field of the party that it may hold. */
export type PartyPath = {
  readonly role: keyof typeof ROLES;
  /** Rank of the word for the role, 0 being the best. */
  readonly roleRank: number;
  /** The words after the role: `display name` in `actor/display name`. Empty if there are none. */
  readonly attribute: string;
};

/** Pointers per entry of a contract, for records that differ. */
const MAX_ALTERNATIVES = 3;

/** Classifies a field by its path, from `recordPath` on: the path of the nested object that is the actual record. */
export function classifyField(
  field: FieldProfile,
  recordPath = field.pointer.startsWith('/_source/') ? 'source' : '', // of a search hit, unlike `source`
): ClassifiedField {
  const { path } = field;
  const isInRecord = recordPath !== '' && path.startsWith(`${recordPath}/`);
  const meaning = classifyPath(isInRecord ? path.slice(recordPath.length + 1) : path);
  return { ...field, meaning };
}

const classifyPath = memoize((fullPath): PathMeaning => {
  const path = fullPath.replace(WRAPPERS, '');
  const words = path.replaceAll('/', ' ');
  const [firstKey = ''] = path.split('/');
  const ancestors = path.split('/').slice(0, -1).join(' ');
  const rankOf = (patterns: readonly RegExp[]) =>
    patterns.findIndex((pattern) => pattern.test(words));
  return {
    words,
    ranks: {
      id: rankOf(EVENT_NAMES.id),
      occurredAt: rankOf(EVENT_NAMES.occurredAt),
      action: rankOf(EVENT_NAMES.action),
      outcome: rankOf(EVENT_NAMES.outcome),
      ipAddress: rankOf(EVENT_NAMES.ipAddress),
      userAgent: rankOf(EVENT_NAMES.userAgent),
    },
    party: findParty(path),
    isInParty: ancestors.split(' ').some((word) => ROLE_WORDS.has(word)),
    isExcluded: EXCLUDED.test(fullPath),
    isOtherTime: OTHER_TIMES.test(words),
    isInOtherObject:
      firstKey !== path && !EVENT_NAMES.occurredAt.some((pattern) => pattern.test(firstKey)),
    isOtherAddress: OTHER_ADDRESSES.test(words),
  };
});

/** Finds the first word for a role. Later ones are ignored: `actor/user/id` is the ID of the actor. */
function findParty(path: string): PartyPath | null {
  const words = path.split(/[ /]/);
  const firstKeyLength = path.split('/', 1).join().split(' ').length;
  for (const [index, word] of words.entries()) {
    for (const role of ['target', 'actor'] as const) {
      const roleWords = ROLES[role];
      if (!roleWords.includes(word) || (word === 'source' && !SOURCE.test(path))) continue;
      const previous = words[index - 1] ?? '';
      if (NOT_A_PARTY.test(`${previous} ${word}`)) return null;
      if (word === 'model' && /[ /]model name$|\/model$/.test(path)) return null; // of a product
      const isReference = /^ref(?:erence)?$/.test(words.at(-1) ?? '');
      const following = words.slice(index + 1, isReference ? -1 : undefined);
      // `user session user id`: the user of the session is the actor.
      const isUserOfSession = following[0] === 'session' && roleWords.includes(following[1] ?? '');
      const ownWords = isUserOfSession ? following.slice(1) : following;
      // `email` is a role only if it is the address of the user, not an e-mail with a subject.
      const isEmail = word === 'email';
      if (isEmail && ownWords.some((next) => next !== 'address' && next !== 'id')) return null;
      const attributes = ownWords.filter((next) => !IGNORED_WORDS.has(next));
      if (isReference) attributes.push('ref');
      if (RELATED_THINGS[role].test(attributes[0] ?? '')) return null;
      if (isEmail) attributes.unshift(word);
      // Ranked last: nested mentions, people who approved or reviewed, a device's `model`.
      const isLast =
        (index >= firstKeyLength && WEAK_WHEN_NESTED.has(word)) ||
        (word === 'by' && OTHER_VERBS.test(previous)) ||
        (word === 'model' && index > 0);
      const roleRank = isLast ? roleWords.length : roleWords.indexOf(isEmail ? 'user' : word);
      return { role, roleRank, attribute: attributes.join(' ') };
    }
  }
  return null;
}

/** A flag (`is admin`), a time (`last login`) or a credential (`auth entity`), although it has a word for a role. */
const NOT_A_PARTY =
  /^(?:is|has|was|can) |^(?:last|next|first|previous) login$|^\w+ accessor$|^auth entity$/;

/** Words after a role that name something related to the party: `actor/country`. */
const RELATED_THINGS: Readonly<Record<keyof typeof ROLES, RegExp>> = {
  actor:
    /^(?:session|country|city|region|location|organization|organisation|org|tenant|workspace|company|department|team|group|role|owner|manager|parent|agent|browser|device|plan|domain)$/,
  target: /^(?:owner|parent|manager|creator)$/,
};

/** In a nested object, these words often name another person, as in `request/user`: the user being created. */
const WEAK_WHEN_NESTED: ReadonlySet<string> = new Set([
  'by',
  ...ROLES.actor.slice(ROLES.actor.indexOf('user')),
]);

/** Words before `by` that name another person than the actor, or no person: `approved by`, `sorted by`. */
const OTHER_VERBS =
  /^(?:approved|reviewed|verified|closed|owned|assigned|sponsored|used|sorted|grouped|followed)$/;

/** Words between a role and its attribute that add no meaning. */
const FILLERS = ['ref', 'reference', 'attribute', 'metadata', 'detail', 'data', 'info', 'profile'];

const ROLE_WORDS: ReadonlySet<string> = new Set([...ROLES.actor, ...ROLES.target]);

const IGNORED_WORDS: ReadonlySet<string> = new Set(
  [...ROLE_WORDS, ...FILLERS].filter((word) => !/^(?:email|login|source)$/.test(word)),
);

/**
 * Ranks the fields that match and are accepted: by pattern, then by depth, then in the order of the record. Weak
 * matches (see FIRST_WEAK_PATTERN) count only if fewer than half as many records have a strong one. If the strong one
 * is nested deeper, it belongs to another object, and the weak ones come first.
 * @returns pointers, best first.
 */
export function rankFields(
  fields: readonly ClassifiedField[],
  entry: keyof PathMeaning['ranks'],
  accepts: (field: ClassifiedField, rank: number) => boolean,
): readonly string[] {
  const rankOf = ({ meaning }: ClassifiedField) => meaning.ranks[entry];
  const accepted = fields
    .filter((field) => rankOf(field) >= 0 && accepts(field, rankOf(field)))
    .sort((a, b) => rankOf(a) - rankOf(b) || a.depth - b.depth);
  const strong = accepted.filter((field) => rankOf(field) < FIRST_WEAK_PATTERN[entry]);
  const strongValues = strong.reduce((sum, { values }) => sum + values.length, 0);
  const bestWeak = accepted[strong.length];
  const isStrongRare = bestWeak !== undefined && 2 * strongValues < bestWeak.values.length;
  const weak = isStrongRare ? accepted.filter((field) => rankOf(field) === rankOf(bestWeak)) : [];
  const isStrongDeeper = (strong[0]?.depth ?? 0) > (bestWeak?.depth ?? 0);
  const ranked = isStrongDeeper ? [...weak, ...strong] : [...strong, ...weak];
  return ranked.map(({ pointer }) => pointer);
}

/** Turns pointers into an entry of a contract: null for none, a string for one, a list of at most three otherwise. */
export function toPointers(pointers: readonly string[]): Pointers {
  const distinct = pointers.length > 1 ? [...new Set(pointers)] : pointers;
  return distinct.length > 1 ? distinct.slice(0, MAX_ALTERNATIVES) : (distinct[0] ?? null);
}

/** The pointer (or path) without its last token. Empty if there is no slash. */
export function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(pointer.lastIndexOf('/'), 0));
}

/** Values of a `type` that only mean "audit record". */
export const GENERIC_TYPE = /^(?:(?:audit|event|log|record|entry|activity|item)s?[\s._-]?){1,4}$/i;
