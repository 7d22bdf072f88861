import { OperationError } from '../client/errors.ts';
import { isPageRefusal } from '../errors.ts';
import { ENOUGH_OLD } from '../gateway/mapping/late-records.ts';
import type { AuditEvent } from './event-fields.ts';
import { readTrail, type TrailOptions, type TrailPage } from './read-trail.ts';
import type { WaitingSession } from './wait-for-service.ts';

/** Where an earlier run has got to. Digests are in the order of the trail. */
export type Position = {
  /** Null: the beginning. */
  readonly cursor: string | null;
  /** Digests of the last events before the cursor. Not needed if there are some after it. */
  readonly before: readonly string[];
  /** Digests of events that were read, but come after the cursor: they are read again. */
  readonly after: readonly string[];
};

/** A page after the position. */
export type ResumedPage = TrailPage & {
  /** The events of the page that come after the cursor. */
  readonly fresh: readonly AuditEvent[];
};

/** No event at the position is in the trail any more. */
export class PositionLost extends Error {
  override readonly name = 'PositionLost';
}

/** How to resume. */
type ResumeOptions = Omit<TrailOptions, 'after'> & {
  readonly digestOf: (event: AuditEvent) => string;
  /** Ends the reading. */
  readonly signal: AbortSignal;
};

/** Events that are compared to find a position again. */
const MAX_ANCHOR = 64;

/**
 * Reads on after a position. A cursor may have expired: if the request with it is refused, or leads to other events than those
 * that were there, the trail is read from its beginning, and all events up to the position are passed over. If that request is
 * refused as well, the cursor was not the reason, and its error is thrown.
 * @throws PositionLost if less than half of the events at the position are in the trail.
 * @throws OperationError if a page fails.
 */
export async function* resumeTrail(
  session: WaitingSession,
  { cursor, before, after }: Position,
  { digestOf, signal, ...trail }: ResumeOptions,
): AsyncGenerator<ResumedPage> {
  const expected = new Set(after);
  const leadsElsewhere = ({ events }: TrailPage) =>
    expected.size > 0 && !events.some((event) => expected.has(digestOf(event)));
  const held: TrailPage[] = []; // pages without events say nothing
  let isAccepted = false;
  try {
    for await (const page of readTrail(session, { ...trail, after: cursor })) {
      held.push(page);
      if (!isAccepted && leadsElsewhere(page)) {
        if (page.events.length === 0) continue;
        break;
      }
      isAccepted = true;
      for (const each of held.splice(0)) yield { ...each, fresh: each.events };
    }
  } catch (error) {
    if (isAccepted || cursor === null || !isRefused(error)) throw error;
  }
  if (isAccepted || signal.aborted) return;

  const isAfter = after.length > 0;
  const anchor = (isAfter ? after : before).slice(-MAX_ANCHOR);
  const window: TrailPage[] = []; // the last pages, which may have a part of the anchor
  let isFound = false;
  let isEmpty = true;
  for await (const page of readTrail(session, { ...trail, after: null })) {
    if (signal.aborted) return;
    isEmpty &&= page.events.length === 0;
    if (isFound) {
      yield { ...page, fresh: page.events };
      continue;
    }
    window.push(page);
    const events = window.flatMap((each) => each.events);
    const found = findAnchor(events.map(digestOf), anchor);
    if (found === null)
      while (window.slice(1).reduce((sum, each) => sum + each.events.length, 0) >= 2 * MAX_ANCHOR)
        window.shift();
    // The rest of it may be on the next page.
    isFound = found !== null && (!page.hasNext || events.length - 1 - found.last >= ENOUGH_OLD);
    if (found === null || !isFound) continue;
    const passed = new Set(events.slice(0, isAfter ? found.first : found.last + 1));
    for (const each of window)
      yield { ...each, fresh: each.events.filter((event) => !passed.has(event)) };
  }
  // An empty response says nothing: it may come from a replica that has not caught up.
  if (!isFound && !(isEmpty && isAfter)) throw new PositionLost();
}

/**
 * Whether a request is refused because of what it requests, and not because of the caller or the moment. The gateway itself
 * refuses a cursor with BAD_USER_INPUT, and a federation router may drop all but the code.
 */
function isRefused(error: unknown): boolean {
  if (!(error instanceof OperationError) || error.needsSecret) return false; // a login was refused
  const { code = '' } = error.extensions;
  const refusal = { ...error.extensions, code, retryable: error.isRetryable };
  return isPageRefusal(refusal) || code === 'BAD_USER_INPUT' || code === 'NOT_FOUND';
}

/**
 * Finds the last place in a list that has more than half of the anchor, with at most {@link ENOUGH_OLD} others in a row between
 * its parts: these arrived late. An event that only equals one of the anchor is thus not taken for it.
 */
function findAnchor(digests: readonly string[], anchor: readonly string[]) {
  let left = [...anchor];
  let [first, last, others] = [-1, -1, 0];
  const isFound = () => (anchor.length - left.length) * 2 > anchor.length;
  for (let index = digests.length - 1; index >= 0; index -= 1) {
    if (takeOne(left, digests[index] ?? '')) {
      if (last < 0) last = index;
      [first, others] = [index, 0];
    } else if (last >= 0) others += 1;
    if (others <= ENOUGH_OLD) continue;
    if (isFound()) break;
    left = [...anchor];
    [first, last, others] = [-1, -1, 0];
  }
  return isFound() ? { first, last } : null;
}

/** Removes one. Returns whether there was one. */
export function takeOne(digests: string[], own: string): boolean {
  const index = digests.indexOf(own);
  if (index < 0) return false;
  digests.splice(index, 1);
  return true;
}
