import { GatewayError } from '../errors.ts';
import type { Drift } from '../inference/drift.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import { interpretPointer, type PointerReader } from '../mapping/json-pointer.ts';
import type { EventFilter, FilterParameter } from '../pagination/select-events.ts';
import { isBearer, parseBearer } from '../upstream/bearer.ts';
import { type Caller, toCaller } from '../upstream/fair-dispatcher.ts';
import type { Calls, RestClient, UnauthenticatedCalls } from '../upstream/http-client.ts';
import type { Path } from '../upstream/path.ts';
import type { Route, Trace, UpstreamResponse } from '../upstream/types.ts';
import { createPageLoader, type PageLoader } from './page-loader.ts';
import { MAX_FIELDS } from './selection.ts';

/** What every resolver is given, for one request. Nothing in it outlives the request or is shared with another. */
export type Context = {
  readonly calls: ServiceCalls;
  readonly limits: RequestLimits;
  readonly contract: ContractServices;
};

/** The calls of a request to the service. */
export type ServiceCalls = {
  /** Calls without a token. */
  readonly unauthenticated: UnauthenticatedCalls;
  /** Calls with the client's token. Without a well-formed one they throw UNAUTHENTICATED, and nothing is sent. */
  readonly authorized: {
    readonly list: PageLoader['list'];
    delete(route: Route, path: Path): Promise<UpstreamResponse>;
  };
  readonly release: PageLoader['release'];
  /** Creates a page loader that gives the circuit breaker a verdict of its own, and has its own bound of bytes. */
  createPageLoader(signal: AbortSignal): PageLoader;
  /** Whose request it is; null without a well-formed token. */
  caller(): Caller | null;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

/** The limits of a request. */
export type RequestLimits = {
  /** Counts a login. Throws RATE_LIMITED if there were too many of this client or from this IP address. */
  readonly admitLogin: (clientId: string) => Promise<void>;
  /**
   * Counts values of the response, before they are read: items with a number of fields each. Throws OPERATION_TOO_COMPLEX for
   * more than 50,000.
   */
  readonly admitValues: (items: number, fields: number) => void;
  /** Counts the fields of entities that a router requests. Throws OPERATION_TOO_COMPLEX for more than 2000. */
  readonly admitEntityFields: (count: number) => void;
  /** An upper bound of the length of the result as JSON without escapes, given that of the longest key. */
  readonly maxResultLength: (longestKey: number) => number;
};

/** The contract, and what it needs to read values. */
export type ContractServices = {
  readonly configured: ConfiguredContract;
  /** Reports entries of the contract that read nothing of a response. */
  readonly reportDrift: (drift: Drift) => void;
  /** The current time, for lifetimes of tokens. */
  readonly now: () => Date;
  /** Called with each filter, and what of it is forwarded to the service. */
  readonly onFilter?: (conditions: EventFilter, forwarded: readonly FilterParameter[]) => void;
  /** Parses a valid JSON pointer: each one once, however many records it is resolved against. */
  readonly readPointer: (pointer: string) => PointerReader;
};

/** What the contexts of all requests share. */
export type SharedServices = {
  readonly client: RestClient;
  /** Counts a login by client ID, and by IP address if that is known. Throws RATE_LIMITED if there were too many. */
  readonly admitLogin: (clientId: string, address: string | null) => Promise<void>;
  readonly contract: Omit<ContractServices, 'readPointer'>;
};

/** The request of a context. */
export type ContextRequest = {
  readonly headers: { get(name: string): string | null };
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The IP address of its client; null if unknown. */
  readonly address: () => string | null;
  readonly trace: Trace;
};

/** Representations are not part of the document, so none of its limits bounds what may fail once for each of them. */
const MAX_ENTITY_FIELDS = 2000;

/** Items times selected fields. Executed and serialized, they take 50 ms; no limit of a document bounds the items. */
export const MAX_VALUES = 50_000;

/** Creates the context of one request. */
export function createContext(
  { client, admitLogin, contract }: SharedServices,
  { headers, signal, address, trace }: ContextRequest,
): Context {
  const calls = client.of(trace, address);
  const authorization = headers.get('authorization');
  const pointers = new Map<string, PointerReader>();
  return {
    calls: createCalls(client, calls, { authorization, signal, trace }),
    limits: createLimits(calls.bytesRead, (clientId) => admitLogin(clientId, address())),
    contract: {
      ...contract,
      readPointer: (pointer) => {
        const reader = pointers.get(pointer) ?? interpretPointer(pointer);
        pointers.set(pointer, reader);
        return reader;
      },
    },
  };
}

function createCalls(
  client: RestClient,
  calls: Calls,
  {
    authorization,
    signal,
    trace,
  }: Pick<ContextRequest, 'signal' | 'trace'> & {
    readonly authorization: string | null;
  },
): ServiceCalls {
  const authorized = () => calls.authorized(parseBearer(authorization));
  let loader: PageLoader | undefined; // a mutation needs none
  return {
    unauthenticated: calls.unauthenticated,
    authorized: {
      list: (list) => {
        loader ??= createPageLoader(client, authorized, signal);
        return loader.list(list);
      },
      delete: (route, path) => authorized().delete(route, path),
    },
    release: () => loader?.release(),
    createPageLoader: (signal) => {
      const own = client.of(trace);
      return createPageLoader(client, () => own.authorized(parseBearer(authorization)), signal);
    },
    caller: () =>
      authorization !== null && isBearer(authorization) ? toCaller(authorization) : null,
    signal,
  };
}

function createLimits(
  bytesRead: () => number,
  admitLogin: RequestLimits['admitLogin'],
): RequestLimits {
  let values = 0;
  let fieldsOfItems = 0;
  let entityFields = 0;
  return {
    admitLogin,
    admitValues: (items, fields) => {
      values += items * fields;
      if (items > 0) fieldsOfItems += fields;
      if (values > MAX_VALUES)
        throw tooComplex(
          `The response would have more than ${MAX_VALUES} values. Select fewer fields, or request smaller pages.`,
        );
    },
    admitEntityFields: (count) => {
      entityFields += count;
      if (entityFields > MAX_ENTITY_FIELDS)
        throw tooComplex(
          `The request has more than ${MAX_ENTITY_FIELDS} fields of entities. Split it.`,
        );
    },
    // A field has at most all that was read, in all items together. As many are in no item. The 16 are punctuation and short literals.
    maxResultLength: (longestKey) =>
      fieldsOfItems * bytesRead() + (values + MAX_FIELDS) * (longestKey + 16),
  };
}

function tooComplex(message: string): GatewayError {
  return new GatewayError('OPERATION_TOO_COMPLEX', { message });
}
