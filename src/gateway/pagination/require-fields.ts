import { GatewayError } from '../../errors.ts';
import { visitInTurns } from '../../util/event-loop.ts';
import { memoizeByObject } from '../../util/memoize.ts';
import type { AuditPage, FilterField } from '../mapping/event.ts';
import { SAMPLE_SIZE } from '../mapping/list-page.ts';
import { hasValue, stateWithoutValue } from '../mapping/read-entry.ts';
import type { EventFilter } from './select-events.ts';

/**
 * Checks pages in which no event was selected: it rejects if some may have been missed.
 * @param isStart Whether they are the first pages of the list.
 */
export type RequireFields = (pages: readonly AuditPage[], isStart: boolean) => Promise<void>;

type PartyRole = 'actor' | 'target';

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
    for (const role of ['actor', 'target'] as const)
      if (filter[role] != null) await requireWhole(pages, [role], filter[role], isStart);
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
  const states = (
    await Promise.all(filled.flatMap((page) => fields.map((field) => statesOf(page, field))))
  ).flat();
  const isRead = (name: string) => states.some((one) => one.name === name && one.state === 'read');
  const unread = states.find(({ name, state }) => state === 'unread' && !isRead(name));
  const isKnown = ({ field, state }: (typeof states)[number]) =>
    state !== 'nothing' || !IN_EVERY_RECORD.has(field);
  if (unread === undefined && states.some(isKnown)) return;
  throw fieldUnread(
    `The filter needs \`${fields[0]}\`, which Keytrail cannot read in these records: set or correct \`audit.event.${unread?.name ?? fields[0]}\` in the contract (KEYTRAIL_CONTRACT). \`keytrail learn\` suggests entries.`,
  );
}

/** Determines how each entry of a field reads a page. It may be inferred from some pages only. */
const statesOf = oncePerPage(async (page, field) => {
  const states = [];
  for (const entry of page.item(0).entriesOf(field)) {
    let isRead = false;
    await visitInTurns(0, page.length, (from, to) => {
      isRead = hasValue(page, entry, from, to);
      return !isRead;
    });
    const state = isRead ? ('read' as const) : stateWithoutValue(page, entry);
    states.push({ name: entry.name, field, state });
  }
  return states;
});

/**
 * Fails if a filter may miss a party because records hold its type and its identifier in one text, as in
 * `apikey:ci-bot`. This is tested if no record names the party: a record has it as the rest of a text, or at least half
 * of the first records have such texts.
 */
async function requireWhole(
  pages: readonly AuditPage[],
  roles: readonly PartyRole[],
  wanted: string,
  isStart: boolean,
): Promise<void> {
  if (TYPE_AND_REST.test(wanted)) return;
  const found = await Promise.all(
    roles.map(async (role) => ({
      role,
      texts: await Promise.all(pages.map((page) => textsOf(page, role))),
    })),
  );
  if (found.some(({ texts }) => texts.some(({ whole }) => whole.has(wanted)))) return;
  const missed = found.find(({ texts }) => {
    const sum = (count: 'sampled' | 'withType') =>
      texts.reduce((total, one) => total + one[count], 0);
    const isLikely = isStart && sum('withType') > 0 && sum('withType') * 2 >= sum('sampled');
    return isLikely || texts.some(({ rests }) => rests.has(wanted));
  });
  if (missed === undefined) return;
  throw fieldUnread(
    `The filter finds no such ${missed.role}. Records hold its type and its identifier in one text, as in \`type:identifier\`: set \`split\` in \`audit.event.${missed.role}.identifier\` of the contract (KEYTRAIL_CONTRACT), or filter by the whole text.`,
  );
}

/** A word such as a type, with the separator after which the rest of the text follows. */
const TYPE = /^\p{L}[\p{L}\p{N}_.-]*[:|#=]/u;

/** Such a text with a colon. A URL, a URN, a DID, a drive, an IPv6 and a MAC address are one fact each. */
const TYPE_AND_REST =
  /^(?!(?:[a-z]|arn|urn|did):|(?=(?:[^:]*:){2})[\da-f:.]+(?:%\w+)?$)\p{L}[\p{L}\p{N}_.-]*:(?![\s/\\]|$)/iu;

/**
 * Reads the identifiers and names of a role on a page, what follows the type in them, and how many of the first events
 * have a type in all of them.
 */
const textsOf = oncePerPage(async (page, field) => {
  const role = field === 'target' ? 'target' : 'actor';
  const whole = new Set<string>();
  const rests = new Set<string>();
  let sampled = 0;
  let withType = 0;
  await visitInTurns(0, page.length, (from, to) => {
    for (let index = from; index < to; index += 1) {
      const party = page.item(index)[role];
      const texts = [party?.identifier, party?.name].filter((text) => text != null);
      for (const text of texts) {
        whole.add(text);
        if (TYPE.test(text)) rests.add(text.replace(TYPE, ''));
      }
      if (index >= SAMPLE_SIZE || texts.length === 0) continue;
      sampled += 1;
      if (texts.every((text) => TYPE_AND_REST.test(text))) withType += 1;
    }
    return true;
  });
  const entries = page.length > 0 ? page.item(0).entriesOf(role) : [];
  const isSplit = entries.every((entry) => entry.isSplit);
  return { whole, rests, sampled, withType: isSplit ? 0 : withType };
});

/** Computes once for each page and field, however many parties a request has. */
function oncePerPage<T>(compute: (page: AuditPage, field: FilterField) => Promise<T>) {
  const resultsOf = memoizeByObject((_: AuditPage) => new Map<FilterField, Promise<T>>());
  return (page: AuditPage, field: FilterField): Promise<T> => {
    const results = resultsOf(page);
    const result = results.get(field) ?? compute(page, field);
    results.set(field, result);
    return result;
  };
}

function fieldUnread(message: string): GatewayError {
  return new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'FIELD_UNREAD', message });
}
