import type { PartyContract } from '../mapping/contract.ts';
import { parseIso } from '../mapping/time.ts';
import { memoize } from '../util/memoize.ts';
import { type ClassifiedField, RECORD_KINDS, toPointers } from './classify.ts';
import { PARTY, type ROLES } from './vocabulary.ts';

/** The best of the role's words by which records name somebody, and those that agree with it. */
export function inferParty(
  places: readonly ClassifiedField[],
  role: keyof typeof ROLES,
): PartyContract {
  const found: Attribute[] = [];
  for (const place of places) {
    const attribute = place.traits.party?.role === role ? describe(place) : undefined;
    if (attribute !== undefined) found.push(attribute);
  }
  found.sort(byFit).splice(MAX_FOUND);
  const best = found.find(({ attribute }) => attribute !== 'type') ?? found[0];
  const others = found.filter(({ word }) => word !== best?.word);
  const named = others.length === 0 ? found : withAgreeing(best?.word, found, others);
  const pick = (attribute: keyof typeof PARTY, from: readonly Attribute[]) =>
    toPointers(
      from
        .filter((one) => one.attribute === attribute && one.isDirect === best?.isDirect)
        .map(({ pointer }) => pointer),
    );
  return {
    identifier: pick('identifier', named),
    name: pick('name', named),
    type: pick('type', others.length === 0 ? named : [...named, ...others]),
  };
}

/** What the best word says, and then every other word that agrees with it. */
function withAgreeing(
  best: number | undefined,
  found: readonly Attribute[],
  others: readonly Attribute[],
): readonly Attribute[] {
  const of = (wanted: number | undefined) => found.filter(({ word }) => word === wanted);
  const own = of(best);
  const words = new Set(others.map(({ word }) => word));
  return [...own, ...[...words].filter((word) => agree(own, of(word))).flatMap(of)];
}

/** Two words speak of the same party when they give it the same id or name. */
function agree(some: readonly Attribute[], others: readonly Attribute[]): boolean {
  return some.some(({ attribute, values: [first] }) =>
    others.some(
      (other) => other.attribute === attribute && attribute !== 'type' && other.values[0] === first,
    ),
  );
}

/** More places than that name nobody, they are a list. */
const MAX_FOUND = 100;

type Attribute = {
  readonly attribute: keyof typeof PARTY;
  readonly rule: number;
  readonly word: number;
  readonly isDirect: boolean;
  readonly depth: number;
  readonly pointer: string;
  readonly values: readonly unknown[];
};

function byFit(a: Attribute, b: Attribute): number {
  return (
    Number(b.isDirect) - Number(a.isDirect) ||
    a.word - b.word ||
    a.rule - b.rule ||
    a.depth - b.depth
  );
}

function describe({
  traits: { party },
  pointer,
  depth,
  values,
}: ClassifiedField): Attribute | undefined {
  if (party === null || !values.every(isPlain)) return undefined;
  const { rest, word } = party;
  if (rest === '') {
    if (values.every((value) => RECORD_KINDS.test(String(value)) || parseIso(String(value))))
      return undefined;
    const isAll = (rule: RegExp) => values.every((value) => rule.test(String(value)));
    const isKind = party.role === 'target' && isAll(KIND);
    const attribute = isKind ? 'type' : isAll(OPAQUE) ? 'identifier' : 'name';
    return { attribute, rule: BARE, word, isDirect: true, depth, pointer, values };
  }
  const meaning = meaningOf(rest);
  if (meaning.attribute === null) return undefined;
  const { attribute, rule, isDirect } = meaning;
  return { attribute, rule, isDirect, word, depth, pointer, values };
}

/** Nobody's id or name is longer; V8 has no room for patterns over millions of characters. */
const MAX_LENGTH = 10_000;

/** A number, or a text that is no JSON. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'number';
  return value.length <= MAX_LENGTH && value[0] !== '{' && value[0] !== '[';
}

/** What follows the role's word means at most one thing. */
const meaningOf = memoize((rest): Meaning | typeof NONE => {
  for (const isDirect of [true, false]) {
    const text = isDirect ? rest : rest.replace(/^\S+ /, '');
    for (const attribute of ['identifier', 'name', 'type'] as const) {
      const rule = PARTY[attribute].findIndex((candidate) => candidate.test(text));
      if (rule >= 0) return { attribute, rule, isDirect };
    }
  }
  return NONE;
});

type Meaning = Pick<Attribute, 'attribute' | 'rule' | 'isDirect'>;

const NONE = { attribute: null };

/** A role's word alone is the last choice. */
const BARE = 9;

/** How programs write the kind of a thing. */
const KIND = /^(?:[A-Z]+(?:_[A-Z]+)*|(?:[A-Z][a-z]+)+)$/;

/** What no person reads: a number, a UUID, a long run of hexadecimal or base64 digits. */
const OPAQUE =
  /^(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,}|(?=\D*\d)(?=.*[A-Z])[\w+/=-]{20,})$/i;
