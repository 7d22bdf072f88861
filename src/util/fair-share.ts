/** Whose request it is: the digest of a token that the service has accepted, or the network of a client. */
export type Caller = `token ${string}` | `network ${string}`;

/**
 * Whether a caller that holds `held` of `max` units may take one more while `free` are free: dynamic thresholds (Choudhury
 * and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). It then holds at most three times what is left, and the last
 * eighth (two at least) is left for callers that hold nothing. Of 64 units, one caller gets 48, two get 27 each, and twelve
 * leave 8 free. As many callers as units take them all.
 */
export function mayTake(held: number, free: number, max: number): boolean {
  if (held === 0) return free > 0;
  const left = free - 1;
  return left >= Math.max(2, Math.floor(max / 8)) && held + 1 <= 3 * left;
}

/** What is in use of a maximum, by caller. */
export type FairShare = {
  /** Takes one for a caller; null if it may have none. @param evict gives it back early, to another caller. */
  take(caller: Caller, evict?: () => void): Share | null;
  /**
   * For a caller that holds none, if none is left: evicts one of the caller that holds the most, if that is more than an
   * eighth, and never its only one. So those who came first do not keep all until they have finished.
   */
  evictFor(caller: Caller): void;
  /** Gives back what `take` returned. */
  release(share: Share): void;
  isFull(): boolean;
  isEmpty(): boolean;
  /** How many a caller holds. */
  heldBy(caller: Caller): number;
  /** Whether a caller other than this one holds any. */
  hasOthers(caller: Caller): boolean;
  /** Whether networks hold less than an eighth. */
  areNetworksFew(): boolean;
};

/** One unit of the maximum, which a caller holds. */
export type Share = {
  readonly caller: Caller;
  readonly evict: (() => void) | undefined;
  /** It is evicted once: until it is given back, the next caller needs another. */
  isEvicted: boolean;
};

/** Whether the service has accepted the token of a caller. Otherwise it is known by its network alone. */
export function isAccepted(caller: Caller): boolean {
  return caller.startsWith('token ');
}

/**
 * Creates a maximum that callers share as {@link mayTake} says. Networks share half of it in the same way: anyone can make
 * up tokens, or have many networks, and must not keep out those whose tokens the service has accepted.
 */
export function createFairShare(max: number): FairShare {
  const all = createShare(max);
  const networks = createShare(Math.ceil(max / 2));
  return {
    ...all,
    areNetworksFew: () => networks.held() < max / 8,
    take: (caller, evict) => {
      if (isAccepted(caller)) return all.take(caller, evict);
      if (!networks.mayTake(caller)) return null;
      const share = all.take(caller, evict);
      if (share !== null) networks.add(share);
      return share;
    },
    evictFor: (caller) => {
      if (all.heldBy(caller) > 0) return;
      if (!isAccepted(caller) && networks.isFull()) networks.evict();
      else if (all.isFull()) all.evict();
    },
    release: (share) => {
      all.release(share);
      if (!isAccepted(share.caller)) networks.release(share);
    },
  };
}

function createShare(max: number) {
  // An array, not a Map of counts: V8 chains the old hash tables of a Map that changes often, see `listen`.
  const held: Share[] = [];
  const heldBy = (caller: Caller) => {
    let count = 0;
    for (const share of held) if (share.caller === caller) count += 1;
    return count;
  };
  const mayHave = (caller: Caller) => {
    const free = max - held.length;
    // As nearly always: even if all are of this caller it may have one more, so nothing is counted.
    return mayTake(held.length, free, max) || mayTake(heldBy(caller), free, max);
  };
  return {
    heldBy,
    held: () => held.length,
    mayTake: mayHave,
    add: (share: Share) => void held.push(share),
    take: (caller: Caller, evict: (() => void) | undefined) => {
      if (!mayHave(caller)) return null;
      const share = { caller, evict, isEvicted: false };
      held.push(share);
      return share;
    },
    release: (share: Share) => {
      const last = held.pop(); // takes its place: no other has to move
      if (last !== undefined && last !== share) held[held.indexOf(share)] = last;
    },
    evict: () => {
      const counts = new Map<Caller, number>();
      let most: Caller | undefined;
      let count = Math.max(1, Math.floor(max / 8));
      for (const { caller, isEvicted } of held) {
        if (isEvicted) continue;
        const own = (counts.get(caller) ?? 0) + 1;
        counts.set(caller, own);
        if (own > count) [most, count] = [caller, own];
      }
      const mayEvict = ({ caller, evict, isEvicted }: Share) =>
        caller === most && evict !== undefined && !isEvicted;
      const share = held.findLast(mayEvict);
      if (share === undefined) return;
      share.isEvicted = true;
      share.evict?.();
    },
    isFull: () => held.length >= max,
    isEmpty: () => held.length === 0,
    hasOthers: (caller: Caller) => held.some((share) => share.caller !== caller),
  };
}
