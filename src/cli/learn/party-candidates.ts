import { parentOf } from '../../inference/classify-paths.ts';
import type { PartyContract } from '../../mapping/contract.ts';
import { areAll, type Candidate, isTimeText, lastWords } from './candidates.ts';
import { ACTOR_NAMES, CONTEXT_NAMES, TARGET_NAMES } from './names.ts';
import type { Suggestion } from './suggestion.ts';

type Attribute = keyof PartyContract;

/** Fields that describe one thing: `order_id` and `order_name`, or the members of `order`. */
type Group = {
  /** The words that name the thing, without those of its attributes. */
  readonly noun: string;
  readonly depth: number;
  readonly fields: Readonly<Partial<Record<Attribute, Candidate>>>;
};

/** Last words of a field of a party. */
const ATTRIBUTES: readonly (readonly [Attribute, RegExp])[] = [
  [
    'identifier',
    /(?:^| )(?:id|uuid|guid|uid|sid|arn|urn|key|number|num|no|nr|identifier|ref|reference)$/,
  ],
  [
    'name',
    /(?:^| )(?:(?:display |full |friendly |user |login |principal |first )?name|label|title|email(?: address)?|email|login|handle|upn)$/,
  ],
  ['type', /(?:^| )(?:type|kind|class|tag)(?: name)?$/],
];

/** Suggests who acts: where it is named after a person or a role, or holds e-mail addresses. */
export function suggestActor(candidates: readonly Candidate[]): readonly Suggestion[] {
  return suggest('actor', candidates, ({ noun, fields }) => {
    const rank = ACTOR_NAMES.findIndex((pattern) => pattern.test(noun));
    if (rank >= 0) return rank;
    const isEmail = fields.name !== undefined && areAll(fields.name, EMAIL);
    return isEmail && !TARGET_NAMES.some((pattern) => pattern.test(noun)) ? ACTOR_NAMES.length : -1;
  });
}

/** Suggests what is acted on: where it is named as an object, or is the only thing with an ID or a name. */
export function suggestTarget(candidates: readonly Candidate[]): readonly Suggestion[] {
  const isOther = ({ texts }: Candidate) => texts.some((text) => /^https?:/.test(text));
  const own = candidates.filter(
    (field) =>
      (!field.meaning.isExcluded || CHANGED_OBJECT.test(field.meaning.words)) && !isOther(field),
  );
  const things = groupByNoun(own).filter(
    ({ noun, fields }) =>
      noun !== '' && !CONTEXT_NAMES.test(noun) && (fields.identifier ?? fields.name) !== undefined,
  );
  return suggest('target', own, ({ noun, fields }) => {
    const rank = TARGET_NAMES.findIndex((pattern) => pattern.test(noun));
    if (rank >= 0)
      return ACTOR_NAMES.some((pattern) => pattern.test(noun.replace(/ \S+$/, ''))) ? -1 : rank;
    const isOnlyThing = things.length === 1 && things[0]?.noun === noun;
    const isDescribed = fields.identifier !== undefined && Object.keys(fields).length > 1;
    return isOnlyThing && isDescribed ? TARGET_NAMES.length : -1;
  });
}

/** A thing that was changed, not a value before or after. */
const CHANGED_OBJECT = /^changed? (?:object|entity|item|asset|resource|record)\b/;

/**
 * Suggests the identifier, the name or the type of a party of which another one is read: next to it in the same object,
 * or in a field that is named after the same role.
 */
export function suggestPart(
  role: 'actor' | 'target',
  part: Attribute,
  candidates: readonly Candidate[],
  readPointers: readonly string[],
): readonly Suggestion[] {
  const parents = new Set(readPointers.map(parentOf).filter((parent) => parent !== ''));
  const isUsable = ({ isScalar, isSecret }: Candidate) => isScalar && !isSecret;
  const siblings = candidates.filter(
    (field) =>
      parents.has(parentOf(field.pointer)) &&
      field.meaning.party?.role === role &&
      isUsable(field) &&
      !isTimeText(field) &&
      !isLong(field),
  );
  const inObject = siblings.filter((field) => {
    const words = lastWords(field);
    const [attribute, pattern] = ATTRIBUTES.find(([, end]) => end.test(words)) ?? [];
    if (attribute !== part || pattern === undefined) return false;
    const noun = words.replace(pattern, '');
    return noun === '' || !CONTEXT_NAMES.test(noun);
  });
  const ofRole = candidates.filter(
    (field) =>
      isUsable(field) &&
      field.meaning.party?.role === 'actor' &&
      part === 'identifier' &&
      /^(?:id|uuid|guid)$/.test(field.meaning.party.attribute),
  );
  return [...inObject, ...(role === 'actor' ? ofRole : [])].map(({ pointer, values }) => ({
    contract: { [role]: { [part]: pointer } },
    examples: [{ pointer, value: values[0] }],
  }));
}

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

function suggest(
  role: 'actor' | 'target',
  candidates: readonly Candidate[],
  rankOf: (group: Group) => number,
): readonly Suggestion[] {
  return groupByNoun(candidates)
    .map((group) => ({ group, rank: rankOf(group) }))
    .filter(({ rank, group: { fields } }) => rank >= 0 && (fields.identifier ?? fields.name))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        Object.keys(b.group.fields).length - Object.keys(a.group.fields).length ||
        a.group.depth - b.group.depth,
    )
    .map(({ group: { fields } }) => {
      const entries = (['identifier', 'name', 'type'] as const).flatMap((attribute) => {
        const field = fields[attribute];
        return field === undefined ? [] : [[attribute, field] as const];
      });
      const party = Object.fromEntries(
        entries.map(([attribute, { pointer }]) => [attribute, pointer]),
      );
      return {
        contract: { [role]: party },
        examples: entries.map(([, { pointer, values }]) => ({ pointer, value: values[0] })),
      };
    });
}

function groupByNoun(candidates: readonly Candidate[]): readonly Group[] {
  const parts = candidates
    .filter((field) => field.isScalar && !field.isSecret && !isTimeText(field) && !isLong(field))
    .map(toPart);
  const groups = Map.groupBy(parts, ({ parent, noun }) => `${parent} ${noun}`);
  return [...groups.values()].map((members) => ({
    noun: members[0]?.noun ?? '',
    depth: Math.min(...members.map(({ field }) => field.depth)),
    // Of several fields for an attribute, the first counts.
    fields: Object.fromEntries(
      members.toReversed().map(({ attribute, field }) => [attribute, field]),
    ),
  }));
}

function isLong({ texts }: Candidate): boolean {
  return texts.some((text) => text.length > 300 || /^[{[]/.test(text));
}

/** Splits the words of a field into those of the thing and that of its attribute. */
function toPart(field: Candidate) {
  const { words } = field.meaning;
  const [attribute, pattern] = ATTRIBUTES.find(([, end]) => end.test(words)) ?? [];
  const noun = pattern === undefined ? words : words.replace(pattern, '');
  const byValue = areAll(field, /^\d+$/) ? 'identifier' : 'name';
  return {
    field,
    noun,
    parent: '',
    attribute: noun === '' ? 'name' : (attribute ?? byValue),
  } as const;
}
