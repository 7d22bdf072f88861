import { parentOf } from '../../inference/classify-paths.ts';
import type { PartyPart } from '../../mapping/contract.ts';
import { areAll, type Candidate, lastWords } from './candidates.ts';
import { canBePart, groupByThing, splitPart, type Thing } from './field-groups.ts';
import {
  ACTOR_NAMES,
  CHANGED_BY,
  CHANGED_THING,
  isSurrounding,
  SURROUNDINGS,
  TARGET_NAMES,
} from './names.ts';
import type { Suggestion } from './suggestion.ts';

type Role = 'actor' | 'target';

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** Suggests who acts: where it is named after a person or a role, or holds e-mail addresses. */
export function suggestActor(candidates: readonly Candidate[]): readonly Suggestion[] {
  const own = candidates.filter(
    ({ meaning: { isExcluded, words } }) => !isExcluded || CHANGED_BY.test(words),
  );
  return suggest('actor', groupByThing(own), ({ noun, parts }) => {
    const rank = rankOf(noun, ACTOR_NAMES);
    if (rank !== null) return rank;
    const isEmail = parts.name !== undefined && areAll(parts.name, EMAIL);
    return isEmail && rankOf(noun, TARGET_NAMES) === null ? ACTOR_NAMES.length : null;
  });
}

/** Suggests what is acted on: where it is named as an object, or is the only thing with an ID and a name. */
export function suggestTarget(candidates: readonly Candidate[]): readonly Suggestion[] {
  const own = candidates.filter(
    ({ meaning: { isExcluded, party, words } }) =>
      party?.role !== 'actor' && (!isExcluded || CHANGED_THING.test(words)),
  );
  const things = groupByThing(own);
  const described = things.filter(
    ({ noun, parts }) =>
      parts.identifier !== undefined &&
      parts.name !== undefined &&
      rankOf(noun, ACTOR_NAMES) === null &&
      !SURROUNDINGS.always.test(noun),
  );
  return suggest('target', things, (thing) => {
    const rank = rankOf(thing.noun, TARGET_NAMES) ?? (isTarget(thing) ? TARGET_NAMES.length : null);
    if (rank !== null) return isOfActor(thing) ? null : rank;
    return described.length === 1 && described[0] === thing ? TARGET_NAMES.length : null;
  });
}

/** Whether a path has a word for a target that inference knows, but an unknown attribute: `target instance`. */
function isTarget({ parts }: Thing): boolean {
  const fields = [parts.identifier, parts.name].filter((field) => field !== undefined);
  return fields.some(({ meaning: { party } }) => party?.role === 'target');
}

/** Whether the words before the last one name a person: the `user file` is not what the user acts on. */
function isOfActor({ noun }: Thing): boolean {
  return rankOf(noun.replace(/ ?\S+$/, ''), ACTOR_NAMES) !== null;
}

/** Index of the first pattern that matches; null if none does. */
function rankOf(noun: string, names: readonly RegExp[]): number | null {
  const rank = names.findIndex((pattern) => pattern.test(noun));
  return rank < 0 ? null : rank;
}

function suggest(
  role: Role,
  things: readonly Thing[],
  rank: (thing: Thing) => number | null,
): readonly Suggestion[] {
  return things
    .map((thing) => ({ thing, rank: rank(thing) ?? -1 }))
    .filter(({ thing: { parts }, rank }) => rank >= 0 && (parts.identifier ?? parts.name))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        Number(b.thing.isNamed) - Number(a.thing.isNamed) ||
        Object.keys(b.thing.parts).length - Object.keys(a.thing.parts).length ||
        a.thing.depth - b.thing.depth,
    )
    .map(({ thing: { parts } }) => {
      const fields = (['identifier', 'name', 'type'] as const).flatMap((part) => {
        const field = parts[part];
        return field === undefined ? [] : [[part, field] as const];
      });
      const party = Object.fromEntries(fields.map(([part, { pointer }]) => [part, pointer]));
      return {
        contract: { [role]: party },
        examples: fields.map(([, { pointer, values }]) => ({ pointer, value: values[0] })),
      };
    });
}

/**
 * Suggests a part of a party of which another one is read: next to it in the same object, or the ID of a field with a
 * word for an actor.
 */
export function suggestPart(
  role: Role,
  part: PartyPart,
  candidates: readonly Candidate[],
  readPointers: readonly string[],
): readonly Suggestion[] {
  const parents = new Set(readPointers.map(parentOf).filter((parent) => parent !== ''));
  const ofRole = candidates.filter(
    (field) => field.meaning.party?.role === role && canBePart(field),
  );
  const siblings = ofRole.filter((field) => {
    const split = splitPart(lastWords(field));
    if (!parents.has(parentOf(field.pointer)) || split?.part !== part) return false;
    return split.noun === '' || !isSurrounding(split.noun);
  });
  const ids = ofRole.filter(({ meaning: { party } }) =>
    /^(?:id|uuid|guid)$/.test(party?.attribute ?? ''),
  );
  const found = role === 'actor' && part === 'identifier' ? [...siblings, ...ids] : siblings;
  return found.map(({ pointer, values }) => ({
    contract: { [role]: { [part]: pointer } },
    examples: [{ pointer, value: values[0] }],
  }));
}
