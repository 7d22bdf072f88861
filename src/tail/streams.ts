import { GatewayError } from '../errors.ts';
import type { Context } from '../schema/context.ts';

/** The time of streams. */
export type StreamTimers = {
  /** Monotonic time in milliseconds. */
  readonly clock: () => number;
  /** Waits for milliseconds. It rejects, or resolves early, if the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
};

/** What all streams of a gateway share. */
export type StreamOptions = {
  readonly timers: StreamTimers;
  /** Streams above which a further one is rejected. */
  readonly max: number;
  /** The largest result of a payload, in characters of JSON without escapes. */
  readonly maxPayloadLength: number;
  /** Aborted when the gateway shuts down. */
  readonly shutdown: AbortSignal;
};

/** The context of a subscription, which the plugins of the gateway read. */
export type StreamContext = Context & {
  /** Why the stream ended although its client is connected: its slot was given to another caller, or it is an hour old. */
  ended?: 'evicted' | 'expired';
};

/** One stream. It has a slot until it is disposed of, or evicted. */
export type Stream = Disposable &
  Pick<StreamOptions, 'timers' | 'maxPayloadLength'> & {
    /** Each ends the stream: when the client disconnects, the gateway shuts down, or another caller gets the slot. */
    readonly signals: readonly AbortSignal[];
    /** Called if the stream ends because it is an hour old. */
    readonly expire: () => void;
  };

/** Opens the stream of a subscription. Throws OVERLOADED if there is no slot for it. */
export type OpenStream = (context: StreamContext) => Stream;

/** Creates the function that opens the streams of a gateway. */
export function createStreams({
  timers,
  max,
  maxPayloadLength,
  shutdown,
}: StreamOptions): OpenStream {
  const admit = createSubscriptionLimit(max);
  return (context) => {
    const { calls } = context;
    const { evicted, [Symbol.dispose]: release } = admit(calls.caller());
    const end = (reason: 'evicted' | 'expired') => () => {
      context.ended ??= reason;
    };
    evicted.addEventListener('abort', end('evicted'), { once: true });
    return {
      ...{ timers, maxPayloadLength },
      signals: [calls.signal, shutdown, evicted],
      expire: end('expired'),
      [Symbol.dispose]: release,
    };
  };
}

/** The slot of a stream. `evicted` is aborted when it is given to another caller: the stream must end. */
type StreamSlot = Disposable & { readonly evicted: AbortSignal };

/**
 * Creates a function that gives a slot to a subscription of a caller; null is one without a token. A caller may have all
 * slots while no other needs one. Then it loses its oldest stream, if it has most of all and more than half.
 * @throws GatewayError OVERLOADED if there are `max` of them, and none may be taken from another caller.
 */
function createSubscriptionLimit(max: number): (caller: string | null) => StreamSlot {
  const streams = new Map<string | null, AbortController[]>(); // oldest first
  let count = 0;
  const release = (caller: string | null, stream: AbortController) => {
    const own = streams.get(caller) ?? [];
    const index = own.indexOf(stream);
    if (index === -1) return;
    own.splice(index, 1);
    if (own.length === 0) streams.delete(caller);
    count -= 1;
  };
  const evict = (holder: string | null) => {
    const [oldest] = streams.get(holder) ?? [];
    if (oldest === undefined) return;
    release(holder, oldest); // at once, whatever the stream does
    oldest.abort();
  };
  return (caller) => {
    if (count >= max && caller !== null) {
      const [most] = [...streams].toSorted(([, a], [, b]) => b.length - a.length);
      const isGreedy = most !== undefined && most[1].length > Math.ceil(max / 2);
      if (isGreedy && most[0] !== caller) evict(most[0]);
    }
    if (count >= max) throw new GatewayError('OVERLOADED', { message: TOO_MANY });
    const stream = new AbortController();
    const own = streams.get(caller) ?? [];
    streams.set(caller, own);
    own.push(stream);
    count += 1;
    return { evicted: stream.signal, [Symbol.dispose]: () => release(caller, stream) };
  };
}

const TOO_MANY =
  'The gateway has as many subscriptions as MAX_SUBSCRIPTIONS allows: try again later, or on another replica.';
