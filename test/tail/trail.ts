import type { ServiceResponse } from '../helpers/service.ts';

/** A record. Two records may have the same text if they have no ids. The newest has the highest position. */
export type TrailRecord = { readonly text: string; readonly position: number };

/** How the service lists its trail. */
export type Listing = {
  readonly order: 'newest-first' | 'oldest-first';
  /** Whether the contract has the order. */
  readonly isOrderGiven: boolean;
  readonly style: 'page' | 'offset' | 'cursor';
  readonly size: number;
  readonly hasIds: boolean;
  readonly hasTotal: boolean;
};

/** A random trail. */
export type Trail = {
  /** In order of arrival at the list, newest first. */
  readonly records: readonly TrailRecord[];
  /** How many were removed. */
  removed(): number;
  /** Adds a record before the newest. */
  push(): void;
  /** Adds one behind `newer` others. */
  addLate(newer: number): void;
  /** Adds one that is equal to the newest, but for its id if it has one. */
  repeat(): void;
  remove(index: number): void;
  /** Keeps only the newest, as a service with a retention period does. */
  keep(count: number): void;
  respond(url: string): ServiceResponse;
};

const MAX_EQUAL = 3;

/** Creates an empty trail. */
export function createTrail({ order, style, size, hasIds, hasTotal }: Listing): Trail {
  const records: TrailRecord[] = [];
  let serial = 0;
  let seconds = 1_700_000_000;
  const positionAt = (index: number): number => {
    const [newer, older] = [records[index - 1]?.position, records[index]?.position];
    return ((newer ?? (older ?? 0) + 2) + (older ?? (newer ?? 0) - 2)) / 2;
  };
  const create = (at: number, index = 0): TrailRecord => {
    serial += 1;
    const time = new Date(1000 * at).toISOString();
    const identified = { id: `r${serial}`, time, action: `a${serial % 3}` };
    const text = JSON.stringify(hasIds ? identified : { time, action: `a${serial}` });
    return { text, position: positionAt(index) };
  };
  let removed = 0;
  const remove = (from: number, count: number) => {
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
    removed: () => removed,
    push: () => {
      seconds += 1;
      records.unshift(create(seconds));
    },
    addLate: (newer) => {
      const index = Math.min(newer, records.length);
      records.splice(index, 0, create(seconds - index, index));
    },
    repeat: () => {
      const [newest] = records;
      if (newest === undefined) return;
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
      const list = order === 'newest-first' ? records : records.toReversed();
      const start = startOf(asked, list);
      const page = list.slice(start, start + size);
      const isLast = start + size >= list.length;
      const total = hasTotal ? `,"total":${list.length}` : '';
      const next =
        style === 'cursor'
          ? `,"next":${JSON.stringify(isLast ? null : String(page.at(-1)?.position))}`
          : '';
      return { body: `{"events":[${page.map(({ text }) => text).join()}]${total}${next}}` };
    },
  };
}
