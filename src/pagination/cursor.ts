import { hash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import type { PageToken } from '../mapping/next-page.ts';
import { memoizeByObject } from '../util/memoize.ts';

/** What a cursor contains. Lists grow and ids may repeat, so one of these alone would not find the item again. */
export type CursorPosition = {
  /** Of the item, see {@link fingerprint}. */
  readonly fingerprint: string;
  /** Of the item on its page. */
  readonly index: number;
  /** Shows how many records were added since: the length of its page, or the fingerprint of a partial page's first one. */
  readonly origin: number | string;
  /** How to request the page; null for the first. */
  readonly token: PageToken | null;
};

/** An item of a connection. */
export type Edge<Item extends ListItem = ListItem> = {
  readonly page: ListPage<Item>;
  readonly index: number;
  /** How the page was requested; null for the first. */
  readonly token: PageToken | null;
};

/** The cursor of an item: base64url of a JSON array, opaque to clients. */
export function encodeCursor({ page, index, token }: Edge): string {
  const origin = page.isPartial ? recordPrint(page, 0) : page.length;
  const position = [fingerprint(page, index), index, origin];
  const request = token === null ? [] : toParts(token);
  return Buffer.from(JSON.stringify([...position, ...request])).toString('base64url');
}

/** @throws GatewayError BAD_USER_INPUT if it is not a cursor. */
export function decodeCursor(cursor: string): CursorPosition {
  const parts = parse(cursor);
  const [print, index, origin, ...request]: readonly unknown[] = Array.isArray(parts) ? parts : [];
  const token = toToken(request);
  if (
    typeof print === 'string' &&
    isIndex(index) &&
    (isIndex(origin) || typeof origin === 'string') &&
    token !== undefined
  ) {
    return { fingerprint: print, index, origin, token };
  }
  throw new GatewayError('BAD_USER_INPUT', {
    message:
      '`after` is not a cursor of this connection: use `endCursor` or the cursor of an edge.',
  });
}

/**
 * The present index of the item at a position; -1 if it is not on this page. Compares the items at the old index, counted
 * from either end because records may have been added, then all others: first by record, then by id.
 */
export function findItem(
  page: ListPage,
  { fingerprint: wanted, index, origin }: CursorPosition,
): number {
  const indexOfOrigin = () =>
    findIndex(page, (candidate) => recordPrint(page, candidate) === origin);
  const added = typeof origin === 'number' ? page.length - origin : Math.max(0, indexOfOrigin());
  // The id is compared last: if ids are those of operations, several records share one.
  for (const isMatch of [isSameRecord, isSameId]) {
    const isFound = (candidate: number) =>
      candidate >= 0 && candidate < page.length && isMatch(wanted, fingerprint(page, candidate));
    const found = [index + added, index].find(isFound) ?? findIndex(page, isFound);
    if (found >= 0) return found;
  }
  return -1;
}

function findIndex({ length }: ListPage, holds: (index: number) => boolean): number {
  for (let index = 0; index < length; index += 1) if (holds(index)) return index;
  return -1;
}

const fingerprints = memoizeByObject((_: ListPage) => new Map<number, string>());

/** Identifies an item by a hash of its id and a hash of its record: either may change while the other still matches. */
export function fingerprint(page: ListPage, index: number): string {
  const known = fingerprints(page);
  const found = known.get(index);
  if (found !== undefined) return found;
  const { id, raw } = page.item(index);
  const print = `${id === null ? NO_ID : digest(id)}${digest(JSON.stringify(raw))}`;
  known.set(index, print);
  return print;
}

/** The part of a fingerprint that is the hash of the record. */
function recordPrint(page: ListPage, index: number): string {
  return fingerprint(page, index).slice(DIGEST_LENGTH);
}

/** 72 bits of SHA-256 in base64url. */
const DIGEST_LENGTH = 12;

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}

const NO_ID = digest('');

function isSameRecord(one: string, other: string): boolean {
  return one.slice(DIGEST_LENGTH) === other.slice(DIGEST_LENGTH);
}

function isSameId(one: string, other: string): boolean {
  return !one.startsWith(NO_ID) && one.slice(0, DIGEST_LENGTH) === other.slice(0, DIGEST_LENGTH);
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
}

function toParts(token: PageToken): readonly unknown[] {
  if ('link' in token) return [token.link];
  const { parameter, value, preceding } = token;
  return preceding ? [parameter, value, preceding.pages, preceding.records] : [parameter, value];
}

/** Undefined if the parts are not those of a token. */
function toToken(parts: readonly unknown[]): PageToken | null | undefined {
  const [first, value, pages, records] = parts;
  if (parts.length === 0) return null;
  if (typeof first !== 'string' || parts.length > 4) return undefined;
  if (parts.length === 1) return { link: first };
  if (typeof value !== 'string') return undefined;
  if (parts.length === 2) return { parameter: first, value };
  const isCounted = isIndex(pages) && isIndex(records);
  return isCounted ? { parameter: first, value, preceding: { pages, records } } : undefined;
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
