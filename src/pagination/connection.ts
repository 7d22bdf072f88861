import { GatewayError } from '../errors.ts';
import type { NextPage, PageToken } from '../mapping/pagination.ts';
import type { Trail } from '../mapping/trail.ts';
import {
  type CursorPosition,
  decodeCursor,
  type Edge,
  encodeCursor,
  findItem,
  fingerprint,
} from './cursor.ts';
import { type ItemSelector, selectAllItems } from './filter.ts';

/** A window on a trail, as a connection wants it (GraphQL Cursor Connections Specification). */
export type Connection = {
  readonly edges: readonly Edge[];
  /** The cursor of the first event; undefined when there is none. */
  startCursor(): string | undefined;
  /** Where to continue: behind the last event that was looked at; undefined when there was none. */
  endCursor(): string | undefined;
  hasNextPage(): boolean;
  readonly hasPreviousPage: boolean;
  /** How many events there are on all pages; null when that cannot be told. */
  totalCount(): number | null;
  /** The answer from which the first event came. */
  readonly raw: unknown;
};

/** Which window. */
export type ConnectionArguments = {
  /** 1 to 1000; 50 where it is left out. */
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  /** Which events count; all where it is left out. */
  readonly where?: ItemSelector | undefined;
};

/** Reads the page of the service to which a step leads, null to the first; of that no more than so many events, if they are enough. */
export type FetchPage = (step: PageToken | null, enough?: number) => Promise<Trail>;

const MAX_FIRST = 1000;

/** So many pages of the service are read for one window; the cursor continues from there. */
const PAGE_BUDGET = 10;

/** GraphQL's Int ends here. */
const MAX_INT = 2 ** 31 - 1;

/**
 * Opens a window on a trail, reading pages of the service as they are needed.
 * @throws GatewayError BAD_USER_INPUT for a `first` out of range or an `after` that is no cursor;
 * UPSTREAM_BAD_RESPONSE when the next page is asked for and nobody said how to get it.
 */
export async function resolveConnection(
  open: FetchPage,
  { first, after, where = selectAllItems }: ConnectionArguments,
): Promise<Connection> {
  const size = first ?? 50;
  if (size < 1 || size > MAX_FIRST) {
    throw new GatewayError('BAD_USER_INPUT', { message: '`first` must be between 1 and 1000.' });
  }
  const position = after == null ? null : decodeCursor(after);
  const matches: Edge[] = [];
  // One more than the window tells that there is more.
  const enough = where === selectAllItems && position === null ? size + 1 : undefined;
  const { visits, next } = await walk(open, { position, enough }, (visit) => {
    const { trail, step, from } = visit;
    const found = where(trail, from, size + 1 - matches.length);
    matches.push(...found.map((index) => ({ trail, step, index })));
    return matches.length < size;
  });
  const edges = matches.slice(0, size);
  const isCut = matches.length > size;
  let total: number | null = null; // many aliases may ask for it
  const endOf = () => {
    if (isCut || next() === null) return edges.at(-1);
    const last = visits.findLast(({ trail }) => trail.length > 0);
    return last && { ...last, index: last.trail.length - 1 };
  };
  return {
    edges,
    startCursor: () => edges[0] && encodeCursor(edges[0]),
    endCursor: () => {
      const end = endOf();
      return end && encodeCursor(end);
    },
    hasNextPage: () => isCut || next() !== null,
    hasPreviousPage: position !== null,
    totalCount: () => {
      total ??= count(visits, where);
      return total;
    },
    raw: (matches[0] ?? visits[0])?.trail.raw,
  };
}

/** A page of the service that was read, and what led to it. */
type Visit = {
  readonly trail: Trail;
  readonly step: PageToken | null;
  /** The index of its first event behind the cursor. */
  readonly from: number;
  /** Whether all of it ended the page before it. */
  readonly isRepeated: boolean;
};

/** Reads pages from a position on, as long as more is wanted, there is more, and the budget lasts. */
async function walk(
  open: FetchPage,
  {
    position,
    enough,
  }: { readonly position: CursorPosition | null; readonly enough: number | undefined },
  wantsMore: (visit: Visit) => boolean,
): Promise<{ readonly visits: readonly Visit[]; readonly next: () => NextPage }> {
  const visits: Visit[] = [];
  let sought = position;
  let step = position?.step ?? null;
  for (;;) {
    const trail = await open(step, step === null ? enough : undefined);
    const found =
      sought === null ? overlap(visits.at(-1)?.trail, trail) - 1 : findItem(trail, sought);
    // Where records arrived in front, the event may have moved to a later page.
    const from = sought === null || found >= 0 ? found + 1 : trail.length;
    const isRepeated = sought === null && from > 0 && from === trail.length;
    if (found >= 0) sought = null;
    const visit = { trail, step, from, isRepeated };
    visits.push(visit);
    const next = () => {
      // One page may be the one before again, as records arrived in front; where all are, there is no other.
      if (visits.length === PAGE_BUDGET && visits.slice(1).every((one) => one.isRepeated))
        return null;
      const following = trail.next();
      return visits.some((one) => isSame(one.step, following)) ? null : following;
    };
    const isWanted = wantsMore(visit) || sought !== null;
    if (!isWanted) return { visits, next };
    const following = next();
    if (following !== null && 'isCut' in following) throw new Error('cut before it was enough');
    if (following === null || 'missing' in following || visits.length === PAGE_BUDGET) {
      const isUsedUp = position !== null && visits.every((one) => one.from === one.trail.length);
      if (isUsedUp && following !== null && 'missing' in following)
        throw pagingUnknown(following.missing);
      if (sought !== null) {
        throw new GatewayError('BAD_USER_INPUT', {
          message:
            'The event behind this cursor is no longer in the trail: start again without `after`.',
        });
      }
      return { visits, next };
    }
    step = following;
  }
}

function pagingUnknown(entry: string): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', {
    reason: 'PAGING_UNKNOWN',
    message: `The service has more, and how to ask it for the next page is not known: its operator must set \`${entry}\` in the file of KEYTRAIL_CONTRACT.`,
  });
}

/** How many events at the start of a page ended the one before it, because records arrived in front meanwhile. Only those with ids tell. */
function overlap(before: Trail | undefined, trail: Trail): number {
  const end = before === undefined ? -1 : before.length - 1;
  if (before === undefined || end < 0 || before.event(end).id === null) return 0;
  // An id alone may be that of an operation, which has several records.
  const isRepeated = (at: number, index: number) =>
    before.event(at).id === trail.event(index).id &&
    fingerprint(before, at) === fingerprint(trail, index);
  const size = 1 + indices(trail.length).findIndex((index) => isRepeated(end, index));
  const isRun =
    size <= before.length &&
    indices(size).every((index) => isRepeated(before.length - size + index, index));
  return isRun ? size : 0;
}

function isSame(step: PageToken | null, next: NextPage): boolean {
  return JSON.stringify(step, WAY) === JSON.stringify(next, WAY);
}

/** What leads to a page, without what lies in front of it. */
const WAY = ['link', 'parameter', 'value'];

function indices(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}

/** The service's word, or what a whole answer holds; how many match is only known of a whole one. */
function count([first]: readonly Visit[], where: ItemSelector): number | null {
  if (first === undefined) return null;
  const { trail, step } = first;
  const isWhole = step === null && trail.next() === null;
  const told = trail.total();
  const total = isWhole ? Math.max(told ?? 0, trail.length) : told;
  if (total === null || total > MAX_INT) return null;
  if (where === selectAllItems) return total;
  return isWhole ? where(trail, 0, trail.length).length : null;
}
