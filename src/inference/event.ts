import type { EventContract, Lazy } from '../mapping/contract.ts';
import { firstOfList } from '../mapping/event.ts';
import { AUDIT_EVENT, mapFields } from '../mapping/event-fields.ts';
import { compilePointer } from '../mapping/json-pointer.ts';
import { compileTime, parseTime } from '../mapping/time.ts';
import { isObject, parseHttpStatus, parseOutcome } from '../mapping/values.ts';
import { lazy } from '../util/memoize.ts';
import {
  type ClassifiedField,
  classifyField,
  GENERIC_TYPE,
  parentOf,
  rankFields,
  toPointers,
} from './classify-paths.ts';
import { inferParty } from './party.ts';
import { profileFields } from './profile-fields.ts';
import { EVENT_NAMES, FIRST_WEAK_PATTERN, UTC } from './vocabulary.ts';

/** Infers from a sample of records which field holds what. */
export function inferEvent(records: readonly unknown[]): EventContract {
  return inferAll(inferEventLazily(records)) as EventContract; // every function is replaced by what it infers
}

function inferAll(part: unknown): unknown {
  if (typeof part === 'function') return part();
  if (!isObject(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, inferAll(entry)]));
}

/** A field without an entry below is read only if the contract has one. */
const NOT_INFERRED = mapFields(AUDIT_EVENT, () => null);

/** Like `inferEvent`, but infers an entry when it is first read. The records are profiled with the first one. */
export function inferEventLazily(records: readonly unknown[]): Lazy<EventContract> {
  const allFields = lazy(() =>
    profileFields(records)
      .map((field) => classifyField(field))
      .filter(({ path, meaning }) => path !== '' && !meaning.isExcluded),
  );
  const times = lazy(() => {
    const own = allFields().filter(({ meaning }) => !meaning.isInOtherObject);
    const hasSpecificName = ({ meaning: { ranks, isOtherTime } }: ClassifiedField) =>
      ranks.occurredAt >= 0 && ranks.occurredAt < ANY_TIME && !isOtherTime;
    const candidates = own.some(hasSpecificName) ? own : allFields();
    const rank = (isUtc: (field: ClassifiedField) => boolean) =>
      rankFields(candidates, 'occurredAt', (field) => isTimeOfEvent(field, isUtc(field)));
    const found = rank(({ meaning }) => UTC.test(meaning.words));
    if (found.length > 0) return found;
    return rank(() => true)
      .slice(0, 1)
      .filter((time) => allFields().some((other) => isSameInUtc(records, time, other)));
  });
  const timeField = lazy(() => allFields().find(({ pointer }) => pointer === times()[0]) ?? null);
  // The object that holds the time is the actual record: paths are classified relative to it.
  const fields = lazy(() => {
    const timePath = timeField()?.path ?? '';
    return timePath.includes('/')
      ? allFields().map((field) => classifyField(field, parentOf(timePath)))
      : allFields();
  });
  const id = lazy(() => {
    // In MongoDB Extended JSON, a value is wrapped: `{"$oid": …}`.
    const objectOf = (pointer: string) => parentOf(pointer.replace(/\/\$\w+$/, ''));
    const records = ['', objectOf(timeField()?.pointer ?? '')];
    const own = fields().filter(({ pointer }) => records.includes(objectOf(pointer)));
    const ofEvent = fields().filter(({ path }) => path === 'event/id');
    const ranked = rankFields(own, 'id', isId);
    return ranked.length > 0 ? ranked : rankFields(ofEvent, 'id', isId);
  });
  const fieldsButId = lazy(() => fields().filter(({ pointer }) => !id().includes(pointer)));
  // An event that has a type and a name is named after the action: `{"type": "user", "name": "user_created"}`.
  const isNamed = lazy(() => fields().some(({ path }) => path === 'event/name'));
  const fieldsOfAction = () => fields().filter(({ path }) => path !== 'event/type' || !isNamed());
  const inferPartyLazily = (role: 'actor' | 'target') => {
    const party = lazy(() => inferParty(fieldsButId(), role));
    return {
      identifier: () => party().identifier,
      name: () => party().name,
      type: () => party().type,
    };
  };
  return {
    ...NOT_INFERRED,
    id: () => toPointers(id()),
    occurredAt: (): EventContract['occurredAt'] => {
      const at = toPointers(times());
      const hasZone = isMajority(timeField()?.values ?? [], (value) => parseTime(value) !== null);
      return at === null || hasZone ? at : { at, as: 'iso8601', zone: 'UTC' };
    },
    action: () => toPointers(rankFields(fieldsOfAction(), 'action', isAction)),
    outcome: () => toPointers(rankFields(fields(), 'outcome', isOutcome)),
    actor: inferPartyLazily('actor'),
    target: inferPartyLazily('target'),
    ipAddress: () => toPointers(rankFields(fields(), 'ipAddress', isAddressOfActor)),
    userAgent: () => toPointers(rankFields(fields(), 'userAgent', isUserAgent)),
  };
}

/** Index of the last pattern, which matches any name with a word for a time. */
const ANY_TIME = EVENT_NAMES.occurredAt.length - 1;

/** Accepts a field if most of its values are unambiguous instants: in UTC, those without a zone are. */
function isTimeOfEvent({ values, meaning }: ClassifiedField, isUtc: boolean): boolean {
  const { isOtherTime, isInParty } = meaning;
  const parse = isUtc ? parseInUtc : parseTime;
  return !isInParty && !isOtherTime && isMajority(values, (value) => parse(value) !== null);
}

const parseInUtc = compileTime({ as: 'iso8601', zone: 'UTC' });

/** Whether another field has a zone, and is in the same second as a time in UTC in every record that has both. */
function isSameInUtc(
  records: readonly unknown[],
  time: string,
  { pointer, values }: ClassifiedField,
): boolean {
  if (parseTime(values[0]) === null) return false;
  const [read, readOther] = [compilePointer(time), compilePointer(pointer)];
  const pairs = records
    .map((record) => [parseInUtc(read(record)), parseTime(readOther(record))])
    .filter((pair) => !pair.includes(null));
  return (
    pairs.length > 0 && pairs.every(([one, other]) => one?.slice(0, 19) === other?.slice(0, 19))
  );
}

/** Whether a condition holds for more than half of the values. Stops as soon as it does. */
function isMajority(values: readonly unknown[], holds: (value: unknown) => boolean): boolean {
  let count = 0;
  return values.some((value) => {
    if (holds(value)) count += 1;
    return count * 2 > values.length;
  });
}

/** Index of the first pattern of names such as `uid` or `txid`, which may identify something else than the record. */
const AMBIGUOUS_ID = EVENT_NAMES.id.length - 2;

/** Accepts text and numbers that vary between records. With an ambiguous name, no two may be equal. */
function isId({ values, meaning }: ClassifiedField, rank: number): boolean {
  if (meaning.isInParty || !values.every(isTextOrNumber)) return false;
  return rank < AMBIGUOUS_ID ? isVaried(values) : new Set(values).size === values.length;
}

/** Accepts text and numbers that say more than "audit event". A `type` or `kind` must vary. */
function isAction({ values, meaning: { words, isInParty }, pointer }: ClassifiedField): boolean {
  if (pointer.endsWith('/@type')) return false; // the type of the object, in JSON-LD and protobuf
  if (isInParty && !words.endsWith(' action')) return false;
  if (!values.every(isTextOrNumber)) return false;
  const isGeneric = (value: unknown) => GENERIC_TYPE.test(String(value));
  if (/^(?:type|kind)$/.test(words)) return isVaried(values) && !values.some(isGeneric);
  return words.startsWith('action') || !values.every(isGeneric);
}

function isTextOrNumber(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

/** Whether the values are not all the same. One value alone counts as varied. */
function isVaried(values: readonly unknown[]): boolean {
  return values.length === 1 || values.some((value) => value !== values[0]);
}

/** Accepts outcomes in words and, with the last pattern, HTTP statuses. Any other number is a code of the service. */
function isOutcome({ values, meaning }: ClassifiedField, rank: number): boolean {
  const isNamed = rank === EVENT_NAMES.outcome.length - 1;
  const isStatus = isNamed && values.every((value) => parseHttpStatus(value) !== null);
  return !meaning.isInParty && (isStatus || values.some((value) => parseOutcome(value) !== null));
}

const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const IPV4 = String.raw`(?:${BYTE}\.){3}${BYTE}`;

/** An IPv4 or IPv6 address, with or without a port. Strict, because times, versions and MAC addresses look similar. */
const ADDRESS = new RegExp(
  String.raw`^(?:${IPV4}(?::\d+)?|\[?(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|(?=.*::)(?!.*::.*::)(?:[\da-f]{0,4}:){2,7}(?:[\da-f]{1,4}|${IPV4})?)(?:%\w+)?\]?(?::\d+)?)$`,
  'i',
);

/** Accepts IP addresses, and lists of them. If the name says "ip", one address is enough; the rest may be host names. */
function isAddressOfActor({ values, meaning }: ClassifiedField, rank: number): boolean {
  const isAddress = (value: unknown) => ADDRESS.test(String(firstOfList(value)));
  const isStrong = rank < FIRST_WEAK_PATTERN.ipAddress;
  return !meaning.isOtherAddress && (isStrong ? values.some(isAddress) : values.every(isAddress));
}

/** A product with a version (RFC 9110, section 10.1.5). Required unless the name is `user agent`. */
const USER_AGENT = /^[\w.!#$%&'*+^`|~-]+\/\d[\w.-]*(?: |$)/;

function isUserAgent({ values }: ClassifiedField, rank: number): boolean {
  return values.every(
    (value) => typeof value === 'string' && (rank === 0 || USER_AGENT.test(value)),
  );
}
