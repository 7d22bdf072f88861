import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver, type Overrides, type Result } from '../../helpers/gateway.ts';
import { startRawService } from '../../helpers/raw-socket.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

type TestGateway = ReturnType<typeof gatewayOver>;
type Operation = (gateway: TestGateway) => Promise<Result<unknown>>;

const READ: Operation = (gateway) => ask(gateway, AuditDocument, {}, { token: 't' });
const LOG_IN: Operation = (gateway) =>
  ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
const REFRESH: Operation = (gateway) =>
  ask(gateway, LoginDocument, { clientId: 'c', credential: { refreshToken: 'once-only' } });
const DELETE: Operation = (gateway) =>
  ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });

const ALL: readonly (readonly [string, Operation])[] = [
  ['an audit', READ],
  ['a first login', LOG_IN],
  ['a later login', REFRESH],
  ['a deletion', DELETE],
];
const WRITES = ALL.slice(1);

/** A response that every operation accepts. */
const OK: ServiceResponse = { body: { access_token: 'a', items: [], deleted: 1 } };
const OK_BYTES = `HTTP/1.1 200 OK\r\ncontent-length: 43\r\n\r\n{"access_token":"a","items":[],"deleted":1}`;

/** A gateway with a clock that the test sets, and the events that its observer received. */
function observed(url: string, upstream: Overrides['upstream'] = {}, trustedProxies = 0) {
  const events: string[] = [];
  const time = { ms: 0 };
  const gateway = gatewayOver(url, {
    trustedProxies,
    upstream: {
      random: () => 0,
      clock: () => time.ms,
      observer: {
        onAttempt: ({ route, outcome, isRetry }) =>
          void events.push(`${route} ${isRetry ? 'retry ' : ''}${outcome}`),
        onCircuitState: (state, circuit) =>
          void events.push(circuit === 'reads' ? state : `${circuit} ${state}`),
        onRejected: (route) => void events.push(`${route} rejected`),
      },
      ...upstream,
    },
  });
  return { gateway, events, time };
}

async function repeat(count: number, gateway: TestGateway, send: Operation): Promise<string[]> {
  const results = await Promise.all(Array.from({ length: count }, () => send(gateway)));
  return results.map((result) => codeOf(result) ?? '');
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A read that its client can cancel. */
function read(gateway: TestGateway, signal: AbortSignal): Promise<Response> {
  return gateway.fetch('http://gateway.test/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
    body: JSON.stringify({ query: '{ audit { totalCount } }' }),
    signal,
  });
}

describe('a retry', () => {
  it.each(ALL)('is made if the connection for %s was refused', async (_, send) => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const address = free.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    free.close();
    await once(free, 'close');

    let service: ReturnType<typeof startRawService> | undefined;
    await using gateway = gatewayOver(`http://127.0.0.1:${port}`, {
      upstream: {
        random: () => 0.999,
        observer: {
          onAttempt: ({ outcome }) => {
            if (outcome === 'none')
              service = startRawService((socket) => socket.end(OK_BYTES), port);
          },
        },
      },
    });
    expect(codeOf(await send(gateway))).toBe('');
    await using started = await service;
    expect(started?.requests()).toBe(1);
  });

  it.each(ALL)('is made once for %s if nothing listens on the port', async (_, send) => {
    const gone = await startService({});
    await gone[Symbol.asyncDispose]();
    const { gateway, events } = observed(gone.url);
    await using _gateway = gateway;
    const { errors } = await send(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      retryable: true,
    });
    expect(events.map((event) => event.replace(/^\w+ /, ''))).toEqual(['none', 'retry none']);
  });

  it('is made if the connection for an audit was reset before the response', async () => {
    await using service = await startRawService((socket) => {
      if (service.requests() === 1) socket.resetAndDestroy();
      else socket.end(OK_BYTES);
    });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('');
    expect(service.requests()).toBe(2);
  });

  it.each(WRITES)(
    'is never made if the connection for %s was reset after the request was sent',
    async (_, send) => {
      await using service = await startRawService((socket) => {
        if (service.requests() === 1) socket.resetAndDestroy();
        else socket.end(OK_BYTES);
      });
      await using gateway = gatewayOver(service.url);
      const { errors } = await send(gateway);
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
      expect(codeOf(await READ(gateway))).toBe('');
      expect(service.requests()).toBe(2);
    },
  );

  it.each([502, 503, 504])(
    'is made for an audit after status %s, and for no other operation',
    async (status) => {
      for (const [name, send] of ALL) {
        await using service = await startService(() =>
          service.seen.length === 1 ? { status } : OK,
        );
        await using gateway = gatewayOver(service.url);
        const isRead = name === 'an audit';
        expect(codeOf(await send(gateway)) === '').toBe(isRead);
        expect(service.seen).toHaveLength(isRead ? 2 : 1);
      }
    },
  );

  it.each([302, 400, 401, 404, 408, 425, 429, 500, 501])(
    'is not made for an audit after status %s',
    async (status) => {
      await using service = await startService({ status });
      await using gateway = gatewayOver(service.url);
      await READ(gateway);
      expect(service.seen).toHaveLength(1);
    },
  );

  it('is not made for an audit whose response was truncated', async () => {
    await using service = await startRawService((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[');
    });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('UPSTREAM_BAD_RESPONSE');
    expect(service.requests()).toBe(1);
  });

  it('waits until Retry-After has passed', async () => {
    let isBusy = true;
    await using service = await startService(() => {
      if (!isBusy) return OK;
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
  ])('is left to the client if Retry-After: %s exceeds the deadline', async (header, seconds) => {
    const date = 'Sat, 21 Nov 2026 12:00:00 GMT';
    const headers = { 'retry-after': header, date };
    await using service = await startService({ status: 503, headers });
    const now = () => new Date(Date.UTC(2026, 10, 21, 13)); // its clock is an hour ahead
    await using gateway = gatewayOver(service.url, { now });
    const { errors } = await READ(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({ retryable: true, retryAfterSeconds: seconds });
    expect(service.seen).toHaveLength(1);
  });

  it('shares the deadline of the first attempt', async () => {
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

  it('is not made if the client disconnects during the delay', async () => {
    const client = new AbortController();
    let attempts = 0;
    await using service = await startService({ status: 503 });
    await using gateway = gatewayOver(service.url, {
      upstream: {
        observer: {
          onAttempt: () => {
            attempts += 1;
            client.abort();
          },
        },
      },
    });
    await expect(read(gateway, client.signal)).rejects.toThrow('aborted');
    await new Promise((resolve) => setTimeout(resolve, 100)); // longer than the longest delay
    expect(attempts).toBe(1);
    expect(service.seen).toHaveLength(1);
  });

  it('is not waited for if the gateway is aborted', async () => {
    const { promise: responded, resolve: respond } = Promise.withResolvers<void>();
    let attempts = 0;
    await using service = await startService({ status: 503, headers: { 'retry-after': '4' } });
    await using gateway = gatewayOver(service.url, {
      upstream: {
        observer: {
          onAttempt: () => {
            attempts += 1;
            respond();
          },
        },
      },
    });
    const reading = READ(gateway);
    await responded;
    gateway.abort();
    expect(codeOf(await reading)).toBe('UPSTREAM_ERROR');
    expect(attempts).toBe(1);
  });

  it('is limited to a burst of 10, then to one per 10 calls', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? { status: 503 } : OK,
    );
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    const rounds = 40;
    for (let round = 0; round < rounds; round += 1) {
      await READ(gateway);
      await repeat(3, gateway, DELETE); // successes, which keep the circuit closed
    }
    expect(events).not.toContain('open');
    const retries = events.filter((event) => event.startsWith('audit retry')).length;
    expect(service.seen.filter(({ method }) => method === 'GET')).toHaveLength(rounds + retries);
    expect(retries).toBeGreaterThan(10);
    expect(retries).toBeLessThanOrEqual(10 + (4 * rounds) / 10);
  });
});

describe('calls that are queued for a connection', () => {
  it('are at most 15 per connection; further calls are rejected before they are sent', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      await go;
      return OK;
    });
    const { gateway, events } = observed(service.url, { connections: 1 });
    await using _gateway = gateway;
    const served = repeat(16, gateway, DELETE);
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
  it('receives routes and classes of status, and no value', async () => {
    const statuses = [200, 204, 302, 404, 503, 503, 200];
    await using service = await startService(({ method }) => {
      const status = statuses.shift() ?? 200;
      return method === 'DELETE' || status > 299 ? { status } : { ...OK, status };
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
      'audit retry 5xx',
      'audit 2xx',
    ]);
  });
});

/** The number of failures of one caller that opens the circuit. */
const FAILURES = 20;

describe('the circuit breaker', () => {
  /** A gateway whose circuit is open. The service then sends `current.response`; null: it never responds. */
  async function opened() {
    const current: { response: ServiceResponse | null } = { response: { status: 503 } };
    const service = await startService(() => current.response ?? new Promise(() => {}));
    const { gateway, events, time } = observed(service.url, {}, 1);
    await repeat(FAILURES, gateway, DELETE);
    events.length = 0;
    const received = () => service.seen.length - FAILURES;
    const close = async () => {
      gateway.abort();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    };
    return { gateway, events, time, current, received, [Symbol.asyncDispose]: close };
  }

  it.each(ALL)('rejects %s while open, with retryAfterSeconds', async (_, send) => {
    await using bed = await opened();
    bed.time.ms += 1500;
    const { errors } = await send(bed.gateway);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      retryable: true,
      retryAfterSeconds: 3,
    });
    expect(errors?.[0]?.message).toMatch(/failed repeatedly.*not sent.*retryAfterSeconds/);
    expect(bed.received()).toBe(0);
    expect(bed.events).toEqual([expect.stringContaining('rejected')]);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['5xx', (socket) => socket.end('HTTP/1.1 503 Later\r\ncontent-length: 0\r\n\r\n')],
    ['lost connections', (socket) => socket.resetAndDestroy()],
    ['timeouts', () => {}],
    [
      'truncated responses',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
    ],
    ['responses that are not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
  ])('opens after %s', async (_, onRequest) => {
    await using service = await startRawService(onRequest);
    const { gateway, events } = observed(service.url, { timeoutMs: 250, connections: 64 });
    await using _gateway = gateway;
    await repeat(FAILURES - 1, gateway, DELETE);
    expect(events).not.toContain('open');
    await DELETE(gateway);
    expect(events.filter((event) => event === 'open')).toHaveLength(1);
  });

  it('opens after refused connections', async () => {
    const gone = await startService({});
    await gone[Symbol.asyncDispose]();
    const { gateway, events } = observed(gone.url);
    await using _gateway = gateway;
    for (let call = 0; call < FAILURES; call += 1) await READ(gateway);
    expect(events.at(-1)).toBe('open');
    await LOG_IN(gateway);
    expect(events.at(-1)).toBe('login rejected');
  });

  it('rejects calls that were queued for a connection when it opened', async () => {
    await using service = await startService({ status: 503 });
    const { gateway, events } = observed(service.url, { connections: 1 });
    await using _gateway = gateway;
    await repeat(FAILURES - 5, gateway, DELETE);
    const codes = await repeat(10, gateway, DELETE);
    expect(service.seen).toHaveLength(FAILURES);
    expect(codes.toSorted()).toEqual([
      ...Array(5).fill('UPSTREAM_ERROR'),
      ...Array(5).fill('UPSTREAM_UNAVAILABLE'),
    ]);
    expect(events.filter((event) => event === 'secrets rejected')).toHaveLength(5);
  });

  it('sends the next read after the cool-down, and everything once that has succeeded', async () => {
    await using bed = await opened();
    bed.current.response = OK;
    bed.time.ms += 3999;
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    bed.time.ms += 1;
    expect(codeOf(await READ(bed.gateway))).toBe('');
    for (const [, send] of ALL) expect(codeOf(await send(bed.gateway))).toBe('');
    expect(bed.events.slice(0, 4)).toEqual(['audit rejected', 'half-open', 'audit 2xx', 'closed']);
    expect(bed.received()).toBe(5);
    bed.current.response = { status: 503 };
    bed.time.ms += 10_000; // the token has succeeded
    await repeat(FAILURES, bed.gateway, DELETE);
    await DELETE(bed.gateway);
    expect(bed.events.at(-1)).toBe('secrets rejected');
    bed.time.ms += 4000;
    bed.current.response = OK;
    expect(codeOf(await READ(bed.gateway))).toBe(''); // a trial request of the caller of the last one
  });

  it('rejects everything else while the trial request is in progress', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    bed.current.response = null;
    const trial = READ(bed.gateway);
    await until(() => bed.received() === 1);
    for (const [, send] of ALL) {
      expect(codeOf(await send(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    }
    expect(bed.received()).toBe(1);
    bed.gateway.abort();
    await trial;
  });

  it('opens again if the trial request fails, which is not retried', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    bed.current.response = { status: 503 };
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_ERROR');
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    expect(bed.received()).toBe(1);
    expect(bed.events).toEqual(['half-open', 'audit 5xx', 'open', 'audit rejected']);
  });

  it('sends another trial request if the first hangs for as long as the cool-down', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    bed.current.response = null;
    const hanging = READ(bed.gateway);
    await until(() => bed.received() === 1);
    bed.time.ms += 5000;
    bed.current.response = OK;
    expect(codeOf(await READ(bed.gateway))).toBe('');
    expect(codeOf(await LOG_IN(bed.gateway))).toBe('');
    bed.gateway.abort();
    await hanging;
  });

  it.each(['fails', 'hangs'])(
    'sends the next trial request for another caller if one %s, and a second later for any',
    async (how) => {
      await using bed = await opened();
      const trial = (address: string) =>
        ask(
          bed.gateway,
          AuditDocument,
          {},
          { token: 't', headers: { 'x-forwarded-for': address } },
        );
      const [slow, other] = ['192.0.2.1', '192.0.2.2'];
      bed.time.ms += 4000;
      bed.current.response = how === 'fails' ? { status: 503 } : null;
      const first = trial(slow);
      await until(() => bed.received() === 1);
      if (how === 'fails') await first;
      bed.time.ms += 4000;
      const { errors } = await trial(slow);
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        retryAfterSeconds: 1,
      });
      bed.current.response = { status: 503 };
      expect(codeOf(await trial(other))).toBe('UPSTREAM_ERROR');
      bed.time.ms += 4999;
      expect(codeOf(await trial(other))).toBe('UPSTREAM_UNAVAILABLE');
      bed.time.ms += 1;
      bed.current.response = OK;
      expect(codeOf(await trial(other))).toBe('');
      expect(codeOf(await trial(slow))).toBe('');
      expect(bed.received()).toBe(4);
      bed.gateway.abort();
      await first;
    },
  );

  it('closes after a successful trial request whose client has disconnected', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    let arrived = false;
    await using service = await startService(async ({ method }) => {
      if (method !== 'GET') return { status: 503 };
      arrived = true;
      await go;
      return OK;
    });
    const { gateway, events, time } = observed(service.url);
    await using _gateway = gateway;
    await repeat(FAILURES, gateway, DELETE);
    time.ms += 4000;
    const client = new AbortController();
    const cancelled = read(gateway, client.signal);
    await until(() => arrived);
    client.abort();
    release();
    await expect(cancelled).rejects.toThrow('aborted');
    await until(() => events.at(-1) === 'closed');
    expect(events.slice(-3)).toEqual(['half-open', 'audit 2xx', 'closed']);
  });

  it('sends a login after a cool-down without a read, and stays open', async () => {
    await using bed = await opened();
    bed.current.response = OK;
    bed.time.ms += 4000;
    expect(codeOf(await LOG_IN(bed.gateway))).toBe('');
    expect(bed.events.some((event) => /open|closed/.test(event))).toBe(false);
    expect(codeOf(await READ(bed.gateway))).toBe('');
    expect(bed.events).toContain('half-open');
  });

  it('sends a deletion after a cool-down without a read, and closes if that succeeds', async () => {
    await using bed = await opened();
    bed.time.ms += 4000;
    expect(codeOf(await DELETE(bed.gateway))).toBe('UPSTREAM_ERROR'); // starts another cool-down
    expect(codeOf(await READ(bed.gateway))).toBe('UPSTREAM_UNAVAILABLE');
    bed.current.response = OK;
    bed.time.ms += 4000;
    expect(codeOf(await DELETE(bed.gateway))).toBe('');
    expect(bed.events.at(-1)).toBe('closed');
    expect(codeOf(await READ(bed.gateway))).toBe('');
    expect(bed.events).not.toContain('half-open');
  });

  it.each<[string, ServiceResponse, string]>([
    ['401', { status: 401 }, 'UNAUTHENTICATED'],
    ['500', { status: 500 }, 'UPSTREAM_ERROR'],
    ['a 2xx that says it failed', { body: { success: false } }, 'UPSTREAM_ERROR'],
    ['a 2xx that is no list', { body: '<html>' }, 'UPSTREAM_BAD_RESPONSE'],
  ])('sends the next read at once after a trial request that got %s', async (_, response, code) => {
    await using bed = await opened();
    const from = (address: string) =>
      ask(bed.gateway, AuditDocument, {}, { token: 't', headers: { 'x-forwarded-for': address } });
    bed.time.ms += 4000;
    bed.current.response = response;
    expect(codeOf(await from('192.0.2.1'))).toBe(code);
    expect(codeOf(await from('192.0.2.2'))).toBe(code);
    expect(codeOf(await from('192.0.2.1'))).toBe('UPSTREAM_UNAVAILABLE'); // had its turn
    bed.current.response = OK;
    expect(codeOf(await from('192.0.2.3'))).toBe('');
    expect(bed.events.filter((event) => /open|closed/.test(event))).toEqual([
      ...['half-open', 'open', 'half-open', 'open', 'half-open', 'closed'],
    ]);
  });

  it('closes with the success of a read that was sent before it opened', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async ({ method }) => {
      if (method !== 'GET') return { status: 503 };
      await go;
      return OK;
    });
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    const slow = READ(gateway);
    await until(() => service.seen.length === 1);
    await repeat(FAILURES, gateway, DELETE);
    expect(events.at(-1)).toBe('open');
    release();
    expect(codeOf(await slow)).toBe('');
    expect(events.at(-1)).toBe('closed');
  });

  it('closes after a successful trial request, although a login sent before it fails', async () => {
    const held = new Map<string, () => void>();
    await using service = await startService(async ({ method }) => {
      if (method === 'DELETE') return { status: 503 };
      await new Promise<void>((resolve) => held.set(method, resolve));
      return method === 'GET' ? OK : { status: 503 };
    });
    const { gateway, events, time } = observed(service.url);
    await using _gateway = gateway;
    await repeat(FAILURES, gateway, DELETE);
    time.ms += 4000;
    const login = LOG_IN(gateway);
    await until(() => held.has('POST'));
    const trial = READ(gateway);
    await until(() => held.has('GET'));
    held.get('POST')?.();
    expect(codeOf(await login)).toBe('UPSTREAM_ERROR');
    held.get('GET')?.();
    expect(codeOf(await trial)).toBe('');
    expect(events.filter((event) => /open|closed/.test(event))).toEqual([
      'open',
      'half-open',
      'closed',
    ]);
  });

  it('ignores failures of attempts that began before it opened', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async ({ method, headers }) => {
      if (headers.authorization === 'Bearer slow') await go;
      return method === 'GET' ? OK : { status: 503 };
    });
    const { gateway, events, time } = observed(service.url, { connections: 128 });
    await using _gateway = gateway;
    const slow: Operation = (over) =>
      ask(over, DeleteApiKeyDocument, { clientId: 'k' }, { token: 'slow' });
    const begunBefore = repeat(30, gateway, slow);
    await until(() => service.seen.length === 30);
    await repeat(FAILURES, gateway, DELETE);
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

/** Failures of some callers, over a service that serves all others. */
async function startUnlike(fails: (caller: string) => boolean) {
  const service = await startService(({ headers, body, method }) => {
    const caller = method === 'POST' ? body : String(headers.authorization);
    return fails(caller) ? { status: 503 } : OK;
  });
  const { gateway, events, time } = observed(service.url, {}, 1);
  const isOpenFor = async (send: Operation) =>
    codeOf(await send(gateway)) === 'UPSTREAM_UNAVAILABLE';
  return {
    ...{ gateway, events, time, isOpenFor },
    /** Sends deletions of one caller, one after the other. */
    send: async (token: string, count: number, address = '192.0.2.9') => {
      const options = { token, headers: { 'x-forwarded-for': address } };
      for (let call = 0; call < count; call += 1)
        await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, options);
    },
    logIn: async (clientId: string, address: string, count = 1) => {
      const variables = { clientId, credential: { clientSecret: 's' } };
      const codes: unknown[] = [];
      for (let call = 0; call < count; call += 1) {
        const options = { headers: { 'x-forwarded-for': address } };
        codes.push(codeOf(await ask(gateway, LoginDocument, variables, options)));
      }
      return codes.at(-1);
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

describe('failures of some callers', () => {
  it('do not open the circuit if a token has succeeded in the last 10 s', async () => {
    await using bed = await startUnlike((caller) => caller.includes('bad'));
    for (const round of [1, 2, 3]) {
      await bed.send('good', 1);
      bed.time.ms += 9999;
      for (const bad of ['bad1', 'bad2', 'bad3']) await bed.send(bad, 10 * round);
    }
    expect(bed.events).not.toContain('open');
    bed.time.ms += 1;
    await bed.send('bad1', 1);
    expect(bed.events.at(-1)).toBe('open');
  });

  it('do not open it if they time out together', async () => {
    await using service = await startService(({ headers }) =>
      headers.authorization === 'Bearer slow' ? new Promise(() => {}) : OK,
    );
    const { gateway, events } = observed(service.url, { timeoutMs: 1000, connections: 64 });
    await using _gateway = gateway;
    expect(codeOf(await READ(gateway))).toBe('');
    const slow: Operation = (over) => ask(over, AuditDocument, {}, { token: 'slow' });
    expect(new Set(await repeat(24, gateway, slow))).toEqual(new Set(['UPSTREAM_TIMEOUT']));
    expect(codeOf(await READ(gateway))).toBe('');
    expect(events).not.toContain('open');
  });

  it('do not open it if they are tokens that the service has not accepted, however many', async () => {
    await using bed = await startUnlike((caller) => caller.includes('bad'));
    await bed.send('good', 1);
    for (let made = 0; made < 30; made += 1) await bed.send(`bad${made}`, 1, `192.0.2.${made}`);
    expect(bed.events).not.toContain('open');
  });

  it('open it if they are nine in ten of ten tokens that the service has accepted', async () => {
    let isOut = false;
    await using bed = await startUnlike((caller) => isOut && caller.includes('bad'));
    for (let caller = 0; caller < 9; caller += 1) await bed.send(`bad${caller}`, 1);
    await bed.send('good', 1);
    isOut = true;
    for (let caller = 0; caller < 9; caller += 1) {
      expect(bed.events).not.toContain('open');
      await bed.send(`bad${caller}`, 1);
    }
    expect(bed.events.at(-1)).toBe('open');
  });

  it('open it if two callers fail ten times, and nobody succeeds', async () => {
    await using bed = await startUnlike(() => true);
    await bed.send('a', 9, '192.0.2.1');
    expect(bed.events).not.toContain('open');
    await bed.send('a', 1, '192.0.2.2');
    expect(bed.events.at(-1)).toBe('open');
  });
});

describe('the circuit breaker of logins', () => {
  it('opens after failed logins of several networks, and reads and deletions are sent', async () => {
    await using bed = await startUnlike((caller) => caller.includes('bad'));
    await bed.logIn('bad', '192.0.2.1', 9);
    expect(await bed.logIn('bad', '192.0.2.2')).toBe('UPSTREAM_ERROR');
    bed.time.ms += 1500;
    const { errors } = await LOG_IN(bed.gateway);
    expect(errors?.[0]?.extensions).toMatchObject({
      ...{ code: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 3 },
    });
    expect(await bed.isOpenFor(READ)).toBe(false);
    expect(await bed.isOpenFor(DELETE)).toBe(false);
    expect(bed.events.filter((event) => /open|closed|rejected/.test(event))).toEqual([
      ...['logins open', 'login rejected'],
    ]);
  });

  it('does not open while another network logs in', async () => {
    await using bed = await startUnlike((caller) => caller.includes('bad'));
    await bed.logIn('good', '192.0.2.1');
    for (let at = 2; at < 50; at += 1) await bed.logIn('bad', `192.0.2.${at}`, 3);
    expect(await bed.isOpenFor(LOG_IN)).toBe(false);
  });

  it('is apart: the other rejects logins that wait for a connection when it opens, too', async () => {
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    await using service = await startService(async ({ method }) => {
      if (method !== 'POST') return { status: 503 };
      await go;
      return OK;
    });
    const { gateway, events } = observed(service.url, { connections: 16 });
    await using _gateway = gateway;
    const logins = repeat(9, gateway, LOG_IN); // six are sent
    await until(() => service.seen.length === 6);
    await repeat(FAILURES, gateway, DELETE);
    expect(events.at(-1)).toBe('open');
    release();
    const rejected = Array(3).fill('UPSTREAM_UNAVAILABLE');
    expect((await logins).toSorted()).toEqual([...Array(6).fill(''), ...rejected]);
    expect(service.seen).toHaveLength(6 + FAILURES);
  });

  it('sends one login at a time after its cool-down, until one succeeds', async () => {
    let response: ServiceResponse | null = { status: 503 };
    await using service = await startService(() => response ?? new Promise(() => {}));
    const { gateway, events, time } = observed(service.url, {}, 1);
    await using _gateway = gateway;
    const logIn = async (address: string) => {
      const variables = { clientId: 'c', credential: { clientSecret: 's' } };
      const headers = { 'x-forwarded-for': address };
      return codeOf(await ask(gateway, LoginDocument, variables, { headers }));
    };
    await repeat(20, gateway, LOG_IN);
    time.ms += 4000;
    response = null;
    void logIn('192.0.2.1'); // hangs
    await until(() => service.seen.length === 21);
    expect(await logIn('192.0.2.2')).toBe('UPSTREAM_UNAVAILABLE');
    time.ms += 4000;
    response = { body: { error: 'invalid_client' } };
    expect(await logIn('192.0.2.2')).toBe('UPSTREAM_ERROR'); // no verdict
    response = { status: 503 };
    expect(await logIn('192.0.2.3')).toBe('UPSTREAM_ERROR');
    expect(await logIn('192.0.2.4')).toBe('UPSTREAM_UNAVAILABLE');
    time.ms += 4000;
    response = OK;
    expect(await logIn('192.0.2.4')).toBe('');
    expect(events.filter((event) => /open|closed/.test(event))).toEqual([
      'logins open',
      ...['logins half-open', 'logins open', 'logins half-open', 'logins open'],
      ...['logins half-open', 'logins closed'],
    ]);
    expect(service.seen).toHaveLength(24);
    gateway.abort();
  });
});

describe('the circuit stays closed', () => {
  it.each([302, 400, 401, 403, 404, 409, 429, 500, 501, 505, 507])(
    'however many responses have status %s',
    async (status) => {
      await using service = await startService({ status });
      const { gateway, events } = observed(service.url);
      await using _gateway = gateway;
      for (const [, send] of ALL) await repeat(15, gateway, send);
      expect(service.seen).toHaveLength(60);
      expect(events.filter((event) => /open|rejected/.test(event))).toEqual([]);
    },
  );

  it('while one kind of request fails with 500 for ever, and no other request is affected', async () => {
    await using service = await startService(({ url }) =>
      url.includes('poison') ? { status: 500 } : OK,
    );
    const { gateway, events } = observed(service.url, { connections: 64 });
    await using _gateway = gateway;
    const aliases = Array.from(
      { length: 10 },
      (_, at) => `a${at}: audit(parameters: [{ name: "poison", value: "${at}" }]) { totalCount }`,
    );
    const poison: Operation = (over) => ask(over, `{ ${aliases.join(' ')} }`, {}, { token: 't' });
    await repeat(10, gateway, poison);
    expect(service.seen).toHaveLength(100);
    for (const [, send] of ALL) expect(codeOf(await send(gateway))).toBe('');
    expect(events).not.toContain('open');
  });

  it('after 19 requests of ten reads that all time out, and opens with the twentieth', async () => {
    await using service = await startService(() => new Promise(() => {}));
    const { gateway, events } = observed(service.url, {
      clock: () => performance.now(),
      timeoutMs: 2000, // 190 requests arrive meanwhile
      connections: 512,
    });
    await using _gateway = gateway;
    const aliases = Array.from(
      { length: 10 },
      (_, at) => `a${at}: audit(parameters: [{ name: "n", value: "${at}" }]) { totalCount }`,
    );
    const ten: Operation = (over) => ask(over, `{ ${aliases.join(' ')} }`, {}, { token: 't' });
    await repeat(19, gateway, ten);
    expect(service.seen).toHaveLength(190);
    expect(events).not.toContain('open');
    await ten(gateway);
    expect(events).toContain('open');
  });

  it('if the retry of every failed call succeeds', async () => {
    let calls = 0;
    await using service = await startService(() => {
      calls += 1;
      return calls % 2 === 1 ? { status: 503 } : OK;
    });
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    for (let call = 0; call < 10; call += 1) expect(codeOf(await READ(gateway))).toBe('');
    expect(service.seen).toHaveLength(20);
    await repeat(10, gateway, LOG_IN);
    expect(events).not.toContain('open');
  });

  it('however many clients disconnect', async () => {
    await using service = await startService(async () => {
      if (!isUp) {
        await new Promise(() => {});
      }
      return OK;
    });
    let isUp = false;
    const { gateway, events } = observed(service.url, { connections: 128 });
    await using _gateway = gateway;
    const clients = Array.from({ length: 40 }, () => new AbortController());
    const cancelled = clients.map(({ signal }) => read(gateway, signal));
    await until(() => service.seen.length === 40);
    for (const client of clients) client.abort();
    await Promise.allSettled(cancelled);
    await until(() => events.length === 40);
    isUp = true;
    expect(codeOf(await READ(gateway))).toBe('');
    expect(new Set(events)).toEqual(new Set(['audit left', 'audit 2xx']));
  });

  it('until 20 attempts have failed, not counting clients that disconnected', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? new Promise(() => {}) : { status: 503 },
    );
    const { gateway, events } = observed(service.url, { connections: 128 });
    await using _gateway = gateway;
    const clients = Array.from({ length: 40 }, () => new AbortController());
    const cancelled = clients.map(({ signal }) => read(gateway, signal));
    await until(() => service.seen.length === 40);
    for (const client of clients) client.abort();
    await Promise.allSettled(cancelled);
    await until(() => events.length === 40);
    await repeat(19, gateway, DELETE);
    expect(events).not.toContain('open');
    await DELETE(gateway);
    expect(events).toContain('open');
  });

  it('if half of the calls fail, however many', async () => {
    await using service = await startService(({ method }) =>
      method === 'DELETE' ? { status: 503 } : OK,
    );
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    for (let call = 0; call < 40; call += 1) {
      await READ(gateway);
      await DELETE(gateway);
    }
    expect(service.seen).toHaveLength(80);
    expect(events).not.toContain('open');
  });

  it('however many responses the gateway refuses', async () => {
    await using service = await startService({ headers: { 'content-encoding': 'br' } });
    const { gateway, events } = observed(service.url);
    await using _gateway = gateway;
    await repeat(40, gateway, DELETE);
    expect(events).not.toContain('open');
  });
});
