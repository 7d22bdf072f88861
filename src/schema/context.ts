import { GatewayError } from '../errors.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import { parseBearer } from '../upstream/bearer.ts';
import type { Path } from '../upstream/path.ts';
import type { RestClient, UnauthenticatedCalls } from '../upstream/rest-client.ts';
import type { Route, Trace, UpstreamResponse } from '../upstream/types.ts';
import { createPageLoader, type PageLoader } from './page-loader.ts';

/** What every resolver is given, for one request. Nothing in it outlives the request or is shared with another. */
export type Context = Pick<SharedServices, 'contract' | 'reportDrift' | 'now'> & {
  /** Counts a login. Throws RATE_LIMITED if there were too many of this client or from this IP address. */
  readonly admitLogin: (clientId: string) => Promise<void>;
  /** Calls without a token. */
  readonly unauthenticated: UnauthenticatedCalls;
  /** Calls with the client's token. Without a well-formed one they throw UNAUTHENTICATED, and nothing is sent. */
  readonly authorized: {
    readonly list: PageLoader['list'];
    delete(route: Route, path: Path): Promise<UpstreamResponse>;
  };
  /** Counts the fields of entities that a router requests. Throws OPERATION_TOO_COMPLEX for more than 2000. */
  readonly admitEntityFields: (count: number) => void;
  readonly release: PageLoader['release'];
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

  const { list, release } = createPageLoader(client, authorized, request.signal);
  let entityFields = 0;

  return {
    admitLogin: (clientId) => admitLogin(clientId, address()),
    unauthenticated: calls.unauthenticated,
    authorized: {
      list,
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
    release,
  };
}
