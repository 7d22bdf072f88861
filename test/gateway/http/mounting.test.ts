import type { IncomingMessage, RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../../src/gateway/http/gateway-type.ts';
import { codeOf, gatewayOver, type Overrides, type Result } from '../../helpers/gateway.ts';
import { serve } from '../../helpers/serve.ts';
import { startService } from '../../helpers/service.ts';

const NOWHERE = 'http://127.0.0.1:9';

/** Mounts a gateway as Express does: it cuts the mount path off `url`, and keeps the whole path in `originalUrl`. */
function mount(path: string, { handle }: Gateway, hasNext = true): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    if (!url.startsWith(path)) return response.end('the program');
    const cut = url.slice(path.length).replace(/^(?=\?|$)/, '/');
    const mounted = Object.assign(request, { originalUrl: url, url: cut });
    const next = () => {
      mounted.url = url;
      response.end('the program');
    };
    return handle(mounted, response, hasNext ? next : undefined);
  };
}

const JSON_HEADERS = { 'content-type': 'application/json', authorization: 'Bearer t' };

async function send(url: string, body: BodyInit, init: RequestInit = {}): Promise<Result<unknown>> {
  // Undici requires `duplex` for a stream.
  const request = { method: 'POST', headers: JSON_HEADERS, body, duplex: 'half', ...init };
  const response = await fetch(url, request);
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, text, ...(text.startsWith('{') && JSON.parse(text)) };
}

const AUDIT = '{"query":"{ audit { totalCount } }"}';
const COUNTED = { audit: { totalCount: 0 } };

/** In a program there are no health checks. */
const PROGRAM: Overrides = { draining: null };

describe('a gateway that is mounted', () => {
  it('at the path of GraphQL sheds load', async () => {
    const mayRespond = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      await mayRespond.promise;
      return { body: [] };
    });
    await using gateway = gatewayOver(service.url, { ...PROGRAM, maxInFlight: 1 });
    await using server = await serve(mount('/graphql', gateway));
    const first = send(`${server.url}/graphql`, AUDIT);
    await expect.poll(() => service.seen.length).toBe(1);
    const second = await send(`${server.url}/graphql`, AUDIT);
    expect([second.status, codeOf(second)]).toEqual([503, 'OVERLOADED']);
    mayRespond.resolve();
    expect((await first).data).toEqual(COUNTED);
  });

  it.each([
    ['/graphql', '/graphql'],
    ['/api', '/api/graphql'],
    ['/api/v1/graphql', '/api/v1/graphql'],
    ['', '/'],
  ])('at %j has GraphQL at its path, %s, prepared or not', async (mountPath, path) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { ...PROGRAM, path });
    await using server = await serve(mount(mountPath, gateway));
    for (const _ of [1, 2, 3])
      expect((await send(`${server.url}${path}`, AUDIT)).data).toEqual(COUNTED);
    const get = await fetch(`${server.url}${path}?query={__typename}`);
    expect(await get.json()).toEqual({ data: { __typename: 'Query' } });
    expect((await gateway.fetch(`http://k${path}?query={__typename}`)).status).toBe(200);
    expect(gateway.logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(2);
  });

  it('at another path is not found, and says how to name that path, prepared or not', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, PROGRAM);
    await gateway.fetch('http://k/graphql', { method: 'POST', headers: JSON_HEADERS, body: AUDIT });
    await using server = await serve(mount('/api', gateway, false));
    for (const _ of [1, 2]) {
      const result = await send(`${server.url}/api/graphql`, AUDIT);
      expect([result.status, codeOf(result)]).toEqual([404, 'BAD_REQUEST']);
      expect(result.errors?.[0]?.message).toBe(
        'Not found: GraphQL is at /graphql. If it is mounted at another path, pass the whole path to createGateway as `path`.',
      );
    }
    expect(service.seen).toHaveLength(1);
  });

  it.each([
    '/',
    '/health',
    '/health/live',
    '/health/ready',
    '/graphql/',
    '/GraphQL',
    '/graphql/x',
    '//graphql',
    '/x?/graphql',
  ])('leaves %s to the program', async (path) => {
    await using gateway = gatewayOver(NOWHERE, { ...PROGRAM, playground: {} });
    await using server = await serve(mount('', gateway));
    await using alone = await serve(gateway.handle);
    const headers = { accept: 'text/html' };
    for (const method of ['GET', 'POST']) {
      const response = await fetch(server.url + path, { method, headers });
      expect(await response.text()).toBe('the program');
      expect((await fetch(alone.url + path, { method, headers })).status).toBe(404);
    }
    expect(gateway.logged).toHaveLength(2); // those of `alone`
    await gateway[Symbol.asyncDispose]();
    expect(await (await fetch(server.url + path)).text()).toBe('the program');
  });

  it('has its playground at its path', async () => {
    await using gateway = gatewayOver(NOWHERE, { ...PROGRAM, path: '/api', playground: {} });
    await using server = await serve(mount('/api', gateway));
    const page = await fetch(`${server.url}/api`, { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  it('logs its path as the route', async () => {
    await using gateway = gatewayOver(NOWHERE, { ...PROGRAM, path: '/api/graphql' });
    await using server = await serve(mount('/api', gateway));
    await fetch(`${server.url}/api/graphql?query=`);
    expect(JSON.parse(gateway.logged[0] ?? '').route).toBe('/api/graphql');
  });

  it('ignores what frameworks add to a request beside its path and its body', async () => {
    await using gateway = gatewayOver(NOWHERE, PROGRAM);
    const added = { query: { query: { a: '1' } }, protocol: 'a b', hostname: 'c d', raw: {} };
    await using server = await serve((request, response) =>
      gateway.handle(Object.assign(request, added), response),
    );
    const response = await fetch(`${server.url}/graphql?query={__typename}`);
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });

  it('uses `url` if `originalUrl` is not a text', async () => {
    await using gateway = gatewayOver(NOWHERE, PROGRAM);
    await using server = await serve((request, response) =>
      gateway.handle(Object.assign(request, { originalUrl: { a: 1 } }), response),
    );
    expect((await send(`${server.url}/graphql`, '{"query":"{__typename}"}')).status).toBe(200);
  });
});

/** Serves a gateway with a body parser before it, as `express.json()`: reads the body, and sets `request.body`. */
async function serveParsed(
  gateway: Gateway,
  parse: (bytes: Buffer, of: IncomingMessage) => unknown,
) {
  return serve(async (request, response) => {
    const body = parse(await buffer(request), request);
    await gateway.handle(Object.assign(request, { body }), response);
  });
}

const PARSERS = [
  ['a value', (bytes) => JSON.parse(bytes.toString())],
  ['a text', (bytes) => bytes.toString()],
  ['a Buffer', (bytes) => bytes],
  ['a Uint8Array', (bytes) => new Uint8Array(bytes)],
] as const satisfies readonly (readonly [string, (bytes: Buffer) => unknown])[];

describe('a body that was read before, as', () => {
  it.each(PARSERS)('%s, is executed, prepared or not', async (_, parse) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, PROGRAM);
    await using server = await serveParsed(gateway, parse);
    for (const _time of [1, 2, 3])
      expect((await send(`${server.url}/graphql`, AUDIT)).data).toEqual(COUNTED);
    expect(gateway.logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(2);
  });

  it.each(PARSERS)('%s, is rejected above 64 KiB, with a length or without', async (_, parse) => {
    await using gateway = gatewayOver(NOWHERE, PROGRAM);
    await using server = await serveParsed(gateway, parse);
    for (const filler of [' '.repeat(65_536), 'é'.repeat(32_768)]) {
      const body = JSON.stringify({ query: `{ __typename } #${filler}` });
      for (const sent of [body, new Blob([body]).stream()]) {
        const result = await send(`${server.url}/graphql`, sent);
        expect([result.status, codeOf(result)]).toEqual([413, 'BAD_REQUEST']);
      }
    }
  });

  it.each(PARSERS)('%s, gets a response however deep it is', async (kind, parse) => {
    await using gateway = gatewayOver(NOWHERE, PROGRAM);
    await using server = await serveParsed(gateway, parse);
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const result = await send(
      `${server.url}/graphql`,
      `{"query":"{__typename}","variables":{"a":${deep}}}`,
    );
    // JSON.stringify of Node 24 cannot make a text of a value that is so deep; that of Node 26 can.
    const isRead = kind !== 'a value' || result.status === 200;
    expect(result.status).toBe(isRead ? 200 : 400);
    if (!isRead) expect(result.errors?.[0]?.message).toContain('nested too deeply');
    expect(gateway.logged.join()).not.toContain('"bug"');
  });

  it.each(PARSERS)('%s, deletes the same key as one that was not', async (kind, parse) => {
    await using service = await startService({ status: 204 });
    await using gateway = gatewayOver(service.url, PROGRAM);
    await using plain = await serve(gateway.handle);
    await using parsed = await serveParsed(gateway, parse);
    const query = 'mutation ($id: ID!) { deleteApiKey(clientId: $id) { outcome } }';
    const text = fc.string({ unit: 'binary', minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.constant('a\ufffd'), fc.integer()), async (id) => {
        const body = JSON.stringify({ query, variables: { id } });
        const results = [
          await send(`${plain.url}/graphql`, body),
          await send(`${parsed.url}/graphql`, body),
        ];
        const [expected, actual] = results.map((result) => [result.status, codeOf(result)]);
        const isDecoded = kind === 'a value' || kind === 'a text';
        const isReplaced = isDecoded && String(id).includes('\ufffd');
        expect(actual).toEqual(isReplaced ? [400, 'BAD_REQUEST'] : expected);
        if (!isReplaced) expect(service.seen.at(-1)?.url).toBe(service.seen.at(-2)?.url);
        service.forget();
      }),
      { numRuns: 50 },
    );
  });

  it.each(PARSERS)('%s, is rejected if it was not exact', async (_, parse) => {
    await using service = await startService({ status: 204 });
    await using gateway = gatewayOver(service.url, PROGRAM);
    await using server = await serveParsed(gateway, parse);
    const query = 'mutation($c:ID!){deleteApiKey(clientId:$c){outcome}}';
    for (const id of ['9007199254740993', '1e30', '"a\xff"']) {
      const body = Buffer.from(`{"query":"${query}","variables":{"c":${id}}}`, 'latin1');
      const result = await send(`${server.url}/graphql`, body);
      expect([result.status, codeOf(result)]).toEqual([400, 'BAD_REQUEST']);
    }
    expect(service.seen).toEqual([]);
  });

  it.each([undefined, null, () => {}, Symbol('body')])(
    '%s, gets a response that says what to change, and a line in the log',
    async (body) => {
      await using service = await startService({ body: [] });
      await using gateway = gatewayOver(service.url, PROGRAM);
      await using server = await serveParsed(gateway, () => body);
      const result = await send(`${server.url}/graphql`, AUDIT);
      expect([result.status, codeOf(result)]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
      expect(result.errors?.[0]?.message).toBe(
        'The program read the body before Keytrail: mount Keytrail before it, or set `request.body` to what was read.',
      );
      expect(JSON.parse(gateway.logged[0] ?? '')).toMatchObject({ level: 40, status: 500 });
      expect(service.seen).toEqual([]);
    },
  );

  it.each([
    ['{}', /`query`/],
    ['[{"query":"{__typename}"}]', /one by one/],
    ['7', /JSON object/],
    ['"{__typename}"', /JSON object|invalid JSON/],
  ])('%s, gets the message of one that was not', async (body, message) => {
    await using gateway = gatewayOver(NOWHERE, PROGRAM);
    await using server = await serveParsed(gateway, (bytes) => JSON.parse(bytes.toString()));
    const result = await send(`${server.url}/graphql`, body);
    expect([result.status, codeOf(result)]).toEqual([400, 'BAD_REQUEST']);
    expect(result.errors?.[0]?.message).toMatch(message);
  });

  it('a form, is rejected with 415', async () => {
    await using gateway = gatewayOver(NOWHERE, PROGRAM);
    await using server = await serveParsed(gateway, () => ({ query: '{__typename}' }));
    const form = { body: new URLSearchParams({ query: '{__typename}' }), headers: {} };
    expect((await send(`${server.url}/graphql`, '', form)).status).toBe(415);
  });
});

it('A body that no parser has read is read, whatever `request.body` is', async () => {
  await using service = await startService({ body: [] });
  await using gateway = gatewayOver(service.url, PROGRAM);
  await using server = await serve((request, response) =>
    gateway.handle(Object.assign(request, { body: {} }), response),
  );
  for (const _ of [1, 2])
    expect((await send(`${server.url}/graphql`, AUDIT)).data).toEqual(COUNTED);
});
