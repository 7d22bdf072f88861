import type { AuditEvent } from '../mapping/event.ts';
import { AUDIT_EVENT, mapFields } from '../mapping/event-fields.ts';
import { compilePointer } from '../mapping/json-pointer.ts';
import { pointerMembers } from '../mapping/read-source.ts';
import { isObject } from '../mapping/values.ts';
import { EVENT_FIELDS, readPointers, usedPointers } from './event-fields.ts';

/** Why an entry is not found: completes "… is null:". The command `learn` and explain give the same reasons. */
export const NULL_REASONS = {
  ...mapFields(AUDIT_EVENT, (name) => AUDIT_EVENT[name].nullReason),
  part: 'no field next to the others has its name',
  accessToken: 'no field, or more than one, has the name of an access token',
  refreshToken: 'no field, or more than one, has the name of a refresh token',
  tokenType: 'no field has the name of a token type',
  expires: 'no field with the name of an expiry holds a lifetime or a time',
  records: 'no list of records was found, or several',
  total: 'no field or header has the name of a total',
} as const;

/** Why a field is null although it has an entry. */
export const ENTRY_REASONS = {
  contract: 'the pointer in the contract leads to no value',
  inference: 'the pointer leads to no value',
  unread: 'its values are not understood',
  none: 'the contract says that there is none',
} as const;

const NO_FORMAT = { as: undefined, split: undefined, part: undefined };

/**
 * Describes the entries of a completed contract, some of which are functions: where each was found, whether the
 * contract or inference did, in how many of the events it has a value, and why it is null in the others. The result has
 * pointers and names of the contract, but no value.
 * @param names Those of the entry: none for a whole part of a contract.
 */
export function describeMapping(
  entry: unknown,
  configured: unknown,
  events: readonly AuditEvent[] = [],
  ...names: readonly string[]
): object {
  if (typeof entry === 'function') return describeMapping(entry(), configured, events, ...names);
  if (isObject(entry) && 'style' in entry) {
    const { style, next, more, position, pages } = entry;
    const sources = [next, more, position, pages].flat().filter((source) => source !== null);
    return { style, ...describeMapping({ at: sources }, Object(configured).style) };
  }
  const { at, as, split, part } =
    isObject(entry) && 'at' in entry ? entry : { ...NO_FORMAT, at: entry };
  if (isObject(at) && !('header' in at)) {
    const described = pointerMembers(at).map(([name, part]) => {
      const given = Object(configured)[name];
      return [name, describeMapping(part, given, events, ...names, name)] as const;
    });
    return Object.fromEntries(described);
  }
  const by = configured === undefined ? 'inference' : 'contract';
  if (at === null && by === 'contract') return { at, by, why: ENTRY_REASONS.none };
  if (at === null) {
    const [, role = '', part] = names;
    const isPart = part !== undefined && events.some((event) => Object(event)[role] !== null);
    const keys = isPart ? ['part'] : names;
    return { at, why: Object.entries(NULL_REASONS).find(([key]) => keys.includes(key))?.[1] };
  }
  const field = EVENT_FIELDS.find(({ name }) => `event.${name}` === names.join('.'));
  if (field === undefined || events.length === 0) return { at, as, split, part, by };
  const records = events.map(({ raw }) => raw);
  const [first = at, ...others] = usedPointers(entry, records);
  const unread = events.filter((event) => field.read(event) === null);
  const hasValue = ({ raw }: AuditEvent) =>
    readPointers(at).some((pointer) => (compilePointer(pointer)(raw) ?? '') !== '');
  return {
    ...{ at: others.length === 0 ? first : [first, ...others], as, split, part, by },
    found: `${events.length - unread.length} of ${events.length}`,
    why: unread.length > 0 ? ENTRY_REASONS[unread.some(hasValue) ? 'unread' : by] : undefined,
  };
}
