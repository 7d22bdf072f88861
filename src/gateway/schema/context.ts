import { GatewayError } from '../../errors.ts';
import type { Caller } from '../../util/fair-share.ts';
import type { LoginAttempt, RequestClient } from '../../util/request-client.ts';
import type { Drift } from '../inference/contract-drift.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { DeletionReading } from '../mapping/deletion.ts';
import { interpretPointer, type PointerReader } from '../mapping/json-pointer.ts';
import type { EventFilter, FilterParameter } from '../pagination/select-events.ts';
import { isBearer, parseBearer } from '../upstream/bearer.ts';
import type { Callers } from '../upstream/callers.ts';
import type { Calls, RestClient } from '../upstream/http-client.ts';
import type { Path } from '../upstream/path.ts';
import type { Read, Route, Trace } from '../upstream/types.ts';
import { createPageLoader, type PageLoader } from './page-loader.ts';
import { MAX_DOCUMENT_FIELDS } from './selection.ts';

/** A subscription of a request with this header, and the value 1, ends at its first failed poll. */
const FAIL_FAST_HEADER = 'x-keytrail-fail-fast';

/** What the contexts of all requests share. */
export type SharedServices = {
  readonly client: RestClient;
  readonly callers: Callers;
  /** Counts a login. Resolves to a function to call if it succeeds. Throws RATE_LIMITED if there were too many. */
  readonly admitLogin: (attempt: LoginAttempt) => Promise<() => Promise<void>>;
  readonly contract: ContractServices;
};

/** The contract, and what is needed to read values by it. */
export type ContractServices = {
  readonly configured: ConfiguredContract;
  /** Reports entries of the contract that read nothing of a response. */
  readonly reportDrift: (drift: Drift) => void;
  /** The current time: lifetimes of tokens begin with it. */
  readonly now: () => Date;
  /** Called with each filter, and what of it is forwarded to the service. */
  readonly onFilter?: (conditions: EventFilter, forwarded: readonly FilterParameter[]) => void;
  /** Called with how the response to a deletion was read. */
  readonly onDeletion?: (reading: DeletionReading) => void;
};

/** The request of a context. */
export type ContextRequest = {
  readonly headers: { get(name: string): string | null };
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly client: RequestClient;
  readonly trace: Trace;
};

/** What every resolver is given, for one request. Nothing in it outlives the request or is shared with another. */
export type Context = ReturnType<typeof createContext>;

/** Creates the context of one request. */
export function createContext(
  { client, callers, admitLogin, contract }: SharedServices,
  request: ContextRequest,
) {
  const { authorized, unauthenticated, bytesRead } = client.of(request.trace, request.client);
  return {
    calls: createCalls({ client, callers }, { authorized, unauthenticated }, request),
    limits: {
      /** Counts a login, see {@link SharedServices}. */
      admitLogin: (attempt: Omit<LoginAttempt, 'address'>) =>
        admitLogin({ ...attempt, address: request.client.address() }),
      ...createLimits(bytesRead),
    },
    contract: { ...contract, readPointer: createPointerReader() },
    /** Whether the client itself repeats what fails, and says what it waits for. */
    failsFast: request.headers.get(FAIL_FAST_HEADER) === '1',
  } as const;
}

/** The calls to the service. Those with the client's token throw UNAUTHENTICATED without a well-formed one. */
function createCalls(
  { client, callers }: Pick<SharedServices, 'client' | 'callers'>,
  own: Omit<Calls, 'bytesRead'>,
  { headers, signal, trace, client: requestClient }: ContextRequest,
) {
  const authorization = headers.get('authorization');
  const authorized = () => own.authorized(parseBearer(authorization));
  let loader: PageLoader | undefined; // a mutation needs none
  const list: PageLoader['list'] = (request) => {
    loader ??= createPageLoader(client, authorized, signal);
    return loader.list(request);
  };
  return {
    /** Aborted when the client disconnects. */
    signal,
    unauthenticated: own.unauthenticated,
    authorized: {
      list,
      delete: <T>(route: Route, path: Path, read: Read<T>) =>
        authorized().delete(route, path, read),
    },
    /** See {@link PageLoader}. */
    release: () => loader?.release(),
    /** Creates a page loader that gives the circuit breaker a verdict of its own, and has its own bounds of bytes. */
    createPageLoader: (signal: AbortSignal): PageLoader => {
      const memory = requestClient.memory.openNext();
      const ofLoader = client.of(trace, { ...requestClient, memory }, true);
      const authorize = () => ofLoader.authorized(parseBearer(authorization));
      const loader = createPageLoader(client, authorize, signal);
      const release = () => {
        loader.release();
        memory[Symbol.dispose]();
      };
      return { ...loader, release };
    },
    /** Whose request it is; null without a well-formed token. */
    caller: (): Caller | null =>
      authorization !== null && isBearer(authorization)
        ? callers.identify(authorization, requestClient.address).caller
        : null,
  } as const;
}

/** Representations are not part of the document, so none of its limits bounds what may fail once for each of them. */
const MAX_ENTITY_FIELDS = 2000;

/** Items times selected fields. Executed and serialized, they take 50 ms; no limit of a document bounds the items. */
export const MAX_VALUES = 50_000;

function createLimits(bytesRead: () => number) {
  let values = 0;
  let fieldsOfItems = 0;
  let entityFields = 0;
  const requireAtMost = (max: number, count: number, message: string) => {
    if (count > max) throw new GatewayError('OPERATION_TOO_COMPLEX', { message });
  };
  return {
    /**
     * Counts values of the response, before they are read: items with a number of fields each. Throws
     * OPERATION_TOO_COMPLEX for more than 50,000.
     */
    admitValues: (items: number, fields: number) => {
      values += items * fields;
      if (items > 0) fieldsOfItems += fields;
      requireAtMost(MAX_VALUES, values, TOO_MANY_VALUES);
    },
    /** Counts the fields of entities that a router requests. Throws OPERATION_TOO_COMPLEX for more than 2000. */
    admitEntityFields: (count: number) => {
      entityFields += count;
      requireAtMost(MAX_ENTITY_FIELDS, entityFields, TOO_MANY_ENTITY_FIELDS);
    },
    /** An upper bound of the length of the result as JSON without escapes, given that of the longest key. */
    maxResultLength: (longestKey: number) =>
      // A field has at most all that was read, in all items together. The 16 are punctuation and short literals.
      fieldsOfItems * bytesRead() + (values + MAX_DOCUMENT_FIELDS) * (longestKey + 16),
  } as const;
}

const TOO_MANY_VALUES = `The response would have more than ${MAX_VALUES} values. Select fewer fields, or request smaller pages.`;
const TOO_MANY_ENTITY_FIELDS = `The request has more than ${MAX_ENTITY_FIELDS} fields of entities. Split it.`;

/** Creates a function that parses a valid JSON pointer: each one once, however many records it is resolved against. */
function createPointerReader() {
  const readers = new Map<string, PointerReader>();
  return (pointer: string): PointerReader => {
    const reader = readers.get(pointer) ?? interpretPointer(pointer);
    readers.set(pointer, reader);
    return reader;
  };
}
