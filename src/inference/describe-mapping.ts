import type { AuditEvent } from '../mapping/event.ts';
import { compilePointer } from '../mapping/json-pointer.ts';
import { pointerMembers } from '../mapping/read-source.ts';
import { isObject } from '../mapping/values.ts';
import { EVENT_FIELDS, readPointers, usedPointers } from './event-fields.ts';
import { ENTRY_REASONS, NULL_REASONS } from './null-reasons.ts';

const REASONS: Readonly<Record<string, string>> = NULL_REASONS;

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
  const { at, as } = isObject(entry) && 'at' in entry ? entry : { at: entry, as: undefined };
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
    return { at, why: (isPart ? ['part'] : names).map((name) => REASONS[name]).find(Boolean) };
  }
  const field = EVENT_FIELDS.find(({ name }) => `event.${name}` === names.join('.'));
  if (field === undefined || events.length === 0) return { at, as, by };
  const records = events.map(({ raw }) => raw);
  const [first = at, ...others] = usedPointers(entry, records);
  const unread = events.filter((event) => field.read(event) === null);
  const hasValue = ({ raw }: AuditEvent) =>
    readPointers(at).some((pointer) => (compilePointer(pointer)(raw) ?? '') !== '');
  return {
    ...{ at: others.length === 0 ? first : [first, ...others], as, by },
    found: `${events.length - unread.length} of ${events.length}`,
    why: unread.length > 0 ? ENTRY_REASONS[unread.some(hasValue) ? 'unread' : by] : undefined,
  };
}
