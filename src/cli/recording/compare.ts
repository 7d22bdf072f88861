import { isDeepStrictEqual } from 'node:util';
import { listEnvelopeFields } from '../../inference/envelope.ts';
import { EVENT_FIELDS, type EventField, readPointers } from '../../inference/event-fields.ts';
import { profileFields } from '../../inference/profile-fields.ts';
import type { Source } from '../../mapping/contract.ts';
import { compilePointer } from '../../mapping/json-pointer.ts';
import { isAbsent, readSource } from '../../mapping/read-source.ts';
import { INSTANT_FORMATS, parseIso, parseTime } from '../../mapping/time.ts';
import { eventsOf, type TrailPage } from './trail.ts';

/** How an entry of the contract is read; what only entries of events have is optional. */
export type Reading = {
  readonly at: readonly string[];
  readonly as?: readonly string[];
  /** Number of records in which it was found. */
  readonly found?: number;
};

/** An entry of the contract, in a recording and in a live service. `new` and `same` are no drift. */
export type Comparison = {
  readonly entry: string;
  readonly change: 'same' | 'new' | 'lost' | 'moved' | 'format';
  readonly recorded: Reading;
  readonly live: Reading;
};

/** Compares how two trails are mapped: no values, but which entries are found, where, and in which format. */
export function compareTrails(
  recorded: readonly TrailPage[],
  live: readonly TrailPage[],
): readonly Comparison[] {
  const [before, now] = [recorded[0], live[0]];
  const ofLists = before && now ? compareLists(before, now) : [];
  return [...ofLists, ...EVENT_FIELDS.map((field) => compareField(field, recorded, live))];
}

/** Lists the keys of a live trail that a recording does not have. */
export function listNewKeys(
  recorded: readonly TrailPage[],
  live: readonly TrailPage[],
): readonly string[] {
  const keysOf = (pages: readonly TrailPage[]) => {
    const envelope = pages.flatMap(({ response: { body }, contract: { records } }) =>
      records === '' ? [] : listEnvelopeFields(body, records),
    );
    const fields = profileFields(eventsOf(pages).map(({ raw }) => raw));
    return [...envelope, ...fields].map(({ pointer }) => pointer);
  };
  const known = new Set(keysOf(recorded));
  return [...new Set(keysOf(live))].filter((pointer) => !known.has(pointer));
}

function compareLists(before: TrailPage, now: TrailPage): readonly Comparison[] {
  const { records, total, paging } = before.contract;
  const { contract, response } = now;
  const has = (source: Source) => source !== null && !isAbsent(source, response);
  const { style, next, more, position, pages } = paging;
  const hasPaging = [next, position, pages].some(has);
  // A list of one page has no next page.
  const isOnlyPage = contract.paging.style === 'none' && hasPaging;
  const isSameStyle = contract.paging.style === style || isOnlyPage;
  const compare = (entry: string, was: Source, is: Source): Comparison => {
    const isFound = was !== null && readSource(was, before.response) !== null;
    const isSame = isDeepStrictEqual(was, is) || (has(was) && is === null);
    const gone = is === null || isDeepStrictEqual(was, is) ? 'lost' : 'moved';
    const change = isFound && !has(was) ? gone : isSame ? 'same' : isFound ? 'moved' : 'new';
    return { entry, change, recorded: describe(was), live: describe(is) };
  };
  return [
    {
      ...compare('records', null, null),
      change: records === contract.records ? 'same' : 'moved',
      ...{ recorded: describe(records), live: describe(contract.records) },
    },
    compare('total', total, contract.total),
    {
      entry: 'paging.style',
      change: isSameStyle ? 'same' : style === 'none' ? 'new' : 'moved',
      ...{ recorded: { at: [style] }, live: { at: [contract.paging.style] } },
    },
    compare('paging.next', next, contract.paging.next),
    compare('paging.more', more, contract.paging.more),
    compare('paging.position', position, contract.paging.position),
    compare('paging.pages', pages, contract.paging.pages),
  ];
}

function describe(source: Source): Reading {
  const isHeader = source !== null && typeof source === 'object' && 'header' in source;
  return { at: isHeader ? [`header ${source.header}`] : readPointers(source) };
}

/** What few records have is missing by chance in more than one of a hundred trails. Of short trails all counts. */
const MAX_CHANCE = 0.01;
const MIN_RECORDS = 20;

function compareField(
  field: EventField,
  recorded: readonly TrailPage[],
  live: readonly TrailPage[],
): Comparison {
  const [was, is] = [readField(field, recorded), readField(field, live)];
  const [before, now] = [eventsOf(recorded), eventsOf(live)];
  const mayBeMissing = (count: number) =>
    before.length >= MIN_RECORDS &&
    now.length > 0 &&
    (1 - count / before.length) ** now.length > MAX_CHANCE;
  const countAt = (pointer: string, events = now) =>
    events.filter(({ raw }) => (compilePointer(pointer)(raw) ?? null) !== null).length;
  const known = recorded.flatMap(({ contract }) => readPointers(field.entryOf(contract.event)));
  const lost = known.filter((pointer) => {
    const count = countAt(pointer, before);
    return count > 0 && countAt(pointer) === 0 && !mayBeMissing(count);
  });
  const isMoved = is.at.some((pointer) => !known.includes(pointer));
  const isShared = (some: readonly string[], others: readonly string[]) =>
    some.length === 0 || some.some((one) => others.includes(one));
  const change = () => {
    if (was.found === 0) return is.found > 0 ? 'new' : 'same';
    if (is.found === 0 && was.at.some((pointer) => countAt(pointer) > 0)) return 'format';
    if (is.found === 0) return mayBeMissing(was.found) ? 'same' : 'lost';
    if (lost.length > 0 || !isShared(was.at, is.at)) return isMoved ? 'moved' : 'lost';
    return isShared(was.as, is.as) ? 'same' : 'format';
  };
  return { entry: field.name, change: change(), recorded: was, live: is };
}

/** Which pointers an entry of events was read from, and the formats of times. */
function readField({ name, read, entryOf }: EventField, pages: readonly TrailPage[]) {
  const found = pages.flatMap((page) => {
    const pointers = readPointers(entryOf(page.contract.event));
    return eventsOf([page])
      .filter((event) => read(event) !== null)
      .map(({ raw }) => {
        const values = pointers.map((at) => ({ at, value: compilePointer(at)(raw) ?? null }));
        return values.find(({ value }) => value !== null);
      });
  });
  const formats = name === 'occurredAt' ? found.map((one) => formatOf(one?.value)) : [];
  const at = found.map((one) => one?.at ?? '');
  return { at: [...new Set(at)], as: [...new Set(formats)], found: found.length };
}

/** The format of a time, whatever the contract calls it. */
function formatOf(value: unknown): string {
  const isEpoch = /^(?:\/Date.*|-?\d+(?:\.\d+)?)$/.test(String(value));
  const isSame = (format: (typeof INSTANT_FORMATS)[number]) =>
    format.startsWith('epoch') && parseTime(value) === parseTime(value, format);
  if (isEpoch && parseTime(value) !== null) return INSTANT_FORMATS.find(isSame) ?? 'epoch';
  if (parseIso(String(value)) !== null) return 'iso8601';
  return parseTime(value) === null ? 'without a zone' : 'rfc2822';
}
