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
const REMEMBERED = 2000;

/**
 * Creates keys, which are the same whenever an event is read again.
 * @param before Digests of events that were written before.
 */
export function createEventKeys(before: readonly string[]): EventKeys {
  const counts = new Map<string, number>();
  const order: string[] = [];
  const count = (own: string) => {
    const number = (counts.get(own) ?? 0) + 1;
    counts.set(own, number);
    order.push(own);
    if (order.length > REMEMBERED) {
      const [oldest = ''] = order.splice(0, 1);
      const rest = (counts.get(oldest) ?? 1) - 1;
      if (rest > 0) counts.set(oldest, rest);
      else counts.delete(oldest);
    }
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
