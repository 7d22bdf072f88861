import { parentOf } from '../../inference/classify-paths.ts';
import type { PartyPart } from '../../mapping/contract.ts';
import { areAll, type Candidate, isTimeText, lastWords, type Suggestion } from './candidates.ts';

type Role = 'actor' | 'target';

/** Fields that describe one thing: `order_id` and `order_name`, or the members of `order`. */
type Thing = {
  /** The words that name the thing, without those of its parts. */
  readonly noun: string;
  readonly parts: Readonly<Partial<Record<PartyPart, Candidate>>>;
};

/** Words for the person who acts, best first; added to those that inference knows. */
const ACTOR_NAMES = [
  /(?:^| )(?:by|actor|author|operator|performer|executor|editor|modifier|updater|uploader|submitter|creator|initiator|agent|who|oper|opr)$/,
  /(?:^| )(?:user|usr|login|member|employee|staff|person|principal|identity|admin|administrator|sender|clerk|technician|worker|caller|requester|requestor|responsible|logon|accessor|auth|authentication)$/,
  /(?:^| )(?:account|subject|owner|holder|customer|client|contact)$/,
] as const;

/**
 * Words for what surrounds an event or describes its record. A thing whose name has one is not the target of the event:
 * `always`, or `often`, unless it is the only thing with an ID and a name.
 */
const SURROUNDINGS = {
  always:
    /(?:^| )(?:org|organization|organisation|tenant|account|company|customer|realm|session|request|correlation|trace|span|transaction|log|event|audit|record|row|entry|activity|action|operation|parent|client|device|browser|os|platform|agent|location|country|city|region|zone|geo|source|origin|channel|interface|version|schema|severity|level|priority|category|status|state|result|outcome|response|error|reason|time|timestamp|date|hash|etag|sequence|batch|scope|by|method|protocol|port|ip|address|label|parameter|param|property|attribute|field|header|link|self|href|extra|external|internal|reference|rule|shard|index)(?= |$)/,
  often:
    /(?:^| )(?:workspace|site|domain|host|hostname|server|node|network|application|app|service|component|module|environment|env|group|team|role|page)(?= |$)/,
} as const;

/** Whether a thing is often around an event, and seldom its target. */
export function isSurrounding(noun: string): boolean {
  return SURROUNDINGS.always.test(noun) || SURROUNDINGS.often.test(noun);
}

/** Words for the object of an event, best first; added to those that inference knows. */
const TARGET_NAMES = [
  /(?:^| )(?:target|object|obj|affected|entity|recipient|thing|to|on|onto|destination|dest|subject|item|asset)$/,
  /(?:^| )(?:file|filename|document|path|table|collection|database|bucket|folder|project|repository|repo|dataset|dashboard|argument|arg|topic|queue|ticket|order|invoice)$/,
] as const;

/** Who changed a thing. Other paths with a word for a change describe values before or after it. */
const CHANGED_BY = /^(?:changed?|modified|updated?) by\b/;

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** Suggests who acts: where it is named after a person or a role, or holds e-mail addresses. */
export function suggestActor(candidates: readonly Candidate[]): readonly Suggestion[] {
  const own = candidates.filter(
    ({ meaning: { isExcluded, words } }) => !isExcluded || CHANGED_BY.test(words),
  );
  return suggest('actor', groupByThing(own), ({ noun, parts: { name } }) => {
    const isEmail = name !== undefined && areAll(name, EMAIL) && rankOf(noun, TARGET_NAMES) < 0;
    const rank = rankOf(noun, ACTOR_NAMES);
    return rank < 0 && isEmail ? ACTOR_NAMES.length : rank;
  });
}

/** Suggests what is acted on: where it is named as an object, or is the only thing with an ID and a name. */
export function suggestTarget(candidates: readonly Candidate[]): readonly Suggestion[] {
  const own = candidates.filter(
    ({ meaning: { isExcluded, party } }) => party?.role !== 'actor' && !isExcluded,
  );
  const things = groupByThing(own);
  const [described, ...others] = things.filter(
    ({ noun, parts: { identifier, name } }) =>
      identifier && name && rankOf(noun, ACTOR_NAMES) < 0 && !SURROUNDINGS.always.test(noun),
  );
  return suggest('target', things, (thing) => {
    const { identifier, name } = thing.parts;
    // With a word for a target that inference knows, but an unknown attribute: `target instance`.
    const isTarget = [identifier, name].some((field) => field?.meaning.party?.role === 'target');
    const isOnly = thing === described && others.length === 0;
    const rank = rankOf(thing.noun, TARGET_NAMES);
    return rank < 0 && (isTarget || isOnly) ? TARGET_NAMES.length : rank;
  });
}

/** Index of the first pattern that matches; -1 if none does. */
function rankOf(noun: string, names: readonly RegExp[]): number {
  return names.findIndex((pattern) => pattern.test(noun));
}

function suggest(
  role: Role,
  things: readonly Thing[],
  rank: (thing: Thing) => number,
): readonly Suggestion[] {
  return things
    .map((thing) => ({ ...thing, rank: rank(thing) }))
    .filter(({ parts: { identifier, name }, rank }) => rank >= 0 && (identifier ?? name))
    .sort((a, b) => a.rank - b.rank || Object.keys(b.parts).length - Object.keys(a.parts).length)
    .map(({ parts }) => {
      const pointers = Object.entries(parts).map(([part, { pointer }]) => [part, pointer]);
      return { contract: { [role]: Object.fromEntries(pointers) }, fields: Object.values(parts) };
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
  return found.map((field) => ({
    contract: { [role]: { [part]: field.pointer } },
    fields: [field],
  }));
}

/** The last words of the parts of a thing, the best of a part first. */
const PARTS: readonly (readonly [PartyPart, RegExp])[] = [
  ['identifier', /(?:^| )(?:[a-z]?id|uuid|guid|arn|urn|key|identifier)$/],
  ['identifier', /(?:^| )(?:number|num|no|nr|ref|reference|code|cd)$/],
  ['name', /(?:^| )(?:(?:display |full |friendly )?name|nm)$/],
  ['name', /(?:^| )(?:user name|login name|principal|email(?: address)?|login|handle|upn)$/],
  ['name', /(?:^| )(?:label|title)$/],
  ['type', /(?:^| )(?:type|kind|class|tag)(?: name)?$/],
];

/** The part that a field with some words is, and the words before those of the part; null without a name of a part. */
function splitPart(words: string) {
  const index = PARTS.findIndex(([, end]) => end.test(words));
  const [part, end] = PARTS[index] ?? [];
  if (part === undefined || end === undefined) return null;
  return { part, noun: words.replace(end, ''), rank: index };
}

/** Whether a field can be a part of a party: a short text or a number, but no time. */
function canBePart(field: Candidate): boolean {
  const { isScalar, isSecret, texts } = field;
  if (!isScalar || isSecret || isTimeText(field)) return false;
  return texts.every((text) => text.length <= MAX_LENGTH && !/^(?:[{[]|https?:)/.test(text));
}

const MAX_LENGTH = 300;

/** Groups fields by the thing that they describe. Of several fields for a part, the best counts. */
function groupByThing(candidates: readonly Candidate[]): readonly Thing[] {
  const fields = candidates.filter(canBePart).map((field) => {
    const { words } = field.meaning;
    const split = splitPart(words);
    if (split !== null && split.noun !== '') return { field, ...split };
    const part: PartyPart = areAll(field, /^\d+$/) ? 'identifier' : 'name';
    return { field, part, noun: words, rank: PARTS.length };
  });
  return [...Map.groupBy(fields, ({ noun }) => noun)].map(([noun, members]) => {
    const worstFirst = members.toSorted((a, b) => a.part.localeCompare(b.part) || b.rank - a.rank);
    return { noun, parts: Object.fromEntries(worstFirst.map(({ part, field }) => [part, field])) };
  });
}
