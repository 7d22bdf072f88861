import { GatewayError } from '../errors.ts';
import { type AuditEvent, readEvent } from './event.ts';
import { fold, isObject, lookUp, membersOf, NAMES } from './names.ts';

/** An audit trail as one answer of the service gives it. */
export type Trail = {
  /** The whole answer. */
  readonly raw: unknown;
  readonly length: number;
  /** How many records there are in all by the service's word; null when it does not say. */
  readonly total: number | null;
  /** The event at an index from 0 to length - 1, in the service's order; each is read when it is first asked for. */
  event(index: number): AuditEvent;
};

/**
 * Reads an answer of the audit trail.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it has no list of records.
 */
export function readTrail({ body }: { readonly body: unknown }): Trail {
  const records = findRecords(body);
  const events: AuditEvent[] = [];
  const total = lookUp(membersOf(body), NAMES.total);
  return {
    raw: body,
    length: records.length,
    total: typeof total === 'number' && Number.isSafeInteger(total) ? total : null,
    event: (index) => {
      events[index] ??= readEvent(records[index]);
      return events[index];
    },
  };
}

/** The answer itself when it is an array, else its only array of objects one level down; a usual name comes first. */
function findRecords(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  const lists = Object.entries(isObject(body) ? body : {}).filter(isListOfObjects);
  const filled = lists.filter(([, list]) => list.length > 0);
  const usual = [...filled, ...lists].filter(([key]) => isUsual(fold(key)));
  const others = filled.length > 0 ? filled : lists;
  // An empty list of a usual name says that there is nothing; another list beside it is no trail.
  const [found] = usual.length > 0 ? usual : others.length === 1 ? others : [];
  if (found === undefined)
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_RECORDS' });
  return found[1];
}

function isUsual(folded: string): boolean {
  return NAMES.records.some((name) => name === folded);
}

function isListOfObjects(entry: [string, unknown]): entry is [string, unknown[]] {
  return Array.isArray(entry[1]) && entry[1].every(isObject);
}
