/** Counts what is in use of a maximum, by caller. */
export type FairShare = {
  /** Takes one for a caller; false if all are taken, or its share. An unknown caller, null, has no share of its own. */
  take(caller: string | null): boolean;
  /** Gives back what `take` took. */
  release(caller: string | null): void;
  isFull(): boolean;
};

/** Creates a count in which one caller may have up to three quarters of `max`: the rest is always left for others. */
export function createFairShare(max: number): FairShare {
  const share = Math.ceil(max * 0.75);
  const counts = new Map<string, number>(); // as many as are in use, at most
  let total = 0;
  return {
    take: (caller) => {
      if (total >= max) return false;
      if (caller !== null) {
        const count = counts.get(caller) ?? 0;
        if (count >= share) return false;
        counts.set(caller, count + 1);
      }
      total += 1;
      return true;
    },
    release: (caller) => {
      total -= 1;
      if (caller === null) return;
      const count = counts.get(caller) ?? 0;
      if (count > 1) counts.set(caller, count - 1);
      else counts.delete(caller);
    },
    isFull: () => total >= max,
  };
}

/**
 * Names the caller of a request: by its token, in whatever case the scheme is written, else by the client's address. Null if
 * neither is known.
 */
export function identifyCaller(
  authorization: string | null | undefined,
  address: () => string | null | undefined,
): string | null {
  if (authorization) return authorization.slice(authorization.lastIndexOf(' ') + 1);
  const known = address();
  return known ? ` ${known}` : null; // no token has a space
}
