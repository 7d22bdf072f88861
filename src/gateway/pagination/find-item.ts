import { digest } from '../../util/digest.ts';
import { visitInTurns } from '../../util/event-loop.ts';
import { memoizeByObject } from '../../util/memoize.ts';
import { identityText } from '../mapping/identity-text.ts';
import type { ListPage } from '../mapping/list-page.ts';

/** Where an item was. Lists grow and ids may repeat, so one of these alone would not find the item again. */
export type ItemPosition = {
  /** Of the item, see {@link fingerprint}. */
  readonly fingerprint: string;
  /** Of the item on its page, or {@link BEFORE_FIRST}. */
  readonly index: number;
  /**
   * From it follows by how much the list has grown: the length of its page, or the fingerprint of a partial page's first record.
   * Before the first item: 1 if pages before this one have items, else 0.
   */
  readonly origin: number | string;
};

/** Of the digests of ids and records, see {@link digest}. */
export const DIGEST_LENGTH = 22;

/** The index of no item: all items of the page come after this position. */
export const BEFORE_FIRST = -1;

/**
 * The present index of the item at a position; -1 if it is not on this page. Compares the items at the old index, counted
 * from either end because records may have been added, then all others: first by record, then by id.
 */
export async function findItem(
  page: ListPage,
  { fingerprint: wanted, index, origin }: ItemPosition,
): Promise<number> {
  const added =
    typeof origin === 'number'
      ? page.length - origin
      : ((await indexPrints(page)).records.get(origin) ?? 0);
  // The id is compared last: if ids are those of operations, several records share one.
  for (const { printOf, kind } of COMPARISONS) {
    const print = printOf(wanted);
    const isFound = (candidate: number) =>
      candidate >= 0 &&
      candidate < page.length &&
      printOf(fingerprint(page, candidate)) === print &&
      print !== NO_ID;
    const found =
      [index + added, index].find(isFound) ?? (await indexPrints(page))[kind].get(print);
    if (found !== undefined) return found;
  }
  return -1;
}

/**
 * The index of the item at a position of another page, with its id and its record; -1 if it is not on this page. Also -1 for
 * an item without an id, since others may equal it, unless pages begin with the last record of the page before them.
 */
export async function findSameItem(
  page: ListPage,
  { fingerprint: wanted }: ItemPosition,
): Promise<number> {
  if (wanted.startsWith(NO_ID) && page.paging().inclusive !== true) return -1;
  const found = (await indexPrints(page)).records.get(wanted.slice(DIGEST_LENGTH)) ?? -1;
  return found >= 0 && fingerprint(page, found) === wanted ? found : -1;
}

/** Whether a page contains the record at an index of another page. Always false for a record without an id: others may equal it. */
export async function containsRecord(
  page: ListPage,
  other: ListPage,
  index: number,
): Promise<boolean> {
  if (other.item(index).id === null) return false;
  return (await indexPrints(page)).records.has(recordPrint(other, index));
}

const COMPARISONS = [
  { kind: 'records', printOf: (fingerprint: string) => fingerprint.slice(DIGEST_LENGTH) },
  { kind: 'ids', printOf: (fingerprint: string) => fingerprint.slice(0, DIGEST_LENGTH) },
] as const;

/** The first index of each record and of each id. Built once per page, however many cursors are looked up in it. */
const indexPrints = memoizeByObject(async (page: ListPage) => {
  const prints = { records: new Map<string, number>(), ids: new Map<string, number>() };
  await visitInTurns(0, page.length, (from, to) => {
    for (let index = from; index < to; index += 1) {
      for (const { kind, printOf } of COMPARISONS) {
        const print = printOf(fingerprint(page, index));
        if (!prints[kind].has(print)) prints[kind].set(print, index);
      }
    }
    return true;
  });
  prints.ids.delete(NO_ID);
  return prints;
});

const fingerprints = memoizeByObject((_: ListPage) => new Map<number, string>());

/** Identifies an item by a hash of its id and a hash of its record: either may change while the other still matches. */
export function fingerprint(page: ListPage, index: number): string {
  const known = fingerprints(page);
  const found = known.get(index);
  if (found !== undefined) return found;
  const item = page.item(index);
  const print = `${digest(item.id ?? '', DIGEST_LENGTH)}${digest(identityText(item), DIGEST_LENGTH)}`;
  known.set(index, print);
  return print;
}

/** The part of a fingerprint that is the hash of the record. */
export function recordPrint(page: ListPage, index: number): string {
  return fingerprint(page, index).slice(DIGEST_LENGTH);
}

const NO_ID = digest('', DIGEST_LENGTH);
