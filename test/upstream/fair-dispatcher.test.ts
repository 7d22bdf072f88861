import fc from 'fast-check';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { AuditDocument, LoginDocument } from '../../src/client/operations.generated.ts';
import { createFairDispatcher } from '../../src/upstream/fair-dispatcher.ts';
import type { Caller } from '../../src/util/fair-share.ts';
import { ask, codeOf, gatewayOver, type Overrides, type Result } from '../helpers/gateway.ts';
import { startRawService } from '../helpers/raw-socket.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';

type Held = { readonly caller: string; readonly respond: (response?: ServiceResponse) => void };

/** A service that holds each request until the test responds. Logins are named by their client ID, others by token. */
async function startHolding() {
  const held: Held[] = [];
  const arrived: string[] = [];
  const service = await startService(({ method, headers, body }) => {
    const caller =
      method === 'POST'
        ? `login ${JSON.parse(body).client_id}`
        : String(headers.authorization).slice('Bearer '.length);
    arrived.push(caller);
    return new Promise((resolve) => {
      const respond = (response: ServiceResponse = OK) => {
        held.splice(held.indexOf(entry), 1);
        resolve(response);
      };
      const entry = { caller, respond };
      held.push(entry);
    });
  });
  return Object.assign(service, {
    held,
    /** The callers of all requests so far, in order of arrival. */
    arrived,
    /** Responds to the oldest request of a caller. */
    respondTo: (caller: string, response?: ServiceResponse) =>
      (held.find((request) => request.caller === caller) ?? expect.fail()).respond(response),
  });
}

const OK: ServiceResponse = { body: { access_token: 'a', items: [] } };

/** A gateway over a holding service, and what its callers do. */
async function startBed(connections: number, overrides: Overrides = {}) {
  const service = await startHolding();
  const gateway = gatewayOver(service.url, {
    upstream: { connections, timeoutMs: 60_000 },
    ...overrides,
  });
  const read = (token: string) => ask(gateway, AuditDocument, {}, { token });
  const bed = {
    service,
    gateway,
    read,
    reads: (token: string, count: number) => Array.from({ length: count }, () => read(token)),
    logIn: (clientId: string, address?: string) =>
      ask(
        gateway,
        LoginDocument,
        { clientId, credential: { clientSecret: 's' } },
        { headers: { ...(address !== undefined && { 'x-forwarded-for': address }) } },
      ),
    /** Waits until the service holds these, by caller. */
    holds: (counts: Readonly<Record<string, number>>) =>
      expect.poll(() => countBy(service.held)).toEqual(counts),
    [Symbol.asyncDispose]: async () => {
      gateway.abort();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
  return bed;
}

function countBy(held: readonly Held[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { caller } of held) counts[caller] = (counts[caller] ?? 0) + 1;
  return counts;
}

/** Time for what must not happen. */
const soon = () => new Promise((resolve) => setTimeout(resolve, 50));

describe('the connections to the service', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 3],
    [8, 6],
    [64, 48],
  ])('of %i, one caller has at most %i, and uses them all', async (connections, most) => {
    await using bed = await startBed(connections);
    const results = bed.reads('a', most + 5);
    await bed.holds({ a: most });
    await soon();
    await bed.holds({ a: most });
    for (let count = 0; count < most + 5; count += 1) {
      await expect.poll(() => bed.service.held.length).toBeGreaterThan(0);
      bed.service.respondTo('a');
    }
    expect((await Promise.all(results)).map(codeOf)).toEqual(results.map(() => ''));
  });

  it('go to the others once they wait, until a caller has less than half', async () => {
    await using bed = await startBed(8);
    void bed.reads('a', 20);
    await bed.holds({ a: 6 });
    void bed.reads('b', 20);
    await bed.holds({ a: 6, b: 2 });
    for (const [a, b] of [
      [5, 3],
      [4, 4],
    ] as const) {
      bed.service.respondTo('a');
      await bed.holds({ a, b });
    }
    bed.service.respondTo('a'); // both have half: a is below it now
    await bed.holds({ a: 4, b: 4 });
    expect(bed.service.arrived).toHaveLength(11);
  });

  it('go to the callers that wait in turns, and in order of arrival within one', async () => {
    await using bed = await startBed(4);
    void bed.reads('a', 3);
    void bed.read('b');
    await bed.holds({ a: 3, b: 1 });
    const order: string[] = [];
    const send = async (token: string, name: string) => {
      await ask(
        bed.gateway,
        `{ audit(parameters: [{ name: "n", value: "${name}" }]) { totalCount } }`,
        {},
        { token },
      );
    };
    for (const name of ['c1', 'c2', 'd1', 'c3', 'e1', 'd2']) {
      void send(name.slice(0, 1), name);
      await soon();
    }
    for (let round = 0; round < 6; round += 1) {
      const { length } = bed.service.seen;
      (bed.service.held[0] ?? expect.fail()).respond();
      await expect.poll(() => bed.service.seen.length).toBe(length + 1);
      order.push(String(bed.service.seen.at(-1)?.url.slice(-2)));
    }
    expect(order).toEqual(['c1', 'd1', 'e1', 'c2', 'd2', 'c3']);
  });

  it('serve other callers and logins at once while one caller reads more than there are', async () => {
    await using bed = await startBed(8);
    void bed.reads('slow', 70);
    await bed.holds({ slow: 6 });
    const other = bed.read('other');
    const login = bed.logIn('c');
    await bed.holds({ slow: 6, other: 1, 'login c': 1 });
    bed.service.respondTo('other');
    bed.service.respondTo('login c');
    expect(codeOf(await other)).toBe('');
    expect(codeOf(await login)).toBe('');
  });

  it('leave two more for logins, which take any other as well, by client address', async () => {
    await using bed = await startBed(4, { trustedProxies: 1 });
    void bed.reads('a', 5);
    void bed.reads('b', 5);
    await bed.holds({ a: 3, b: 1 });
    for (const count of [0, 1, 2, 3, 4]) {
      void bed.logIn('one', '192.0.2.1');
      await expect.poll(() => countBy(bed.service.held)['login one']).toBe(Math.min(2, count + 1));
    }
    void bed.logIn('two', '192.0.2.2');
    await soon();
    await bed.holds({ a: 3, b: 1, 'login one': 2 });
    bed.service.respondTo('login one'); // b has a turn before it, but not for this connection
    await bed.holds({ a: 3, b: 1, 'login one': 2 });
    bed.service.respondTo('login one');
    await bed.holds({ a: 3, b: 1, 'login one': 1, 'login two': 1 });
    bed.service.respondTo('a');
    await bed.holds({ a: 2, b: 2, 'login one': 1, 'login two': 1 });
    bed.service.respondTo('a'); // its own turn, then that of a login
    await expect.poll(() => bed.service.arrived.at(-1)).toBe('a');
    bed.service.respondTo('a');
    await bed.holds({ a: 1, b: 2, 'login one': 2, 'login two': 1 });
  });

  it('count logins without an address as those of one caller', async () => {
    await using bed = await startBed(4);
    for (let count = 0; count < 9; count += 1) void bed.logIn('c');
    await bed.holds({ 'login c': 5 });
  });

  it('count a token as one caller, however its scheme is written', async () => {
    await using bed = await startBed(4, { trustedProxies: 1 });
    void bed.reads('a', 9);
    await bed.holds({ a: 3 });
    void ask(bed.gateway, AuditDocument, {}, { headers: { authorization: 'bearer a' } });
    void bed.read('b');
    await bed.holds({ a: 3, b: 1 });
    bed.service.respondTo('b');
    await soon();
    await bed.holds({ a: 3 });
  });

  it('are not waited for by calls whose client disconnected', async () => {
    await using bed = await startBed(1);
    void bed.read('a');
    await bed.holds({ a: 1 });
    const client = new AbortController();
    const cancelled = Array.from({ length: 15 }, () =>
      bed.gateway.fetch('http://gateway.test/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer b' },
        body: '{"query": "{ audit { totalCount } }"}',
        signal: client.signal,
      }),
    );
    await soon();
    client.abort();
    await Promise.allSettled(cancelled);
    const others = bed.reads('c', 15);
    await soon();
    for (const caller of ['a', ...others.map(() => 'c')]) {
      await bed.holds({ [caller]: 1 });
      bed.service.respondTo(caller);
    }
    expect((await Promise.all(others)).map(codeOf)).toEqual(others.map(() => ''));
    expect(bed.service.arrived).not.toContain('b');
  });

  it('are not waited for by calls whose deadline has passed', async () => {
    await using bed = await startBed(1, { upstream: { connections: 1, timeoutMs: 300 } });
    const codes = async (token: string, count: number) =>
      new Set((await Promise.all(bed.reads(token, count))).map(codeOf));
    expect(await codes('a', 16)).toEqual(new Set(['UPSTREAM_TIMEOUT']));
    // 15 may wait: the connection of the last one that was sent may still be closing.
    expect(await codes('b', 15)).toEqual(new Set(['UPSTREAM_TIMEOUT']));
  });

  it('stay occupied by a response that is not read to its end', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async (seen, response) => {
      if (seen.headers.authorization !== 'Bearer a') return OK;
      response.writeHead(500, { 'content-length': '2' });
      response.write('x');
      await go;
      response.end('x');
      return undefined;
    });
    await using gateway = gatewayOver(service.url, { upstream: { connections: 1 } });
    expect(codeOf(await ask(gateway, AuditDocument, {}, { token: 'a' }))).toBe('UPSTREAM_ERROR');
    const next = ask(gateway, AuditDocument, {}, { token: 'b' });
    await soon();
    expect(service.seen).toHaveLength(1);
    release();
    expect(codeOf(await next)).toBe('');
  });

  it('are free again after each kind of failure', async () => {
    const kinds = ['reset', 'truncate', 'garbage', 'ok'];
    await using service = await startRawService((socket) => {
      const kind = kinds[service.requests() % kinds.length];
      if (kind === 'reset') socket.resetAndDestroy();
      else if (kind === 'truncate') socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[');
      else if (kind === 'garbage') socket.end('SSH-2.0\r\n');
      else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]');
    });
    await using gateway = gatewayOver(service.url, {
      upstream: { connections: 1, observer: {} },
    });
    const results: Result<unknown>[] = [];
    for (let round = 0; round < 12; round += 1)
      results.push(
        ...(await Promise.all(
          [1, 2].map((token) => ask(gateway, AuditDocument, {}, { token: `${token}` })),
        )),
      );
    expect(results.map(codeOf)).not.toContain('UPSTREAM_TIMEOUT');
  });
});

describe('too many waiting calls', () => {
  it('are OVERLOADED, and those of one caller make room for others', async () => {
    await using bed = await startBed(1);
    const slow = bed.reads('slow', 17).map(async (result) => codeOf(await result));
    expect(await slow[16]).toBe('OVERLOADED');
    await bed.holds({ slow: 1 });
    const first = bed.read('other');
    expect(await slow[15]).toBe('OVERLOADED'); // the newest that waited
    const second = bed.logIn('c');
    await bed.holds({ slow: 1, 'login c': 1 }); // waits for nothing
    bed.service.respondTo('login c');
    expect(codeOf(await second)).toBe('');
    expect(codeOf(await bed.read('slow'))).toBe('OVERLOADED');
    for (let count = 0; count < 16; count += 1) {
      await expect.poll(() => bed.service.held.length).toBe(1);
      (bed.service.held[0] ?? expect.fail()).respond();
    }
    expect(codeOf(await first)).toBe('');
    expect(await Promise.all(slow.slice(0, 15))).toEqual(Array(15).fill(''));
    expect(bed.service.arrived.indexOf('other')).toBe(3); // after one turn of the slow one
    expect(bed.service.arrived).toHaveLength(17);
  });

  it('do not make room for a caller that has as many', async () => {
    await using bed = await startBed(1);
    void bed.read('a');
    await bed.holds({ a: 1 });
    const waiting = Array.from({ length: 15 }, (_, caller) => bed.read(`${caller}`));
    expect(codeOf(await bed.read('z'))).toBe('OVERLOADED');
    for (let count = 0; count < 16; count += 1) {
      await expect.poll(() => bed.service.held.length).toBe(1);
      (bed.service.held[0] ?? expect.fail()).respond();
    }
    expect((await Promise.all(waiting)).map(codeOf)).toEqual(Array(15).fill(''));
  });
});

it('a gateway that closes sends what waits, and one that is aborted fails it', async () => {
  for (const isAborted of [false, true]) {
    await using bed = await startBed(1);
    const results = bed.reads('a', 5);
    await bed.holds({ a: 1 });
    const closed = bed.gateway[Symbol.asyncDispose]();
    if (isAborted) bed.gateway.abort();
    for (let count = 0; count < 5 && !isAborted; count += 1) {
      await expect.poll(() => bed.service.held.length).toBe(1);
      bed.service.respondTo('a');
    }
    const codes = new Set((await Promise.all(results)).map(codeOf));
    expect(codes).toEqual(new Set([isAborted ? 'UPSTREAM_UNAVAILABLE' : '']));
    await closed;
  }
});

type Step = { readonly do: 'arrive' | 'end' | 'fail' | 'cancel'; readonly pick: number };

/** A call, and what became of it. */
type Tracked = {
  readonly caller: Caller;
  state: 'waiting' | 'sent' | 'over' | 'cancelled' | 'overloaded';
  /** Ends the exchange. */
  end?: (step: Step['do']) => void;
  cancel?: (() => void) | undefined;
};

const CALLERS: readonly Caller[] = [
  ...['a', 'b', 'c'].map((token) => `token ${token}` as const),
  'address 1',
  'address 2',
];

/** Undici's handlers ignore the controller and the trailers. */
const CONTROLLER = {} as Dispatcher.DispatchController;

describe('in any history of calls that arrive, end, fail and are cancelled', () => {
  it('no slot is lost or given twice, none is free while a call may take it, and turns are kept', () => {
    const step = fc.record<Step>({
      do: fc.constantFrom('arrive', 'arrive', 'arrive', 'end', 'fail', 'cancel'),
      pick: fc.nat({ max: 2 ** 20 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1 }),
        fc.array(step, { maxLength: 400 }),
        (connections, favoured, steps) => {
          const calls: Tracked[] = [];
          const sentNow: Tracked[] = [];
          const pool = {
            dispatch: (
              { path }: Dispatcher.DispatchOptions,
              handler: Dispatcher.DispatchHandler,
            ) => {
              const call = calls[Number(path)] ?? expect.fail();
              expect(call.state).toBe('waiting');
              call.state = 'sent';
              sentNow.push(call);
              call.end = (how) => {
                call.state = 'over';
                if (how === 'end') handler.onResponseEnd?.(CONTROLLER, {});
                // Undici may report an error after the end, which frees nothing.
                handler.onResponseError?.(CONTROLLER, new Error('lost'));
              };
              return true;
            },
          };
          const dispatcher = createFairDispatcher({ ordinary: pool, login: pool }, connections);
          const inState = (state: Tracked['state'], caller?: Caller) =>
            calls.filter(
              (call) => call.state === state && [undefined, call.caller].includes(caller),
            );
          const arrive = (caller: Caller) => {
            const call: Tracked = { caller, state: 'waiting' };
            const path = String(calls.push(call) - 1);
            const none = () => {};
            const onOverload = () => {
              expect(call.state).toBe('waiting');
              call.state = 'overloaded';
            };
            call.cancel = dispatcher.dispatch(
              { path, method: 'GET' },
              {
                ...{ onRequestStart: none, onResponseStart: none, onResponseData: none },
                ...{
                  onResponseEnd: (free: () => void) => free(),
                  onResponseError: none,
                  onOverload,
                },
              },
              caller,
            );
          };
          const check = () => {
            const sent = inState('sent');
            const logins = sent.filter(({ caller }) => caller.startsWith('address'));
            const most = connections - Math.floor(connections / 4);
            const others = sent.length - logins.length;
            const ordinary = others + Math.max(0, logins.length - 2);
            expect(ordinary).toBeLessThanOrEqual(connections);
            for (const caller of CALLERS) {
              const isLogin = caller.startsWith('address');
              const own = inState('sent', caller).length;
              expect(own).toBeLessThanOrEqual(isLogin ? most + 2 : most);
              const mayTake = isLogin ? false : own < most;
              if (mayTake && sent.length < connections)
                expect(inState('waiting', caller)).toEqual([]);
              if (isLogin && logins.length < 2) expect(inState('waiting', caller)).toEqual([]);
              const order = calls.filter((call) => call.caller === caller);
              const firstWaiting = order.findIndex(({ state }) => state === 'waiting');
              const lastSent = order.findLastIndex(({ state }) => state === 'sent');
              if (firstWaiting >= 0) expect(lastSent).toBeLessThan(firstWaiting);
            }
            expect(inState('waiting').length).toBeLessThanOrEqual(15 * connections);
          };
          for (const { do: action, pick } of steps) {
            sentNow.length = 0;
            const sent = inState('sent');
            const waiting = inState('waiting');
            if (action === 'arrive') {
              const caller = CALLERS[favoured[pick % favoured.length] ?? 0] ?? expect.fail();
              arrive(caller);
            } else if (action === 'cancel') {
              const call = calls[pick % Math.max(1, calls.length)];
              if (call?.state === 'waiting') {
                call.state = 'cancelled';
                call.cancel?.();
              } else call?.cancel?.(); // no effect
            } else sent[pick % Math.max(1, sent.length)]?.end?.(action);
            expect(sentNow.length).toBeLessThanOrEqual(1);
            const [next] = sentNow;
            const half = Math.max(1, Math.floor(connections / 2));
            if (
              next !== undefined &&
              waiting.includes(next) &&
              !next.caller.startsWith('address')
            ) {
              const others = waiting.filter(({ caller }) => !caller.startsWith('address'));
              const isBelow = ({ caller }: Tracked) => inState('sent', caller).length <= half;
              if (!isBelow(next))
                for (const other of others.filter(({ state }) => state === 'waiting'))
                  expect(inState('sent', other.caller).length).toBeGreaterThanOrEqual(half);
            }
            check();
          }
          for (let sent = inState('sent'); sent.length > 0; sent = inState('sent')) {
            sent[0]?.end?.('end');
            check();
          }
          expect(inState('waiting')).toEqual([]);
          for (const caller of CALLERS) arrive(caller);
          expect(inState('sent').length).toBe(Math.min(3, connections) + 2);
        },
      ),
      { numRuns: 300 },
    );
  });
});
