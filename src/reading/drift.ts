import {
  type Answer,
  type AuditContract,
  find,
  type Partially,
  type Pointers,
  take,
} from './contract.ts';
import { isObject } from './names.ts';

/** The configured entries that lead to nothing in an answer that has these records: either they never did, or the service changed. */
export function findDrift(
  answer: Answer,
  { event, total }: Partially<AuditContract>,
  records: readonly unknown[],
): readonly string[] {
  if (records.length === 0) return [];
  const isLost = (pointers: Pointers) => records.every((record) => find(pointers, record) === null);
  const lost = entriesOf(event, 'audit.event').filter(([, pointers]) => isLost(pointers));
  const isTotalLost = total != null && take(total, answer) === null;
  return [...(isTotalLost ? ['audit.total'] : []), ...lost.map(([entry]) => entry)];
}

/** The entries of a part of the contract that have a pointer, by name. */
function entriesOf(part: unknown, name: string): readonly (readonly [string, Pointers])[] {
  if (isObject(part) && 'at' in part) return entriesOf(part['at'], name);
  if (isObject(part))
    return Object.entries(part).flatMap(([key, value]) => entriesOf(value, `${name}.${key}`));
  return typeof part === 'string' || Array.isArray(part) ? [[name, part]] : [];
}
