import { createCallerQueue } from './caller-queue.ts';
import type { Caller } from './fair-share.ts';

/** Memory for the responses of the service, from their first bytes until the gateway's response is built. */
export type MemoryBudget = {
  /** Opens the account of one request. Disposing it gives everything back. */
  open(caller: Caller): MemoryAccount;
};

/** What one request holds. */
export type MemoryAccount = Disposable & {
  /**
   * Takes bytes; none if the account is closed. Returns undefined if it has them; else what cancels the wait. Later calls
   * `onTaken` once.
   */
  take(bytes: number, onTaken: () => void): (() => void) | undefined;
  /** Gives back bytes that were taken. */
  giveBack(bytes: number): void;
  /** Opens another account of the same caller. */
  openNext(): MemoryAccount;
};

type Account = {
  readonly number: number;
  readonly caller: Caller;
  readonly waits: Wait[];
  free: number;
  held: number;
  isClosed: boolean;
};
type Wait = { readonly account: Account; readonly bytes: number; readonly onTaken: () => void };

/** What each account has beside the budget, so that small responses never wait. */
export const FREE_BYTES = 65_536;

/**
 * Creates a budget. An account that finds too little waits. Accounts that hold bytes come first, the oldest before the
 * others: they give back what they hold. Half of the budget is theirs alone. The others begin in turns of their callers,
 * and share the other half. If each account that holds bytes waits for more, the oldest may exceed the maximum until it
 * is closed: otherwise all would wait for ever.
 */
export function createMemoryBudget(maxBytes: number): MemoryBudget {
  const beginning = createCallerQueue<Wait>();
  const begun: Wait[] = []; // the oldest account first
  const isWaitedFor = () => begun.length > 0 || beginning.size() > 0;
  let opened = 0;
  let used = 0;
  let running = 0; // accounts that hold bytes and wait for none
  let exceeding: Account | null = null;
  const isRunning = ({ held, waits }: Account) => held > 0 && waits.length === 0;
  /** Changes what an account holds or waits for. */
  const update = (account: Account, bytes: number, changeWaits?: (waits: Wait[]) => unknown) => {
    running -= Number(isRunning(account));
    used += bytes;
    account.held += bytes;
    changeWaits?.(account.waits);
    running += Number(isRunning(account));
    if (account === exceeding && account.held === 0) exceeding = null;
  };
  const waitAsBegun = (wait: Wait) => {
    const at = begun.findIndex(({ account }) => account.number > wait.account.number);
    begun.splice(at < 0 ? begun.length : at, 0, wait);
  };
  /** Whether an account may take bytes. One account at a time may exceed the maximum, until it is closed. */
  const mayTake = (account: Account, bytes: number): boolean => {
    if (account === exceeding || account.isClosed) return true;
    if (used + bytes <= (account.held > 0 ? maxBytes : maxBytes / 2)) return true;
    if (exceeding !== null || running > 0) return false;
    exceeding = account;
    return true;
  };
  /** The next in order, even if one after it needs less: a large response would otherwise wait for ever. */
  const takeNext = (): Wait | undefined => {
    const first = begun.find(({ account }) => account === exceeding) ?? begun[0];
    if (first === undefined) return beginning.take(({ account, bytes }) => mayTake(account, bytes));
    if (!mayTake(first.account, first.bytes)) return undefined;
    begun.splice(begun.indexOf(first), 1);
    return first;
  };
  const grant = () => {
    for (let wait = takeNext(); wait !== undefined; wait = takeNext()) {
      const { account, bytes, onTaken } = wait;
      update(account, account.isClosed ? 0 : bytes, (waits) =>
        waits.splice(waits.indexOf(wait), 1),
      );
      // It has begun now, with all that it waits for.
      for (const other of account.waits)
        if (beginning.remove(account.caller, other)) waitAsBegun(other);
      onTaken();
    }
  };
  const open = (caller: Caller): MemoryAccount => {
    opened += 1;
    const account: Account = {
      number: opened,
      caller,
      waits: [], // not a Set, which would take 1 % of the CPU of a deletion
      free: FREE_BYTES,
      held: 0,
      isClosed: false,
    };
    return {
      take: (bytes, onTaken) => {
        if (account.isClosed) return; // such as a trial request whose client has disconnected
        if (bytes <= account.free) {
          account.free -= bytes;
          return;
        }
        const hasBegun = account.held > 0;
        const isFirst = hasBegun ? begun.length === 0 : !isWaitedFor();
        if ((isFirst || account === exceeding) && mayTake(account, bytes)) {
          update(account, bytes);
          return;
        }
        const wait = { account, bytes, onTaken };
        if (hasBegun) waitAsBegun(wait);
        else beginning.add(caller, wait);
        update(account, 0, (waits) => waits.push(wait));
        queueMicrotask(grant); // in case that nobody is left who would give back any
        return () => {
          if (!account.waits.includes(wait)) return;
          const index = begun.indexOf(wait);
          if (index >= 0) begun.splice(index, 1);
          else beginning.remove(caller, wait);
          update(account, 0, (waits) => waits.splice(waits.indexOf(wait), 1));
          grant();
        };
      },
      giveBack: (bytes) => {
        update(account, -Math.min(bytes, account.held));
        if (isWaitedFor()) grant();
      },
      openNext: () => open(caller),
      [Symbol.dispose]: () => {
        account.isClosed = true;
        if (account.held === 0 && account !== exceeding) return;
        update(account, -account.held);
        if (isWaitedFor()) grant();
      },
    };
  };
  return { open };
}

/** For requests whose memory nobody limits, such as those of a command. */
export const UNLIMITED: MemoryAccount = {
  take: () => undefined,
  giveBack: () => {},
  openNext: () => UNLIMITED,
  [Symbol.dispose]: () => {},
};
