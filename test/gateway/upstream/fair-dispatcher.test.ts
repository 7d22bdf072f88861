import fc from 'fast-check';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import {
  type CallOrigin,
  createFairDispatcher,
} from '../../../src/gateway/upstream/fair-dispatcher.ts';
import { mayTake } from '../../../src/util/fair-share.ts';
import { ask, codeOf, gatewayOver, type Overrides, type Result } from '../../helpers/gateway.ts';
import { startRawService } from '../../helpers/raw-socket.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

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

const TOKENS = ['a', 'b', 'c', 'd', 'e', 'slow', 'other', 'z'];

/** A gateway over a holding service that has accepted these tokens, and what its callers do. */
async function startBed(connections: number, overrides: Overrides = {}, tokens = TOKENS) {
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
  for (const token of tokens) {
    const accepted = read(token);
    await bed.holds({ [token]: 1 });
    service.respondTo(token);
    expect(codeOf(await accepted)).toBe('');
  }
  service.forget();
  service.arrived.length = 0;
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
    [2, 1],
    [3, 1],
    [4, 2],
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

  it('go to the others once they wait, and the last two to callers that have none', async () => {
    await using bed = await startBed(8);
    void bed.reads('a', 20);
    await bed.holds({ a: 6 });
    void bed.reads('b', 20);
    await bed.holds({ a: 6, b: 1 });
    void bed.read('c');
    await bed.holds({ a: 6, b: 1, c: 1 });
    bed.service.respondTo('a');
    await soon();
    await bed.holds({ a: 5, b: 1, c: 1 }); // one is free, for a caller that has none
    bed.service.respondTo('a');
    bed.service.respondTo('a');
    await bed.holds({ a: 3, b: 2, c: 1 });
    expect(bed.service.arrived).toHaveLength(9);
  });

  it('are left by a read of the caller with the most of them, if there is none for a caller', async () => {
    await using bed = await startBed(8);
    const ended: Result<unknown>[] = [];
    for (const read of bed.reads('slow', 6)) void read.then((result) => ended.push(result));
    await bed.holds({ slow: 6 });
    const first = [bed.read('a'), bed.read('b')];
    await bed.holds({ slow: 6, a: 1, b: 1 });
    void bed.reads('a', 2); // it has one: it evicts nothing
    await soon();
    const { length } = bed.service.arrived;
    const others = [bed.read('c'), bed.read('d')];
    await expect.poll(() => bed.service.arrived.slice(length)).toEqual(['c', 'd']);
    expect(ended.map(codeOf)).toEqual(['OVERLOADED', 'OVERLOADED']);
    for (const token of ['a', 'b', 'c', 'd']) bed.service.respondTo(token);
    expect((await Promise.all([...first, ...others])).map(codeOf)).toEqual(['', '', '', '']);
  });

  it('are never left by a deletion, nor by the only read of a caller', async () => {
    await using bed = await startBed(8);
    const remove = (id: number) =>
      ask(bed.gateway, DeleteApiKeyDocument, { clientId: String(id) }, { token: 'slow' });
    const deletions = Array.from({ length: 6 }, (_, id) => remove(id));
    await bed.holds({ slow: 6 });
    void bed.read('a');
    void bed.read('b');
    await bed.holds({ slow: 6, a: 1, b: 1 });
    void bed.read('c');
    await soon();
    await bed.holds({ slow: 6, a: 1, b: 1 });
    for (let count = 0; count < 6; count += 1) bed.service.respondTo('slow', { status: 204 });
    expect((await Promise.all(deletions)).map(codeOf)).toEqual(deletions.map(() => ''));
  });

  it('go to the callers that wait in turns, and in order of arrival within one', async () => {
    await using bed = await startBed(1);
    void bed.read('a');
    await bed.holds({ a: 1 });
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

  it('leave two more for logins, which take at most a quarter of the others', async () => {
    await using bed = await startBed(8, { trustedProxies: 1 });
    const networks = [1, 2, 3, 4, 5, 6].map((number) => `192.0.2.${number}`);
    const logins = networks.map((address) => bed.logIn('c', address));
    await bed.holds({ 'login c': 4 });
    void bed.reads('a', 9);
    await bed.holds({ 'login c': 4, a: 4 });
    for (const left of [5, 4, 3]) {
      bed.service.respondTo('login c');
      await bed.holds({ 'login c': Math.min(4, left), a: 4 });
    }
    for (let count = 0; count < 3; count += 1) bed.service.respondTo('login c');
    expect((await Promise.all(logins)).map(codeOf)).toEqual(logins.map(() => ''));
  });

  it('count logins without an address as those of one caller', async () => {
    await using bed = await startBed(16);
    for (let count = 0; count < 9; count += 1) void bed.logIn('c');
    await bed.holds({ 'login c': 6 });
  });

  it('count a token as one caller, however its scheme is written', async () => {
    await using bed = await startBed(4);
    void bed.reads('a', 9);
    await bed.holds({ a: 2 });
    void ask(bed.gateway, AuditDocument, {}, { headers: { authorization: 'bearer a' } });
    void bed.read('b');
    await bed.holds({ a: 2, b: 1 });
    bed.service.respondTo('b');
    await soon();
    await bed.holds({ a: 2 });
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
      (await Promise.all(bed.reads(token, count))).map(codeOf);
    // Those that waited say nothing about the service.
    expect(await codes('a', 16)).toEqual(['UPSTREAM_TIMEOUT', ...Array(15).fill('OVERLOADED')]);
    const [first] = await codes('b', 15);
    expect(first).toBe('UPSTREAM_TIMEOUT');
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
    const others = Array.from({ length: 15 }, (_, caller) => `${caller}`);
    await using bed = await startBed(1, {}, ['a', 'z', ...others]);
    void bed.read('a');
    await bed.holds({ a: 1 });
    const waiting = others.map(bed.read);
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
  readonly origin: CallOrigin;
  state: 'waiting' | 'sent' | 'over' | 'cancelled' | 'overloaded';
  pool?: 'ordinary' | 'login';
  /** Another caller needs its connection, which it holds until it ends. */
  isEvicted?: boolean;
  /** Ends the exchange. */
  end?: (step: Step['do']) => void;
  cancel?: (() => void) | undefined;
};

const ORIGINS: readonly CallOrigin[] = [
  ...(['token a', 'token b', 'token c'] as const).map((caller) => ({ caller, isLogin: false })),
  ...(['network 1', 'network 2'] as const).map((caller) => ({ caller, isLogin: true })),
  ...(['network 2', 'network 3'] as const).map((caller) => ({ caller, isLogin: false })),
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
        fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 30, size: 'max' }),
        fc.array(step, { maxLength: 400, size: 'large' }),
        (connections, favoured, steps) => {
          const calls: Tracked[] = [];
          const poolOf = (name: 'ordinary' | 'login') => ({
            dispatch: (
              { path }: Dispatcher.DispatchOptions,
              handler: Dispatcher.DispatchHandler,
            ) => {
              const call = calls[Number(path)] ?? expect.fail();
              expect(call.state).toBe('waiting');
              call.state = 'sent';
              call.pool = name;
              call.end = (how) => {
                call.state = 'over';
                if (how === 'end') handler.onResponseEnd?.(CONTROLLER, {});
                // Undici may report an error after the end, which frees nothing.
                handler.onResponseError?.(CONTROLLER, new Error('lost'));
              };
              return true;
            },
          });
          const pools = { ordinary: poolOf('ordinary'), login: poolOf('login') };
          const dispatcher = createFairDispatcher(pools, connections);
          const inState = (state: Tracked['state'], origin?: CallOrigin) =>
            calls.filter(
              (call) => call.state === state && [undefined, call.origin].includes(origin),
            );
          const heldBy = (caller: string | undefined) =>
            inState('sent').filter((call) => call.origin.caller === caller && call.pool !== 'login')
              .length;
          const arrive = (origin: CallOrigin) => {
            const call: Tracked = { origin, state: 'waiting' };
            const path = String(calls.push(call) - 1);
            const none = () => {};
            const onOverload = () => {
              if (call.state === 'waiting') {
                call.state = 'overloaded';
                return;
              }
              expect(call).toMatchObject({ state: 'sent', pool: 'ordinary' });
              expect(call.isEvicted).toBeUndefined();
              expect(call.origin.isLogin).toBe(false); // may have been carried out
              expect(heldBy(calls.at(-1)?.origin.caller)).toBe(0);
              expect(heldBy(call.origin.caller)).toBeGreaterThan(Math.max(1, connections >> 3));
              call.isEvicted = true;
            };
            const handler = {
              ...{ onConnection: none, onRequestStart: none, onResponseStart: none },
              ...{ onResponseData: none, onResponseEnd: none, onResponseError: none, onOverload },
            };
            const method = origin.isLogin ? 'POST' : 'GET';
            call.cancel = dispatcher.dispatch({ path, method }, handler, origin);
          };
          const check = () => {
            const sent = inState('sent');
            const onLoginPool = sent.filter(({ pool }) => pool === 'login');
            const ordinary = sent.filter(({ pool }) => pool === 'ordinary');
            const logins = ordinary.filter(({ origin }) => origin.isLogin);
            expect(onLoginPool.length).toBeLessThanOrEqual(2);
            expect(onLoginPool.every(({ origin }) => origin.isLogin)).toBe(true);
            expect(ordinary.length).toBeLessThanOrEqual(connections);
            expect(logins.length).toBeLessThan(connections / 4 + 1);
            const half = Math.ceil(connections / 2);
            const networks = ordinary.filter(({ origin }) => origin.caller.startsWith('network'));
            expect(networks.length).toBeLessThanOrEqual(half);
            for (const origin of ORIGINS) {
              const own = ordinary.filter((call) => call.origin.caller === origin.caller).length;
              const mayHave =
                mayTake(own, connections - ordinary.length, connections) &&
                (origin.caller.startsWith('token') || mayTake(own, half - networks.length, half)) &&
                (!origin.isLogin || logins.length < connections / 4);
              if (mayHave || (origin.isLogin && onLoginPool.length < 2))
                expect(inState('waiting', origin)).toEqual([]);
              const order = calls.filter((call) => call.origin === origin);
              const firstWaiting = order.findIndex(({ state }) => state === 'waiting');
              const lastSent = order.findLastIndex(({ state }) => state === 'sent');
              if (firstWaiting >= 0) expect(lastSent).toBeLessThan(firstWaiting);
            }
            const kindOf = ({ origin }: Tracked) =>
              origin.isLogin ? 'login' : origin.caller.replace(/ .*/, '');
            for (const waiting of Map.groupBy(inState('waiting'), kindOf).values())
              expect(waiting.length).toBeLessThanOrEqual(15 * connections);
          };
          for (const { do: action, pick } of steps) {
            const sent = inState('sent');
            if (action === 'arrive') {
              arrive(ORIGINS[favoured[pick % favoured.length] ?? 0] ?? expect.fail());
            } else if (action === 'cancel') {
              const call = calls[pick % Math.max(1, calls.length)];
              if (call?.state === 'waiting') {
                call.state = 'cancelled';
                call.cancel?.();
              } else call?.cancel?.(); // no effect
            } else sent[pick % Math.max(1, sent.length)]?.end?.(action);
            check();
          }
          for (let sent = inState('sent'); sent.length > 0; sent = inState('sent')) {
            sent[0]?.end?.('end');
            check();
          }
          expect(inState('waiting')).toEqual([]);
          for (const origin of ORIGINS) arrive(origin);
          const networks = Math.min(2, Math.ceil(connections / 2));
          expect(inState('sent').length).toBe(Math.min(3 + networks, connections) + 2);
        },
      ),
      { numRuns: 300 },
    );
  });
});
