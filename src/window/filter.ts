import type { AuditEvent, Party } from '../reading/event.ts';
import type { Outcome } from '../reading/outcome.ts';
import type { Instant } from '../reading/time.ts';
import { perTrail, type Trail } from '../reading/trail.ts';

/** Conditions on an event; one that is null or left out is not asked. */
export type Filter = {
  /** At or after this instant. */
  readonly since?: Instant | null | undefined;
  /** Before this instant. */
  readonly until?: Instant | null | undefined;
  readonly actions?: readonly string[] | null | undefined;
  readonly actor?: string | null | undefined;
  readonly target?: string | null | undefined;
  readonly outcome?: Outcome | null | undefined;
};

/** The indices of those events of a page that count, from one index on, in their order; so many at most, and no more is read than it takes. */
export type Selection = (trail: Trail, from: number, most: number) => readonly number[];

/** Selects all events. */
export function selectAll({ length }: Trail, from: number, most: number): readonly number[] {
  const found: number[] = [];
  for (let index = from; index < length && found.length < most; index += 1) found.push(index);
  return found;
}

/** Selects the events that meet every condition; what could not be read of one meets none. */
export function selectMatching(filter: Filter): Selection {
  return (trail, from, most) => {
    const found: number[] = [];
    for (let index = from; index < trail.length && found.length < most; index += 1) {
      if (matches(filter, trail.event(index))) found.push(index);
    }
    return found;
  };
}

/** Selects the events in which the one so called acted or was acted upon. */
export function selectConcerning(idOrName: string): Selection {
  return (trail, from, most) => {
    const place = placesOf(trail);
    const found: number[] = [];
    for (let nth = 0; found.length < most; nth += 1) {
      const index = place(idOrName, nth);
      if (index === undefined) break;
      if (index >= from) found.push(index);
    }
    return found;
  };
}

function matches(filter: Filter, event: AuditEvent): boolean {
  const { since, until, actions, actor, target, outcome } = filter;
  const time = since == null && until == null ? null : event.occurredAt;
  return (
    (since == null || (time !== null && time >= since)) &&
    (until == null || (time !== null && time < until)) &&
    (actions == null || (event.action !== null && actions.includes(event.action))) &&
    (actor == null || isCalled(actor, event.actor)) &&
    (target == null || isCalled(target, event.target)) &&
    (outcome == null || event.outcome === outcome)
  );
}

function isCalled(idOrName: string, party: Party | null): boolean {
  return party !== null && (party.id === idOrName || party.name === idOrName);
}

/** Finds the nth event that names somebody. Each event is looked at once, for however many names a request asks. */
const placesOf = perTrail((trail) => {
  const places = new Map<string, number[]>();
  let looked = 0;
  const look = () => {
    const { actor, target } = trail.event(looked);
    for (const name of new Set([actor?.id, actor?.name, target?.id, target?.name])) {
      if (name == null) continue;
      const known = places.get(name);
      if (known === undefined) places.set(name, [looked]);
      else known.push(looked);
    }
    looked += 1;
  };
  return (name: string, nth: number): number | undefined => {
    while (places.get(name)?.[nth] === undefined && looked < trail.length) look();
    return places.get(name)?.[nth];
  };
});
