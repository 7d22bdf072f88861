import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toCorsHeaders } from '../../../src/gateway/http/cors.ts';
import { gatewayOver, type Overrides, onPort, type TestGateway } from '../../helpers/gateway.ts';
import { sendRaw } from '../../helpers/raw-socket.ts';
import { serve } from '../../helpers/serve.ts';
import { startService } from '../../helpers/service.ts';

const NOWHERE = 'http://127.0.0.1:9';
const ALLOWED = 'https://a.example';
const ORIGINS = [ALLOWED, 'https://b.example'];
const AUDIT = '{"query": "{ audit { totalCount } }"}';
const LARGE = JSON.stringify({ query: ' '.repeat(70_000) });

type Init = RequestInit & { readonly duplex?: 'half' };

/** A response, and how a gateway is brought to send it. */
type Case = {
  readonly name: string;
  readonly status: number;
  readonly overrides?: Overrides;
  readonly path?: string;
  readonly init: Init;
  /** Runs before the request. */
  readonly before?: (gateway: TestGateway) => PromiseLike<void>;
};

const post = (body: BodyInit, headers: Readonly<Record<string, string>> = {}): Init => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body,
  duplex: 'half',
});

/** A body whose end never comes. */
const incomplete = () =>
  new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{')) });

const CASES: readonly Case[] = [
  {
    name: 'that is overloaded',
    status: 503,
    overrides: { maxInFlight: 0 },
    init: post(AUDIT),
  },
  {
    name: 'that has too many incomplete bodies',
    status: 503,
    overrides: { maxIncompleteRequests: 0 },
    get init() {
      return post(incomplete());
    },
  },
  {
    name: 'that is closed',
    status: 503,
    init: post(AUDIT),
    before: (gateway) => gateway[Symbol.asyncDispose](),
  },
  { name: 'to a large body', status: 413, init: post(LARGE) },
  {
    name: 'to a large body in chunks',
    status: 413,
    get init() {
      return post(new Blob([LARGE]).stream());
    },
  },
  {
    name: 'whose program cannot authorize the request',
    status: 500,
    overrides: { authorization: () => Promise.reject(new Error('no session')) },
    init: post(AUDIT),
  },
  { name: 'to another path', status: 404, path: '/graphq', init: post(AUDIT) },
  { name: 'to another method', status: 405, init: { method: 'PUT' } },
  { name: 'to an OPTIONS that is no preflight', status: 405, init: { method: 'OPTIONS' } },
  { name: 'to another media type', status: 406, init: post(AUDIT, { accept: 'text/css' }) },
  {
    name: 'to a form',
    status: 415,
    init: post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
  },
  { name: 'to invalid JSON', status: 400, init: post('{') },
  { name: 'with an error', status: 200, init: post(AUDIT) },
  { name: 'with data', status: 200, init: post('{"query": "{ __typename }"}') },
  {
    name: 'with a preflight',
    status: 204,
    init: { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } },
  },
];

/** What a browser decides by, and a cache. */
function corsOf({ headers }: Response) {
  return {
    allowed: headers.get('access-control-allow-origin'),
    variesByOrigin: /(?:^|, )Origin(?:,|$)/i.test(headers.get('vary') ?? ''),
  };
}

describe.each(['a port', '`gateway.fetch`'])('the response, by %s, of a gateway', (way) => {
  it.each(CASES)('$name, $status, has the CORS headers of every response', async (given) => {
    const { status, overrides, path = '/graphql', before } = given;
    const send = async (corsOrigins: readonly string[], origin: string | null) => {
      await using gateway = gatewayOver(NOWHERE, { ...overrides, corsOrigins });
      await using server = await onPort(gateway, { corsOrigins });
      await before?.(gateway);
      const { init } = given;
      const headers = { ...init.headers, ...(origin !== null && { origin }) };
      const sender = way === 'a port' ? fetch : gateway.fetch;
      const response = await sender(`${server.url}${path}`, { ...init, headers });
      await response.text();
      return { status: response.status, ...corsOf(response) };
    };
    expect(await send(ORIGINS, ALLOWED)).toEqual({
      status,
      allowed: ALLOWED,
      variesByOrigin: true,
    });
    for (const origin of ['https://evil.example', 'null', 'https://a.example.evil.example'])
      expect(await send(ORIGINS, origin)).toEqual({ status, allowed: null, variesByOrigin: true });
    const isPreflight = status === 204; // without CORS, it is any OPTIONS
    const without = { status: isPreflight ? 405 : status, allowed: null };
    expect(await send(ORIGINS, null)).toEqual({ ...without, variesByOrigin: true });
    expect(await send([], ALLOWED)).toEqual({ ...without, variesByOrigin: false });
  });
});

describe('a gateway that is overloaded or closed', () => {
  it.each([
    ['overloaded', { maxInFlight: 0 }],
    ['closed', {}],
  ])('allows a preflight, so that the page can read the response: %s', async (state, overrides) => {
    await using gateway = gatewayOver(NOWHERE, { ...overrides, corsOrigins: ORIGINS });
    if (state === 'closed') await gateway[Symbol.asyncDispose]();
    await using server = await onPort(gateway);
    for (const send of [fetch, gateway.fetch]) {
      const preflight = await send(`${server.url}/graphql`, {
        method: 'OPTIONS',
        headers: {
          ...{ origin: ALLOWED, 'access-control-request-method': 'POST' },
          'access-control-request-headers': 'authorization,content-type',
        },
      });
      expect(preflight.status).toBe(204);
      expect(Object.fromEntries(preflight.headers)).toMatchObject({
        'access-control-allow-headers': 'authorization,content-type',
        'access-control-allow-methods': 'POST',
        'access-control-allow-origin': ALLOWED,
        vary: 'Access-Control-Request-Headers, Origin',
      });
      const refused = await send(`${server.url}/graphql`, post(AUDIT, { origin: ALLOWED }));
      expect(corsOf(refused).allowed).toBe(ALLOWED);
      expect((await refused.json()).errors[0].extensions).toMatchObject({
        code: 'OVERLOADED',
        retryable: true,
      });
    }
  });

  it('does not allow the preflight of another origin', async () => {
    await using gateway = gatewayOver(NOWHERE, { corsOrigins: ORIGINS });
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const response = await gateway.fetch('http://k/graphql', { method: 'OPTIONS', headers });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-'))).toEqual([]);
  });

  it('does not ask the program for the authorization of a preflight', async () => {
    let asked = 0;
    const authorization = () => {
      asked += 1;
      return null;
    };
    await using gateway = gatewayOver(NOWHERE, { authorization, corsOrigins: ORIGINS });
    await using server = await onPort(gateway);
    const headers = { origin: ALLOWED, 'access-control-request-method': 'POST' };
    for (const send of [fetch, gateway.fetch])
      expect((await send(`${server.url}/graphql`, { method: 'OPTIONS', headers })).status).toBe(
        204,
      );
    expect(asked).toBe(0);
  });
});

it('the response has CORS headers if a body parser of the program has read the body', async () => {
  await using gateway = gatewayOver(NOWHERE, { corsOrigins: ORIGINS });
  await using server = await serve(async (request, response) => {
    await text(request);
    await gateway.handle(Object.assign(request, { body: undefined }), response);
  });
  const response = await fetch(`${server.url}/graphql`, post(AUDIT, { origin: ALLOWED }));
  expect([response.status, corsOf(response).allowed]).toEqual([500, ALLOWED]);
});

const HEAD = `POST /graphql HTTP/1.1\r\nhost: a\r\norigin: ${ALLOWED}\r\ncontent-type: application/json\r\n`;

describe('the response that Node’s parser leads to', () => {
  /** Sends bytes, and keeps the connection open until the server closes it. */
  const send = async (bytes: string, corsOrigins: readonly string[]) => {
    await using gateway = gatewayOver(NOWHERE, { corsOrigins });
    const timeouts = { headersTimeoutMs: 100, requestTimeoutMs: 100 };
    await using server = await onPort(gateway, { corsOrigins, ...timeouts });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(bytes);
    const [head = ''] = (await text(socket)).split('\r\n\r\n');
    const [line = '', ...headers] = head.split('\r\n');
    const get = (name: string) =>
      headers.find((header) => header.startsWith(`${name}: `))?.slice(name.length + 2);
    return [line.split(' ')[1], get('access-control-allow-origin'), get('vary')];
  };

  it.each([
    ['a body that does not arrive', `${HEAD}content-length: 40\r\n\r\n{`, '408'],
    ['an invalid chunk', `${HEAD}transfer-encoding: chunked\r\n\r\nnot hexadecimal\r\n`, '400'],
  ])('to %s has the CORS headers of its Origin', async (_, bytes, status) => {
    expect(await send(bytes, ORIGINS)).toEqual([status, ALLOWED, 'Origin']);
    const evil = bytes.replace(ALLOWED, 'https://evil.example');
    expect(await send(evil, ORIGINS)).toEqual([status, undefined, 'Origin']);
    expect(await send(evil, [ALLOWED])).toEqual([status, undefined, 'Origin']);
    expect(await send(bytes.replace(/origin.*\r\n/, ''), [ALLOWED])).toEqual([
      ...[status, undefined, 'Origin'],
    ]);
    expect(await send(bytes, [])).toEqual([status, undefined, undefined]);
  });

  it.each([
    ['a head that does not arrive', HEAD, '408'],
    ['a head that is too large', `${HEAD}x: ${'y'.repeat(20_000)}\r\n\r\n`, '431'],
    ['bytes that are not HTTP', 'hello\r\n\r\n', '400'],
  ])('to %s, whose Origin is not known, names the only origin that is allowed', async (...of) => {
    const [, bytes, status] = of;
    expect(await send(bytes, [ALLOWED])).toEqual([status, ALLOWED, 'Origin']);
    expect(await send(bytes, ORIGINS)).toEqual([status, undefined, 'Origin']);
    expect(await send(bytes, [])).toEqual([status, undefined, undefined]);
  });

  it('to an expectation that is not known is that to the request', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { corsOrigins: ORIGINS });
    await using server = await onPort(gateway, { corsOrigins: ORIGINS });
    const own = `authorization: Bearer t\r\nexpect: x\r\ncontent-length: ${AUDIT.length}\r\n`;
    const response = await sendRaw(server.url, `${HEAD}${own}connection: close\r\n\r\n${AUDIT}`);
    expect(response).toMatch(/^HTTP\/1.1 200 /);
    expect(response).toContain(`access-control-allow-origin: ${ALLOWED}`);
    expect(response).toContain('{"data":{"audit":{"totalCount":0}}}');
  });
});

describe('toCorsHeaders', () => {
  it('names only an allowed origin: that of the request, or the only one if that is not known', () => {
    const origin = fc.oneof(fc.constantFrom(...ORIGINS), fc.webUrl(), fc.string());
    fc.assert(
      fc.property(
        fc.uniqueArray(origin, { maxLength: 3 }),
        fc.option(origin, { nil: null }),
        (allowed, given) => {
          const named = toCorsHeaders(allowed, given)['access-control-allow-origin'];
          expect(named).toBe(given !== null && allowed.includes(given) ? given : undefined);
          const unknown = toCorsHeaders(allowed, undefined)['access-control-allow-origin'];
          expect(unknown).toBe(allowed.length === 1 ? allowed[0] : undefined);
        },
      ),
    );
  });
});
