import type { AuditEvent, Party } from '../reading/event.ts';
import type { Outcome } from '../reading/outcome.ts';
import type { Instant } from '../reading/time.ts';

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

/** Whether an event meets every condition; what could not be read of it meets none. */
export function matches(filter: Filter, event: AuditEvent): boolean {
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

/** Whether the one so called acted in an event, or was acted upon. */
export function concerns(idOrName: string, event: AuditEvent): boolean {
  return isCalled(idOrName, event.actor) || isCalled(idOrName, event.target);
}

function isCalled(idOrName: string, party: Party | null): boolean {
  return party !== null && (party.id === idOrName || party.name === idOrName);
}
