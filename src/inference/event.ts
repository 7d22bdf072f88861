import type { EventContract, PartyContract, Pointers } from '../mapping/contract.ts';
import { parseOutcome } from '../mapping/outcome.ts';
import { parseTime } from '../mapping/time.ts';
import { lazy } from '../util/memoize.ts';
import {
  type ClassifiedField,
  classify,
  parentPointer,
  RECORD_KINDS,
  selectPointers,
  toPointers,
} from './classify.ts';
import { inferParty } from './party.ts';
import { profileFields } from './profile.ts';
import { EVENT, FIRST_GUESS } from './vocabulary.ts';

/** Tells from some records where each of their kind holds what. */
export function inferEvent(records: readonly unknown[]): EventContract {
  const entries = inferEventLazily(records);
  return {
    id: entries.id(),
    occurredAt: entries.occurredAt(),
    action: entries.action(),
    outcome: entries.outcome(),
    actor: readAll(entries.actor),
    target: readAll(entries.target),
    ipAddress: entries.ipAddress(),
    userAgent: entries.userAgent(),
  };
}

/** The same, where an entry is told when it is asked for; the records are looked at when the first one is. */
export function inferEventLazily(records: readonly unknown[]) {
  const found = lazy(() =>
    profileFields(records)
      .map((place) => classify(place))
      .filter(({ path, traits }) => path !== '' && !traits.isAside),
  );
  const occurredAt = lazy(() => {
    const own = found().filter(({ traits }) => !traits.isForeign);
    const isTold = ({ traits: { rules, isOtherTime } }: ClassifiedField) =>
      rules.occurredAt >= 0 && rules.occurredAt < ANY_TIME && !isOtherTime;
    return selectPointers(own.some(isTold) ? own : found(), 'occurredAt', isTimeOfEvent);
  });
  // What holds the time is the record proper, whatever it is wrapped in.
  const places = lazy(() => {
    const homePath = found().find(({ pointer }) => pointer === occurredAt()[0])?.path ?? '';
    return homePath.includes('/')
      ? found().map((place) => classify(place, parentPointer(homePath)))
      : found();
  });
  const id = lazy(() => {
    const home = parentPointer(occurredAt()[0] ?? '');
    const isNear = ({ pointer, depth }: ClassifiedField) =>
      depth === 1 || parentPointer(pointer) === home;
    return selectPointers(places().filter(isNear), 'id', isId);
  });
  const others = lazy(() => places().filter(({ pointer }) => !id().includes(pointer)));
  const openParty = (role: 'actor' | 'target') => {
    const party = lazy(() => inferParty(others(), role));
    return {
      identifier: () => party().identifier,
      name: () => party().name,
      type: () => party().type,
    };
  };
  return {
    id: () => toPointers(id()),
    occurredAt: () => toPointers(occurredAt()),
    action: () => toPointers(selectPointers(places(), 'action', isAction)),
    outcome: () => toPointers(selectPointers(places(), 'outcome', isOutcome)),
    actor: openParty('actor'),
    target: openParty('target'),
    ipAddress: () => toPointers(selectPointers(places(), 'ipAddress', isAddressOfActor)),
    userAgent: () => toPointers(selectPointers(places(), 'userAgent', isUserAgent)),
  };
}

function readAll(party: Readonly<Record<keyof PartyContract, () => Pointers>>): PartyContract {
  return { identifier: party.identifier(), name: party.name(), type: party.type() };
}

/** The last rule: whatever has a time in its name. */
const ANY_TIME = EVENT.occurredAt.length - 1;

/** Most of what stands there must be an instant that is not ambiguous. */
function isTimeOfEvent({ values, traits: { isOtherTime, isInside } }: ClassifiedField): boolean {
  return !isInside && !isOtherTime && isMostly(values, (value) => parseTime(value) !== null);
}

/** Whether it holds for more than half of them; no more are looked at than it takes. */
function isMostly(values: readonly unknown[], holds: (value: unknown) => boolean): boolean {
  let count = 0;
  return values.some((value) => {
    if (holds(value)) count += 1;
    return count * 2 > values.length;
  });
}

/** The last rule. */
const SOMEBODYS = EVENT.id.length - 1;

/** Under a name that may be somebody's, as `uid`, no two are the same. */
function isId({ values, traits }: ClassifiedField, rule: number): boolean {
  const isText =
    !traits.isInside &&
    values.every((value) => typeof value === 'string' || typeof value === 'number');
  return isText && (rule < SOMEBODYS ? isVaried(values) : new Set(values).size === values.length);
}

/** A type that is the same in all records, or says only that they are records, is not what was done. */
function isAction({ values, traits: { words, isInside }, pointer }: ClassifiedField): boolean {
  if (pointer.endsWith('/@type')) return false; // of JSON-LD and protobuf: what kind of object it is
  if (isInside && !words.endsWith(' action')) return false;
  const isText = values.every((value) => typeof value === 'string' || typeof value === 'number');
  if (!isText || !/^(?:type|kind)$/.test(words)) return isText;
  return isVaried(values) && !values.some((value) => RECORD_KINDS.test(String(value)));
}

/** Whether texts and numbers are not the same in all records. */
function isVaried(values: readonly unknown[]): boolean {
  return values.length === 1 || values.some((value) => value !== values[0]);
}

function isOutcome({ values, traits }: ClassifiedField): boolean {
  return !traits.isInside && values.some((value) => parseOutcome(value) !== null);
}

const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const IPV4 = String.raw`(?:${BYTE}\.){3}${BYTE}`;

/** With or without a port. Times, versions and hardware addresses look alike, so it is looked at closely. */
const ADDRESS = new RegExp(
  String.raw`^(?:${IPV4}(?::\d+)?|\[?(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|(?=.*::)(?!.*::.*::)(?:[\da-f]{0,4}:){2,7}(?:[\da-f]{1,4}|${IPV4})?)(?:%\w+)?\]?(?::\d+)?)$`,
  'i',
);

/** Under a name that says address some may be the name of a host. */
function isAddressOfActor({ values, traits }: ClassifiedField, rule: number): boolean {
  const isAddress = (value: unknown) => ADDRESS.test(String(value));
  const isTold = rule < FIRST_GUESS.ipAddress;
  return !traits.isOtherAddress && (isTold ? values.some(isAddress) : values.every(isAddress));
}

/** By its name, else by its look: products with versions (RFC 9110, section 10.1.5). */
const USER_AGENT = /^[\w.!#$%&'*+^`|~-]+\/\d[\w.-]*(?: |$)/;

function isUserAgent({ values }: ClassifiedField, rule: number): boolean {
  return values.every(
    (value) => typeof value === 'string' && (rule === 0 || USER_AGENT.test(value)),
  );
}
