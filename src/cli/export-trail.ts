import { OperationError } from '../client/errors.ts';
import { AuditEventsDocument, type AuditFilter } from '../client/operations.generated.ts';
import type { AuditEvent } from './event-fields.ts';
import type { OpenSession } from './open-session.ts';
import { MAX_LATE, readTrail, type TrailPage } from './read-trail.ts';

/** How far an export has got. As JSON it is the content of a checkpoint file. */
export type Progress = {
  /** Digest of the service and the filter. */
  readonly of: string;
  /** Events before this instant are not exported. */
  readonly since: string | null;
  /** Of the live tail. Null for a trail that is read on by cursor: it begins with its oldest event, and is long. */
  readonly checkpoint: string | null;
  /** The part of the trail that is being read by cursor. Null once it was read. */
  readonly walk: Walk | null;
  /** Digests of the newest events that were written, newest first. */
  readonly recent: readonly string[];
  /** Digests of events that were written, but that the tail may deliver as well: they arrived after the checkpoint. */
  readonly overlap: readonly string[];
};

type Walk = {
  readonly cursor: string | null;
  /** Digests of events that are not written again. Where they are found, a walk from the newest event on ends. */
  readonly known: readonly string[];
  readonly isFound: boolean;
};

/** How to export. */
export type ExportOptions = {
  /** Without `since` and `until`. */
  readonly filter: AuditFilter;
  /** Where an earlier run has got to, or the beginning. */
  readonly progress: Progress | { readonly of: string; readonly since: string | null };
  /** Whether to go on with new events. */
  readonly follow: boolean;
  /** Whether to begin with the events that the trail has. */
  readonly isWhole: boolean;
  readonly digestOf: (event: AuditEvent) => string;
  /** Writes events. It resolves once they are safe. */
  readonly write: (events: readonly AuditEvent[], page?: TrailPage) => Promise<void>;
  readonly save: (progress: Progress) => void;
  /** Called when events may have been missed. */
  readonly onMissed: () => void;
  readonly onRetry: (error: unknown, delayMs: number) => void;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => Date;
  readonly signal: AbortSignal;
};

/** Events of which the digests are kept. The checkpoint of a live tail knows as many. */
const KEPT = 64;

/** Between two reads of a trail that is read on by cursor, in milliseconds. */
const EVERY_MS = 10_000;

/**
 * Exports the trail: first what it has, then what the live tail has after that. Progress is saved after each write, so
 * that an export that was killed repeats events, but loses none. If the tail may have missed events, it reads the trail
 * back to the last event that was written.
 * @throws OperationError if the trail cannot be read.
 */
export async function exportTrail(session: OpenSession, options: ExportOptions): Promise<void> {
  const { filter, digestOf, write, signal, follow } = options;
  let progress: Progress =
    'recent' in options.progress ? options.progress : await begin(session, options);
  let wasMissed = false;
  const save = (next: Partial<Progress>) => {
    progress = { ...progress, ...next };
    options.save(progress);
  };

  /** Reads by cursor. Returns whether the known events were found. */
  const walkOn = async (walk: Walk) => {
    const { checkpoint, since, recent } = progress;
    const known = countEach(walk.known);
    const pages: { readonly after: string | null; readonly digests: readonly string[] }[] = [];
    const first: string[] = [];
    let last: string[] = [];
    let firstTime: string | null = null;
    let isAscending = checkpoint === null;
    let { isFound } = walk;
    let afterFound = 0;
    const trail = { filter: { ...filter, since }, after: walk.cursor, withRaw: true };
    for await (const page of readTrail(session, { ...trail, limit: Number.POSITIVE_INFINITY })) {
      const fresh: AuditEvent[] = [];
      const digests = page.events.map(digestOf);
      let isEnd = false;
      for (const [index, event] of page.events.entries()) {
        const own = digests[index] ?? '';
        firstTime ??= event.occurredAt;
        if (firstTime !== null && event.occurredAt !== null && event.occurredAt !== firstTime)
          isAscending = event.occurredAt > firstTime;
        if (takeOne(known, own)) isFound = true;
        else {
          fresh.push(event);
          if (first.length < KEPT) first.push(own);
          last = [own, ...last.slice(0, KEPT - 1)];
          if (isFound) afterFound += 1;
        }
        const isDue = known.size === 0 || afterFound >= MAX_LATE;
        isEnd = checkpoint !== null && isFound && !isAscending && isDue;
        if (isEnd) break;
      }
      await write(fresh, page);
      pages.push({ after: page.after, digests });
      // The next run reads the last events again: others may have arrived late.
      while (pages.length > 2 || pages.slice(1).some((each) => each.digests.length >= MAX_LATE))
        pages.shift();
      const next =
        checkpoint === null ? pages.flatMap((each) => each.digests) : [...flatten(known)];
      const cursor = checkpoint === null ? (pages[0]?.after ?? null) : page.cursor;
      const isResumed = walk.cursor !== null; // with the newest events before the cursor
      const newest = isAscending ? last : isResumed ? [] : first;
      save({
        walk: { cursor, known: next, isFound },
        recent: [...newest, ...recent].slice(0, KEPT),
      });
      if (isEnd || signal.aborted) break;
    }
    return isFound || walk.known.length === 0;
  };

  const readTail = async () => {
    const { checkpoint: after } = progress;
    const overlap = countEach(progress.overlap);
    const tail = { after, signal, onRetry: follow ? options.onRetry : rethrow };
    for await (const batch of session.follow(
      AuditEventsDocument,
      { filter, withRaw: true },
      tail,
    )) {
      const [error] = batch.errors ?? [];
      if (error !== undefined) throw new OperationError(error);
      const { checkpoint } = batch;
      if (batch.missed) {
        const walk = { cursor: null, known: progress.recent, isFound: false };
        save({ checkpoint, walk });
        return;
      }
      wasMissed = false;
      const fresh = batch.nodes.filter((event) => !takeOne(overlap, digestOf(event)));
      await write(fresh);
      const recent = fresh.map(digestOf).reverse().concat(progress.recent).slice(0, KEPT);
      save({ checkpoint, recent, overlap: batch.hasMore ? [...flatten(overlap)] : [] });
      if (batch.hasMore) continue;
      overlap.clear();
      if (!follow) return;
    }
  };

  while (!signal.aborted) {
    const { walk, checkpoint } = progress;
    if (walk !== null) {
      const isWhole = await walkOn(walk);
      if (signal.aborted) return;
      if (!isWhole && checkpoint !== null) {
        options.onMissed();
        if (wasMissed) return; // the records differ in each response: it would not end
        wasMissed = true;
      }
      if (checkpoint !== null) {
        save({ walk: null, overlap: progress.recent });
      }
    }
    if (checkpoint !== null) await readTail();
    else if (follow) await options.pause(EVERY_MS);
    if (!follow && (progress.walk === null || checkpoint === null)) return;
  }
}

/** Takes a checkpoint before anything is read, so that nothing that arrives meanwhile is missed. */
async function begin(session: OpenSession, options: ExportOptions): Promise<Progress> {
  const { filter, progress, isWhole, now, signal } = options;
  const walk = { cursor: null, known: [], isFound: false };
  try {
    const tail = { signal, onRetry: options.follow ? options.onRetry : rethrow };
    for await (const { checkpoint } of session.follow(AuditEventsDocument, { filter }, tail))
      return { ...progress, checkpoint, walk: isWhole ? walk : null, recent: [], overlap: [] };
  } catch (error) {
    if (!(error instanceof OperationError) || error.extensions.reason !== 'TRAIL_TOO_LONG')
      throw error;
  }
  const since = isWhole ? progress.since : now().toISOString();
  return { ...progress, since, checkpoint: null, walk, recent: [], overlap: [] };
}

function rethrow(error: unknown): never {
  throw error ?? new OperationError({ message: 'The stream of new events ended early.' });
}

function countEach(digests: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const each of digests) counts.set(each, (counts.get(each) ?? 0) + 1);
  return counts;
}

function* flatten(counts: ReadonlyMap<string, number>): Generator<string> {
  for (const [digest, count] of counts) yield* Array.from({ length: count }, () => digest);
}

/** Removes one. Returns whether there was one. */
function takeOne(counts: Map<string, number>, digest: string): boolean {
  const count = counts.get(digest);
  if (count === undefined) return false;
  if (count === 1) counts.delete(digest);
  else counts.set(digest, count - 1);
  return true;
}
