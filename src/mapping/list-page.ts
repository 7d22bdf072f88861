import { GatewayError } from '../errors.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { lazy } from '../util/memoize.ts';
import type { LazyListContract } from './contract.ts';
import { compilePointer } from './json-pointer.ts';
import { type EntryNames, type NextPage, type PageToken, readNextPage } from './next-page.ts';
import { readSource } from './read-source.ts';
import { CONTRACT_HINT, throwOnSoftFailure } from './soft-failure.ts';
import { isCount, isObject } from './values.ts';

/** An item of a list: one record of the service, read. A cursor identifies it by both fields. */
export type ListItem = {
  /** The service's own id; null if the record has none. */
  readonly id: string | null;
  /** The record as the service sent it. */
  readonly raw: unknown;
};

/** One page of a list of the service, from one response. Items and counts are read when they are used. */
export type ListPage<Item extends ListItem = ListItem> = {
  /** The whole body; null if the response is partial. */
  readonly raw: unknown;
  /** Whether only the beginning of the response was read. */
  readonly isPartial: boolean;
  readonly entryNames: EntryNames;
  /** Number of records that were read. */
  readonly length: number;
  /** Number of records on all pages according to the service; null if it does not say. */
  total(): number | null;
  /** The item at an index from 0 to length - 1, in the service's order. */
  item(index: number): Item;
  /** How to request the next page. */
  next(): NextPage;
  /** Empties the list in the body. After that neither items nor `raw` may be read. */
  release(): void;
};

/** Number of records that are inspected to infer what all of them contain. */
export const SAMPLE_SIZE = 50;

/**
 * Reads one page of a list.
 * @param token What was requested; null for the first page.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if the response has no list of records, UPSTREAM_ERROR if its body says
 * that the request failed.
 */
export function readListPage<Item extends ListItem>(
  contract: LazyListContract,
  response: UpstreamResponse,
  reader: { readonly entryNames: EntryNames; readonly toItem: (record: unknown) => Item },
  token: PageToken | null = null,
): ListPage<Item> {
  const { body, isPartial = false } = response;
  const records = recordsAt(contract.records, body);
  if (records === null) {
    throwOnSoftFailure(response);
    const message = `The service's response has no list of records that Keytrail can find. ${CONTRACT_HINT}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_RECORDS', message });
  }
  // An empty list with a `message` is normal; with an `error` it is not.
  if (records.length === 0) throwOnSoftFailure(response, /^error$/);
  const { length } = records;
  const { entryNames } = reader;
  // The page lives on after release(). Its closures must not hold the records, nor the contract inferred from them.
  const { total: totalSource, paging } = contract;
  let toItem: typeof reader.toItem | undefined = reader.toItem;
  const item = (index: number) => {
    if (toItem === undefined) throw new Error('This page was released.');
    return toItem(records[index]);
  };
  const total = lazy(() => (isPartial ? null : toCount(readSource(totalSource(), response))));
  const facts = { length, total, lastId: () => item(length - 1).id, entryNames };
  return {
    raw: isPartial ? null : body,
    isPartial,
    entryNames,
    length,
    total,
    item,
    next: lazy(() =>
      isPartial ? { isPartial: true } : readNextPage(paging(), response, facts, token),
    ),
    release: () => {
      records.splice(0);
      toItem = undefined;
    },
  };
}

/** The records at a pointer: the items of an array, or the members of an object; null if neither is there. */
export function recordsAt(pointer: string | null, body: unknown): unknown[] | null {
  const found = pointer === null ? undefined : compilePointer(pointer)(body);
  if (Array.isArray(found)) return found;
  if (isObject(found)) return Object.values(found);
  return found === null ? [] : null;
}

/** A count beyond 2^53 has lost digits; it is then larger than any list. */
function toCount(value: unknown): number | null {
  return isCount(value) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
}
