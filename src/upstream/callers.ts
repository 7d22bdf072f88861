import { LRUCache } from 'lru-cache';
import { digest } from '../util/digest.ts';
import type { Caller } from '../util/fair-share.ts';

/** Whose call it is. */
export type Identity = {
  readonly caller: Caller;
  /** Remembers that the service has accepted the token, if there is one. Returns whose call it is from now on. */
  accept(): Caller;
};

/** Knows which tokens the service has accepted. */
export type Callers = {
  /** @param network of the client; null if it is unknown. */
  identify(authorization: string | null | undefined, network: () => string | null): Identity;
};

/** Tokens of services live for an hour, as a rule. */
const ACCEPTED_MS = 3_600_000;

/** Their digests take 20 MB. */
const MAX_ACCEPTED = 100_000;

/**
 * Creates the callers of a gateway. `clock` is monotonic time in milliseconds. A token is a caller of its own for an
 * hour after the service has last accepted it: anyone can make up tokens. Any other request is that of its client's
 * network, and those without a known network are one caller. No token stays in memory.
 */
export function createCallers(clock: () => number): Callers {
  // Not a Map: the first key of one that changes often is found only after all that were deleted before it.
  const accepted = new LRUCache<Caller, true>({
    maxSize: MAX_ACCEPTED, // not `max`, which would allocate 4 MB at once
    sizeCalculation: () => 1,
    ttl: ACCEPTED_MS,
    ttlResolution: 0, // without a timer
    perf: { now: clock }, // what is set at 0 ms never expires
  });
  return {
    identify: (authorization, network) => {
      const token = authorization ? nameToken(authorization) : null;
      const caller: Caller =
        token !== null && accepted.has(token) ? token : `network ${network() ?? 'unknown'}`;
      return {
        caller,
        accept: () => {
          if (token !== null) accepted.set(token, true);
          return token ?? caller;
        },
      };
    },
  };
}

/** The scheme in another case is no other caller. */
function nameToken(authorization: string): Caller {
  return `token ${digest(authorization.slice(authorization.lastIndexOf(' ') + 1))}`;
}
