import type { EventContract, PartyContract, Pointers } from '../reading/contract.ts';
import { readOutcome } from '../reading/outcome.ts';
import { readTime } from '../reading/time.ts';
import { type Place, survey } from './survey.ts';
import {
  ASIDE,
  EVENT,
  OTHER_ADDRESSES,
  OTHER_TIMES,
  PARTY,
  ROLES,
  WRAPPERS,
} from './vocabulary.ts';

/** A place of a record, looked at. */
type Candidate = Place & {
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

/** Tells from some records where each of their kind holds what. */
export function inferEvent(records: readonly unknown[]): EventContract {
  const found = survey(records).filter(({ path }) => path !== '' && !ASIDE.test(path));
  const occurredAt = select(
    found.map((place) => look(place)),
    EVENT.occurredAt,
    isTimeOfEvent,
  );
  // What holds the time is the record proper, whatever it is wrapped in.
  const home = parentOf(occurredAt[0] ?? '');
  const homePath = found.find(({ pointer }) => pointer === occurredAt[0])?.path ?? '';
  const places = found.map((place) => look(place, parentOf(homePath)));
  const near = places.filter(({ pointer, depth }) => depth === 1 || parentOf(pointer) === home);
  const id = select(near, EVENT.id, isId);
  const others = places.filter(({ pointer }) => !id.includes(pointer));
  return {
    id: toPointers(id),
    occurredAt: toPointers(occurredAt),
    action: toPointers(select(places, EVENT.action, isAction)),
    outcome: toPointers(select(places, EVENT.outcome, isOutcome)),
    actor: inferParty(others, 'actor'),
    target: inferParty(others, 'target'),
    ipAddress: toPointers(select(places, EVENT.ipAddress, isAddressOfActor)),
    userAgent: toPointers(select(places, EVENT.userAgent, isUserAgent)),
  };
}

function look(place: Place, home = ''): Candidate {
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
function select<T extends Candidate>(
  places: readonly T[],
  rules: readonly RegExp[],
  fits: (place: T, rule: number) => boolean,
): readonly string[] {
  return places
    .map((place) => ({ place, rule: rules.findIndex((rule) => rule.test(place.words)) }))
    .filter(({ place, rule }) => rule >= 0 && fits(place, rule))
    .sort((a, b) => a.rule - b.rule || a.place.depth - b.place.depth)
    .map(({ place }) => place.pointer);
}

function toPointers(pointers: readonly string[]): Pointers {
  const [first = null, ...others] = new Set(pointers);
  return others.length > 0 ? [first ?? '', ...others].slice(0, MAX_ALTERNATIVES) : first;
}

function parentOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

/** Numbers are times only by their name; a text with a date, a clock and a zone says so itself. */
function isTimeOfEvent({ values, words, isInside }: Candidate): boolean {
  return (
    !isInside &&
    !OTHER_TIMES.test(words) &&
    values.filter((value) => readTime(value) !== null).length * 2 > values.length
  );
}

function isId({ values, isInside }: Candidate): boolean {
  const isText =
    !isInside && values.every((value) => typeof value === 'string' || typeof value === 'number');
  return isText && (values.length === 1 || new Set(values).size > 1);
}

/** A type that is the same in all records, or says only that they are records, is not what was done. */
function isAction({ values, words, isInside, pointer }: Candidate): boolean {
  if (pointer.endsWith('/@type')) return false; // of JSON-LD and protobuf: what kind of object it is
  if (isInside && !words.endsWith(' action')) return false;
  const isText = values.every(
    (value) => (typeof value === 'string' || typeof value === 'number') && value !== '',
  );
  if (!isText || words !== 'type') return isText;
  return (
    (values.length === 1 || new Set(values).size > 1) &&
    !values.some((value) => KINDS.test(String(value)))
  );
}

function isOutcome({ values, isInside }: Candidate): boolean {
  return !isInside && values.some((value) => readOutcome(value) !== null);
}

const KINDS = /^(?:(?:audit|event|log|record|entry|activity|item)s?[\s_-]?)+$/i;

/** IPv4 or IPv6, with or without a port. */
const ADDRESS =
  /^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[?(?=[\da-f:.]*:[\da-f:.]*:)[\da-f:.]{2,45}(?:%\w+)?\]?(?::\d+)?)$/i;

function isAddressOfActor({ values, words }: Candidate): boolean {
  return (
    !OTHER_ADDRESSES.test(words) &&
    values.every((value) => value === '' || ADDRESS.test(String(value)))
  );
}

/** By its name, else by its look: products with versions (RFC 9110, section 10.1.5). */
const USER_AGENT = /^[\w.!#$%&'*+^`|~-]+\/\d[\w.-]*(?: |$)/;

function isUserAgent({ values }: Candidate, rule: number): boolean {
  return values.every(
    (value) => typeof value === 'string' && (rule === 0 || USER_AGENT.test(value)),
  );
}

/** The best of the role's words by which records name somebody, and those that agree with it. */
function inferParty(places: readonly Candidate[], role: keyof typeof ROLES): PartyContract {
  const found = places
    .filter(({ party }) => party?.role === role)
    .flatMap(describe)
    .sort(byFit);
  const best = found.find(({ attribute }) => attribute !== 'type') ?? found[0];
  const own = found.filter(({ word }) => word === best?.word);
  const agreeing = found.filter(({ word }) =>
    agree(
      own,
      found.filter((other) => other.word === word),
    ),
  );
  const pick = (attribute: keyof typeof PARTY) =>
    toPointers(
      [...own, ...agreeing, ...(attribute === 'type' ? found : [])]
        .filter((one) => one.attribute === attribute && one.isDirect === best?.isDirect)
        .map(({ pointer }) => pointer),
    );
  return { id: pick('id'), name: pick('name'), type: pick('type') };
}

/** Two words speak of the same party when they give it the same id or name. */
function agree(some: readonly Attribute[], others: readonly Attribute[]): boolean {
  return some.some(({ attribute, values: [first] }) =>
    others.some(
      (other) => other.attribute === attribute && attribute !== 'type' && other.values[0] === first,
    ),
  );
}

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

function describe({ party, pointer, depth, values }: Candidate): readonly Attribute[] {
  if (
    party === null ||
    !values.every(
      (value) => typeof value === 'number' || (typeof value === 'string' && !/^[{[]/.test(value)),
    )
  )
    return [];
  const { rest, word } = party;
  if (rest === '') {
    if (values.some((value) => KINDS.test(String(value)))) return [];
    const isAll = (rule: RegExp) => values.every((value) => rule.test(String(value)));
    const isKind = party.role === 'target' && isAll(KIND);
    const attribute = isKind ? 'type' : isAll(OPAQUE) ? 'id' : 'name';
    return [{ attribute, rule: BARE, word, isDirect: true, depth, pointer, values }];
  }
  for (const isDirect of [true, false]) {
    const text = isDirect ? rest : rest.replace(/^\S+ /, '');
    for (const attribute of ['id', 'name', 'type'] as const) {
      const rule = PARTY[attribute].findIndex((candidate) => candidate.test(text));
      if (rule >= 0) return [{ attribute, rule, word, isDirect, depth, pointer, values }];
    }
  }
  return [];
}

/** A role's word alone is the last choice. */
const BARE = 9;

/** How programs write the kind of a thing. */
const KIND = /^(?:[A-Z]+(?:_[A-Z]+)*|(?:[A-Z][a-z]+)+)$/;

/** What no person reads: a number, a UUID, a long run of hexadecimal or base64 digits. */
const OPAQUE =
  /^(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,}|(?=\D*\d)(?=.*[A-Z])[\w+/=-]{20,})$/i;
