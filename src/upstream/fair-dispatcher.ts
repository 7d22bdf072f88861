import type { Dispatcher } from 'undici';
import type { Caller } from '../util/fair-share.ts';

/** Handles one exchange. */
export type ExchangeHandler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseError'
  >
> & {
  /** The response is complete. It must call `free` once: until then the slot is taken. */
  onResponseEnd(free: () => void): void;
  /** Too many calls wait: this one will not be sent, and nothing else is called. */
  onOverload(): void;
};

/**
 * The kinds of connections. Two pools, because undici opens a connection for a request that is sent in the moment in which
 * another ends, unless its pool has reached its size.
 */
export type Pools = Readonly<Record<Slot, Pick<Dispatcher, 'dispatch'>>>;

type Slot = 'ordinary' | 'login';

/** Shares the connections to the service between callers. */
export type FairDispatcher = {
  /** Sends a request, or lets it wait. Returns what removes a waiting call; undefined if the call does not wait. */
  dispatch(
    request: Dispatcher.DispatchOptions,
    handler: ExchangeHandler,
    caller: Caller,
  ): (() => void) | undefined;
  /** Whether calls of other callers are in progress, or wait. */
  hasOthers(caller: Caller): boolean;
  /** Resolves once no call waits. */
  whenSent(): Promise<void>;
};

/** Connections for logins alone, in addition to the others. */
export const LOGIN_CONNECTIONS = 2;

/** Waiting calls per connection. With 15, the last one makes a 10 s deadline if each call takes at most 0.6 s. */
const WAITING_PER_CONNECTION = 15;

type Call = {
  readonly request: Dispatcher.DispatchOptions;
  readonly handler: ExchangeHandler;
  readonly caller: Caller;
};

/**
 * Gives each call a slot. The call holds it until the exchange ends and, if the response is large, until it is parsed.
 * This bounds the number of large responses in memory.
 * A caller takes at most three quarters of the slots. If calls wait, callers with less than half of the slots come first,
 * in turns. No slot is free while a call that may take it waits. A login takes a slot for logins, or one like any call.
 * If too many calls wait, one of the caller with the most of them makes room for a caller with fewer.
 * @param pools have `connections` and LOGIN_CONNECTIONS connections. They report every error to the handler.
 */
export function createFairDispatcher(pools: Pools, connections: number): FairDispatcher {
  const most = connections - Math.floor(connections / 4);
  const half = Math.max(1, Math.floor(connections / 2));
  const sent: Call[] = []; // those that hold an ordinary slot, in no order
  let logins = 0; // those that hold a slot for logins
  const queues = new Map<Caller, Call[]>(); // the waiting calls; the first caller is the next
  let waiting = 0;
  let waitingLogins = 0;
  let isGranting = false;
  let onNoneWaiting = () => {};

  /** Which slot a caller may take: it has fewer than `limit`. The few calls of an idle gateway need no count. */
  const findSlot = (caller: Caller, limit: number): Slot | null => {
    if (logins < LOGIN_CONNECTIONS && isLogin(caller)) return 'login';
    if (sent.length === connections) return null;
    return sent.length < limit || countOf(sent, caller) < limit ? 'ordinary' : null;
  };

  const send = (call: Call, slot: Slot) => {
    const { request, handler } = call;
    if (slot === 'login') logins += 1;
    else sent.push(call);
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      if (slot === 'login') logins -= 1;
      else remove(sent, call);
      if (waiting > 0) sendWaiting();
    };
    // Each method by name: with a spread of the handler, a small deletion takes 1/40 more CPU time.
    pools[slot].dispatch(request, {
      onRequestStart: handler.onRequestStart,
      onResponseStart: handler.onResponseStart,
      onResponseData: handler.onResponseData,
      onResponseEnd: () => handler.onResponseEnd(end),
      onResponseError: (controller, error) => {
        try {
          handler.onResponseError(controller, error);
        } finally {
          end();
        }
      },
    });
  };

  /** Sends what may be sent now. Not recursive: a closed pool fails each call at once. */
  const sendWaiting = () => {
    if (isGranting) return;
    isGranting = true;
    try {
      while (sendNext(half) || sendNext(most));
    } finally {
      isGranting = false;
    }
  };

  const sendNext = (limit: number): boolean => {
    if (sent.length === connections && waitingLogins === 0) return false;
    for (const [caller, queue] of queues) {
      const slot = findSlot(caller, limit);
      const [call] = queue;
      if (slot === null || call === undefined) continue;
      leave(call);
      if (queue.length > 0) {
        queues.delete(caller);
        queues.set(caller, queue); // its next turn is after all others
      }
      send(call, slot);
      return true;
    }
    return false;
  };

  const wait = (call: Call) => {
    const queue = queues.get(call.caller);
    if (queue === undefined) queues.set(call.caller, [call]);
    else queue.push(call);
    waiting += 1;
    if (isLogin(call.caller)) waitingLogins += 1;
  };

  /** No effect on a call that does not wait. */
  const leave = (call: Call) => {
    const queue = queues.get(call.caller);
    const index = queue?.indexOf(call) ?? -1;
    if (queue === undefined || index < 0) return;
    queue.splice(index, 1);
    if (queue.length === 0) queues.delete(call.caller);
    waiting -= 1;
    if (isLogin(call.caller)) waitingLogins -= 1;
    if (waiting === 0) onNoneWaiting();
  };

  /** The newest waiting call of the caller with the most of them; undefined if this caller would then have more. */
  const findExcess = (caller: Caller): Call | undefined => {
    let longest: readonly Call[] = [];
    for (const queue of queues.values()) if (queue.length > longest.length) longest = queue;
    const own = queues.get(caller)?.length ?? 0;
    return longest.length > own + 1 ? longest.at(-1) : undefined;
  };

  return {
    dispatch: (request, handler, caller) => {
      const call = { request, handler, caller };
      const slot = findSlot(caller, most); // no waiting call may take it
      if (slot !== null) {
        send(call, slot);
        return;
      }
      if (waiting === connections * WAITING_PER_CONNECTION) {
        const excess = findExcess(caller);
        if (excess !== undefined) leave(excess);
        (excess ?? call).handler.onOverload();
        if (excess === undefined) return;
      }
      wait(call);
      return () => leave(call);
    },
    hasOthers: (caller) =>
      sent.some((call) => call.caller !== caller) || queues.size > Number(queues.has(caller)),
    whenSent: () =>
      new Promise((resolve) => {
        onNoneWaiting = resolve;
        if (waiting === 0) resolve();
      }),
  };
}

function isLogin(caller: Caller): boolean {
  return caller.startsWith('address ');
}

function countOf(calls: readonly Call[], caller: Caller): number {
  let count = 0;
  for (const call of calls) if (call.caller === caller) count += 1;
  return count;
}

/** The last call takes its place: no other has to move. */
function remove(calls: Call[], call: Call): void {
  const last = calls.pop();
  if (last !== undefined && last !== call) calls[calls.indexOf(call)] = last;
}
