import {
  type Answer,
  type AuditContract,
  finder,
  type Partially,
  type Pointers,
  take,
} from '../reading/contract.ts';
import { isObject } from '../reading/names.ts';
import { SAMPLE, type Trail } from '../reading/trail.ts';

/** The configured entries that lead to nothing in an answer that has records: either they never did, or the service changed. */
export function findDrift(
  answer: Answer,
  { event, total }: Partially<AuditContract> = {},
  trail: Trail,
): readonly string[] {
  if (trail.length === 0 || (event === undefined && total == null)) return [];
  const size = Math.min(trail.length, SAMPLE);
  const records = Array.from({ length: size }, (_, index) => trail.event(index).raw);
  const isLost = (pointers: Pointers) => {
    const find = finder(pointers);
    return records.every((record) => find(record) === null);
  };
  const lost = entriesOf(event, 'audit.event').filter(([, pointers]) => isLost(pointers));
  const isTotalLost = !answer.isCut && total != null && take(total, answer) === null;
  return [...(isTotalLost ? ['audit.total'] : []), ...lost.map(([entry]) => entry)];
}

/** The entries of a part of the contract that have a pointer, by name. */
function entriesOf(part: unknown, name: string): readonly (readonly [string, Pointers])[] {
  if (isObject(part) && 'at' in part) return entriesOf(part['at'], name);
  if (isObject(part))
    return Object.entries(part).flatMap(([key, value]) => entriesOf(value, `${name}.${key}`));
  return typeof part === 'string' || Array.isArray(part) ? [[name, part]] : [];
}
