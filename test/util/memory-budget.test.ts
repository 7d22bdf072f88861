import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  createMemoryBudget as create,
  FREE_BYTES,
  type MemoryAccount,
} from '../../src/util/memory-budget.ts';

/** A budget whose accounts have used up what they have beside it. */
function createMemoryBudget(maxBytes: number) {
  const budget = create(maxBytes);
  return {
    open: (caller: Parameters<typeof budget.open>[0]) => {
      const account = budget.open(caller);
      expect(account.take(FREE_BYTES, () => expect.fail())).toBe(undefined);
      return account;
    },
  };
}

const later = () => new Promise<void>((resolve) => queueMicrotask(resolve));

/** Takes bytes, and says whether they are there yet. */
function take(account: MemoryAccount, bytes: number) {
  const taken = { isTaken: false, cancel: () => {} };
  const cancel = account.take(bytes, () => {
    taken.isTaken = true;
  });
  if (cancel === undefined) taken.isTaken = true;
  else taken.cancel = cancel;
  return taken;
}

it('lets accounts begin until half of it is used; then they wait in turns of their callers', async () => {
  const budget = createMemoryBudget(100);
  const accounts = ['a', 'a', 'a', 'a', 'b'].map((name) => budget.open(`token ${name}`));
  const taken = accounts.map((account) => take(account, 25));
  const state = () => taken.map(({ isTaken }) => isTaken);
  await later();
  expect(state()).toEqual([true, true, false, false, false]);
  accounts[0]?.[Symbol.dispose]();
  expect(state()).toEqual([true, true, true, false, false]);
  accounts[1]?.[Symbol.dispose]();
  expect(state()).toEqual([true, true, true, false, true]); // b before the next of a
});

it('lets accounts that have begun go on up to all of it, the oldest first', async () => {
  const budget = createMemoryBudget(100);
  const [first, second, third] = [1, 2, 3].map(() => budget.open('token a'));
  if (!first || !second || !third) return expect.fail();
  for (const account of [first, second, third]) expect(take(account, 15).isTaken).toBe(true);
  expect(take(third, 40).isTaken).toBe(true);
  const late = take(second, 30);
  const early = take(first, 30);
  third[Symbol.dispose]();
  expect([early.isTaken, late.isTaken]).toEqual([true, true]);
  await later();
  expect(take(budget.open('token b'), 1).isTaken).toBe(false);
});

it('exceeds its maximum for the oldest account if all wait, so that none waits for ever', async () => {
  const budget = createMemoryBudget(100);
  const [first, second] = [1, 2].map(() => budget.open('token a'));
  if (!first || !second) return expect.fail();
  take(first, 25);
  take(second, 25);
  const late = take(second, 90);
  const early = take(first, 90);
  await later();
  expect([early.isTaken, late.isTaken]).toEqual([true, false]);
  first[Symbol.dispose]();
  await later();
  expect(late.isTaken).toBe(true);
});

it('is exceeded by one account at a time, also if each has several bodies', async () => {
  const budget = createMemoryBudget(64);
  const open = Array.from({ length: 32 }, (_, number) => {
    const account = budget.open(`token ${number}`);
    return { account, bodies: [take(account, 8), take(account, 8)] };
  });
  while (open.length > 0) {
    await later();
    const taken = open.flatMap(({ bodies }) => bodies).filter(({ isTaken }) => isTaken);
    expect(8 * taken.length).toBeLessThanOrEqual(64 + 16);
    const done = open.findIndex(({ bodies }) => bodies.every(({ isTaken }) => isTaken));
    expect(done).toBeGreaterThanOrEqual(0);
    open.splice(done, 1)[0]?.account[Symbol.dispose]();
  }
});

it('takes one that is larger than all of it, alone', async () => {
  const budget = createMemoryBudget(100);
  const account = budget.open('token a');
  expect(take(account, 1000).isTaken).toBe(true);
  const other = take(budget.open('token b'), 1);
  await later();
  expect(other.isTaken).toBe(false);
  account[Symbol.dispose]();
  expect(other.isTaken).toBe(true);
});

it('forgets who no longer waits, and what is given back', async () => {
  const budget = createMemoryBudget(100);
  const first = budget.open('token a');
  take(first, 50);
  const cancelled = take(budget.open('token b'), 50);
  const next = take(budget.open('token c'), 10);
  await later();
  cancelled.cancel();
  first.giveBack(20);
  expect([cancelled.isTaken, next.isTaken]).toEqual([false, true]);
});

it('in any history every wait ends, and all is free at the end', async () => {
  const step = fc.record({
    do: fc.constantFrom('open', 'take', 'take', 'cancel', 'give back', 'dispose'),
    pick: fc.nat({ max: 1000 }),
    bytes: fc.integer({ min: 1, max: 150 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const budget = createMemoryBudget(100);
      const open: { account: MemoryAccount; takes: ReturnType<typeof take>[] }[] = [];
      for (const { do: action, pick, bytes } of steps) {
        if (action === 'open' || open.length === 0)
          open.push({ account: budget.open(`token ${pick % 3}`), takes: [] });
        const one = open[pick % open.length] ?? expect.fail();
        if (action === 'take') one.takes.push(take(one.account, bytes));
        else if (action === 'cancel') one.takes.pop()?.cancel();
        else if (action === 'give back') one.account.giveBack(bytes);
        else if (action === 'dispose') {
          for (const { cancel } of one.takes) cancel(); // as a request does that ends
          one.account[Symbol.dispose]();
          open.splice(open.indexOf(one), 1);
        }
        await later();
      }
      // Whoever has all that it waited for ends, until nobody is left.
      while (open.length > 0) {
        const done = open.findIndex(({ takes }) => takes.every(({ isTaken }) => isTaken));
        expect(done).toBeGreaterThanOrEqual(0);
        open[done]?.account[Symbol.dispose]();
        open.splice(done, 1);
        await later();
      }
      expect(take(budget.open('token 0'), 50).isTaken).toBe(true);
    }),
  );
});
