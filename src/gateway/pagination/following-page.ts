import { GatewayError, isPageRefusal, isPassing } from '../../errors.ts';
import type { ListPage } from '../mapping/list-page.ts';
import { splitMemberName } from '../mapping/member-names.ts';
import type { PageToken } from '../mapping/next-page.ts';
import { SIZE_PARAMETER } from '../mapping/vocabulary.ts';
import type { CursorPosition, FollowingPage } from './cursor.ts';
import { findSameItem } from './find-item.ts';

/** Where a page is that a cursor names as the page after its item: records may have moved since. */
type Place =
  /** The page follows the item. */
  | 'follows'
  /** Records were added: the page contains the item, and others after it. */
  | 'contains'
  /** Nothing shows that records have moved, or that they have not. */
  | 'unclear'
  /** Records have moved, or the service refuses the page: the item has to be found from its own page on. */
  | 'elsewhere';

/**
 * Fetches the page that a cursor names as the page after its item. The page of the item is requested again only if it is
 * unclear whether records have moved. If that request fails for a reason that may pass, the next page counts: under a rate
 * limit of one request at a time, no read would succeed otherwise.
 * @throws GatewayError if the page fails, but is not refused.
 */
export async function placeFollowing(
  fetchPage: (token: PageToken | null) => Promise<ListPage>,
  position: CursorPosition | null,
): Promise<Exclude<Place, 'unclear'>> {
  if (position?.following === undefined) return 'elsewhere';
  const fetchUnless = (isExpected: typeof isPageRefusal, token: PageToken | null) =>
    fetchPage(token).catch((error: unknown) => {
      if (error instanceof GatewayError && isExpected(error.extensions)) return null;
      throw error;
    });
  const page = await fetchUnless(isPageRefusal, position.following.token);
  const place = page === null ? 'elsewhere' : await placeOf(page, position, position.following);
  if (place !== 'unclear') return place;
  return (await fetchUnless(isPassing, position.token)) === null ? 'follows' : 'elsewhere';
}

/**
 * The place of a page, from its times, its total and its records. A service knows what follows its cursors, but a page that
 * is requested by a number moves with the list: it has to go on with older records, or the total to be the same.
 */
async function placeOf(
  page: ListPage,
  position: CursorPosition,
  { token, total, time }: FollowingPage,
): Promise<Place> {
  // Some services respond so to a cursor that has expired.
  if (page.length === 0) return 'unclear';
  const timeAt = (index: number) => page.item(index).occurredAt ?? null;
  const step = compareTimes(time, timeAt(0));
  const isTurned = step * compareTimes(timeAt(0), timeAt(page.length - 1)) < 0;
  const isByRecord = /^last-/.test(page.paging().style);
  const isNumbered = !isByRecord && isCounted(token, position.token);
  const present = page.total();
  const growth = total === null || present === null ? null : Math.sign(present - total);
  if (!isTurned && (isNumbered ? step < 0 && !growth : step !== 0)) return 'follows';
  const found = await findSameItem(page, position);
  if (found >= 0) return found < page.length - 1 ? 'contains' : 'elsewhere';
  if (isTurned || (isNumbered && growth === -1)) return 'elsewhere';
  const isCertain = isNumbered ? growth === 0 : !isByRecord;
  return isCertain ? 'follows' : 'unclear';
}

/** Whether a page is requested by a number that the page before it does not have: of a page or a record, also in a link. */
function isCounted(token: PageToken, before: PageToken | null): boolean {
  const known = new Set(parametersOf(before).map(String));
  return parametersOf(token).some(
    (one) =>
      /^\d+$/.test(one[1]) &&
      !SIZE_PARAMETER.test(splitMemberName(one[0]).words) &&
      !known.has(String(one)),
  );
}

function parametersOf(token: PageToken | null): readonly (readonly [string, string])[] {
  if (token === null) return [];
  return 'link' in token ? [...new URLSearchParams(token.link)] : [[token.parameter, token.value]];
}

/** 1 if the second time is later, -1 if it is earlier, 0 if they are equal or one is unknown. */
function compareTimes(one: string | null, other: string | null): number {
  return one === null || other === null ? 0 : Number(other > one) - Number(other < one);
}
