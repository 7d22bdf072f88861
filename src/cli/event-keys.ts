import { identityText } from '../pagination/find-item.ts';
import { digest } from '../util/digest.ts';
import type { AuditEvent, KeyedEvent } from './event-fields.ts';

/** Adds keys to events, and remembers those of the last ones. */
export type EventKeys = {
  /** What identifies a record: SHA-256 of its members in the order of their names. Equal records have equal ones. */
  digestOf(event: AuditEvent): string;
  /** The key of a collector: the digest, and a number from the second of equal records on. */
  add(event: AuditEvent, digest: string): KeyedEvent;
};

/** Equal records are told apart if at most this number of events is between them. */
const REMEMBERED = 1000;

/**
 * Creates keys, which are the same whenever an event is read again.
 * @param before Digests of events that were written before.
 */
export function createEventKeys(before: readonly string[]): EventKeys {
  let [older, newer] = [new Map<string, number>(), new Map<string, number>()];
  const count = (own: string) => {
    if (newer.size === REMEMBERED) [older, newer] = [newer, new Map()];
    const number = (newer.get(own) ?? older.get(own) ?? 0) + 1;
    newer.set(own, number);
    return number;
  };
  for (const own of before) count(own);
  return {
    digestOf: ({ raw }) => digest(identityText({ raw })),
    add: (event, own) => {
      const number = count(own);
      return { key: number === 1 ? own : `${own}.${number}`, ...event };
    },
  };
}
