import { GatewayError } from '../../errors.ts';
import { type Caller, isAccepted } from '../../util/fair-share.ts';
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
  /** The largest number of streams. */
  readonly max: number;
  /** The largest result of a payload, in characters of JSON without escapes. */
  readonly maxPayloadLength: number;
  /** Aborted when the gateway shuts down. */
  readonly shutdown: AbortSignal;
};

/** The context of a subscription. `ended` says why, if the gateway ended it: another caller got its slot, or its age. */
type StreamContext = Context & { ended?: 'evicted' | 'expired' };

/** Opens the stream of a subscription. */
export type OpenStream = ReturnType<typeof createStreams>;

/**
 * Creates a function that opens a stream. A caller may have all slots while no other needs one. If all are taken, an
 * accepted token without a stream gets the slot of the oldest stream of the caller with the most. Nobody loses an only
 * one. A token that was not accepted gets it only if that caller has more than half. Requests without a token take none.
 * @throws GatewayError OVERLOADED if there are `max` of them, and none may be taken from another caller.
 */
export function createStreams({ timers, max, maxPayloadLength, shutdown }: StreamOptions) {
  const streams = new Map<string | null, AbortController[]>(); // oldest first
  const count = () => [...streams.values()].flat().length;
  const release = (caller: string | null, stream: AbortController) => {
    const others = (streams.get(caller) ?? []).filter((one) => one !== stream);
    if (others.length > 0) streams.set(caller, others);
    else streams.delete(caller);
  };
  const evictFor = (newcomer: Caller) => {
    const [[holder, own] = [null, []]] = [...streams].toSorted(
      ([, a], [, b]) => b.length - a.length,
    );
    const [oldest] = own;
    // Anyone can make up tokens: one that was not accepted takes none from a caller with half or less.
    const least = isAccepted(newcomer) ? 1 : Math.ceil(max / 2);
    if (oldest === undefined || own.length <= least) return;
    release(holder, oldest); // at once, whatever the stream does
    oldest.abort();
  };
  return (context: StreamContext) => {
    const { calls } = context;
    const caller = calls.caller();
    if (count() >= max && caller !== null && !streams.has(caller)) evictFor(caller);
    if (count() >= max) throw new GatewayError('OVERLOADED', { message: TOO_MANY });
    const evicted = new AbortController();
    streams.set(caller, [...(streams.get(caller) ?? []), evicted]);
    const end = (reason: 'evicted' | 'expired') => () => {
      context.ended ??= reason;
    };
    evicted.signal.addEventListener('abort', end('evicted'), { once: true });
    return {
      ...{ timers, maxPayloadLength },
      /** Each ends the stream. */
      signals: [calls.signal, shutdown, evicted.signal],
      /** Called if the stream ends because it is an hour old. */
      expire: end('expired'),
      [Symbol.dispose]: () => release(caller, evicted),
    } as const;
  };
}

const TOO_MANY =
  'The gateway has as many subscriptions as MAX_SUBSCRIPTIONS allows: try again later, or on another replica.';
