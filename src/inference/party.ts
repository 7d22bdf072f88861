import type { PartyContract } from '../mapping/contract.ts';
import { parseIso } from '../mapping/time.ts';
import { memoize } from '../util/memoize.ts';
import {
  type ClassifiedField,
  GENERIC_TYPE,
  type PartyPath,
  toPointers,
} from './classify-paths.ts';
import { PARTY_FIELDS, type ROLES } from './vocabulary.ts';

/**
 * Infers where records name the actor or the target. Uses the fields of the best word for the role, then those of
 * other words for it whose values are the same, such as `actor/id` and `user id`.
 */
export function inferParty(
  fields: readonly ClassifiedField[],
  role: keyof typeof ROLES,
): PartyContract {
  const all: PartyField[] = [];
  for (const field of fields) {
    const partyField = toPartyField(field, role);
    if (partyField !== null) all.push(partyField);
  }
  all.sort(byQuality).splice(MAX_FIELDS);
  const best = all.find(({ attribute }) => attribute !== 'type') ?? all[0];
  const ofBestWord = all.filter(({ roleRank }) => roleRank === best?.roleRank);
  const ofOtherWords = all.filter(({ roleRank }) => roleRank !== best?.roleRank);
  const ofSameParty = ofOtherWords.length === 0 ? all : addSameParty(ofBestWord, ofOtherWords);
  const select = (attribute: keyof PartyContract, from: readonly PartyField[]) =>
    toPointers(
      from
        .filter((field) => field.attribute === attribute && field.isDirect === best?.isDirect)
        .map(({ pointer }) => pointer),
    );
  return {
    identifier: select('identifier', ofSameParty),
    name: select('name', ofSameParty),
    type: select('type', ofOtherWords.length === 0 ? all : [...ofSameParty, ...ofOtherWords]),
  };
}

/** Adds the fields of each other word that describes the same party. */
function addSameParty(
  ofBestWord: readonly PartyField[],
  others: readonly PartyField[],
): readonly PartyField[] {
  const roleRanks = new Set(others.map(({ roleRank }) => roleRank));
  const groups = [...roleRanks].map((rank) => others.filter(({ roleRank }) => roleRank === rank));
  return [...ofBestWord, ...groups.filter((group) => isSameParty(ofBestWord, group)).flat()];
}

/** Two groups of fields describe the same party if they have the same identifier or name in the first record. */
function isSameParty(some: readonly PartyField[], others: readonly PartyField[]): boolean {
  return some.some(({ attribute, values: [first] }) =>
    others.some(
      (other) => other.attribute === attribute && attribute !== 'type' && other.values[0] === first,
    ),
  );
}

/** More than that are items of a list, not the fields of one party. */
const MAX_FIELDS = 100;

type Attribute = {
  readonly attribute: keyof PartyContract;
  /** Index of the pattern in PARTY_FIELDS that matches. */
  readonly attributeRank: number;
  /** Whether the attribute follows the role directly: `actor name`, not `actor billing name`. */
  readonly isDirect: boolean;
};

/** A field that holds an attribute of a party. */
type PartyField = Attribute &
  Pick<PartyPath, 'roleRank'> &
  Pick<ClassifiedField, 'pointer' | 'depth' | 'values'>;

function byQuality(a: PartyField, b: PartyField): number {
  return (
    Number(b.isDirect) - Number(a.isDirect) ||
    a.roleRank - b.roleRank ||
    a.attributeRank - b.attributeRank ||
    a.depth - b.depth
  );
}

function toPartyField(field: ClassifiedField, role: keyof typeof ROLES): PartyField | null {
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
      const attributeRank = PARTY_FIELDS[attribute].findIndex((pattern) => pattern.test(text));
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
  const areAll = (pattern: RegExp) => values.every((value) => pattern.test(String(value)));
  if (values.every((value) => GENERIC_TYPE.test(String(value)) || parseIso(String(value))))
    return NO_ATTRIBUTE;
  const isType = role === 'target' && areAll(TYPE_NAME);
  const attribute = isType ? 'type' : areAll(OPAQUE_ID) ? 'identifier' : 'name';
  return { attribute, attributeRank: LAST, isDirect: true };
}

/** Ranks a field named after the role alone after all patterns of PARTY_FIELDS. */
const LAST = Number.POSITIVE_INFINITY;

/** The name of a type in code: `API_KEY`, `ApiKey`. */
const TYPE_NAME = /^(?:[A-Z]+(?:_[A-Z]+)*|(?:[A-Z][a-z]+)+)$/;

/** A number, a UUID, or a long run of hexadecimal or base64 digits. */
const OPAQUE_ID =
  /^(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,}|(?=\D*\d)(?=.*[A-Z])[\w+/=-]{20,})$/i;
