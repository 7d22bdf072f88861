import { GatewayError } from '../errors.ts';
import { once } from '../memo.ts';
import { type Answer, type LazyContract, take } from './contract.ts';
import { AuditEvent, createReaders } from './event.ts';
import { refuseFailed, SAY_WHERE } from './failure.ts';
import { isObject } from './names.ts';
import { type Next, readNext, type Step } from './paging.ts';
import { wayTo } from './pointer.ts';

/** The audit trail, or one page of it, as one answer of the service gives it. */
export type Trail = {
  /** The whole answer; null when it was cut. */
  readonly raw: unknown;
  /** Whether the answer was cut behind what is enough of it. */
  readonly isCut: boolean;
  /** How many records were read. */
  readonly length: number;
  /** How many records there are in all by the service's word; null when it does not say. */
  total(): number | null;
  /** The event at an index from 0 to length - 1, in the service's order; it is read when it is asked for. */
  event(index: number): AuditEvent;
  /** How the trail goes on behind this answer. */
  next(): Next;
  /** Lets go of the records: then nothing can be read any more. */
  forget(): void;
};

/** Remembers what is made of a trail for as long as that is there: one request may ask for the same many times. */
export function perTrail<Made extends object>(
  make: (trail: Trail) => Made,
): (trail: Trail) => Made {
  const known = new WeakMap<Trail, Made>();
  return (trail) => {
    const made = known.get(trail) ?? make(trail);
    known.set(trail, made);
    return made;
  };
}

/** So many records are looked at to tell what all of them hold. */
export const SAMPLE = 50;

/**
 * Reads an answer of the audit trail where the contract says.
 * @param step what led to this answer; null for the first.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it has no list of records, UPSTREAM_ERROR when it says that it failed.
 */
export function readTrail(contract: LazyContract, answer: Answer, step: Step | null = null): Trail {
  const { body, isCut = false } = answer;
  const records = listAt(contract.records, body);
  if (records === null) refuseFailed(answer);
  // That nothing was found may be told by a message, too.
  else if (records.length === 0) refuseFailed(answer, /^error$/);
  if (records === null) {
    const message = `No list of records is found in the service's answer: ${SAY_WHERE}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_RECORDS', message });
  }
  let readers: ReturnType<typeof createReaders> | undefined = createReaders(contract.event);
  const { length } = records;
  const event = (index: number) => {
    if (readers === undefined) throw new Error('This trail was forgotten.');
    return new AuditEvent(records[index], readers);
  };
  const forget = () => {
    records.splice(0);
    readers = undefined; // they may know records, too
  };
  const { total: totalAt, paging } = contract; // what is kept here must not know them either, as its events do
  const total = once(() => (isCut ? null : readCount(take(totalAt(), answer))));
  const page = { length, total, lastId: () => event(length - 1).id };
  const next = once(() => (isCut ? CUT : readNext(paging(), answer, page, step)));
  return { raw: isCut ? null : body, isCut, length, total, event, next, forget };
}

const CUT = { isCut: true } as const;

/** The records at a pointer: the items of a list, or the members of an object; null where neither is. */
export function listAt(pointer: string | null, body: unknown): unknown[] | null {
  const found = pointer === null ? undefined : wayTo(pointer)(body);
  if (Array.isArray(found)) return found;
  if (isObject(found)) return Object.values(found);
  return found === null ? [] : null;
}

/** A count of so many digits that none can be told is more than there can be. */
function readCount(value: unknown): number | null {
  const isCount = typeof value !== 'object' && /^\d+$/.test(String(value));
  return isCount ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
}
