import type { AuditContract, DeepPartial } from '../mapping/contract.ts';
import type { AuditEvent, Party } from '../mapping/event.ts';
import type { EventOutcome } from '../mapping/outcome.ts';
import type { Instant } from '../mapping/time.ts';
import { memoizePerTrail, type Trail } from '../mapping/trail.ts';

/** Conditions on an event; one that is null or left out is not asked. */
export type EventFilter = {
  /** At or after this instant. */
  readonly since?: Instant | null | undefined;
  /** Before this instant. */
  readonly until?: Instant | null | undefined;
  readonly actions?: readonly string[] | null | undefined;
  readonly actor?: string | null | undefined;
  readonly target?: string | null | undefined;
  readonly outcome?: EventOutcome | null | undefined;
};

/** The indices of those events of a page that count, from one index on, in their order; so many at most, and no more is read than it takes. */
export type ItemSelector = (trail: Trail, from: number, most: number) => readonly number[];

/** Selects all events. */
export function selectAllItems({ length }: Trail, from: number, most: number): readonly number[] {
  const found: number[] = [];
  for (let index = from; index < length && found.length < most; index += 1) found.push(index);
  return found;
}

/** Selects the events that meet every condition; what could not be read of one meets none. */
export function selectMatchingEvents(filter: EventFilter): ItemSelector {
  return (trail, from, most) => {
    const found: number[] = [];
    for (let index = from; index < trail.length && found.length < most; index += 1) {
      if (matches(filter, trail.event(index))) found.push(index);
    }
    return found;
  };
}

/** Selects the events in which the one so called acted or was acted upon. */
export function selectEventsOfParty(idOrName: string): ItemSelector {
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

function matches(filter: EventFilter, event: AuditEvent): boolean {
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
  return party !== null && (party.identifier === idOrName || party.name === idOrName);
}

/** Finds the nth event that names somebody. Each event is looked at once, for however many names a request asks. */
const placesOf = memoizePerTrail((trail) => {
  const places = new Map<string, number[]>();
  let looked = 0;
  const look = () => {
    const { actor, target } = trail.event(looked);
    for (const name of new Set([
      actor?.identifier,
      actor?.name,
      target?.identifier,
      target?.name,
    ])) {
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

/**
 * The conditions that the service can check itself, by its own query parameters. Every event is checked here as well,
 * so a parameter may let through too much, never too little: several actions are not forwarded.
 */
export function filterParameters(
  { since, until, actions, actor }: EventFilter,
  names: DeepPartial<AuditContract['parameters']> = {},
): readonly { readonly name: string; readonly value: string }[] {
  const values = {
    since,
    until,
    actor,
    action: actions?.length === 1 ? actions[0] : null,
  };
  return (['since', 'until', 'actor', 'action'] as const).flatMap((condition) => {
    const [name, value] = [names[condition], values[condition]];
    return name == null || value == null ? [] : [{ name, value }];
  });
}

/** Asks for large pages where the contract names the parameter, so that there are few. */
export function pageSizeParameter(configured: DeepPartial<AuditContract> = {}) {
  const name = configured.paging?.size;
  return name == null ? [] : [{ name, value: '100' }];
}
