import { describe, expect, it } from 'vitest';
import { createGateway } from '../../../src/gateway/api/create-gateway.ts';
import { createMetrics } from '../../../src/gateway/observability/metrics.ts';
import { ask, codeOf, gatewayOver, onPort, type TestGateway } from '../../helpers/gateway.ts';
import { sendRaw } from '../../helpers/raw-socket.ts';
import { type Handler, startService } from '../../helpers/service.ts';

const NOWHERE = 'http://127.0.0.1:9';
const AUDIT = '{ audit { totalCount } }';
const DELETION = 'mutation { deleteApiKey(clientId: "c") { outcome } }';
const INFO = 30;
const WARN = 40;
const ERROR = 50;

const records = ({ logged }: Pick<TestGateway, 'logged'>) => logged.map((line) => JSON.parse(line));

/** Level and codes of the requests that were logged. */
const levels = (gateway: TestGateway) =>
  records(gateway)
    .filter(({ msg }) => msg === 'request')
    .map(({ level, codes }) => [level, codes]);

const fails: Handler = (_, response) => {
  response.socket?.destroy();
  return undefined;
};

describe('the level of a request', () => {
  it.each([
    ['UPSTREAM_ERROR, by status', { status: 500 }, AUDIT],
    ['UPSTREAM_TIMEOUT, by status', { status: 504 }, AUDIT],
    ['UPSTREAM_BAD_RESPONSE', { body: '<p>' }, AUDIT],
    ['UPSTREAM_UNAVAILABLE, a lost connection', fails, AUDIT],
    ['OUTCOME_UNKNOWN, a lost connection', fails, DELETION],
  ])('is warn for %s', async (name, response, query) => {
    const [code] = name.split(',');
    await using service = await startService(response);
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await ask(gateway, query, {}, { token: 't' }))).toBe(code);
    expect(levels(gateway)).toEqual([[WARN, code]]);
  });

  it('is warn if one of several codes is of the service', async () => {
    await using service = await startService({ status: 500 });
    await using gateway = gatewayOver(service.url);
    const query = '{ one: audit(first: -1) { totalCount } audit { totalCount } }';
    await ask(gateway, query, {}, { token: 't' });
    expect(levels(gateway)).toEqual([[WARN, 'BAD_USER_INPUT,UPSTREAM_ERROR']]);
  });

  it.each([
    ['UNAUTHENTICATED', 401],
    ['FORBIDDEN', 403],
    ['NOT_FOUND', 404],
    ['CONFLICT', 409],
    ['BAD_USER_INPUT', 422],
    ['RATE_LIMITED', 429],
  ])('is info for %s', async (code, status) => {
    await using service = await startService({ status });
    await using gateway = gatewayOver(service.url);
    await ask(gateway, AUDIT, {}, { token: 't' });
    expect(levels(gateway)).toEqual([[INFO, code]]);
  });

  it('is info without an error, for a wrong document and for an unknown path', async () => {
    await using gateway = gatewayOver(NOWHERE);
    await ask(gateway, '{ __typename }');
    await ask(gateway, '{ nope }');
    await gateway.fetch('http://gateway.test/nope');
    expect(levels(gateway)).toEqual([
      [INFO, undefined],
      [INFO, 'GRAPHQL_VALIDATION_FAILED'],
      [INFO, 'BAD_REQUEST'],
    ]);
  });

  it('is warn for OVERLOADED', async () => {
    await using gateway = gatewayOver(NOWHERE, { maxInFlight: 0 });
    await ask(gateway, AUDIT);
    expect(levels(gateway)).toEqual([[WARN, 'OVERLOADED']]);
  });

  it('is warn for a bug, whose own record is an error', async () => {
    await using service = await startService({ body: { access_token: 'a', expires_in: 1 } });
    const now = () => {
      throw new RangeError('c4n4ry');
    };
    await using gateway = gatewayOver(service.url, { now });
    await ask(
      gateway,
      'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { expiresAt } }',
    );
    expect(records(gateway)).toMatchObject([
      { level: ERROR, msg: 'bug', bug: 'RangeError' },
      { level: WARN, msg: 'request', codes: 'INTERNAL_SERVER_ERROR' },
    ]);
  });

  it('is info for a query whose client disconnects, although it has the code of a lost connection', async () => {
    await using service = await startService(() => undefined);
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    const client = new AbortController();
    const response = fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: JSON.stringify({ query: AUDIT }),
      signal: client.signal,
    });
    await expect.poll(() => service.seen.length).toBe(1);
    client.abort();
    await expect(response).rejects.toThrow();
    await expect.poll(() => levels(gateway)).toEqual([[INFO, 'UPSTREAM_UNAVAILABLE']]);
    expect(records(gateway)).toMatchObject([{ aborted: true }]);
  });
});

describe('a request that executed no operation', () => {
  const SECRET = 'c4n4ry';

  it.each([
    ['GET', '/health/live', 200, '/health/live', undefined],
    ['GET', '/health/ready?x', 200, '/health/ready', undefined],
    ['GET', '/', 404, '/', 'BAD_REQUEST'],
    ['GET', `/${SECRET}?${SECRET}`, 404, '/*', 'BAD_REQUEST'],
    ['DELETE', `/graphql/${SECRET}`, 404, '/*', 'BAD_REQUEST'],
    ['PUT', `/graphql?query=${SECRET}`, 405, '/graphql', 'BAD_REQUEST'],
    ['GET', `/graphql?query={${SECRET}}`, 200, '/graphql', 'GRAPHQL_VALIDATION_FAILED'],
    ['PROPFIND', '/nope', 404, '/*', 'BAD_REQUEST'],
  ])('is logged with its method and route: %s %s', async (method, path, status, route, codes) => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    await sendRaw(
      server.url,
      `${method} ${path} HTTP/1.1\r\nhost: a\r\nx-request-id: r1\r\nconnection: close\r\n\r\n`,
    );
    const [{ level, time, durationMs, msg, ...record }] = records(gateway);
    expect(record).toEqual({
      requestId: 'r1',
      method: method === 'PROPFIND' ? '_OTHER' : method,
      route,
      status,
      ...(codes !== undefined && { codes }),
    });
    expect(gateway.logged).toHaveLength(1);
    expect(gateway.logged.join()).not.toContain(SECRET);
  });

  it('is logged with neither its method nor its path if they are unknown, as from `fetch`', async () => {
    await using gateway = gatewayOver(NOWHERE);
    await gateway.fetch(`http://gateway.test/${SECRET}`, { method: SECRET });
    expect(records(gateway)).toMatchObject([{ method: '_OTHER', route: '/*', status: 404 }]);
    expect(gateway.logged.join()).not.toContain(SECRET);
  });

  it('is logged with its method and route if it is shed, if its head is invalid, and for the playground', async () => {
    await using busy = gatewayOver(NOWHERE, { maxInFlight: 0 });
    await ask(busy, AUDIT);
    expect(records(busy)).toMatchObject([{ method: 'POST', route: '/graphql', status: 503 }]);
    await using gateway = gatewayOver(NOWHERE, { playground: {} });
    await using server = await onPort(gateway);
    await sendRaw(server.url, 'GET /graphql HTTP/1.1\r\nHost: a b\r\nconnection: close\r\n\r\n');
    await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } });
    await fetch(`${server.url}/graphql?query={__typename}`, { headers: { accept: 'image/png' } });
    expect(records(gateway)).toMatchObject([
      { method: 'GET', route: '/graphql', status: 400, codes: 'BAD_REQUEST' },
      { method: 'GET', route: '/graphql', status: 200 },
      { method: 'GET', route: '/graphql', status: 406, codes: 'BAD_REQUEST' },
    ]);
  });
});

describe('a request that executed an operation', () => {
  it('is logged without method and route, on both paths', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    for (let round = 0; round < 3; round += 1) {
      await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: JSON.stringify({ query: AUDIT }),
      });
    }
    const keys = records(gateway).map((record) => Object.keys(record).join());
    const start = 'level,time,requestId,operation,fields,status';
    expect(keys).toEqual([
      `${start},durationMs,msg`,
      `${start},prepared,durationMs,msg`,
      `${start},prepared,durationMs,msg`,
    ]);
  });
});

describe('the circuit breaker', () => {
  const OPEN = 'circuit breaker open: calls are rejected for a few seconds; check the service';
  const CLOSED = 'circuit breaker closed: the service responds again';
  const COOL_DOWN_MS = 5000; // for the caller of the last trial request

  it('is logged when it opens and when it closes, not in between, and again at the next outage', async () => {
    let status = 503;
    await using service = await startService(() => ({ status, body: [] }));
    const time = { ms: 0 };
    const states: string[] = [];
    await using gateway = gatewayOver(service.url, {
      upstream: { clock: () => time.ms },
      observer: { upstream: { onCircuitState: (state) => void states.push(state) } },
    });
    const audit = () => ask(gateway, AUDIT, {}, { token: 't' });
    const events = () =>
      records(gateway).flatMap(({ level, msg }) => (msg === 'request' ? [] : [[level, msg]]));
    for (let outage = 1; outage <= 2; outage += 1) {
      status = 503;
      for (let round = 0; round < 40; round += 1) await audit();
      for (let trial = 0; trial < 3; trial += 1) {
        time.ms += COOL_DOWN_MS;
        await audit();
      }
      const outages = Array.from({ length: outage - 1 }, () => [
        [WARN, OPEN],
        [INFO, CLOSED],
      ]);
      expect(events()).toEqual([...outages.flat(), [WARN, OPEN]]);
      status = 200;
      time.ms += COOL_DOWN_MS;
      await audit();
      expect(events()).toEqual([...outages.flat(), [WARN, OPEN], [INFO, CLOSED]]);
    }
    const trials = Array.from({ length: 3 }, () => ['half-open', 'open']).flat();
    const outage = ['open', ...trials, 'half-open', 'closed'];
    expect(states).toEqual([...outage, ...outage]); // for metrics: every change
  });

  it('of logins is logged as such, and leaves the metric of the other as it is', async () => {
    let status = 503;
    await using service = await startService(() => ({ status, body: { access_token: 'a' } }));
    const time = { ms: 0 };
    const { observer, text } = createMetrics();
    await using gateway = gatewayOver(service.url, {
      observer,
      upstream: { clock: () => time.ms },
    });
    const login =
      'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { tokenType } }';
    const events = () =>
      records(gateway).flatMap(({ level, msg }) => (msg === 'request' ? [] : [[level, msg]]));
    for (let round = 0; round < 21; round += 1) await ask(gateway, login);
    const open = [
      WARN,
      'circuit breaker of logins open: they are rejected for a few seconds; check the service',
    ];
    expect(events()).toEqual([open]);
    const lines = (await text()).split('\n');
    expect(lines).toContain('keytrail_breaker_state{state="closed"} 1');
    expect(lines).toContain('keytrail_upstream_rejected_total{route="login"} 1');
    status = 200;
    time.ms += COOL_DOWN_MS;
    await ask(gateway, login);
    const closed = 'circuit breaker of logins closed: the service accepts them again';
    expect(events()).toEqual([open, [INFO, closed]]);
  });

  it('is logged in the `log` of a program', async () => {
    const lines: unknown[] = [];
    const write = (level: string) => (_: object, message: string) => lines.push([level, message]);
    await using gateway = createGateway({
      upstream: { url: NOWHERE },
      log: { info: write('info'), warn: write('warn'), error: write('error') },
    });
    for (let round = 0; round < 20; round += 1) await ask(gateway, AUDIT, {}, { token: 't' });
    expect(lines).toContainEqual(['warn', OPEN]);
    expect(lines.filter((line) => String(line) !== 'warn,request')).toEqual([['warn', OPEN]]);
  });
});
