import type { Pointers, Source } from '../mapping/contract.ts';
import type { PointerReader } from '../mapping/json-pointer.ts';
import { type ListPage, SAMPLE_SIZE } from '../mapping/list-page.ts';
import { compilePointers, pointerMembers, readSource } from '../mapping/read-source.ts';
import { isObject } from '../mapping/values.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { memoizeByObject } from '../util/memoize.ts';

/** The configured entries of a list: its total, and those of a record. */
type ConfiguredList = {
  readonly total: Source | undefined;
  readonly record: object | undefined;
  /** Their names in the contract, such as `audit.total` and `audit.event`. */
  readonly names: Readonly<Record<'total' | 'record', string>>;
};

/**
 * Finds drift: configured entries that resolve to nothing, although the response has records. The contract is wrong, or
 * the service has changed.
 * @returns names of entries, such as `audit.event.actor.name`.
 */
export function findDrift(
  response: UpstreamResponse,
  page: ListPage,
  { total, record, names }: ConfiguredList,
): readonly string[] {
  if (page.length === 0 || (record === undefined && total == null)) return [];
  const length = Math.min(page.length, SAMPLE_SIZE);
  const sample = Array.from({ length }, (_, index) => page.item(index).raw);
  const isMissing = (read: PointerReader) => sample.every((one) => read(one) == null);
  const missing = readersOf(record ?? {}).filter(([, read]) => isMissing(read));
  const isTotalMissing =
    !response.isPartial && total != null && readSource(total, response) === null;
  const entries = [...new Set(missing.map(([entry]) => `${names.record}.${entry}`))];
  return isTotalMissing ? [names.total, ...entries] : entries;
}

const readersOf = memoizeByObject((record: object) =>
  listEntries(record).map(([entry, pointers]) => [entry, compilePointers(pointers)] as const),
);

/** Lists the entries of a part of the contract, with their full names. */
function listEntries(part: unknown, name = ''): readonly (readonly [string, Pointers])[] {
  // All pointers of joined texts must resolve; of a list without `join`, one is sufficient.
  if (isObject(part) && 'join' in part && Array.isArray(part['at']))
    return part['at'].flatMap((pointer) => listEntries(pointer, name));
  if (isObject(part) && 'at' in part) return listEntries(part['at'], name);
  if (isObject(part))
    return pointerMembers(part).flatMap(([key, value]) =>
      listEntries(value, name === '' ? key : `${name}.${key}`),
    );
  return typeof part === 'string' || Array.isArray(part) ? [[name, part]] : [];
}
