import { GatewayError } from '../errors.ts';
import type { Drift } from '../inference/drift.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { PointerReader } from '../mapping/json-pointer.ts';
import { isBearer, parseBearer } from '../upstream/bearer.ts';
import type { RestClient, UnauthenticatedCalls } from '../upstream/http-client.ts';
import type { Path } from '../upstream/path.ts';
import type { Route, Trace, UpstreamResponse } from '../upstream/types.ts';
import { callerOf } from '../util/fair-share.ts';
import { createRecorder, type Recorder } from './explain-recorder.ts';
import { createPageLoader, type PageLoader } from './page-loader.ts';
import { parsePointer } from './pointer-arguments.ts';

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
  /** Parses a JSON pointer: each one once, however many records it is resolved against. */
  readonly readPointer: (pointer: string) => PointerReader;
  /**
   * Counts values of the response, before they are read: items with a number of fields each. Throws OPERATION_TOO_COMPLEX for
   * more than 50,000.
   */
  readonly admitValues: (items: number, fields: number) => void;
  /** An upper bound of the length of the result as JSON without escapes, given that of the longest key. */
  readonly maxResultLength: (longestKey: number) => number;
  /** Counts the fields of entities that a router requests. Throws OPERATION_TOO_COMPLEX for more than 2000. */
  readonly admitEntityFields: (count: number) => void;
  readonly release: PageLoader['release'];
  readonly stream: Stream;
  /** Given if the client asks for an explanation. */
  readonly recorder?: Recorder | undefined;
};

/** The time of streams. */
export type StreamTimers = {
  /** Monotonic time in milliseconds. */
  readonly clock: () => number;
  /** Waits for milliseconds. It rejects, or resolves early, if the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
};

/** What a subscription needs. */
export type Stream = {
  readonly timers: StreamTimers;
  /** Each ends the stream: when the client disconnects, and when the gateway shuts down. */
  readonly signals: readonly AbortSignal[];
  /** Gives the stream a slot until the result is disposed of, or `evicted`. Throws OVERLOADED if there is none. */
  admit(): StreamSlot;
  /** Called if the stream ends because it is an hour old. */
  expire(): void;
  /** Why the stream ended although its client is connected: its slot was given to another caller, or it is an hour old. */
  endReason(): 'evicted' | 'expired' | undefined;
  /** The largest result of a payload, in characters of JSON without escapes. */
  readonly maxPayloadLength: number;
  /** Creates the page loader of one poll. It gives the circuit breaker one verdict, and has its own bound of bytes. */
  createLoader(signal: AbortSignal): PageLoader;
};

/** The slot of a stream. `evicted` is aborted when it is given to another caller: the stream must end. */
export type StreamSlot = Disposable & { readonly evicted: AbortSignal };

/** What the contexts of all requests share. */
export type SharedServices = {
  readonly client: RestClient;
  /** Counts a login by client ID, and by IP address if that is known. Throws RATE_LIMITED if there were too many. */
  readonly admitLogin: (clientId: string, address: string | null) => Promise<void>;
  readonly contract: ConfiguredContract;
  /** Reports entries of the contract that read nothing of a response. */
  readonly reportDrift: (drift: Drift) => void;
  readonly now: () => Date;
  readonly stream: Pick<Stream, 'timers' | 'maxPayloadLength'> & {
    /** Gives a slot to the stream of a token; null is none that is well-formed. */
    admit(token: string | null): StreamSlot;
    readonly shutdown: AbortSignal;
  };
};

/** Representations are not part of the document, so none of its limits bounds what may fail once for each of them. */
const MAX_ENTITY_FIELDS = 2000;

/** Fields that are in no item, at most: the limit on the fields of a document. */
const MAX_FIELDS = 500;

/** Items times selected fields. Executed and serialized, they take 50 ms; no limit of a document bounds the items. */
export const MAX_VALUES = 50_000;

/**
 * Creates the context of one request.
 * @param request `signal` is aborted when the client disconnects.
 */
export function createContext(
  { client, admitLogin, contract, reportDrift, now, stream }: SharedServices,
  request: { readonly headers: { get(name: string): string | null }; readonly signal: AbortSignal },
  { address, trace }: { readonly address: () => string | null; readonly trace: Trace },
  isExplained: boolean,
): Context {
  const recorder = isExplained ? createRecorder(client.url, contract, trace) : undefined;
  const calls = client.of(recorder?.traceOf('audit') ?? trace, address);
  const bearer = () => parseBearer(request.headers.get('authorization'));
  const authorized = () => calls.authorized(bearer());

  const { list, release } = createPageLoader(client, authorized, request.signal);
  const pointers = new Map<string, PointerReader>();
  let values = 0;
  let fieldsOfItems = 0;
  let entityFields = 0;
  let slot: StreamSlot | undefined;
  let isExpired = false; // the stream

  return {
    admitLogin: (clientId) => admitLogin(clientId, address()),
    unauthenticated: calls.unauthenticated,
    authorized: {
      list,
      delete: (route, path) => authorized().delete(route, path),
    },
    readPointer: (pointer) => {
      const reader = pointers.get(pointer) ?? parsePointer(pointer);
      pointers.set(pointer, reader);
      return reader;
    },
    admitValues: (items, fields) => {
      values += items * fields;
      if (items > 0) fieldsOfItems += fields;
      if (values <= MAX_VALUES) return;
      const message = `The response would have more than ${MAX_VALUES} values. Select fewer fields, or request smaller pages.`;
      throw new GatewayError('OPERATION_TOO_COMPLEX', { message });
    },
    // A field has at most all that was read, in all items together. The 16 are punctuation and short literals.
    maxResultLength: (longestKey) =>
      fieldsOfItems * calls.bytesRead() + (values + MAX_FIELDS) * (longestKey + 16),
    admitEntityFields: (count) => {
      entityFields += count;
      if (entityFields <= MAX_ENTITY_FIELDS) return;
      const message = `The request has more than ${MAX_ENTITY_FIELDS} fields of entities. Split it.`;
      throw new GatewayError('OPERATION_TOO_COMPLEX', { message });
    },
    ...{ contract, reportDrift, now },
    release,
    stream: {
      timers: stream.timers,
      admit: () => {
        const header = request.headers.get('authorization') ?? '';
        slot = stream.admit(isBearer(header) ? callerOf(header) : null);
        return slot;
      },
      expire: () => {
        isExpired = true;
      },
      endReason: () => {
        if (isExpired) return 'expired';
        return slot?.evicted.aborted ? 'evicted' : undefined;
      },
      maxPayloadLength: stream.maxPayloadLength,
      signals: [request.signal, stream.shutdown],
      createLoader: (signal) => {
        recorder?.begin();
        const ofPoll = client.of(recorder?.traceOf('auditEvents') ?? trace);
        return createPageLoader(client, () => ofPoll.authorized(bearer()), signal);
      },
    },
    recorder,
  };
}
