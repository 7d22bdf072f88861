import { ENOUGH_OLD } from '../gateway/mapping/late-records.ts';
import type { AuditEvent } from './event-fields.ts';
import { readTrail } from './read-trail.ts';
import type { WaitingSession } from './wait-for-service.ts';

/** Says why a key may have acted; undefined only if it is known that it did not. */
export type WhyActive = (id: string) => string | undefined;

/**
 * Reads the trail once, for any number of keys: to its end, or until it has begun with its newest events and only older
 * ones than `since` follow. If it is aborted, what it has read is a part.
 * @throws OperationError if a page fails.
 */
export async function findActiveKeys(
  session: WaitingSession,
  since: string,
  signal: AbortSignal,
): Promise<WhyActive> {
  const start = Date.parse(since);
  const times: number[] = [];
  const actors = new Map<string, number>(); // with the time of the last event
  let unread: string | undefined;
  const all = { filter: {}, after: null, limit: Number.POSITIVE_INFINITY, withRaw: false };
  for await (const { events } of readTrail(session, all)) {
    for (const { occurredAt, actor, target, outcome } of events) {
      const time = Date.parse(occurredAt ?? '');
      if (Number.isNaN(time)) unread ??= `An event has no readable time${EXPLAIN}`;
      else times.push(time);
      if (!(time >= start)) continue;
      const ofActor = namesOf(actor);
      // Nobody is the actor of a login that failed: its target is the key that someone tried to use.
      const isAttempt = ofActor.length === 0 && outcome === 'FAILURE';
      const names = isAttempt ? namesOf(target) : ofActor;
      if (names.length === 0)
        unread ??= `The event of ${toText(time)} has no readable actor${EXPLAIN}`;
      for (const name of names) actors.set(name, Math.max(time, actors.get(name) ?? time));
    }
    if (signal.aborted || isPast(times, start)) break;
  }
  const isOld = (time: number) => time < start;
  if (!times.some(isOld)) unread ??= `The audit trail does not reach back to ${since}.`;
  // A list that begins with its oldest event may have been cut off, and a trail may be late.
  if (times.every(isOld))
    unread ??= `The audit trail has no event of anyone since ${since}, so it may be incomplete.`;
  const known = [...actors].map(([name, time]) => ({ name, time, words: toWords(name) }));
  return (id) => {
    const words = toWords(id);
    const own = known.filter((one) => one.words.includes(words) || words.includes(one.words));
    const [last] = own.sort((one, other) => other.time - one.time);
    return last ? `${last.name} acted at ${toText(last.time)}.` : unread;
  };
}

const namesOf = (party: AuditEvent['actor']) =>
  [party?.identifier ?? '', party?.name ?? ''].filter((name) => name.trim());

const toText = (time: number) => new Date(time).toISOString();

const EXPLAIN = ': keytrail audit --explain says why.';

/** Whether the last events are all older than `start`, and than the first ones: in a trail from old to new they are not. */
function isPast(times: readonly number[], start: number): boolean {
  const [first, last] = [times.slice(0, ENOUGH_OLD), times.slice(-ENOUGH_OLD)];
  return times.length >= 2 * ENOUGH_OLD && Math.max(...last) < Math.min(start, ...first);
}

/**
 * The words of a name, to find one in another: `ci-bot` is in `apikey:ci-bot` and `CI-Bot@clients`, and not in `ci-bot-2`.
 * An actor that may be a key counts as that key.
 */
function toWords(name: string): string {
  const words =
    name
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}_.-]+/gu) ?? [];
  return ` ${words.join(' ')} `;
}
