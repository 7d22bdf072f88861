import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AuditDocument, DeleteApiKeyDocument, LoginDocument } from '../../src/client/graphql.ts';
import { ask, codeOf, gatewayOver, type Overrides, type Result } from '../helpers/gateway.ts';
import { startRaw } from '../helpers/raw-socket.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';

type TestGateway = ReturnType<typeof gatewayOver>;
type Send = (gateway: TestGateway) => Promise<Result<unknown>>;

const READ: Send = (gateway) => ask(gateway, AuditDocument, {}, { token: 't' });
const LOG_IN: Send = (gateway) =>
  ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
const REFRESH: Send = (gateway) =>
  ask(gateway, LoginDocument, { clientId: 'c', credential: { refreshToken: 'once-only' } });
const DELETE: Send = (gateway) =>
  ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });

const ALL: readonly (readonly [string, Send])[] = [
  ['an audit', READ],
  ['a first login', LOG_IN],
  ['a later login', REFRESH],
  ['a deletion', DELETE],
];
const WRITES = ALL.slice(1);

/** What every operation can read. */
const WELL: ServiceResponse = { body: { access_token: 'a', items: [] } };
const WELL_BYTES = `HTTP/1.1 200 OK\r\ncontent-length: 31\r\n\r\n{"access_token":"a","items":[]}`;

/** A gateway whose breaker goes by a clock that the test turns, and all that it told its observer. */
function observed(url: string, upstream: Overrides['upstream'] = {}) {
  const events: string[] = [];
  const time = { ms: 0 };
  const gateway = gatewayOver(url, {
    upstream: {
      random: () => 0,
      clock: () => time.ms,
      observe: {
        onCall: (route, outcome) => void events.push(`${route} ${outcome}`),
        onRetry: (route) => void events.push(`${route} again`),
        onBreaker: (state) => void events.push(state),
        onRejected: (route) => void events.push(`${route} rejected`),
      },
      ...upstream,
    },
  });
  return { gateway, events, time };
}

async function times(count: number, gateway: TestGateway, send: Send): Promise<string[]> {
  const results = await Promise.all(Array.from({ length: count }, () => send(gateway)));
  return results.map((result) => codeOf(result) ?? '');
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A read whose caller may leave. */
function read(gateway: TestGateway, signal: AbortSignal): Promise<Response> {
  return gateway.fetch('http://gateway.test/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
    body: JSON.stringify({ query: '{ audit { totalCount } }' }),
    signal,
  });
}

describe('a second try', () => {
  it.each(ALL)('is made of %s that met a refused connection', async (_, send) => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const address = free.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    free.close();
    await once(free, 'close');

    let service: ReturnType<typeof startRaw> | undefined;
    await using gateway = gatewayOver(`http://127.0.0.1:${port}`, {
      upstream: {
        random: () => 0.999,
        observe: {
          onCall: (_route, outcome) => {
            if (outcome === 'none') service = startRaw((socket) => socket.end(WELL_BYTES), port);
          },
        },
      },
    });
    expect(codeOf(await send(gateway))).toBe('');
    await using started = await service;
    expect(started?.requests()).toBe(1);
  });

  it.each(ALL)('is made of %s only once where nobody listens', async (_, send) => {
    const gone = await startService({});
    await gone[Symbol.asyncDispose]();
    const { gateway, events } = observed(gone.url);
    await using _gateway = gateway;
    const result = await send(gateway);
    expect(codeOf(result)).toBe('UPSTREAM_UNAVAILABLE');
    expect(events.map((event) => event.split(' ')[1])).toEqual(['none', 'again', 'none']);
  });

  it('is made of an audit that was reset before its answer', async () => {
    await using service = await startRaw((socket) => {
      if (service.requests() === 1) socket.resetAndDestroy();
      else socket.end(WELL_BYTES);
    });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('');
    expect(service.requests()).toBe(2);
  });

  it.each(WRITES)('is never made of %s that was reset after it was sent', async (_, send) => {
    await using service = await startRaw((socket) => {
      if (service.requests() === 1) socket.resetAndDestroy();
      else socket.end(WELL_BYTES);
    });
    await using gateway = gatewayOver(service.url);
    const { errors } = await send(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    expect(codeOf(await READ(gateway))).toBe('');
    expect(service.requests()).toBe(2);
  });

  it.each([502, 503, 504])(
    'is made of an audit that met %s, and of nothing else',
    async (status) => {
      for (const [name, send] of ALL) {
        await using service = await startService(() =>
          service.seen.length === 1 ? { status } : WELL,
        );
        await using gateway = gatewayOver(service.url);
        const isRead = name === 'an audit';
        expect(codeOf(await send(gateway)) === '').toBe(isRead);
        expect(service.seen).toHaveLength(isRead ? 2 : 1);
      }
    },
  );

  it.each([302, 400, 401, 404, 408, 425, 429, 500, 501])(
    'is not made of an audit that met %s',
    async (status) => {
      await using service = await startService({ status });
      await using gateway = gatewayOver(service.url);
      await READ(gateway);
      expect(service.seen).toHaveLength(1);
    },
  );

  it('is not made of an audit whose answer had begun', async () => {
    await using service = await startRaw((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[');
    });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('UPSTREAM_BAD_RESPONSE');
    expect(service.requests()).toBe(1);
  });

  it('waits as long as Retry-After says', async () => {
    let isBusy = true;
    await using service = await startService(() => {
      if (!isBusy) return WELL;
      setTimeout(() => {
        isBusy = false;
      }, 900);
      return { status: 503, headers: { 'retry-after': '1' } };
    });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('');
    expect(service.seen).toHaveLength(2);
  });

  it.each([
    ['5', 5],
    ['2147483647', 2_147_483_647],
    ['Sat, 21 Nov 2026 12:01:00 GMT', 60],
  ])('is left to the caller when Retry-After: %s is past the deadline', async (header, seconds) => {
    await using service = await startService({ status: 503, headers: { 'retry-after': header } });
    const now = () => new Date(Date.UTC(2026, 10, 21, 12));
    await using gateway = gatewayOver(service.url, { now });
    const { errors } = await READ(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({ retryable: true, retryAfterSeconds: seconds });
    expect(service.seen).toHaveLength(1);
  });

  it('has the same deadline as the first', async () => {
    await using service = await startService(async () => {
      if (service.seen.length > 1) await new Promise(() => {});
      await new Promise((resolve) => setTimeout(resolve, 600));
      return { status: 503 };
    });
    const clock = () => performance.now();
    await using gateway = gatewayOver(service.url, { upstream: { timeoutMs: 1000, clock } });
    const begun = clock();
    expect(codeOf(await READ(gateway))).toBe('UPSTREAM_TIMEOUT');
    expect(clock() - begun).toBeLessThan(1400); // two deadlines would be 1600
    expect(service.seen).toHaveLength(2);
  });

  it('is not made when the caller leaves while it waits', async () => {
    const caller = new AbortController();
    const events: string[] = [];
    await using service = await startService({ status: 503 });
    await using gateway = gatewayOver(service.url, {
      upstream: {
        observe: { onCall: () => caller.abort(), onRetry: (route) => void events.push(route) },
      },
    });
    await expect(read(gateway, caller.signal)).rejects.toThrow('aborted');
    await new Promise((resolve) => setTimeout(resolve, 100)); // longer than any second try waits
    expect(events).toEqual([]);
    expect(service.seen).toHaveLength(1);
  });

  it('is not waited for when the gateway is cut off', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const events: string[] = [];
    await using service = await startService({ status: 503, headers: { 'retry-after': '4' } });
    await using gateway = gatewayOver(service.url, {
      upstream: {
        observe: { onCall: () => answer(), onRetry: (route) => void events.push(route) },
      },
    });
    const reading = READ(gateway);
    await answered;
    gateway.abort();
    expect(codeOf(await reading)).toBe('UPSTREAM_ERROR');
    expect(events).toEqual([]);
  });

  it('is made ten times in a row, and for one call in ten in the long run', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? { status: 503 } : WELL,
    );
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    const rounds = 40;
    for (let round = 0; round < rounds; round += 1) {
      await READ(gateway);
      await times(3, gateway, DELETE); // they keep the breaker closed
    }
    expect(events).not.toContain('open');
    const again = events.filter((event) => event === 'audit again').length;
    expect(service.seen.filter(({ method }) => method === 'GET')).toHaveLength(rounds + again);
    expect(again).toBeGreaterThan(10);
    expect(again).toBeLessThanOrEqual(10 + (4 * rounds) / 10);
  });
});

describe('calls that wait for a connection', () => {
  it('are at most fifteen for one, and those beyond are refused unsent', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      await go;
      return WELL;
    });
    const { gateway, events } = observed(service.url, { connections: 1 });
    await using _gateway = gateway;
    const served = times(16, gateway, DELETE);
    await until(() => service.seen.length === 1);
    const refused = await DELETE(gateway);
    expect(refused.errors?.[0]?.extensions).toMatchObject({ code: 'OVERLOADED', retryable: true });
    expect(refused.errors?.[0]?.message).toContain('not sent');
    expect(events).toEqual(['secrets rejected']);
    release();
    expect(new Set(await served)).toEqual(new Set(['']));
    expect(service.seen).toHaveLength(16);
    expect(codeOf(await DELETE(gateway))).toBe('');
  });
});

describe('the observer', () => {
  it('is told of routes and classes of status, and of no value', async () => {
    const statuses = [200, 204, 302, 404, 503, 503, 200];
    await using service = await startService(({ method }) => {
      const status = statuses.shift() ?? 200;
      return method === 'DELETE' || status > 299 ? { status } : { ...WELL, status };
    });
    const { gateway, events } = observed(`${service.url}/prefix/api/v1/audit`);
    await using _gateway = gateway;
    await LOG_IN(gateway);
    for (const clientId of ['canary', 'a/b?c', 'api/v1/audit']) {
      await ask(gateway, DeleteApiKeyDocument, { clientId }, { token: 't' });
    }
    await ask(
      gateway,
      '{ audit(parameters: [{ name: "q", value: "v" }]) { totalCount } }',
      undefined,
      {
        token: 't',
      },
    );
    await ask(gateway, AuditDocument, {}, { token: 't' });
    expect(events).toEqual([
      'login 2xx',
      'secrets 2xx',
      'secrets 3xx',
      'secrets 4xx',
      'audit 5xx',
      'audit again',
      'audit 5xx',
      'audit 2xx',
    ]);
  });
});

describe('a service that has failed repeatedly', () => {
  /** Enough failures to open the breaker. */
  const ENOUGH = 20;

  /** A gateway whose breaker has opened, over a service that answers as `now.answer` says. */
  async function opened() {
    const now: { answer: ServiceResponse | null } = { answer: { status: 500 } }; // null: it never answers
    const service = await startService(() => now.answer ?? new Promise(() => {}));
    const { gateway, events, time } = observed(service.url);
    await times(ENOUGH, gateway, DELETE);
    events.length = 0;
    const asked = () => service.seen.length - ENOUGH;
    const close = async () => {
      gateway.abort();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    };
    return { gateway, events, time, now, asked, [Symbol.asyncDispose]: close };
  }

  it.each(ALL)('is spared %s, and the caller is told when to come back', async (_, send) => {
    await using bed = await opened();
    bed.time.ms += 1500;
    const { errors } = await send(bed.gateway);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      retryable: true,
      retryAfterSeconds: 3,
    });
    expect(errors?.[0]?.message).toMatch(/failed repeatedly.*not sent.*retryAfterSeconds/);
    expect(bed.asked()).toBe(0);
    expect(bed.events).toEqual([expect.stringContaining('rejected')]);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['by 5xx', (socket) => socket.end('HTTP/1.1 503 Later\r\ncontent-length: 0\r\n\r\n')],
    ['by lost connections', (socket) => socket.resetAndDestroy()],
    ['by not answering in time', () => {}],
    [
      'by answers cut short',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
    ],
    ['by not speaking HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
  ])('%s opens the breaker', async (_, onRequest) => {
    await using service = await startRaw(onRequest);
    const { gateway, events } = observed(service.url, { timeoutMs: 250 });
    await using _gateway = gateway;
    await times(ENOUGH - 1, gateway, DELETE);
    expect(events).not.toContain('open');
    await DELETE(gateway);
    expect(events.filter((event) => event === 'open')).toHaveLength(1);
  });

  it('by refusing connections opens the breaker', async () => {
    const gone = await startService({});
    await gone[Symbol.asyncDispose]();
    const { gateway, events } = observed(gone.url);
    await using _gateway = gateway;
    for (let turn = 0; turn < ENOUGH; turn += 1) await LOG_IN(gateway);
    expect(events).toContain('open');
    expect(events.at(-1)).toBe('login rejected');
  });

  it('is sent nothing any more that waited for a connection meanwhile', async () => {
    await using service = await startService({ status: 500 });
    const { gateway, events } = observed(service.url, { connections: 1 });
    await using _gateway = gateway;
    await times(ENOUGH - 5, gateway, DELETE);
    const codes = await times(10, gateway, DELETE);
    expect(service.seen).toHaveLength(ENOUGH);
    expect(codes.toSorted()).toEqual([
      ...Array(5).fill('UPSTREAM_ERROR'),
      ...Array(5).fill('UPSTREAM_UNAVAILABLE'),
    ]);
    expect(events.filter((event) => event === 'secrets rejected')).toHaveLength(5);
  });

  it('is asked by the next read after the cool-down, and by all when that went well', async () => {
    await using bed = await opened();
    bed.now.answer = WELL;
    bed.time.ms += 3999;
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    bed.time.ms += 1;
    expect(codeOf(await READ(bed.gateway))).toBe('');
    for (const [, send] of ALL) expect(codeOf(await send(bed.gateway))).toBe('');
    expect(bed.events.slice(0, 4)).toEqual(['audit rejected', 'half-open', 'closed', 'audit 2xx']);
    expect(bed.asked()).toBe(5);
  });

  it('is asked nothing else while that read is under way', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    bed.now.answer = null;
    const probe = READ(bed.gateway);
    await until(() => bed.asked() === 1);
    for (const [, send] of ALL) {
      expect(codeOf(await send(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    }
    expect(bed.asked()).toBe(1);
    bed.gateway.abort();
    await probe;
  });

  it('is left alone again when that read fails, which is not repeated', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    bed.now.answer = { status: 503 };
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_ERROR');
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    expect(bed.asked()).toBe(1);
    expect(bed.events).toEqual(['half-open', 'open', 'audit 5xx', 'audit rejected']);
  });

  it('is asked by another read when that one hangs for as long as the cool-down', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    bed.now.answer = null;
    const hanging = READ(bed.gateway);
    await until(() => bed.asked() === 1);
    bed.time.ms += 4000;
    bed.now.answer = WELL;
    expect(codeOf(await READ(bed.gateway))).toBe('');
    expect(codeOf(await LOG_IN(bed.gateway))).toBe('');
    bed.gateway.abort();
    await hanging;
  });

  it('is known to be back although the caller of that read has left', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    let arrived = false;
    await using service = await startService(async ({ method }) => {
      if (method !== 'GET') return { status: 500 };
      arrived = true;
      await go;
      return WELL;
    });
    const { gateway, events, time } = observed(service.url);
    await using _gateway = gateway;
    await times(ENOUGH, gateway, DELETE);
    time.ms += 4000;
    const caller = new AbortController();
    const left = read(gateway, caller.signal);
    await until(() => arrived);
    caller.abort();
    release();
    await expect(left).rejects.toThrow('aborted');
    await until(() => events.at(-1) === 'audit 2xx');
    expect(events.slice(-3)).toEqual(['half-open', 'closed', 'audit 2xx']);
  });

  it.each(WRITES)(
    'is sent %s after the cool-down when no read came, which decides nothing',
    async (_, send) => {
      await using bed = await opened();
      bed.now.answer = WELL;
      bed.time.ms += 4000;
      expect(codeOf(await send(bed.gateway))).toBe('');
      expect(bed.events.some((event) => /open|closed/.test(event))).toBe(false);
      expect(codeOf(await READ(bed.gateway))).toBe('');
      expect(bed.events).toContain('half-open');
    },
  );

  it('and still does so is left alone again, though no read came', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    expect(codeOf(await LOG_IN(bed.gateway))).toBe('UPSTREAM_ERROR');
    expect(codeOf(await LOG_IN(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    expect(bed.asked()).toBe(1);
  });

  it('is known to be back by the read, whatever a login that went before it ends with', async () => {
    const held = new Map<string, () => void>();
    await using service = await startService(async ({ method }) => {
      if (method === 'DELETE') return { status: 500 };
      await new Promise<void>((resolve) => held.set(method, resolve));
      return method === 'GET' ? WELL : { status: 500 };
    });
    const { gateway, events, time } = observed(service.url);
    await using _gateway = gateway;
    await times(ENOUGH, gateway, DELETE);
    time.ms += 4000;
    const login = LOG_IN(gateway);
    await until(() => held.has('POST'));
    const probe = READ(gateway);
    await until(() => held.has('GET'));
    held.get('POST')?.();
    expect(codeOf(await login)).toBe('UPSTREAM_ERROR');
    held.get('GET')?.();
    expect(codeOf(await probe)).toBe('');
    expect(events.filter((event) => /open|closed/.test(event))).toEqual([
      'open',
      'half-open',
      'closed',
    ]);
  });

  it('is not held against it later what began before', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async ({ method, headers }) => {
      if (headers.authorization === 'Bearer slow') await go;
      return method === 'GET' ? WELL : { status: 500 };
    });
    const { gateway, events, time } = observed(service.url, { connections: 64 });
    await using _gateway = gateway;
    const slow: Send = (over) =>
      ask(over, DeleteApiKeyDocument, { clientId: 'k' }, { token: 'slow' });
    const begunBefore = times(30, gateway, slow);
    await until(() => service.seen.length === 30);
    await times(ENOUGH, gateway, DELETE);
    expect(events).toContain('open');
    time.ms += 4000;
    expect(codeOf(await READ(gateway))).toBe('');
    release();
    await begunBefore;
    expect(events.at(-1)).toBe('secrets 5xx');
    expect(events.filter((event) => event === 'open')).toHaveLength(1);
    expect(codeOf(await READ(gateway))).toBe('');
  });
});

describe('the breaker stays closed', () => {
  it.each([302, 400, 401, 403, 404, 409, 429])('whatever number of %s comes', async (status) => {
    await using service = await startService({ status });
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    for (const [, send] of ALL) await times(15, gateway, send);
    expect(service.seen).toHaveLength(60);
    expect(events.filter((event) => /open|rejected/.test(event))).toEqual([]);
  });

  it('whatever number of callers leaves', async () => {
    await using service = await startService(async () => {
      if (!isWell) {
        await new Promise(() => {});
      }
      return WELL;
    });
    let isWell = false;
    const { gateway, events } = observed(service.url, { connections: 64 });
    await using _gateway = gateway;
    const callers = Array.from({ length: 40 }, () => new AbortController());
    const left = callers.map(({ signal }) => read(gateway, signal));
    await until(() => service.seen.length === 40);
    for (const caller of callers) caller.abort();
    await Promise.allSettled(left);
    await until(() => events.length === 40);
    isWell = true;
    expect(codeOf(await READ(gateway))).toBe('');
    expect(new Set(events)).toEqual(new Set(['audit left', 'audit 2xx']));
  });

  it('no longer than without callers who leave, as they say nothing for the service', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? new Promise(() => {}) : { status: 500 },
    );
    const { gateway, events } = observed(service.url, { connections: 64 });
    await using _gateway = gateway;
    const callers = Array.from({ length: 40 }, () => new AbortController());
    const left = callers.map(({ signal }) => read(gateway, signal));
    await until(() => service.seen.length === 40);
    for (const caller of callers) caller.abort();
    await Promise.allSettled(left);
    await until(() => events.length === 40);
    await times(19, gateway, DELETE);
    expect(events).not.toContain('open');
    await DELETE(gateway);
    expect(events).toContain('open');
  });

  it('for half of the calls that fail, however many', async () => {
    await using service = await startService(({ method }) =>
      method === 'DELETE' ? { status: 500 } : WELL,
    );
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    for (let turn = 0; turn < 40; turn += 1) {
      await LOG_IN(gateway);
      await DELETE(gateway);
    }
    expect(service.seen).toHaveLength(80);
    expect(events).not.toContain('open');
  });

  it('for answers that the gateway does not take', async () => {
    await using service = await startService({ headers: { 'content-encoding': 'br' } });
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    await times(40, gateway, DELETE);
    expect(events).not.toContain('open');
  });
});
