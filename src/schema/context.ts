import DataLoader from 'dataloader';
import { GatewayError } from '../errors.ts';
import { sufficientPrefix } from '../inference/records.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { ListItem, ListPage } from '../mapping/list-page.ts';
import type { NextPage, PageToken } from '../mapping/next-page.ts';
import type { FetchPage } from '../pagination/resolve-connection.ts';
import { parseBearer } from '../upstream/bearer.ts';
import { type Path, withParameter } from '../upstream/path.ts';
import type { RestClient, UnauthenticatedCalls } from '../upstream/rest-client.ts';
import type { Route, Trace, UpstreamResponse } from '../upstream/types.ts';

/** What every resolver is given, for one request. Nothing in it outlives the request or is shared with another. */
export type Context = Pick<SharedServices, 'contract' | 'reportDrift' | 'now'> & {
  /** Counts a login. Throws RATE_LIMITED if there were too many of this client or from this IP address. */
  readonly admitLogin: (clientId: string) => Promise<void>;
  /** Calls without a token. */
  readonly unauthenticated: UnauthenticatedCalls;
  /** Calls with the client's token. Without a well-formed one they throw UNAUTHENTICATED, and nothing is sent. */
  readonly authorized: {
    /** Fetches a list page by page: each page once, however many fields need it. Aborted if the client disconnects. */
    list<Item extends ListItem>(list: ListRequest<Item>): FetchPage<Item>;
    delete(route: Route, path: Path): Promise<UpstreamResponse>;
  };
  /** Counts the fields of entities that a router requests. Throws OPERATION_TOO_COMPLEX for more than 2000. */
  readonly admitEntityFields: (count: number) => void;
  /**
   * Releases the pages that were read, once the result is serialized. Settled promises that V8 has promoted to the old
   * generation would retain them until a major GC: 20 % of the time of a response with 1,000 records.
   */
  release(): void;
};

/** A list of the service: how to request its first page, and how to read a page of it. */
export type ListRequest<Item extends ListItem> = {
  readonly route: Route;
  readonly path: Path;
  readonly read: (response: UpstreamResponse, token: PageToken | null) => ListPage<Item>;
  /** Given if the first records of a large response are sufficient; `recordsPointer` is configured. */
  readonly prefix?: { readonly recordsPointer: string | null | undefined } | undefined;
};

/** What the contexts of all requests share. */
export type SharedServices = {
  readonly client: RestClient;
  /** Counts a login by client ID, and by IP address if that is known. Throws RATE_LIMITED if there were too many. */
  readonly admitLogin: (clientId: string, address: string | null) => Promise<void>;
  readonly contract: ConfiguredContract;
  /** Reports entries of the contract that were not found in a response. */
  readonly reportDrift: (entries: readonly string[]) => void;
  readonly now: () => Date;
};

/** Representations are not part of the document, so none of its limits bounds what may fail once for each of them. */
const MAX_ENTITY_FIELDS = 2000;

/**
 * Creates the context of one request.
 * @param request `signal` is aborted when the client disconnects.
 */
export function createContext(
  { client, admitLogin, contract, reportDrift, now }: SharedServices,
  request: { readonly headers: { get(name: string): string | null }; readonly signal: AbortSignal },
  { address, trace }: { readonly address: () => string | null; readonly trace: Trace },
): Context {
  const calls = client.of(trace);
  const authorized = () => calls.authorized(parseBearer(request.headers.get('authorization')));

  const pages: ListPage[] = [];
  const fetchOne = async ({ list, path, token, sufficient }: PageKey): Promise<ListPage> => {
    const prefix =
      sufficient !== undefined && list.prefix !== undefined
        ? sufficientPrefix(sufficient, list.prefix.recordsPointer)
        : undefined;
    const response = await authorized().get(list.route, path, { signal: request.signal, prefix });
    const page = list.read(response, token);
    pages.push(page);
    return { ...page, next: () => withoutPath(client, page, list.path) };
  };
  const createLoader = () =>
    new DataLoader<PageKey, ListPage, string>(
      // An error per key: a rejection would fail the whole batch. Our code throws nothing but errors.
      (keys) => Promise.all(keys.map((key) => fetchOne(key).catch((error) => error as Error))),
      // Pages of one list follow one another, so there is nothing to wait for.
      { cacheKeyFn: ({ path }) => path.value, batchScheduleFn: queueMicrotask },
    );
  let loader: ReturnType<typeof createLoader> | undefined; // a mutation needs none
  let entityFields = 0;

  return {
    admitLogin: (clientId) => admitLogin(clientId, address()),
    unauthenticated: calls.unauthenticated,
    authorized: {
      list: <Item extends ListItem>(list: ListRequest<Item>) => {
        const fetchPage: FetchPage<ListItem> = async (token, sufficient) => {
          loader ??= createLoader();
          const path = toPath(client, list.path, token);
          return loader.load({ list, path, token, sufficient });
        };
        return fetchPage as FetchPage<Item>; // all lists of one path have the same items
      },
      delete: (route, path) => authorized().delete(route, path),
    },
    admitEntityFields: (count) => {
      entityFields += count;
      if (entityFields <= MAX_ENTITY_FIELDS) return;
      const message = `The request has more than ${MAX_ENTITY_FIELDS} fields of entities. Split it.`;
      throw new GatewayError('OPERATION_TOO_COMPLEX', { message });
    },
    contract,
    reportDrift: (entries) => {
      if (entries.length > 0) reportDrift(entries);
    },
    now,
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
  /** Number of records that are sufficient. */
  readonly sufficient: number | undefined;
};

function toPath(client: RestClient, first: Path, token: PageToken | null): Path {
  if (token === null) return first;
  if (!('link' in token))
    return withParameter(first, { name: token.parameter, value: token.value });
  const path = client.follow(token.link, first);
  if (path !== null) return path;
  throw new GatewayError('BAD_USER_INPUT', {
    message: '`after` is not a cursor of this connection.',
  });
}

/** Only the query of a link is kept, so that no cursor can lead to another path. */
function withoutPath(client: RestClient, page: ListPage, first: Path): NextPage {
  const next = page.next();
  if (next === null || !('link' in next)) return next;
  const path = client.follow(next.link, first);
  return path === null
    ? { missing: page.entryNames.paging }
    : { link: path.value.slice(path.value.indexOf('?')) };
}
