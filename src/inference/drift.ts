import {
  type AuditContract,
  compilePointers,
  type DeepPartial,
  type EventContract,
  type Pointers,
  readSource,
} from '../mapping/contract.ts';
import type { PointerReader } from '../mapping/json-pointer.ts';
import { SAMPLE_SIZE } from '../mapping/list-page.ts';
import type { Trail } from '../mapping/trail.ts';
import { isObject } from '../mapping/values.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { memoizeByObject } from '../util/memoize.ts';

/**
 * Finds drift: configured entries that resolve to nothing, although the response has records. The contract is wrong, or
 * the service has changed.
 * @returns names of entries, such as `audit.event.actor.name`.
 */
export function findDrift(
  response: UpstreamResponse,
  { event, total }: DeepPartial<AuditContract> = {},
  trail: Trail,
): readonly string[] {
  if (trail.length === 0 || (event === undefined && total == null)) return [];
  const length = Math.min(trail.length, SAMPLE_SIZE);
  const sample = Array.from({ length }, (_, index) => trail.item(index).raw);
  const isMissing = (read: PointerReader) => sample.every((record) => read(record) == null);
  const missing = readersOf(event ?? {}).filter(([, read]) => isMissing(read));
  const isTotalMissing =
    !response.isPartial && total != null && readSource(total, response) === null;
  return [...(isTotalMissing ? ['audit.total'] : []), ...missing.map(([entry]) => entry)];
}

const readersOf = memoizeByObject((event: DeepPartial<EventContract>) =>
  listEntries(event, 'audit.event').map(
    ([entry, pointers]) => [entry, compilePointers(pointers)] as const,
  ),
);

/** Lists the entries of a part of the contract, with their full names. */
function listEntries(part: unknown, name: string): readonly (readonly [string, Pointers])[] {
  if (isObject(part) && 'at' in part) return listEntries(part['at'], name);
  if (isObject(part))
    return Object.entries(part).flatMap(([key, value]) => listEntries(value, `${name}.${key}`));
  return typeof part === 'string' || Array.isArray(part) ? [[name, part]] : [];
}
