import { memoizeByObject } from '../../util/memoize.ts';
import type { AuditContract, DeepPartial } from '../mapping/contract.ts';
import type { AuditEvent, Party } from '../mapping/event.ts';
import { isPointers } from '../mapping/json-pointer.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import { formatInstant, type Instant, roundInstant } from '../mapping/time.ts';
import type { EventOutcome } from '../mapping/values.ts';

/** Conditions on an event. One that is null or omitted does not apply. */
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

/** The query parameter that forwards a condition to the service. */
export type FilterParameter = {
  readonly condition: keyof EventFilter;
  readonly name: string;
  readonly value: string;
  readonly shown: 'name';
};

/** Selects items of a page: at most `limit` indices from `from` up to `to`, in order. It reads no item that it need not read. */
export type ItemSelector<Item extends ListItem> = (
  page: ListPage<Item>,
  from: number,
  to: number,
  limit: number,
) => readonly number[];

/** Selects all items. */
export const selectAllItems: ItemSelector<ListItem> = selectWhere(() => true);

/** Selects the events that meet every condition. A field that could not be read meets none. */
export function selectMatchingEvents(filter: EventFilter): ItemSelector<AuditEvent> {
  const isMatch = matchesFilter(filter);
  return selectWhere((page, index) => isMatch(page.item(index)));
}

/** Whether an event meets every condition. */
export function matchesFilter(filter: EventFilter): (event: AuditEvent) => boolean {
  const conditions = {
    ...filter,
    actions: filter.actions == null ? null : new Set(filter.actions),
  };
  return (event) => matches(conditions, event);
}

function selectWhere<Item extends ListItem>(
  accepts: (page: ListPage<Item>, index: number) => boolean,
): ItemSelector<Item> {
  return (page, from, to, limit) => {
    const selected: number[] = [];
    for (let index = from; index < to && selected.length < limit; index += 1) {
      if (accepts(page, index)) selected.push(index);
    }
    return selected;
  };
}

/** Selects the events whose actor or target has this identifier or name. */
export function selectEventsOfParty(identifierOrName: string): ItemSelector<AuditEvent> {
  return (page, from, to, limit) => {
    const indexOf = indexByParty(page);
    const selected: number[] = [];
    for (let nth = 0; selected.length < limit; nth += 1) {
      const index = indexOf(identifierOrName, nth, to);
      if (index === undefined || index >= to) break;
      if (index >= from) selected.push(index);
    }
    return selected;
  };
}

/**
 * The conditions that the service itself can check, as its query parameters. Every event is checked here too, so the
 * service may return too many events but never too few: several actions are not forwarded, and times are rounded to the
 * unit of the contract's format, since the service may compare them in that unit.
 */
export function filterParameters(
  { since, until, actions, actor }: EventFilter,
  { parameters: names = {}, event = {} }: DeepPartial<AuditContract> = {},
): readonly FilterParameter[] {
  const { occurredAt = null } = event;
  const format = isPointers(occurredAt) ? undefined : occurredAt.as;
  const round = (time: Instant | null | undefined, direction: 'down' | 'up') => {
    const rounded = time == null ? null : roundInstant(time, direction, format);
    return rounded && formatInstant(rounded);
  };
  const action = actions?.length === 1 ? actions[0] : null;
  const parameters = [
    { condition: 'since', name: names.since, value: round(since, 'down') },
    { condition: 'until', name: names.until, value: round(until, 'up') },
    { condition: 'actor', name: names.actor, value: actor },
    { condition: 'actions', name: names.action, value: action },
  ] as const;
  return parameters.flatMap(({ condition, name, value }) =>
    name == null || value == null ? [] : [{ condition, name, value, shown: 'name' as const }],
  );
}

function matches(
  filter: Omit<EventFilter, 'actions'> & { readonly actions: ReadonlySet<string> | null },
  event: AuditEvent,
): boolean {
  const { since, until, actions, actor, target, outcome } = filter;
  const time = since == null && until == null ? null : event.occurredAt;
  return (
    (since == null || (time !== null && time >= since)) &&
    (until == null || (time !== null && time < until)) &&
    (actions == null || (event.action !== null && actions.has(event.action))) &&
    (actor == null || isNamed(actor, event.actor)) &&
    (target == null || isNamed(target, event.target)) &&
    (outcome == null || event.outcome === outcome)
  );
}

function isNamed(identifierOrName: string, party: Party | null): boolean {
  return party?.identifier === identifierOrName || party?.name === identifierOrName;
}

/** Finds the nth event of a party, before the index `to`. Each event is read once, however many parties a request has. */
const indexByParty = memoizeByObject((page: ListPage<AuditEvent>) => {
  const indices = new Map<string, number[]>();
  let indexed = 0;
  const indexNext = () => {
    const { actor, target } = page.item(indexed);
    const names = [actor?.identifier, actor?.name, target?.identifier, target?.name];
    for (const name of new Set(names)) {
      if (name == null) continue;
      const known = indices.get(name);
      if (known === undefined) indices.set(name, [indexed]);
      else known.push(indexed);
    }
    indexed += 1;
  };
  return (name: string, nth: number, to: number): number | undefined => {
    while (indices.get(name)?.[nth] === undefined && indexed < to) indexNext();
    return indices.get(name)?.[nth];
  };
});
