import type { ServiceResponse } from '../helpers/service.ts';

/** A record. Two records may have the same text if they have no ids. The newest has the highest position. */
export type TrailRecord = {
  readonly text: string;
  readonly position: number;
  /** In seconds since 1970. Null: it has no time. */
  readonly at: number | null;
};

/** The time of a record that arrives: now, none, or years ago. */
export type Arrival = 'push' | 'untimed' | 'early';

/** How the service lists its trail. */
export type Listing = {
  readonly order: 'newest-first' | 'oldest-first';
  /** Whether the contract has the order. */
  readonly isOrderGiven: boolean;
  readonly style: 'page' | 'offset' | 'cursor';
  readonly size: number;
  readonly hasIds: boolean;
  readonly hasTotal: boolean;
  /** Whether each response has the members of its records in another order. */
  readonly isReordered: boolean;
};

/** A random trail. */
export type Trail = {
  /** In order of arrival at the list, newest first. */
  readonly records: readonly TrailRecord[];
  /** What the service lists until it is fresh again: other replicas may have more. */
  listed(): readonly TrailRecord[];
  /** A replica that has what the list had `changes` changes ago. */
  serveStale(changes: number): void;
  serveEmpty(): void;
  /** Only the newest, or every second one. */
  servePart(size: number): void;
  serveFresh(): void;
  /** No cursor that was returned is valid any more: such a request gets one of the refusals. */
  expire(refusal: number): void;
  hasExpired(): boolean;
  /** How many were removed. */
  removed(): number;
  /** Adds a record before the newest. */
  push(): void;
  /** The same, without a time. */
  untimed(): void;
  /** The same, with the time {@link EARLY}. */
  early(): void;
  /** Adds one after the other, each behind `newer` others. */
  addLate(newer: number, count?: number): void;
  /** Adds one that is equal to the newest, but for its id if it has one. */
  repeat(): void;
  remove(index: number): void;
  /** Keeps only the newest, as a service with a retention period does. */
  keep(count: number): void;
  respond(url: string): ServiceResponse;
};

const MAX_EQUAL = 3;

/** What services respond with to a cursor that has expired. The last one looks like the end of the list. */
export const REFUSALS: readonly ServiceResponse[] = [
  ...[400, 404, 410, 422].map((status) => ({ status })),
  { body: '{"code":410,"message":"expired"}' },
  { body: '{"error":"invalid cursor"}' },
  { body: '{"events":[],"next":null}' },
];

/** The time after which the records arrive, in seconds since 1970. */
export const FIRST = 1_700_000_000;

/** A time before that of all other records. */
export const EARLY = 1_600_000_000;

/** Changes of the list that are remembered. */
const MAX_CHANGES = 60;

/** Another order of the members. */
function reorder(text: string, turn: number): string {
  const members = Object.entries(JSON.parse(text));
  const at = turn % members.length;
  return JSON.stringify(Object.fromEntries([...members.slice(at), ...members.slice(0, at)]));
}

/** The contract for the listing. */
export function contractOf({ order, style, isOrderGiven }: Listing) {
  const start = style === 'page' ? { start: 1 } : {};
  const next = style === 'cursor' ? { next: '/next' } : {};
  const paging = { style, parameter: style, position: null, ...start, ...next };
  // Few times may suggest another order, and few records that they have no time.
  const given = { order, event: { occurredAt: '/time' } };
  return { audit: { paging, ...(isOrderGiven && given) } };
}

/** The filter of a client that begins at a time, in seconds since 1970. */
export function filterOf(since: number | null) {
  return since === null ? null : { since: new Date(1000 * since).toISOString() };
}

/** Creates an empty trail. */
export function createTrail(listing: Listing): Trail {
  const { order, style, size, hasIds, hasTotal, isReordered } = listing;
  const records: TrailRecord[] = [];
  let serial = 0;
  let seconds = FIRST;
  /** Of one of `count` records between the one at `index` and the one before it. */
  const positionAt = (index: number, nth = 1, count = 1): number => {
    const [newer, older] = [records[index - 1]?.position, records[index]?.position];
    const [from, to] = [older ?? (newer ?? 0) - 2, newer ?? (older ?? 0) + 2];
    return from + ((to - from) * nth) / (count + 1);
  };
  const create = (at: number | null, position = positionAt(0)): TrailRecord => {
    serial += 1;
    const time = at === null ? null : new Date(1000 * at).toISOString();
    const identified = { id: `r${serial}`, time, action: `a${serial % 3}` };
    const text = JSON.stringify(hasIds ? identified : { time, action: `a${serial}` });
    return { text, position, at };
  };
  let removed = 0;
  const past: (readonly TrailRecord[])[] = [];
  let served: readonly TrailRecord[] | null = null;
  let [epoch, refusal, responses] = [0, 0, 0];
  /** Remembers the list before it changes. */
  const keepPast = () => {
    past.unshift([...records]);
    past.splice(MAX_CHANGES);
  };
  const arrive = (at: number | null) => {
    keepPast();
    seconds += 1;
    records.unshift(create(at));
  };
  const remove = (from: number, count: number) => {
    keepPast();
    removed += records.splice(from, count).length;
  };
  const startOf = (asked: string | null, list: readonly TrailRecord[]): number => {
    if (asked === null) return 0;
    if (style === 'page') return (Number(asked) - 1) * size;
    if (style === 'offset') return Number(asked);
    const isAfter = ({ position }: TrailRecord) =>
      order === 'newest-first' ? position < Number(asked) : position > Number(asked);
    const index = list.findIndex(isAfter);
    return index < 0 ? list.length : index;
  };
  return {
    records,
    listed: () => served ?? records,
    serveStale: (changes) => {
      served = past[Math.min(changes, past.length) - 1] ?? [...records];
    },
    serveEmpty: () => {
      served = [];
    },
    servePart: (count) => {
      served = count > 0 ? records.slice(0, count) : records.filter((_, index) => index % 2 === 0);
    },
    serveFresh: () => {
      served = null;
    },
    expire: (next) => {
      epoch += 1;
      refusal = next;
    },
    hasExpired: () => epoch > 0,
    removed: () => removed,
    push: () => arrive(seconds + 1),
    untimed: () => arrive(null),
    early: () => arrive(EARLY),
    addLate: (newer, count = 1) => {
      keepPast();
      const index = Math.min(newer, records.length);
      const positions = Array.from({ length: count }, (_, at) =>
        positionAt(index, count - at, count),
      );
      const late = positions.map((one, at) => create(seconds - index - at / 1000, one));
      records.splice(index, 0, ...late);
    },
    repeat: () => {
      const [newest] = records;
      if (newest === undefined) return;
      keepPast();
      const count = records.filter(({ text }) => text === newest.text).length;
      if (hasIds) records.unshift(create(seconds));
      // A page that has only equal records looks like the page before it.
      else if (count < Math.min(MAX_EQUAL, size))
        records.unshift({ ...newest, position: positionAt(0) });
    },
    remove: (index) => remove(index % Math.max(1, records.length), 1),
    keep: (count) => remove(count, Infinity),
    respond: (url) => {
      const asked = new URL(url, 'http://service.test').searchParams.get(style);
      const [position = '', of = epoch] = asked?.split('~') ?? [];
      if (Number(of) !== epoch) return REFUSALS[refusal % REFUSALS.length] ?? {};
      const newestFirst = served ?? records;
      const list = order === 'newest-first' ? newestFirst : newestFirst.toReversed();
      const start = startOf(asked === null ? null : position, list);
      const page = list.slice(start, start + size);
      const isLast = start + size >= list.length;
      const total = hasTotal ? `,"total":${list.length}` : '';
      const next =
        style === 'cursor'
          ? `,"next":${JSON.stringify(isLast ? null : `${page.at(-1)?.position}~${epoch}`)}`
          : '';
      responses += 1;
      const texts = page.map(({ text }) => (isReordered ? reorder(text, responses) : text));
      return { body: `{"events":[${texts.join()}]${total}${next}}` };
    },
  };
}
