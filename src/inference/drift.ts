import {
  type AuditContract,
  compilePointers,
  type DeepPartial,
  type EventContract,
  type Pointers,
  readSource,
} from '../mapping/contract.ts';
import { SAMPLE_SIZE } from '../mapping/list-page.ts';
import { isObject } from '../mapping/tokenize-key.ts';
import type { Trail } from '../mapping/trail.ts';
import type { UpstreamResponse } from '../upstream/types.ts';

/** The configured entries that lead to nothing in an answer that has records: either they never did, or the service changed. */
export function findDrift(
  answer: UpstreamResponse,
  { event, total }: DeepPartial<AuditContract> = {},
  trail: Trail,
): readonly string[] {
  if (trail.length === 0 || (event === undefined && total == null)) return [];
  const size = Math.min(trail.length, SAMPLE_SIZE);
  const isLost = (find: (record: unknown) => unknown) => {
    for (let index = 0; index < size; index += 1)
      if (find(trail.item(index).raw) != null) return false;
    return true;
  };
  const lost = findersOf(event).filter(([, find]) => isLost(find));
  const isTotalLost = !answer.isPartial && total != null && readSource(total, answer) === null;
  return [...(isTotalLost ? ['audit.total'] : []), ...lost.map(([entry]) => entry)];
}

type Finders = readonly (readonly [entry: string, find: (record: unknown) => unknown])[];

/** Of the contracts of all gateways in this process: each is the same for all answers. */
const known = new WeakMap<object, Finders>();

function findersOf(event: DeepPartial<EventContract> = {}): Finders {
  const finders =
    known.get(event) ??
    entriesOf(event, 'audit.event').map(
      ([entry, pointers]) => [entry, compilePointers(pointers)] as const,
    );
  known.set(event, finders);
  return finders;
}

/** The entries of a part of the contract that have a pointer, by name. */
function entriesOf(part: unknown, name: string): readonly (readonly [string, Pointers])[] {
  if (isObject(part) && 'at' in part) return entriesOf(part['at'], name);
  if (isObject(part))
    return Object.entries(part).flatMap(([key, value]) => entriesOf(value, `${name}.${key}`));
  return typeof part === 'string' || Array.isArray(part) ? [[name, part]] : [];
}
