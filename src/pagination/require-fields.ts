import { GatewayError } from '../errors.ts';
import type { AuditEvent, FilterField } from '../mapping/event.ts';
import { type ListPage, SAMPLE_SIZE } from '../mapping/list-page.ts';
import { type EntryState, hasValue, stateWithoutValue } from '../mapping/read-entry.ts';
import { visitInTurns } from '../util/turns.ts';
import { type EventFilter, isNamed } from './select-events.ts';

/** Checks the pages that were read. `isStart`: they are the first ones of the list. It rejects if events may be missing. */
export type RequireFields = (pages: readonly AuditPage[], isStart: boolean) => Promise<void>;

type AuditPage = ListPage<AuditEvent>;
type PartyField = 'actor' | 'target';

/** The field of an event that each condition needs. */
const FIELDS = {
  since: 'occurredAt',
  until: 'occurredAt',
  actions: 'action',
  actor: 'actor',
  target: 'target',
  outcome: 'outcome',
} as const satisfies Readonly<Record<keyof EventFilter, FilterField>>;

/**
 * Requires that the fields of a filter can be read in one of the pages: otherwise no event would meet it, whatever the
 * records contain.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason FIELD_UNREAD.
 */
export function requireFilterFields(filter: EventFilter): RequireFields {
  const conditions = Object.keys(FIELDS) as readonly (keyof EventFilter)[]; // Object.keys() returns string[]
  const fields = conditions.flatMap((name) => (filter[name] == null ? [] : [FIELDS[name]]));
  return async (pages, isStart) => {
    for (const field of new Set(fields)) await requireField(pages, [field]);
    for (const field of ['actor', 'target'] as const)
      if (filter[field] != null) await requireWhole(pages, [field], filter[field], isStart);
  };
}

/** The same for events of a party: their actor or target can be read. */
export function requirePartyFields(identifierOrName: string): RequireFields {
  return async (pages, isStart) => {
    await requireField(pages, ['actor', 'target']);
    await requireWhole(pages, ['actor', 'target'], identifierOrName, isStart);
  };
}

/** What every record has. A target and an outcome may be absent from all of them. */
const IN_EVERY_RECORD: ReadonlySet<FilterField> = new Set(['occurredAt', 'action', 'actor']);

async function requireField(
  pages: readonly AuditPage[],
  fields: readonly [FilterField, ...FilterField[]],
): Promise<void> {
  const filled = pages.filter(({ length }) => length > 0);
  if (filled.length === 0) return;
  const states = await Promise.all(
    fields.map(async (field) => ({ field, entries: await statesOf(filled, field) })),
  );
  const unread = states
    .flatMap(({ entries }) => [...entries])
    .find(([, found]) => found.has('unread') && !found.has('read'))?.[0];
  const isKnown = states.some(({ field, entries }) =>
    entries.values().some((found) => !IN_EVERY_RECORD.has(field) || !isOnly(found, 'nothing')),
  );
  if (unread === undefined && isKnown) return;
  throw fieldUnread(
    `The filter needs \`${fields[0]}\`, which Keytrail cannot read in these records: set or correct \`audit.event.${unread ?? fields[0]}\` in the contract (KEYTRAIL_CONTRACT). \`keytrail learn\` suggests entries.`,
  );
}

function isOnly<T>(set: ReadonlySet<T>, item: T): boolean {
  return set.size === 1 && set.has(item);
}

/** How each entry of a field reads the pages, by its name. It may be inferred from some of them only. */
async function statesOf(pages: readonly AuditPage[], field: FilterField) {
  const states = new Map<string, Set<EntryState>>();
  for (const page of pages)
    for (const entry of page.item(0).entriesOf(field)) {
      let isRead = false;
      await visitInTurns(0, page.length, (from, to) => {
        isRead = hasValue(page, entry, from, to);
        return !isRead;
      });
      const found = states.get(entry.name) ?? new Set();
      states.set(entry.name, found.add(isRead ? 'read' : stateWithoutValue(page, entry)));
    }
  return states;
}

/** A word such as a type, with the separator after which the rest of the text follows. */
const TYPE = /^\p{L}[\p{L}\p{N}_.-]*[:|#=]/u;

/** Such a text with a colon. A URL, a URN, a DID, a drive, an IPv6 and a MAC address are one fact each. */
const TYPE_AND_REST =
  /^(?!(?:[a-z]|arn|urn|did):|(?:[\da-f]{0,4}:){2,}[\da-f.:]*(?:%\w+)?$)\p{L}[\p{L}\p{N}_.-]*:(?![\s/\\]|$)/iu;

/**
 * Requires that a party is not missed because its records hold its type in the same text, as in `apikey:ci-bot`. If no
 * record names the party, none may have it as the rest of a text, and less than half of the first ones may look so.
 */
async function requireWhole(
  pages: readonly AuditPage[],
  roles: readonly PartyField[],
  wanted: string,
  isStart: boolean,
): Promise<void> {
  if (TYPE_AND_REST.test(wanted)) return;
  const looks = await Promise.all(
    roles.map(async (role) => ({ role, ...(await lookFor(wanted, pages, role)) })),
  );
  if (looks.some(({ isFound }) => isFound)) return;
  const missed = looks.find(({ isRest, isLikely }) => isRest || (isStart && isLikely));
  if (missed === undefined) return;
  throw fieldUnread(
    `The filter finds no such ${missed.role}. Records hold its type and its identifier in one text, as in \`type:identifier\`: set \`split\` in \`audit.event.${missed.role}.identifier\` of the contract (KEYTRAIL_CONTRACT), or filter by the whole text.`,
  );
}

async function lookFor(wanted: string, pages: readonly AuditPage[], role: PartyField) {
  let sampled = 0;
  let withType = 0;
  let isRest = false;
  let isFound = false;
  const look = ({ item }: AuditPage, index: number) => {
    const party = item(index)[role];
    isFound = isNamed(wanted, party);
    const texts = [party?.identifier, party?.name].filter((text) => text != null);
    isRest ||= texts.some((text) => text.replace(TYPE, '') === wanted);
    if (index >= SAMPLE_SIZE || texts.length === 0) return;
    sampled += 1;
    if (texts.every((text) => TYPE_AND_REST.test(text))) withType += 1;
  };
  for (const page of pages)
    await visitInTurns(0, page.length, (from, to) => {
      for (let index = from; index < to && !isFound; index += 1) look(page, index);
      return !isFound;
    });
  const entries = pages.flatMap(({ item, length }) => (length > 0 ? item(0).entriesOf(role) : []));
  const isSplit = entries.every((entry) => entry.isSplit);
  return { isFound, isRest, isLikely: withType > 0 && withType * 2 >= sampled && !isSplit };
}

function fieldUnread(message: string): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'FIELD_UNREAD', message });
}
