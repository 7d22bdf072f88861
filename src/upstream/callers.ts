import { LRUCache } from 'lru-cache';
import { digest } from '../util/digest.ts';
import type { Caller } from '../util/fair-share.ts';
import type { Identity } from '../util/request-client.ts';

/** Knows which tokens the service has accepted. */
export type Callers = {
  /** @param network of the client; null if it is unknown. */
  identify(authorization: string | null | undefined, network: () => string | null): Identity;
};

/** Tokens of services live for an hour, as a rule. */
const ACCEPTED_MS = 3_600_000;

/** How old the time may be for which a token is remembered. */
const RENEWED_MS = 60_000;

/** Their digests take 20 MB. */
const MAX_ACCEPTED = 100_000;

/**
 * Creates the callers of a gateway. `clock` is monotonic time in milliseconds. A token is a caller of its own for an
 * hour after the service has last accepted it: anyone can make up tokens. Any other request is that of its client's
 * network, and those without a known network are one caller. No token stays in memory.
 */
export function createCallers(clock: () => number): Callers {
  // Not a Map: the first key of one that changes often is found only after all that were deleted before it.
  const accepted = new LRUCache<Caller, number>({
    maxSize: MAX_ACCEPTED, // not `max`, which would allocate 4 MB at once
    sizeCalculation: () => 1,
  });
  return {
    identify: (authorization, network) => {
      const token = authorization ? nameToken(authorization) : null;
      const acceptedAt = (token && accepted.get(token)) ?? Number.NEGATIVE_INFINITY;
      const isKnown = token !== null && clock() - acceptedAt <= ACCEPTED_MS;
      const identity = {
        caller: isKnown ? token : (`network ${network() ?? 'unknown'}` as const),
        accept: (): Caller => {
          if (token === null) return identity.caller;
          // Each time would take 3 % of the CPU of a deletion.
          if (clock() - acceptedAt > RENEWED_MS) accepted.set(token, clock());
          identity.caller = token;
          return token;
        },
      };
      return identity;
    },
  };
}

/** The scheme in another case is no other caller. */
function nameToken(authorization: string): Caller {
  return `token ${digest(authorization.slice(authorization.lastIndexOf(' ') + 1))}`;
}
