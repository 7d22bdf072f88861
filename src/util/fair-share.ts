/** Whose request it is: a token, or the address of a client without one. */
export type Caller = `token ${string}` | `address ${string}`;

/** Names a caller by its token: the scheme in another case is no other caller. */
export function callerOf(authorization: string): Caller {
  return `token ${authorization.slice(authorization.lastIndexOf(' ') + 1)}`;
}

/** Names the caller of a request by its token, else by the client's address. Null if neither is known. */
export function identifyCaller(
  authorization: string | null | undefined,
  address: () => string | null | undefined,
): Caller | null {
  if (authorization) return callerOf(authorization);
  const known = address();
  return known ? `address ${known}` : null;
}

/** What is in use of a maximum, by caller. */
export type FairShare = {
  /** Takes one for a caller; null if all are taken, or its share. An unknown caller, null, has no share of its own. */
  take(caller: string | null): Share | null;
  /** Gives back what `take` returned. */
  release(share: Share): void;
  isFull(): boolean;
};

/** One of the maximum, which a caller holds. */
export type Share = { readonly caller: string | null };

/** Creates a maximum of which one caller may hold three quarters: the rest is left for others. */
export function createFairShare(max: number): FairShare {
  const mostOfOne = Math.ceil(max * 0.75);
  // An array, not a Map of counts: V8 chains the old hash tables of a Map that changes often, see `listen`.
  const held: Share[] = [];
  const hasMost = (caller: string) => {
    if (held.length < mostOfOne) return false; // as nearly always: nothing is counted
    return held.filter((share) => share.caller === caller).length >= mostOfOne;
  };
  return {
    take: (caller) => {
      if (held.length >= max || (caller !== null && hasMost(caller))) return null;
      const share = { caller };
      held.push(share);
      return share;
    },
    release: (share) => void held.splice(held.indexOf(share), 1),
    isFull: () => held.length >= max,
  };
}
