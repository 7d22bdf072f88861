import { OperationError } from '../client/errors.ts';
import type { Explanation } from '../client/explanation.ts';
import {
  AuditDocument,
  type AuditFilter,
  type AuditQuery,
} from '../client/operations.generated.ts';
import { ENOUGH_OLD } from '../gateway/mapping/late-records.ts';
import type { AuditEvent } from './event-fields.ts';
import { failureOfQuery, type WaitingSession } from './wait-for-service.ts';

/** A page of the trail, in the trail's order. */
export type TrailPage = {
  readonly events: readonly AuditEvent[];
  /** Where the next page begins. */
  readonly cursor: string | null;
  /** Where this page began. */
  readonly after: string | null;
  /** Whether there are more. */
  readonly hasNext: boolean;
  readonly explanation: Explanation | undefined;
};

/** What to read of the trail. */
export type TrailOptions = {
  readonly filter: AuditFilter;
  /** The cursor to begin after. Null: at the start. */
  readonly after: string | null;
  /** Events to read at most. */
  readonly limit: number;
  readonly withRaw: boolean;
};

/** Events of a page. With 20 values each they are within the 50,000 values that a response may have. */
const PAGE = 1000;

/**
 * Reads the trail page by page, until its end, or until only events before `filter.since` follow.
 * @throws OperationError if a page fails, or if the next one cannot be requested.
 */
export async function* readTrail(
  session: WaitingSession,
  { filter, after: start, limit, withRaw }: TrailOptions,
): AsyncGenerator<TrailPage> {
  let after = start;
  let max = PAGE;
  let size = PAGE;
  let left = limit;
  let hasEvents = false;
  let isChecked = false;
  const passed = new Set<string | null>(); // cursors since the last event
  while (left > 0) {
    let first = 0;
    const { data, errors, extensions } = await session.wait.repeat(async () => {
      first = Math.min(size, left);
      size = Math.ceil(first / 4); // a proxy may not wait for a large response: without one, a repetition takes less
      const result = await session.request(AuditDocument, { first, after, filter, withRaw });
      size = first;
      return result;
    }, failureOfQuery);
    const [error] = errors ?? [];
    if (error?.extensions?.code === 'OPERATION_TOO_COMPLEX' && first > 1) {
      max = size = Math.ceil(first / 4);
      continue;
    }
    size = Math.min(max, 2 * first);
    if (!data?.audit || error)
      throw new OperationError(error ?? { message: 'The response has no data.' });
    const { nodes, pageInfo } = requirePage(data.audit);
    const cursor = pageInfo.endCursor ?? after;
    left -= nodes.length;
    const hasNext = pageInfo.hasNextPage;
    yield { events: nodes, cursor, after, hasNext, explanation: extensions?.explain };
    if (!hasNext || left <= 0) return;
    if (nodes.length > 0) passed.clear();
    passed.add(after);
    if (passed.has(cursor)) throw new OperationError({ message: NO_NEXT });
    hasEvents ||= nodes.some(({ occurredAt }) => occurredAt !== null);
    // Each check is a request: one after the first short page, which is often all, and after each without events.
    if (filter.since != null && nodes.length < (isChecked ? 1 : first)) {
      isChecked = true;
      if (await isPast(session, cursor, filter.since, hasEvents)) return;
    }
    after = cursor;
  }
}

const NO_NEXT =
  'The gateway says that a page follows, but not where it begins: report that to those who run it.';

type Page = NonNullable<AuditQuery['audit']>;

function requirePage(page: Page): Page {
  const { hasNextPage, endCursor } = Object(page.pageInfo);
  requireEvents(page.nodes);
  if (typeof hasNextPage === 'boolean' && (endCursor === null || typeof endCursor === 'string'))
    return page;
  throw new OperationError({ message: NO_GATEWAY });
}

/**
 * Checks a list of events: `--gateway` may lead to a server that is no gateway.
 * @throws OperationError if it is none.
 */
export function requireEvents(nodes: unknown): void {
  const isEvent = (node: unknown) => typeof node === 'object' && node !== null;
  if (!Array.isArray(nodes) || !nodes.every(isEvent))
    throw new OperationError({ message: NO_GATEWAY });
}

const NO_GATEWAY = 'The response does not match the schema of Keytrail: check --gateway.';

/**
 * Whether the trail begins with its newest event, and all that follow a cursor are from before an instant. `hasNewer` says
 * that there are newer ones before the cursor.
 */
async function isPast(
  session: WaitingSession,
  after: string | null,
  since: string,
  hasNewer: boolean,
): Promise<boolean> {
  const read = async (variables: { readonly first: number; readonly after?: string | null }) => {
    const request = () => session.request(AuditDocument, variables);
    const { data } = await session.wait.repeat(request, failureOfQuery);
    const nodes = data?.audit ? requirePage(data.audit).nodes : [];
    return nodes.map(({ occurredAt }) => occurredAt);
  };
  const millis = since.slice(0, 23); // times of events are cut to milliseconds
  const isOld = (time: string | null) => time !== null && time < millis;
  if (!(await read({ first: 1, after })).every(isOld)) return false; // pages may be small
  const next = await read({ first: ENOUGH_OLD, after });
  if (next.length < ENOUGH_OLD || !next.every(isOld)) return false;
  const [newest] = hasNewer ? [since] : await read({ first: 1 });
  return newest != null && newest > (next.at(-1) ?? '');
}
