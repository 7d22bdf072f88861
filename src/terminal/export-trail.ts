import { OperationError } from '../client/errors.ts';
import { AuditEventsDocument, type AuditFilter } from '../client/operations.generated.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { ENOUGH_OLD } from '../gateway/mapping/late-records.ts';
import type { AuditEvent } from './event-fields.ts';
import { readTrail, requireEvents, type TrailPage } from './read-trail.ts';
import { PositionLost, resumeTrail, takeOne } from './resume-trail.ts';
import type { CommandRuntime } from './runtime.ts';
import type { WaitingSession } from './wait-for-service.ts';

/** How far an export has got. As JSON it is the content of a checkpoint file. */
export type Progress = {
  /** Events before this instant are not exported. */
  readonly since: string | null;
  /** Of the live tail. Null for a trail that is read on by cursor: it begins with its oldest event, and is long. */
  readonly checkpoint: string | null;
  /** The part of the trail that is being read by cursor. Null once it was read. */
  readonly walk: Walk | null;
  /** Digests of the newest events that were written. */
  readonly recent: readonly string[];
  /** Digests of events that were written, but that the tail may deliver as well: they arrived after the checkpoint. */
  readonly overlap: readonly string[];
  /** 1 if a walk has found that the trail begins with its oldest event, -1 with its newest. Not in files of earlier versions. */
  readonly ascent?: number | undefined;
};

type Walk = {
  readonly cursor: string | null;
  /** Digests of events that are not written again. Where they are found, a walk from the newest event on ends. */
  readonly known: readonly string[];
  /** How many of them were found. */
  readonly found: number;
  /** Digests of the last events before the cursor. None in a walk by cursor, which knows those after it. */
  readonly before?: readonly string[] | undefined;
};

/** How to export. */
export type ExportOptions = {
  /** Without `since` and `until`. */
  readonly filter: AuditFilter;
  /** Where an earlier run has got to. Null: this is the first. */
  readonly progress: Progress | null;
  /** Events of the first run: all from this instant on, or with null all. Undefined: only new ones. */
  readonly since: string | null | undefined;
  /** Whether to go on with new events. */
  readonly follow: boolean;
  readonly digestOf: (event: AuditEvent) => string;
  /** Writes events. It resolves once they are safe. */
  readonly write: (events: readonly AuditEvent[], page?: TrailPage) => Promise<void>;
  readonly save: (progress: Progress) => Promise<void>;
};

/** Events of which the digests are kept. The checkpoint of a live tail knows as many. */
const KEPT = 64;

/** The fewest seconds between two polls of a live tail. */
const MIN_EVERY = 5;

/** Between two reads of a trail that is read on by cursor, in milliseconds. */
const EVERY_MS = 10_000;

/**
 * Exports the trail: first what it has, then what the live tail has after that. Progress is saved after each write, so
 * that an export that was killed repeats events, but loses none. If the tail may have missed events, it reads the trail
 * back to the last event that was written. If a cursor is not accepted any more, it passes over what was written.
 * @returns whether events may have been missed.
 * @throws OperationError if the trail cannot be read.
 */
export async function exportTrail(
  session: WaitingSession,
  { stderr, stopping: signal, now, pause }: CommandRuntime,
  { filter, since, follow, digestOf, write, save: store, ...options }: ExportOptions,
): Promise<boolean> {
  const { wait } = session;
  const report = (text: string) => void stderr.write(`keytrail audit: ${text}\n`);
  const onRetry = (error: unknown) => {
    throw error ?? new OperationError(ENDED); // waited for below
  };
  const every = follow ? null : MIN_EVERY; // it pauses only to read on, or after a failure
  const openTail = (after: string | null) =>
    session.follow(
      AuditEventsDocument,
      { filter, every, withRaw: true },
      { after, signal, onRetry },
    );

  let failures = 0;
  let isOldestFirst: boolean | undefined;

  /** Takes a checkpoint before anything is read, so that nothing that arrives meanwhile is missed. */
  const begin = async (): Promise<Progress> => {
    const walk = { cursor: null, known: [], found: 0 };
    const from = since === undefined ? now().toISOString() : since;
    const first = { since: from, walk, recent: [], overlap: [] };
    try {
      for await (const { checkpoint } of openTail(null))
        return { ...first, checkpoint, walk: since === undefined ? null : walk };
      throw new OperationError(ENDED); // by a signal: nothing is known of the trail
    } catch (error) {
      const isLong = error instanceof OperationError && error.extensions.reason === TOO_LONG;
      failures += 1;
      // The tail reads ten pages at once to find the end of such a trail: a rate limit may never let it.
      if (!isLong && failures > 1) isOldestFirst ??= await beginsWithOldest(session);
      if (!isLong && !isOldestFirst) throw error;
    }
    return { ...first, checkpoint: null };
  };
  let progress = options.progress ?? (await wait.repeat(begin));
  const save = async (next: Partial<Progress>) => {
    progress = { ...progress, ...next };
    await store(progress);
  };

  /** Reads by cursor. Returns whether it has met the events that were written before. */
  const walkOn = async (walk: Walk): Promise<boolean> => {
    const { checkpoint, recent } = progress;
    const isByCursor = checkpoint === null;
    const known = [...walk.known];
    const size = walk.found + known.length;
    const pages: { readonly after: string | null; readonly digests: readonly string[] }[] = [];
    const first: string[] = [];
    let last: string[] = [];
    let previous: string | null = null;
    const { ascent = 0 } = progress; // a burst of events with one time shows none
    let ascents = { 'newest-first': -1, 'oldest-first': 1, unknown: ascent }[
      session.order ?? 'unknown'
    ];
    let { found, before = [] } = walk;
    let afterFound = 0;
    const isMet = () => found * 2 > size || known.length === 0;
    const trail = { filter: { ...filter, since: progress.since }, ...ALL };
    const position = { cursor: walk.cursor, before, after: isByCursor ? known.slice() : [] };
    for await (const page of resumeTrail(session, position, { ...trail, digestOf, signal })) {
      const fresh: AuditEvent[] = [];
      let isEnd = false;
      for (const event of page.fresh) {
        const { occurredAt } = event;
        if (previous !== null && occurredAt !== null && session.order === undefined)
          ascents += Number(occurredAt > previous) - Number(occurredAt < previous);
        previous = occurredAt ?? previous;
        const own = digestOf(event);
        if (takeOne(known, own)) found += 1;
        else {
          fresh.push(event);
          if (first.length < KEPT) first.push(own);
          last = [own, ...last.slice(0, KEPT - 1)];
          if (isMet()) afterFound += 1;
        }
        // Only older ones follow those that were written, but for a few that arrived late: behind fewer than these.
        const isDue = known.length === 0 || Math.max(found, afterFound) >= ENOUGH_OLD;
        isEnd = !isByCursor && size > 0 && ascents < 0 && isMet() && isDue;
        if (isEnd) break;
      }
      await write(fresh, page);
      const digests = page.events.map(digestOf);
      before = [...before, ...digests].slice(-KEPT);
      pages.push({ after: page.after, digests });
      // The next run reads the last events again: others may have arrived late.
      while (pages.length > 2 || pages.slice(1).some((each) => each.digests.length >= ENOUGH_OLD))
        pages.shift();
      const next = isByCursor
        ? {
            cursor: pages[0]?.after ?? null,
            // Until the end is read, those that were not met yet may be on a later page.
            known: [...pages.flatMap((each) => each.digests), ...(page.hasNext ? known : [])],
            found: 0,
          }
        : { cursor: page.cursor, known, found, before };
      // Of a walk that goes on, the newest events were before the cursor.
      const newest = walk.cursor === null ? first : [];
      const own = ascents > 0 ? last : ascents < 0 ? newest : [...newest, ...last];
      // Where a walk wrote more than is kept, those before it do not follow.
      const others = own.length > 0 && first.length === KEPT ? [] : recent;
      await save({
        ...{ walk: next, recent: [...own, ...others].slice(0, 2 * KEPT) },
        ascent: Math.sign(ascents),
      });
      if (isEnd || signal.aborted) break;
    }
    return isMet();
  };

  /** Reads the tail until it has caught up; with `follow`, on and on. Returns whether it may have missed events. */
  const readTail = async (): Promise<boolean> => {
    const overlap = [...progress.overlap];
    for await (const batch of openTail(progress.checkpoint)) {
      wait.over();
      const [error] = batch.errors ?? [];
      if (error !== undefined) throw new OperationError(error);
      requireEvents(batch.nodes);
      const { checkpoint, hasMore } = batch;
      if (batch.missed) {
        // Saved with the first page that is read: until then the tail says the same again.
        const walk = { cursor: null, known: progress.recent, found: 0 };
        progress = { ...progress, checkpoint, walk };
        return true;
      }
      const fresh = batch.nodes.filter((event) => !takeOne(overlap, digestOf(event)));
      await write(fresh);
      if (!hasMore) overlap.length = 0;
      const recent = fresh
        .map(digestOf)
        .reverse()
        .concat(progress.recent)
        .slice(0, 2 * KEPT);
      await save({ checkpoint, recent, overlap: [...overlap] });
      if (!hasMore && !follow) break;
    }
    return false;
  };

  let isMissed = false;
  const miss = () => {
    if (!isMissed) report(MISSED);
    isMissed = true;
  };
  let isRepeated = false; // the tail says again, after the trail was read, that it may have missed events
  let isLost = false; // the position in the trail, since it was last found
  await save({}); // before anything is written: a file that cannot be written shows at once
  while (!signal.aborted) {
    const { walk, checkpoint } = progress;
    try {
      if (walk !== null) {
        const isMet = await walkOn(walk);
        if (signal.aborted) break;
        if (walk.known.length > 0) isLost = false;
        if (!isMet && checkpoint !== null) miss();
        if (checkpoint !== null) await save({ walk: null, overlap: progress.recent });
        if (!isMet && isRepeated) break; // the records differ in each response: it would not end
      }
      if (checkpoint === null && !follow) break;
      if (checkpoint === null) await pause(EVERY_MS, signal).catch(() => {});
      else isRepeated = await readTail();
      if (!follow && progress.walk === null) break;
    } catch (error) {
      if (error instanceof PositionLost) {
        miss();
        if (isLost) break; // as above
        isLost = true;
        // All of the trail is read. Saved with its first page: until then the next run finds the same.
        const known = checkpoint === null ? [] : (walk?.known ?? []);
        progress = { ...progress, walk: { cursor: null, known, found: 0 } };
        continue;
      }
      if (!(await wait.after(error))) throw toLost(error);
    }
  }
  return isMissed;
}

/** Whether the first events of a trail show that it begins with its oldest one. */
async function beginsWithOldest(session: WaitingSession): Promise<boolean> {
  if (session.order !== undefined) return session.order === 'oldest-first';
  const limit = 2 * ENOUGH_OLD; // fewer may have arrived late
  const times: string[] = [];
  const options = { filter: {}, after: null, limit, withRaw: false };
  for await (const { events } of readTrail(session, options))
    times.push(...events.map(({ occurredAt }) => occurredAt ?? ''));
  const isSorted = times.every((time, index) => time >= (times[index - 1] ?? ''));
  return times.length === limit && isSorted && times[0] !== times.at(-1) && !times.includes('');
}

const ENDED = { message: 'The stream ended early.', extensions: { retryable: true } } as const;
const TOO_LONG = 'TRAIL_TOO_LONG';
const ALL = { limit: Number.POSITIVE_INFINITY, withRaw: true } as const;

const MISSED =
  'events may have been missed: the last events that were written were not found again, so all that the trail has was written. If the service removes events, run the export more often. If this comes at every run, a member of the records differs in each response: set `audit.identity` in the contract, and export with UPSTREAM_URL and KEYTRAIL_CONTRACT.';

/** A checkpoint that the gateway itself does not accept cannot be passed by the user of this command. */
function toLost(error: unknown): unknown {
  if (!(error instanceof OperationError) || error.needsSecret) return error; // a login was refused
  const { code, upstream } = error.extensions;
  if (code !== 'BAD_USER_INPUT' || upstream !== undefined) return error; // the service refuses the request itself
  return new ConfigError([
    'The export cannot go on: its checkpoint is of another version of Keytrail, or of a contract that forwards other conditions. Name a new checkpoint file, and with --since the time of the last event that you have.',
  ]);
}
