import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createCircuitBreaker,
  type Verdict,
} from '../../../src/gateway/upstream/circuit-breaker.ts';
import type { Caller } from '../../../src/util/fair-share.ts';

/** A circuit breaker with a clock that the test sets, and the states it had, each with the time of its begin. */
function start() {
  const time = { ms: 0 };
  const states: [state: string, ms: number][] = [];
  const breaker = createCircuitBreaker(
    () => time.ms,
    (state) => void states.push([state, time.ms]),
  );
  const state = () => states.at(-1)?.[0] ?? 'closed';
  const begin = (caller: Caller, mayBeTrial = true) => breaker.tryAcquire(mayBeTrial, caller);
  return {
    ...{ time, states, state, begin },
    retryAfterSeconds: breaker.retryAfterSeconds,
    /** Makes a call that takes no time. Returns the state after it, or that it was rejected. */
    call: (verdict: Verdict, caller: Caller, mayBeTrial = true) => {
      const permit = begin(caller, mayBeTrial);
      permit?.record(verdict, caller);
      return permit === null ? 'rejected' : state();
    },
  };
}

const token = (name: string | number): Caller => `token ${name}`;
const network = (name: string | number): Caller => `network ${name}`;

/** Callers that each make a call every so often. `failing` of 10 calls, one after the other of all of them, fail. */
type Load = {
  readonly name: string;
  readonly callers: number;
  readonly of: (name: string) => Caller;
  readonly everyMs: number;
  readonly failing: number;
};

const good = { name: 'good', of: token, failing: 0 };
const bad = { name: 'bad', of: token, failing: 10 };
const badNetworks = { ...bad, of: network };

/** Runs loads for a time, in steps of a millisecond. */
function run(bed: ReturnType<typeof start>, loads: readonly Load[], ms: number): void {
  const counts = loads.map(() => 0);
  for (const end = bed.time.ms + ms; bed.time.ms < end; bed.time.ms += 1) {
    for (const [index, { name, callers, of, everyMs, failing }] of loads.entries()) {
      for (let caller = 0; caller < callers; caller += 1) {
        if ((bed.time.ms + Math.floor((caller * everyMs) / callers)) % everyMs !== 0) continue;
        const count = counts[index] ?? 0;
        counts[index] = count + 1;
        const verdict = (count * 7) % 10 < failing ? 'failure' : 'success';
        bed.call(verdict, of(`${name}.${caller}`));
      }
    }
  }
}

describe('the circuit stays closed', () => {
  it.each<[string, readonly Load[]]>([
    [
      '2 tokens fail 20 times a second, and 1 succeeds every second',
      [
        { ...bad, callers: 2, everyMs: 100 },
        { ...good, callers: 1, everyMs: 1000 },
      ],
    ],
    [
      '12 tokens fail, and 8 succeed',
      [
        { ...bad, callers: 12, everyMs: 50 },
        { ...good, callers: 8, everyMs: 1000 },
      ],
    ],
    [
      '12 tokens fail, and 2 succeed every nine seconds',
      [
        { ...bad, callers: 12, everyMs: 50 },
        { ...good, callers: 2, everyMs: 9000 },
      ],
    ],
    [
      '40 networks fail, and 4 tokens succeed',
      [
        { ...badNetworks, callers: 40, everyMs: 100 },
        { ...good, callers: 4, everyMs: 1000 },
      ],
    ],
    [
      '2000 networks fail, and 1 token succeeds every nine seconds',
      [
        { ...badNetworks, callers: 2000, everyMs: 1000 },
        { ...good, callers: 1, everyMs: 9000 },
      ],
    ],
    [
      '12 tokens fail, and half of the requests of 100 others',
      [
        { ...bad, callers: 12, everyMs: 1000 },
        { ...good, callers: 100, everyMs: 1000, failing: 5 },
      ],
    ],
  ])('while %s', (_, loads) => {
    const bed = start();
    run(
      bed,
      loads.filter(({ failing }) => failing < 10),
      10_000,
    );
    run(bed, loads, 40_000);
    expect(bed.states).toEqual([]);
  });

  it.each([
    ['19 failures of one caller', Array(19).fill(token('a'))],
    ['19 failures of one network', Array(19).fill(network('a'))],
    ['9 failures of nine callers', Array.from({ length: 9 }, (_, name) => token(name))],
  ])('after %s', (_, callers: readonly Caller[]) => {
    const bed = start();
    for (const caller of callers) expect(bed.call('failure', caller)).toBe('closed');
    expect(bed.call('failure', callers[0] ?? token('a'))).toBe('open');
  });

  it('however many calls have no verdict', () => {
    const bed = start();
    for (let call = 0; call < 100; call += 1) bed.call('none', token(call));
    for (let call = 0; call < 19; call += 1) bed.call('failure', token('a'));
    expect(bed.state()).toBe('closed');
  });
});

describe('the circuit opens', () => {
  const ordinary = (callers: number, perSecond: number): Load => ({
    ...{ ...good, callers, everyMs: (1000 * callers) / perSecond },
  });

  it.each<[string, Load, Partial<Load>, number]>([
    ['all fail, 200 callers with a request a second each', ordinary(200, 200), {}, 500],
    ['all fail, 2000 callers with 200 requests a second', ordinary(2000, 200), {}, 500],
    ['all fail, 30 callers with 200 requests a second', ordinary(30, 200), {}, 200],
    [
      '9 of 10 fail, 200 callers with a request a second each',
      ordinary(200, 200),
      { failing: 9 },
      700,
    ],
    ['all fail, one caller with 10 requests a second', ordinary(1, 10), {}, 2000],
    ['all fail, two callers with 10 requests a second', ordinary(2, 10), {}, 1100],
    ['all fail, three callers with a request every 5 seconds', ordinary(3, 0.6), {}, 20_000],
    ['all networks fail', { ...ordinary(50, 200), of: network }, {}, 300],
  ])('if %s', (_, before, fails, withinMs) => {
    const bed = start();
    run(bed, [before], 20_000);
    expect(bed.states).toEqual([]);
    run(bed, [{ ...before, failing: 10, ...fails }], withinMs);
    expect(bed.states[0]?.[0]).toBe('open');
  });

  it('if 12 tokens fail and 9 of 10 requests of 100 others', () => {
    const bed = start();
    const loads = [
      { ...bad, callers: 12, everyMs: 1000 },
      { ...good, callers: 100, everyMs: 1000, failing: 9 },
    ];
    run(bed, loads, 3000);
    expect(bed.states[0]?.[0]).toBe('open');
  });

  it('for one caller whose failures are the only verdicts of the last ten seconds', () => {
    const bed = start();
    bed.call('success', token('other'));
    for (const ms of [9999, 10_000]) {
      bed.time.ms = ms;
      for (let call = 0; call < 20; call += 1) bed.call('failure', token('a'));
      expect(bed.state()).toBe(ms === 10_000 ? 'open' : 'closed');
    }
  });

  it('if nine in ten of at least ten tokens fail, whatever networks do', () => {
    const bed = start();
    for (let name = 0; name < 100; name += 1) bed.call('success', network(name));
    bed.call('success', token('good'));
    for (let name = 0; name < 8; name += 1) expect(bed.call('failure', token(name))).toBe('closed');
    expect(bed.call('failure', network('x'))).toBe('closed');
    expect(bed.call('failure', token('ninth'))).toBe('open');
  });

  it('if 18 of 20 tokens fail, and not before', () => {
    const bed = start();
    for (const name of ['a', 'b']) bed.call('success', token(name));
    for (let name = 1; name < 18; name += 1)
      expect(bed.call('failure', token(name))).toBe('closed');
    expect(bed.call('failure', token(18))).toBe('open');
  });

  it('of a hundred tokens with the latest verdicts, which networks do not displace', () => {
    const bed = start();
    bed.call('success', token('good'));
    for (let name = 0; name < 500; name += 1) bed.call('failure', network(name));
    expect(bed.state()).toBe('closed');
    bed.call('success', network('good'));
    const verdicts = Array.from({ length: 11 }, () => bed.call('success', token('old')));
    expect(new Set(verdicts)).toEqual(new Set(['closed']));
    for (let name = 0; name < 100; name += 1) bed.call('success', token(`s${name}`));
    for (let name = 0; name < 89; name += 1)
      expect(bed.call('failure', token(`f${name}`))).toBe('closed');
    expect(bed.call('failure', token('f89'))).toBe('open');
  });
});

/** A circuit that 20 failures of one caller have opened at 0 ms. */
function opened() {
  const bed = start();
  for (let call = 0; call < 20; call += 1) bed.call('failure', network('first'));
  expect(bed.states).toEqual([['open', 0]]);
  return bed;
}

type Step = readonly [
  ms: number,
  call: 'read' | 'write',
  caller: string,
  verdict: Verdict,
  expected: string,
];

describe('an open circuit', () => {
  it.each<[string, readonly Step[]]>([
    [
      'rejects everything for 4 s, then one read decides',
      [
        [3999, 'read', 'a', 'success', 'rejected'],
        [3999, 'write', 'a', 'success', 'rejected'],
        [4000, 'read', 'a', 'success', 'closed'],
        [4000, 'write', 'a', 'failure', 'closed'],
      ],
    ],
    [
      'stays open for 4 s more after a trial request that failed',
      [
        [5000, 'read', 'a', 'failure', 'open'],
        [8999, 'read', 'b', 'success', 'rejected'],
        [9000, 'read', 'b', 'success', 'closed'],
      ],
    ],
    [
      'has its next trial request at once after one without a verdict',
      [
        [4000, 'read', 'a', 'none', 'open'],
        [4000, 'read', 'b', 'none', 'open'],
        [4000, 'read', 'c', 'success', 'closed'],
      ],
    ],
    [
      'lets others have their turn for a second after each trial request of a caller',
      [
        [4000, 'read', 'a', 'failure', 'open'],
        [8000, 'read', 'a', 'success', 'rejected'],
        [8999, 'read', 'a', 'success', 'rejected'],
        [8999, 'read', 'b', 'failure', 'open'],
        [12_999, 'read', 'a', 'success', 'rejected'],
        [13_998, 'read', 'b', 'success', 'rejected'],
        [13_998, 'read', 'a', 'success', 'rejected'],
        [13_998, 'read', 'c', 'failure', 'open'],
        [18_997, 'read', 'b', 'success', 'rejected'],
        [18_998, 'read', 'b', 'failure', 'open'],
        [22_998, 'read', 'b', 'success', 'rejected'],
        [22_998, 'read', 'a', 'success', 'closed'],
      ],
    ],
    [
      'lets others have their turn after a trial request without a verdict, too',
      [
        [4000, 'read', 'a', 'none', 'open'],
        [4999, 'read', 'a', 'success', 'rejected'],
        [5000, 'read', 'a', 'success', 'closed'],
      ],
    ],
    [
      'forgets the turns once it has closed',
      [
        [4000, 'read', 'a', 'success', 'closed'],
        ...Array.from({ length: 19 }, (): Step => [4001, 'read', 'a', 'failure', 'closed']),
        [4001, 'read', 'a', 'failure', 'open'],
        [8001, 'read', 'a', 'success', 'closed'],
      ],
    ],
    [
      'is closed by a write after the cool-down, and its failure starts the next one',
      [
        [4000, 'write', 'a', 'failure', 'open'],
        [4000, 'read', 'a', 'success', 'rejected'],
        [8000, 'write', 'a', 'none', 'open'],
        [8000, 'write', 'a', 'success', 'closed'],
      ],
    ],
    [
      'remembers no failure once it has closed',
      [
        [4000, 'read', 'a', 'success', 'closed'],
        ...Array.from({ length: 8 }, (_, at): Step => [4001, 'read', `${at}`, 'failure', 'closed']),
        [14_000, 'read', '0', 'failure', 'closed'],
        [14_000, 'read', '0', 'failure', 'open'],
      ],
    ],
  ])('%s', (_, steps) => {
    const bed = opened();
    for (const [ms, call, caller, verdict, expected] of steps) {
      bed.time.ms = ms;
      expect([ms, caller, bed.call(verdict, token(caller), call === 'read')]).toEqual([
        ...[ms, caller, expected],
      ]);
    }
  });

  it('starts another cool-down after a single failed write, however it was opened', () => {
    const bed = start();
    for (let name = 0; name < 10; name += 1) bed.call('failure', token(name));
    bed.time.ms = 60_000;
    bed.call('failure', token('a'), false);
    expect(bed.call('success', token('b'))).toBe('rejected');
  });

  it('says when the next call may be accepted', () => {
    const bed = opened();
    expect(bed.retryAfterSeconds()).toBe(4);
    bed.time.ms = 3500;
    expect(bed.retryAfterSeconds()).toBe(1);
  });

  it('is closed by the success of a call that began before it opened', () => {
    const bed = start();
    const begun = bed.begin(token('slow'));
    for (let call = 0; call < 20; call += 1) bed.call('failure', token('a'));
    expect(begun?.isValid()).toBe(false); // if it still waits for a connection
    begun?.record('success', token('slow'));
    expect(bed.state()).toBe('closed');
  });

  it('does not count failures of calls that began before it opened', () => {
    const bed = start();
    const begun = Array.from({ length: 60 }, (_, name) => bed.begin(token(name)));
    for (let call = 0; call < 20; call += 1) bed.call('failure', token('a'));
    for (const [name, permit] of begun.slice(0, 20).entries())
      permit?.record('failure', token(name));
    bed.time.ms = 4000;
    const trial = bed.begin(token('b'));
    for (const [name, permit] of begun.slice(20, 40).entries())
      permit?.record('failure', token(name));
    trial?.record('success', token('b'));
    for (const [name, permit] of begun.slice(40).entries()) permit?.record('failure', token(name));
    expect(bed.states.map(([state]) => state)).toEqual(['open', 'half-open', 'closed']);
  });

  it('rejects everything while a trial request is in progress, until another cool-down has passed', () => {
    const bed = opened();
    bed.time.ms = 4000;
    const hanging = bed.begin(token('hanging'));
    expect(hanging?.isTrial).toBe(true);
    bed.time.ms = 7999;
    expect(bed.call('success', token('a'))).toBe('rejected');
    expect(bed.call('success', token('a'), false)).toBe('rejected');
    bed.time.ms = 8000;
    const next = bed.begin(token('a'));
    expect(next?.isTrial).toBe(true);
    hanging?.record('failure', token('hanging')); // the latest decides
    next?.record('success', token('a'));
    expect(bed.states.slice(1)).toEqual([
      ['half-open', 4000],
      ['closed', 8000],
    ]);
  });

  it('waits for the trial request, whatever the verdict of another call', () => {
    const bed = opened();
    bed.time.ms = 4000;
    const write = bed.begin(token('a'), false);
    const trial = bed.begin(token('b'));
    write?.record('failure', token('a'));
    expect(bed.state()).toBe('half-open');
    trial?.record('failure', token('b'));
    expect(bed.states.at(-1)).toEqual(['open', 4000]);
  });

  it('remembers a bounded number of turns', () => {
    const bed = opened();
    const caller = (at: number) => token(`${at}`);
    for (let at = 0; at < 100; at += 1) {
      bed.time.ms += 4000;
      expect(bed.call('failure', caller(at))).toBe('open');
    }
    bed.time.ms += 4000;
    expect(bed.call('failure', caller(0))).toBe('rejected');
    expect(bed.call('failure', caller(100))).toBe('open');
    bed.time.ms += 4000;
    expect(bed.call('success', caller(0))).toBe('closed');
  });
});

describe('in any history of calls', () => {
  const history = fc.array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 2000 }),
      caller: fc.oneof(
        fc.integer({ min: 0, max: 14 }).map(token),
        fc.integer({ min: 0, max: 3 }).map(network),
      ),
      isFailure: fc.integer({ min: 0, max: 29 }).map((of30) => of30 < 29),
    }),
    { maxLength: 300 },
  );

  it('it never opens while a token succeeds and fewer than nine in ten of them fail, and any success closes it', () => {
    let [openings, kept] = [0, 0];
    fc.assert(
      fc.property(history, (calls) => {
        const bed = start();
        const last = new Map<Caller, { readonly isFailure: boolean; readonly at: number }>();
        for (const { afterMs, caller, isFailure } of calls) {
          bed.time.ms += afterMs;
          const before = bed.state();
          const result = bed.call(isFailure ? 'failure' : 'success', caller);
          if (result === 'rejected') continue;
          if (!isFailure) expect(result).toBe('closed');
          if (before !== 'closed' && result === 'closed') last.clear();
          last.set(caller, { isFailure, at: bed.time.ms });
          if (before !== 'closed') continue;
          const tokens = [...last].filter(
            ([name, { at }]) => name.startsWith('token') && bed.time.ms - at < 10_000,
          );
          const failing = tokens.filter(([, verdict]) => verdict.isFailure).length;
          const isKept = failing < tokens.length && failing < 0.9 * tokens.length;
          if (isKept) expect(result).toBe('closed');
          kept += Number(isKept && isFailure);
          openings += Number(result === 'open');
        }
      }),
      { numRuns: 2000 },
    );
    expect(openings).toBeGreaterThan(10);
    expect(kept).toBeGreaterThan(10);
  });
});
