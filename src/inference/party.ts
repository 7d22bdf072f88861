import type { PartyContract, PartyPart } from '../mapping/contract.ts';
import { parseIso } from '../mapping/time.ts';
import { memoize } from '../util/memoize.ts';
import {
  type ClassifiedField,
  GENERIC_TYPE,
  type PartyPath,
  toPointers,
} from './classify-paths.ts';
import { PARTY_NAMES, ROLES } from './vocabulary.ts';

/**
 * Infers where records name the actor or the target. Uses the fields of the best word for the role, then those of
 * other words for it whose values are the same, such as `actor/id` and `user id`.
 */
export function inferParty(
  fields: readonly ClassifiedField[],
  role: keyof typeof ROLES,
): PartyContract {
  const found: PartyCandidate[] = [];
  for (const field of fields) {
    const candidate = toPartyCandidate(field, role);
    if (candidate !== null) found.push(candidate);
  }
  found.sort(byQuality).splice(MAX_PARTY_FIELDS);
  const all = role === 'target' ? correctTarget(found) : found;
  const first = all.find(({ attribute }) => attribute !== 'type') ?? all[0];
  const withId = role === 'target' ? all.filter(isCertainId) : [];
  const best = withId.find(({ isDirect }) => isDirect === first?.isDirect) ?? first;
  const ofBestWord = all.filter(({ roleRank }) => roleRank === best?.roleRank);
  const ofOtherWords = all.filter(({ roleRank }) => roleRank !== best?.roleRank);
  const ofSameParty = ofOtherWords.length === 0 ? all : addSameParty(ofBestWord, ofOtherWords);
  const select = (attribute: PartyPart, from = ofSameParty) =>
    from.filter((field) => field.attribute === attribute && field.isDirect === best?.isDirect);
  const identifiers = select('identifier');
  const emails = identifiers.filter(({ values }) => areAll(values, EMAIL));
  const types = ofOtherWords.length === 0 ? all : [...ofSameParty, ...ofOtherWords];
  const toEntry = (from: readonly PartyCandidate[]) =>
    toPointers(from.map(({ pointer }) => pointer));
  return {
    identifier: toEntry(identifiers),
    name: toEntry([...select('name'), ...emails]),
    type: toEntry(select('type', types)),
  };
}

/** Corrects the fields of a target by the others of the same word: `{"object": "customer", "object_id": 7}`. */
function correctTarget(fields: readonly PartyCandidate[]): readonly PartyCandidate[] {
  return fields.flatMap((field): PartyCandidate | [] => {
    const { roleRank, attribute, attributeRank, values } = field;
    const word = ROLES.target[roleRank] ?? '';
    const ofWord = fields.filter((other) => other.roleRank === roleRank);
    const has = (name: PartyPart) => ofWord.some((other) => other.attribute === name);
    const hasId = has('identifier');
    const isSourceOnly = word === 'source' && ofWord.length === fields.length;
    if (word === 'source' && !(isSourceOnly && (hasId || (has('name') && has('type'))))) return [];
    if (attribute === 'type' && !hasId && areAll(values, GENERIC_TYPE)) return [];
    const isKind = attributeRank === LAST && hasId && KIND_WORDS.test(word) && areAll(values, KIND);
    return isKind ? { ...field, attribute: 'type' } : field;
  });
}

/** Words for a target that name its kind, if they are next to its identifier. */
const KIND_WORDS = /^(?:model|resource|object|entity)$/;

/** A single word without digits: `customer`, `api_key`. */
const KIND = /^[a-z]+(?:_[a-z]+)*$/i;

/** Fields of the words up to `item`, which beat one without an identifier. `subject` may be the user, `record` the log. */
function isCertainId({ attribute, roleRank }: PartyCandidate): boolean {
  return attribute === 'identifier' && roleRank < ROLES.target.indexOf('subject');
}

/** An e-mail address, which names a party as well as it identifies it. */
const EMAIL = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/;

/** Adds the fields of each other word that describes the same party. */
function addSameParty(
  ofBestWord: readonly PartyCandidate[],
  others: readonly PartyCandidate[],
): readonly PartyCandidate[] {
  const roleRanks = new Set(others.map(({ roleRank }) => roleRank));
  const groups = [...roleRanks].map((rank) => others.filter(({ roleRank }) => roleRank === rank));
  return [...ofBestWord, ...groups.filter((group) => isSameParty(ofBestWord, group)).flat()];
}

/** Two groups of fields describe the same party if they have the same identifier or name in the first record. */
function isSameParty(some: readonly PartyCandidate[], others: readonly PartyCandidate[]): boolean {
  return some.some(({ attribute, values: [first] }) =>
    others.some(
      (other) => other.attribute === attribute && attribute !== 'type' && other.values[0] === first,
    ),
  );
}

/** More than that are items of a list, not the fields of one party. */
const MAX_PARTY_FIELDS = 100;

type Attribute = {
  readonly attribute: PartyPart;
  /** Index of the pattern in PARTY_NAMES that matches. */
  readonly attributeRank: number;
  /** Whether the attribute follows the role directly: `actor name`, not `actor billing name`. */
  readonly isDirect: boolean;
};

/** A field that holds an attribute of a party. */
type PartyCandidate = Attribute &
  Pick<PartyPath, 'roleRank'> &
  Pick<ClassifiedField, 'pointer' | 'depth' | 'values'>;

function byQuality(a: PartyCandidate, b: PartyCandidate): number {
  return (
    Number(b.isDirect) - Number(a.isDirect) ||
    a.roleRank - b.roleRank ||
    a.attributeRank - b.attributeRank ||
    a.depth - b.depth
  );
}

function toPartyCandidate(field: ClassifiedField, role: keyof typeof ROLES): PartyCandidate | null {
  const { meaning, pointer, depth, values } = field;
  const { party } = meaning;
  if (party?.role !== role || !values.every(isPlainText)) return null;
  const { roleRank, attribute: words } = party;
  const parsed = words === '' ? classifyValues(values, role) : parseAttribute(words);
  return parsed.attribute === null ? null : { ...parsed, roleRank, pointer, depth, values };
}

/** Identifiers and names are shorter. Regular expressions overflow V8's stack on texts of millions of characters. */
const MAX_LENGTH = 10_000;

/** Whether a value is a number, or text other than JSON. */
function isPlainText(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'number';
  return value.length <= MAX_LENGTH && value[0] !== '{' && value[0] !== '[';
}

const NO_ATTRIBUTE = { attribute: null };

/** Parses the words after a role. The first word may be unknown: `billing name` is a name, but not a direct one. */
const parseAttribute = memoize((words): Attribute | typeof NO_ATTRIBUTE => {
  for (const isDirect of [true, false]) {
    const text = isDirect ? words : words.replace(/^\S+ /, '');
    for (const attribute of ['identifier', 'name', 'type'] as const) {
      const attributeRank = PARTY_NAMES[attribute].findIndex((pattern) => pattern.test(text));
      if (attributeRank >= 0) return { attribute, attributeRank, isDirect };
    }
  }
  return NO_ATTRIBUTE;
});

/** Infers from its values what a field named after the role alone holds, as in `{"target": "API_KEY"}`. */
function classifyValues(
  values: readonly unknown[],
  role: keyof typeof ROLES,
): Attribute | typeof NO_ATTRIBUTE {
  if (values.every((value) => GENERIC_TYPE.test(String(value)) || parseIso(String(value))))
    return NO_ATTRIBUTE;
  const isType = role === 'target' && areAll(values, TYPE_NAME);
  const attribute = isType ? 'type' : areAll(values, OPAQUE_ID) ? 'identifier' : 'name';
  return { attribute, attributeRank: LAST, isDirect: true };
}

function areAll(values: readonly unknown[], pattern: RegExp): boolean {
  return values.every((value) => pattern.test(String(value)));
}

/** Ranks a field named after the role alone after all patterns of PARTY_NAMES. */
const LAST = Number.POSITIVE_INFINITY;

/** The name of a type in code: `API_KEY`, `ApiKey`. */
const TYPE_NAME = /^(?:[A-Z]+(?:_[A-Z]+)*|(?:[A-Z][a-z]+)+)$/;

/** A number, a UUID, or a long run of hexadecimal or base64 digits. */
const OPAQUE_ID =
  /^(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,}|(?=\D*\d)(?=.*[A-Z])[\w+/=-]{20,})$/i;
