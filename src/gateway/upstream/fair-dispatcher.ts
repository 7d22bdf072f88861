import type { Dispatcher } from 'undici';
import { createCallerQueue } from '../../util/caller-queue.ts';
import { type Caller, createFairShare, isAccepted } from '../../util/fair-share.ts';

/** Handles one exchange. */
export type ExchangeHandler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
> & {
  /** It has a connection, and is sent once that is open. */
  onConnection(): void;
  /** Too many calls wait: this one will not be sent, and nothing else is called. Or another caller needs its connection. */
  onOverload(): void;
};

/**
 * The kinds of connections. Two pools, because undici opens a connection for a request that is sent in the moment in which
 * another ends, unless its pool has reached its size.
 */
export type Pools = Readonly<Record<'ordinary' | 'login', Pick<Dispatcher, 'dispatch'>>>;

/** Whose call it is. Logins have connections of their own. */
export type CallOrigin = { readonly caller: Caller; readonly isLogin: boolean };

/** Shares the connections to the service between callers. */
export type FairDispatcher = {
  /** Sends a request, or lets it wait. Returns what removes a waiting call; undefined if the call does not wait. */
  dispatch(
    request: Dispatcher.DispatchOptions,
    handler: ExchangeHandler,
    origin: CallOrigin,
  ): (() => void) | undefined;
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
};

/**
 * Gives each call a connection, which it holds until the exchange ends. Callers share the connections as
 * `createFairShare` says. Of the calls that wait, logins come first, then networks while they hold few, then tokens.
 * Within each kind, callers with fewer connections come first, and those with as many take turns. All logins together
 * take at most a quarter of the ordinary connections: they cannot keep out reads. If too many calls of one kind wait, one
 * of the caller with the most of them makes room for a caller with fewer. If no connection is left for a caller that has
 * none, a read of the caller with the most of them makes room.
 * @param pools have `connections` and LOGIN_CONNECTIONS connections. They report every error to the handler.
 */
export function createFairDispatcher(pools: Pools, connections: number): FairDispatcher {
  const ordinary = createFairShare(connections);
  let logins = 0; // on connections for logins
  let loginsElsewhere = 0; // on ordinary connections
  const newQueue = createCallerQueue<Call>;
  const queues = { login: newQueue(), network: newQueue(), token: newQueue() };
  const waiting = () => queues.login.size() + queues.network.size() + queues.token.size();
  let isGranting = false;
  let onNoneWaiting = () => {};

  /** Takes a connection. Returns its pool and what gives it back; null if the caller may have none. */
  const take = ({ request, handler }: Call, { caller, isLogin }: CallOrigin) => {
    if (isLogin && logins < LOGIN_CONNECTIONS) {
      logins += 1;
      const giveBack = () => {
        logins -= 1;
      };
      return { pool: pools.login, giveBack };
    }
    if (isLogin && loginsElsewhere >= connections / 4) return null;
    // Any other call may have been carried out.
    const evict = request.method === 'GET' ? handler.onOverload : undefined;
    const share = ordinary.take(caller, evict);
    if (share === null) return null;
    const count = Number(isLogin);
    loginsElsewhere += count;
    const giveBack = () => {
      loginsElsewhere -= count;
      ordinary.release(share);
    };
    return { pool: pools.ordinary, giveBack };
  };

  /** Whether the call was sent. */
  const send = (call: Call, origin: CallOrigin): boolean => {
    const { request, handler } = call;
    const connection = take(call, origin);
    if (connection === null) return false;
    handler.onConnection();
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      connection.giveBack();
      if (waiting() > 0) sendWaiting();
    };
    // Each method by name: with a spread of the handler, a small deletion takes 1/40 more CPU time.
    connection.pool.dispatch(request, {
      onRequestStart: handler.onRequestStart,
      onResponseStart: handler.onResponseStart,
      onResponseData: handler.onResponseData,
      onResponseEnd: (controller, trailers) => {
        try {
          handler.onResponseEnd(controller, trailers);
        } finally {
          end();
        }
      },
      onResponseError: (controller, error) => {
        try {
          handler.onResponseError(controller, error);
        } finally {
          end();
        }
      },
    });
    return true;
  };

  /** Sends what may be sent now. Not recursive: a closed pool fails each call at once. */
  const sendWaiting = () => {
    if (isGranting) return;
    isGranting = true;
    const sendOne = (isLogin: boolean) => (call: Call, caller: Caller) =>
      send(call, { caller, isLogin });
    try {
      while (queues.login.take(sendOne(true), ordinary.heldBy));
      const sendFrom = (queue: typeof queues.token) =>
        !ordinary.isFull() && queue.take(sendOne(false), ordinary.heldBy) !== undefined;
      while (ordinary.areNetworksFew() && sendFrom(queues.network));
      while (sendFrom(queues.token));
      while (sendFrom(queues.network));
    } finally {
      isGranting = false;
    }
    if (waiting() === 0) onNoneWaiting();
  };

  return {
    dispatch: (request, handler, origin) => {
      const { caller, isLogin } = origin;
      const call = { request, handler };
      if (send(call, origin)) return; // no waiting call may take the connection
      const queue = queues[isLogin ? 'login' : isAccepted(caller) ? 'token' : 'network'];
      if (queue.size() >= connections * WAITING_PER_CONNECTION) {
        const excess = queue.findExcess(caller);
        if (excess !== undefined) queue.remove(excess.caller, excess.item);
        (excess?.item ?? call).handler.onOverload();
        if (excess === undefined) return;
      }
      queue.add(caller, call);
      if (!isLogin) ordinary.evictFor(caller);
      return () => {
        queue.remove(caller, call);
        if (waiting() === 0) onNoneWaiting();
      };
    },
    whenSent: () =>
      new Promise((resolve) => {
        onNoneWaiting = resolve;
        if (waiting() === 0) resolve();
      }),
  };
}
