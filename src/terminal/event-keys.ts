import { identityText } from '../gateway/mapping/identity-text.ts';
import { digest } from '../util/digest.ts';
import { memoizeByObject } from '../util/memoize.ts';
import type { AuditEvent, KeyedEvent } from './event-fields.ts';

/** Adds keys to events, and remembers those of the last ones. */
export type EventKeys = {
  /** What identifies a record: SHA-256 of its members in the order of their names, or of what the contract names. */
  digestOf(event: AuditEvent): string;
  /** The key of a collector: the digest, and from the second of equal records on a number. */
  add(event: AuditEvent): KeyedEvent;
  /** The last keys, in the order of writing: they belong into `before` of a later run. */
  last(): readonly string[];
};

/** Equal records have different keys if at most this number of events is between them. */
const REMEMBERED = 1000;

/**
 * Creates keys. They are the same when an event is written again after the same events.
 * @param before The last keys that were written before.
 * @param identityOf What identifies a record, if the contract says so.
 */
export function createEventKeys(
  before: readonly string[],
  identityOf: ((record: unknown) => unknown) | undefined,
): EventKeys {
  const numbers = new Map<string, number>(); // by digest
  const keys: string[] = []; // a ring
  let next = 0;
  const remember = (key: string) => {
    const [own = '', number = 1] = key.split('.');
    const [oldest = '', last = 1] = keys[next]?.split('.') ?? [];
    if (numbers.get(oldest) === Number(last)) numbers.delete(oldest);
    numbers.set(own, Number(number));
    keys[next] = key;
    next = (next + 1) % REMEMBERED;
  };
  for (const key of before) remember(key);
  const digestOf = memoizeByObject(({ raw }: AuditEvent) =>
    digest(identityText({ raw, identity: identityOf?.(raw) })),
  );
  return {
    digestOf,
    add: (event) => {
      const own = digestOf(event);
      const number = (numbers.get(own) ?? 0) + 1;
      const key = number === 1 ? own : `${own}.${number}`;
      remember(key);
      return { key, ...event };
    },
    last: () => [...keys.slice(next), ...keys.slice(0, next)],
  };
}
