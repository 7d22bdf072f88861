import { digest } from '../../util/digest.ts';
import type { Caller } from '../../util/fair-share.ts';
import type { Identity } from '../../util/request-client.ts';

/** Knows which tokens the service has accepted. */
export type Callers = {
  /** @param network of the client; null if it is unknown. */
  identify(authorization: string | null | undefined, network: () => string | null): Identity;
};

/** Tokens of services live for an hour, as a rule. */
const ACCEPTED_MS = 3_600_000;

/** How old the time may be for which a token is remembered. */
const RENEWED_MS = 60_000;

/** Tokens that are remembered at least; twice as many at most, whose digests take 20 MB. */
const MIN_ACCEPTED = 50_000;

/**
 * Creates the callers of a gateway. `clock` is monotonic time in milliseconds. A token is a caller of its own for an
 * hour after the service has last accepted it: anyone can make up tokens. Any other request is that of its client's
 * network, and those without a known network are one caller. No token stays in memory.
 */
export function createCallers(clock: () => number): Callers {
  // The older half is dropped as a whole. With lru-cache, requests that each have a new token take 3 % more CPU.
  let accepted = new Map<Caller, number>();
  let older: typeof accepted = new Map();
  const remember = (token: Caller) => {
    if (accepted.size === MIN_ACCEPTED) [older, accepted] = [accepted, new Map()];
    accepted.set(token, clock());
  };
  return {
    identify: (authorization, network) => {
      const token = authorization ? nameToken(authorization) : null;
      const acceptedAt =
        (token && (accepted.get(token) ?? older.get(token))) ?? Number.NEGATIVE_INFINITY;
      const isKnown = token !== null && clock() - acceptedAt <= ACCEPTED_MS;
      const identity = {
        caller: isKnown ? token : (`network ${network() ?? 'unknown'}` as const),
        accept: (): Caller => {
          if (token === null) return identity.caller;
          // Each time would take 3 % of the CPU of a deletion.
          if (clock() - acceptedAt > RENEWED_MS || !accepted.has(token)) remember(token);
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
