import DataLoader from 'dataloader';
import { GatewayError } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { inferCertainRecords } from '../inference/records.ts';
import type { ListContract, PagingContract, Source } from '../mapping/contract.ts';
import {
  type ListItem,
  type ListPage,
  recordsAt,
  SAMPLE_SIZE,
  splitAtWildcard,
  withoutNulls,
} from '../mapping/list-page.ts';
import { type NextPage, type PageToken, queryOf } from '../mapping/next-page.ts';
import type { FetchPage } from '../pagination/fetch-pages.ts';
import type { AuthorizedCalls, RestClient } from '../upstream/http-client.ts';
import { type Path, withPage } from '../upstream/path.ts';
import type { Read, Route } from '../upstream/types.ts';

/** Fetches pages of the service for one request. */
export type PageLoader = {
  /** Fetches a list page by page: each page once, however many fields need it. Aborted if the client disconnects. */
  list<Item extends ListItem>(list: ListRequest<Item>): FetchPage<Item>;
  /**
   * Releases the pages. The fast path calls it once the result is serialized: settled promises that V8 has promoted to
   * the old generation would retain them until a major GC, 20 % of the time of a response with 1,000 records.
   */
  release(): void;
};

/** A list of the service: how to request its first page, and how to read a page of it. */
export type ListRequest<Item extends ListItem> = {
  readonly route: Route;
  readonly path: Path;
  readonly read: (response: UpstreamResponse, token: PageToken | null) => ListPage<Item>;
  /** Given if the first records of a large response are sufficient. */
  readonly prefix?: PrefixOptions | undefined;
};

/** Of a list of which the first records of a large response may be sufficient. */
export type PrefixOptions = {
  /** The entry `records` of the contract. */
  readonly recordsPointer: ListContract['records'] | undefined;
  /** Whether a body of unknown length is read whole. */
  readonly isLengthNeeded: boolean;
};

/** Creates the page loader of one request. `authorized` throws UNAUTHENTICATED without a well-formed token. */
export function createPageLoader(
  client: Pick<RestClient, 'follow'>,
  authorized: () => Pick<AuthorizedCalls, 'get'>,
  signal: AbortSignal,
): PageLoader {
  const pages: ListPage[] = [];
  const fetchOne = async ({ list, path, token, recordsNeeded }: PageKey): Promise<ListPage> => {
    const prefix =
      recordsNeeded !== undefined && list.prefix !== undefined
        ? sufficientPrefix(recordsNeeded, list.prefix)
        : undefined;
    const read: Read<ListPage> = (response) => list.read(response, token);
    const page = await authorized().get(list.route, path, read, { signal, prefix });
    pages.push(page);
    return {
      ...page,
      next: (given) => withoutPath(client, page.next(given), page, list.path),
    };
  };
  const loader = new DataLoader<PageKey, ListPage, string>(
    // An error per key: a rejection would fail the whole batch. Our code throws nothing but errors.
    (keys) => Promise.all(keys.map((key) => fetchOne(key).catch((error) => error as Error))),
    // Pages of one list follow one another, so there is nothing to wait for.
    {
      cacheKeyFn: ({ list, path, token, recordsNeeded }) => {
        const needed = list.prefix === undefined ? '' : recordsNeeded;
        // After other pages, the same request may lead to other records.
        return `${needed} ${token?.walk?.pages} ${path.value}`;
      },
      batchScheduleFn: queueMicrotask,
    },
  );
  return {
    list: <Item extends ListItem>(list: ListRequest<Item>) => {
      const fetchPage: FetchPage<ListItem> = async (token, recordsNeeded) =>
        loader.load({ list, path: toPath(client, list.path, token), token, recordsNeeded });
      return fetchPage as FetchPage<Item>; // all lists of one path have the same items
    },
    release: () => {
      for (const page of pages) page.release();
    },
  };
}

type PageKey = {
  readonly list: ListRequest<ListItem>;
  readonly path: Path;
  /** Leads from the list's first page to this one; null for the first. */
  readonly token: PageToken | null;
  /** The first records that are needed; undefined: all. */
  readonly recordsNeeded: number | undefined;
};

function toPath(client: Pick<RestClient, 'follow'>, first: Path, token: PageToken | null): Path {
  if (token === null) return first;
  if (!('link' in token)) return withPage(first, { name: token.parameter, value: token.value });
  const path = client.follow(token.link, first);
  if (path !== null) return path;
  throw new GatewayError('BAD_USER_INPUT', {
    message: '`after` is not a cursor of this connection.',
  });
}

/** Only the query of a link is kept, so that no cursor can lead to another path. */
export function withoutPath(
  client: Pick<RestClient, 'follow'>,
  next: NextPage,
  { entryNames: { paging: entry }, paging }: ListPage,
  first: Path,
): NextPage {
  if (next === null || !('link' in next)) return next;
  const path = client.follow(next.link, first);
  if (path !== null) return { link: queryOf(path.value) };
  return client.follow(queryOf(next.link), first) === null
    ? { missing: entry }
    : { missing: `${entry}.follow`, linkAt: linkAt(paging()) };
}

/** Where a link to the next page is. */
function linkAt({ style, next }: PagingContract): Source {
  return style === 'link-header' ? { header: 'link' } : next;
}

/**
 * Kept for speed: without it, 50 of 20,000 records take 67 times the CPU (npm run bench -- --load page).
 *
 * Specifies how much of a response is sufficient for a number of records, or for the sample from which fields are
 * inferred, whichever is larger. Without a configured list, a prefix suffices only if the rest of the response cannot
 * change which list is inferred.
 */
export function sufficientPrefix(
  recordCount: number,
  { recordsPointer: configured, isLengthNeeded }: PrefixOptions,
) {
  const items = Math.max(recordCount, SAMPLE_SIZE);
  return {
    items,
    isLengthNeeded,
    depths: depthsOf(configured),
    suffices: (body: unknown) => {
      const pointer = configured === undefined ? inferCertainRecords(body) : configured;
      return withoutNulls(recordsAt(pointer, body) ?? []).length >= items;
    },
  };
}

/** Depths of the list in the body. None for records in groups: no single list has enough of them. */
function depthsOf(configured: ListContract['records'] | undefined): readonly number[] {
  if (configured == null) return [0, 1];
  return splitAtWildcard(configured) === null ? [configured.split('/').length - 1] : [];
}
