import { GatewayError } from '../errors.ts';
import type { StreamSlot } from '../schema/context.ts';

/**
 * Creates a function that gives a slot to a subscription of a caller; null is one without a token. A caller may have all
 * slots while no other needs one. Then it loses its oldest stream, if it has most of all and more than half.
 * @throws GatewayError OVERLOADED if there are `max` of them, and none may be taken from another caller.
 */
export function createSubscriptionLimit(max: number): (caller: string | null) => StreamSlot {
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
