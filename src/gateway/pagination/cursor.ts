import { GatewayError } from '../../errors.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import { isToken, type NextPage, type PageToken } from '../mapping/next-page.ts';
import { isObject } from '../mapping/values.ts';
import { BEFORE_FIRST, fingerprint, type ItemPosition, recordPrint } from './find-item.ts';

/** What a cursor contains. */
export type CursorPosition = ItemPosition & {
  /** How to request the page; null for the first. */
  readonly token: PageToken | null;
  /** Of the last item of a page whose next page is known. */
  readonly following?: FollowingPage;
};

/** The page after an item. */
export type FollowingPage = {
  readonly token: PageToken;
  /** Number of records on all pages when the cursor was issued; null if the service did not say. */
  readonly total: number | null;
  /** When the item occurred; null if that is unknown. */
  readonly time: string | null;
};

/** An item of a connection. */
export type Edge<Item extends ListItem = ListItem> = {
  readonly page: ListPage<Item>;
  readonly index: number;
  /** How the page was requested; null for the first. */
  readonly token: PageToken | null;
  /** How to request the page after it. */
  readonly next: () => NextPage;
};

/** The version of the format. */
const VERSION = '1';

/**
 * The cursor of an item: the version, and base64url of a JSON array. Opaque to clients. That of the last item of a page
 * names the next page as well, so that the page of the item is not requested again.
 */
export function encodeCursor({ page, index, token, next }: Edge): string {
  const origin = page.isPartial ? recordPrint(page, 0) : page.length;
  const print = fingerprint(page, index);
  const following = index === page.length - 1 ? next() : null;
  if (!isToken(following)) return encodePosition([print, index, origin], token);
  const { occurredAt = null } = page.item(index);
  const anchor = [print, page.total(), occurredAt, ...toTokenParts(following)];
  return encodePosition([anchor, index, origin], token);
}

/**
 * The cursor before the first item of a page, for a page after those without items. Opaque to clients.
 * @param hasPrevious Whether the list has items before that page.
 */
export function encodePageCursor(token: PageToken | null, hasPrevious: boolean): string {
  return encodePosition(['', BEFORE_FIRST, Number(hasPrevious)], token);
}

function encodePosition(position: readonly unknown[], token: PageToken | null): string {
  const parts = token === null ? position : [...position, ...toTokenParts(token)];
  return `${VERSION}.${encodeParts(parts)}`;
}

/** @throws GatewayError BAD_USER_INPUT if it is not a cursor, or one of another version. */
export function decodeCursor(cursor: string): CursorPosition {
  const [, version, encoded = ''] = FORMAT.exec(cursor) ?? [];
  const [anchor, index, origin, ...request] = decodeParts(encoded) ?? [];
  const [print, total = null, time = null, ...rest]: readonly unknown[] = [anchor].flat();
  const [token, next] = [fromTokenParts(request), fromTokenParts(rest)];
  if (
    version === VERSION &&
    typeof print === 'string' &&
    (isIndex(index) || index === BEFORE_FIRST) &&
    (isIndex(origin) || typeof origin === 'string') &&
    (isIndex(total) || total === null) &&
    (typeof time === 'string' || time === null) &&
    token !== undefined &&
    next !== undefined
  ) {
    const position = { fingerprint: print, index, origin, token };
    return next === null ? position : { ...position, following: { token: next, total, time } };
  }
  const isOther = version !== undefined && version !== VERSION;
  throw new GatewayError('BAD_USER_INPUT', { message: isOther ? OTHER_VERSION : NO_CURSOR });
}

const NO_CURSOR =
  '`after` is not a cursor of this connection: use `endCursor` or the cursor of an edge.';

const OTHER_VERSION =
  '`after` is a cursor of another version of Keytrail: start again at the first page.';

const FORMAT = /^(\d+)\.([\w-]+)$/;

/** Encodes a JSON array as base64url. */
export function encodeParts(parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Decodes a JSON array; null if it is none. */
export function decodeParts(encoded: string): readonly unknown[] | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString());
    return Array.isArray(parts) ? parts : null;
  } catch {
    return null;
  }
}

/** A token as a part of a JSON array. */
export function toTokenParts(token: PageToken): readonly unknown[] {
  const { walk } = token;
  const parts = toRequestParts(token);
  return walk === undefined ? parts : [...parts, { walk: [walk.pages, walk.records, walk.print] }];
}

function toRequestParts(token: PageToken): readonly unknown[] {
  if ('link' in token) return [token.link];
  const { parameter, value, preceding } = token;
  if (preceding === undefined) return [parameter, value];
  const { pages, records, empty, largest } = preceding;
  const isEven = empty === undefined && largest === undefined;
  return [parameter, value, isEven ? pages : [pages, empty, largest], records];
}

/** The token of these parts; null for none. Undefined if they are not those of a token. */
export function fromTokenParts(parts: readonly unknown[]): PageToken | null | undefined {
  const last = parts.at(-1);
  if (!isObject(last)) return fromRequestParts(parts);
  const token = fromRequestParts(parts.slice(0, -1));
  const [pages, records, print, ...others]: readonly unknown[] = [last['walk']].flat();
  if (!isIndex(pages) || !isIndex(records) || typeof print !== 'string' || others.length > 0)
    return undefined;
  return token && { ...token, walk: { pages, records, print } };
}

function fromRequestParts(parts: readonly unknown[]): PageToken | null | undefined {
  const [first, value, counts, records] = parts;
  if (parts.length === 0) return null;
  if (typeof first !== 'string' || parts.length > 4) return undefined;
  if (parts.length === 1) return { link: first };
  if (typeof value !== 'string') return undefined;
  if (parts.length === 2) return { parameter: first, value };
  const [pages, empty, largest, ...others]: readonly unknown[] = [counts].flat();
  if (!isIndex(pages) || !isIndex(records) || others.length > 0) return undefined;
  const isCount = (count: unknown) => count == null || isIndex(count);
  if (!isCount(empty) || !isCount(largest)) return undefined;
  const preceding = {
    ...{ pages, records },
    ...(isIndex(empty) && { empty }),
    ...(isIndex(largest) && { largest }),
  };
  return { parameter: first, value, preceding };
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
