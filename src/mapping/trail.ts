import { GatewayError } from '../errors.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { lazy } from '../util/memoize.ts';
import { type LazyAuditContract, readSource } from './contract.ts';
import { AuditEvent, compileEventReaders } from './event.ts';
import { compilePointer } from './json-pointer.ts';
import { type NextPage, type PageToken, readNextPage } from './pagination.ts';
import { CONTRACT_HINT, throwOnSoftFailure } from './soft-failure.ts';
import { isObject } from './tokenize-key.ts';

/** The audit trail, or one page of it, as one answer of the service gives it. */
export type Trail = {
  /** The whole answer; null when it was cut. */
  readonly raw: unknown;
  /** Whether the answer was cut behind what is enough of it. */
  readonly isPartial: boolean;
  /** How many records were read. */
  readonly length: number;
  /** How many records there are in all by the service's word; null when it does not say. */
  total(): number | null;
  /** The event at an index from 0 to length - 1, in the service's order; it is read when it is asked for. */
  event(index: number): AuditEvent;
  /** How the trail goes on behind this answer. */
  next(): NextPage;
  /** Lets go of the records: then nothing can be read any more. */
  release(): void;
};

/** Remembers what is made of a trail for as long as that is there: one request may ask for the same many times. */
export function memoizePerTrail<Made extends object>(
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
export const SAMPLE_SIZE = 50;

/**
 * Reads an answer of the audit trail where the contract says.
 * @param step what led to this answer; null for the first.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it has no list of records, UPSTREAM_ERROR when it says that it failed.
 */
export function readTrail(
  contract: LazyAuditContract,
  answer: UpstreamResponse,
  step: PageToken | null = null,
): Trail {
  const { body, isPartial: isCut = false } = answer;
  const records = recordsAt(contract.records, body);
  if (records === null) throwOnSoftFailure(answer);
  // That nothing was found may be told by a message, too.
  else if (records.length === 0) throwOnSoftFailure(answer, /^error$/);
  if (records === null) {
    const message = `No list of records is found in the service's answer: ${CONTRACT_HINT}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_RECORDS', message });
  }
  let readers: ReturnType<typeof compileEventReaders> | undefined = compileEventReaders(
    contract.event,
  );
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
  const total = lazy(() => (isCut ? null : readCount(readSource(totalAt(), answer))));
  const page = { length, total, lastId: () => event(length - 1).id };
  const next = lazy(() => (isCut ? CUT : readNextPage(paging(), answer, page, step)));
  return {
    raw: isCut ? null : body,
    isPartial: isCut,
    length,
    total,
    event,
    next,
    release: forget,
  };
}

const CUT = { isCut: true } as const;

/** The records at a pointer: the items of a list, or the members of an object; null where neither is. */
export function recordsAt(pointer: string | null, body: unknown): unknown[] | null {
  const found = pointer === null ? undefined : compilePointer(pointer)(body);
  if (Array.isArray(found)) return found;
  if (isObject(found)) return Object.values(found);
  return found === null ? [] : null;
}

/** A count of so many digits that none can be told is more than there can be. */
function readCount(value: unknown): number | null {
  const isCount = typeof value !== 'object' && /^\d+$/.test(String(value));
  return isCount ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
}
