import { eventsOf, type MappedPage } from '../../gateway/api/read-trail.ts';
import { listEnvelopeFields } from '../../gateway/inference/envelope.ts';
import {
  EVENT_ENTRIES,
  type EventEntry,
  usedPointers,
} from '../../gateway/inference/event-entries.ts';
import { profileFields } from '../../gateway/inference/profile-fields.ts';
import type { AuditContract, Source } from '../../gateway/mapping/contract.ts';
import { compilePointer } from '../../gateway/mapping/json-pointer.ts';
import { isAbsent } from '../../gateway/mapping/read-source.ts';
import { detectFormat } from '../../gateway/mapping/time.ts';
import { findDataKeys } from './data-keys.ts';

/** A place from which an entry of the contract is read. */
export type Place = {
  /** A pointer, or a header. */
  readonly at: string;
  /** The format of a time, or the style of the paging. */
  readonly as?: string | undefined;
  /** Number of records in which a field is read from here. */
  readonly found?: number;
};

type Trail = readonly MappedPage[];

/**
 * Compares how two trails are mapped: no values, but which entries are found, where, and in which format. The changes `new`
 * and `same`, and new keys, are no drift.
 */
export function compareTrails(recorded: Trail, live: Trail) {
  const records = [recordsOf(recorded), recordsOf(live)] as const;
  const found = readEntries(live, recorded);
  const entries = readEntries(recorded, live).map(([entry, places], index) =>
    compare(entry, [places, found[index]?.[1] ?? []], records),
  );
  const known = keysOf(recorded);
  const isDataKey = findDataKeys(live);
  const isName = (pointer: string) => pointer.split('/').every((token) => !isDataKey(token));
  return {
    entries,
    newKeys: keysOf(live).filter((pointer) => !known.includes(pointer) && isName(pointer)),
  };
}

/** The pointers of all fields of a trail: those around the records, and those of a record. */
function keysOf(trail: Trail): readonly string[] {
  const envelope = trail.flatMap(({ response, contract }) =>
    listEnvelopeFields(response.body, contract.records),
  );
  const fields = [...envelope, ...profileFields(recordsOf(trail))];
  return [...new Set(fields.map(({ pointer }) => pointer))];
}

function recordsOf(trail: Trail): readonly unknown[] {
  return eventsOf(trail).map(({ raw }) => raw);
}

/**
 * Reads where each entry is in a trail. Around the records, a place of the other trail counts if it exists, even if it is
 * null: the last page has no next one.
 */
function readEntries(trail: Trail, [other]: Trail) {
  const lists = trail.slice(0, 1).map(({ response, contract }) => {
    const find = (sourcesOf: (contract: AuditContract) => readonly Source[]) => {
      const others = sourcesOf(other?.contract ?? contract);
      return sourcesOf(contract)
        .flatMap((source, index) => source ?? others[index] ?? [])
        .filter((source) => !isAbsent(source, response))
        .map((source) => (typeof source === 'string' ? source : `header ${source.header}`));
    };
    const paging = find(({ paging: { style, next, more, position, pages } }) => [
      ...[style === 'link-header' ? { header: 'link' } : next, more, position, pages],
    ]);
    const styles = [contract, other?.contract].map((one) => one?.paging.style);
    const as = styles.find((style) => style !== 'none');
    return [
      ['records', [{ at: contract.records ?? '' }]],
      ['total', find(({ total }) => [total]).map((at) => ({ at }))],
      ['paging', paging.map((at) => ({ at, as }))],
    ] as const;
  });
  return [
    ...lists.flat(),
    ...EVENT_ENTRIES.map((field) => [field.name, readField(field, trail)] as const),
  ];
}

function readField({ name, read, entryOf }: EventEntry, trail: Trail): readonly Place[] {
  const places = new Map<string, Place>();
  for (const page of trail)
    for (const { raw } of eventsOf([page]).filter((event) => read(event) !== null))
      for (const at of usedPointers(entryOf(page.contract.event), [raw])) {
        const format = detectFormat(compilePointer(at)(raw)) ?? 'without a zone';
        const as = name === 'occurredAt' ? format : undefined;
        const { found = 0 } = places.get(`${at} ${as}`) ?? {};
        places.set(`${at} ${as}`, { at, as, found: found + 1 });
      }
  return [...places.values()];
}

/** What few records have is missing by chance in more than one of a hundred trails. Of short trails all counts. */
const MAX_CHANCE = 0.01;
const MIN_RECORDS = 20;

type Pair<T> = readonly [recorded: readonly T[], live: readonly T[]];

function compare(entry: string, [recorded, live]: Pair<Place>, [before, now]: Pair<unknown>) {
  const mayBeMissing = ({ found = before.length }: Place) =>
    before.length >= MIN_RECORDS &&
    (1 - found / before.length) ** Math.max(1, now.length) > MAX_CHANCE;
  const isThere = ({ at, found }: Place) =>
    found !== undefined && now.some((raw) => (compilePointer(at)(raw) ?? null) !== null);
  const isKnown = ({ at }: Place) => recorded.some((place) => place.at === at);
  const isLost = (place: Place) =>
    live.every(({ at }) => at !== place.at) && !isThere(place) && !mayBeMissing(place);
  const isSameFormat = ({ as }: Place) => recorded.some((place) => place.as === as);
  const change = () => {
    if (recorded.length === 0) return live.length > 0 ? 'new' : 'same';
    if (live.length === 0 && recorded.some(isThere)) return 'format';
    if (recorded.some(isLost) || (live.length > 0 && !live.some(isKnown)))
      return live.every(isKnown) ? 'lost' : 'moved';
    return live.length === 0 || live.some(isSameFormat) ? 'same' : 'format';
  };
  return { entry, change: change(), recorded, live };
}
