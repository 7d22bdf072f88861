import type { Caller } from './fair-share.ts';

/** Items that wait. Callers take turns, and the items of one caller keep their order. */
export type CallerQueue<Item> = {
  readonly size: () => number;
  add(caller: Caller, item: Item): void;
  /** Removes an item. Returns whether it waited. */
  remove(caller: Caller, item: Item): boolean;
  /**
   * Removes and returns the next item, unless `mayGo` is false for it. The caller's next turn is after all others.
   * @param held What a caller holds. Callers that hold less come first.
   */
  take(
    mayGo?: (item: Item, caller: Caller) => boolean,
    held?: (caller: Caller) => number,
  ): Item | undefined;
  /** The newest item of the caller with the most, if that caller has at least two more than this one. */
  findExcess(caller: Caller): { readonly caller: Caller; readonly item: Item } | undefined;
};

/** Creates an empty queue. */
export function createCallerQueue<Item>(): CallerQueue<Item> {
  const queues = new Map<Caller, Item[]>(); // the first caller is the next
  let size = 0;
  const remove = (caller: Caller, item: Item) => {
    const queue = queues.get(caller);
    const index = queue?.indexOf(item) ?? -1;
    if (queue === undefined || index < 0) return false;
    queue.splice(index, 1);
    if (queue.length === 0) queues.delete(caller);
    size -= 1;
    return true;
  };
  return {
    size: () => size,
    add: (caller, item) => {
      const queue = queues.get(caller);
      if (queue === undefined) queues.set(caller, [item]);
      else queue.push(item);
      size += 1;
    },
    remove,
    take: (mayGo = () => true, held = () => 0) => {
      let next: Caller | undefined;
      let least = Number.POSITIVE_INFINITY;
      for (const caller of queues.keys()) {
        const own = held(caller);
        if (own >= least) continue;
        next = caller;
        least = own;
        if (own === 0) break;
      }
      const queue = next === undefined ? undefined : queues.get(next);
      const item = queue?.[0];
      if (next === undefined || queue === undefined || item === undefined) return undefined;
      if (!mayGo(item, next)) return undefined;
      remove(next, item);
      if (queues.delete(next)) queues.set(next, queue);
      return item;
    },
    findExcess: (caller) => {
      let longest: readonly [Caller, readonly Item[]] | undefined;
      for (const entry of queues)
        if (longest === undefined || entry[1].length > longest[1].length) longest = entry;
      const [holder, items = []] = longest ?? [];
      const item = items.at(-1);
      const own = queues.get(caller)?.length ?? 0;
      if (holder === undefined || item === undefined || items.length <= own + 1) return undefined;
      return { caller: holder, item };
    },
  };
}
