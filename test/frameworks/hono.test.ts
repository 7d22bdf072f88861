import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Gateway } from '../../src/gateway/http/gateway-type.ts';
import { codeOf, gatewayOver, type TestGateway } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';
import {
  AUDIT,
  expectAbort,
  expectGraphql,
  expectMethods,
  load,
  post,
  startSlowService,
} from './graphql-over-http.ts';

/** A request in Hono. */
type Context = {
  readonly req: { readonly raw: Request; json(): Promise<unknown> };
  text(text: string): Response;
};
type Middleware = (context: Context, next: () => Promise<void>) => Promise<void>;
type Handler = (context: Context) => Response | Promise<Response>;
type Fetch = (request: Request, environment: object) => Response | Promise<Response>;
type Hono = {
  on(methods: readonly string[], path: string, handler: Handler): void;
  all(path: string, handler: Handler): void;
  get(path: string, handler: Handler): void;
  route(path: string, app: Hono): void;
  use(middleware: Middleware): void;
  mount(path: string, fetch: Fetch, options: object): void;
  readonly fetch: Fetch;
};
const HonoClass: new () => Hono = load('hono').Hono;
const serveHono: (options: object) => Server = load('@hono/node-server').serve;
const getConnInfo: (context: Context) => { readonly remote: { readonly address?: string } } = load(
  '@hono/node-server/conninfo',
).getConnInfo;

const ORIGIN = 'https://app.example';
const over = (url: string, path = '/graphql') =>
  gatewayOver(url, { draining: null, path, corsOrigins: [ORIGIN] });

/** Serves a function as a program of Hono does, on a free loopback port. */
async function serve(fetch: Fetch, options = {}) {
  const server = serveHono({ fetch, hostname: '127.0.0.1', port: 0, ...options });
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${Object(server.address()).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const METHODS = ['GET', 'POST', 'OPTIONS'];
type Mount = (app: Hono, gateway: Gateway) => void;
const MOUNTS: readonly (readonly [string, string, Mount])[] = [
  [
    'app.on(…)',
    '/graphql',
    (app, { fetch }) => app.on(METHODS, '/graphql', (c) => fetch(c.req.raw)),
  ],
  ['app.all(…)', '/graphql', (app, { fetch }) => app.all('/graphql', (c) => fetch(c.req.raw))],
  [
    'app.route(…)',
    '/api/graphql',
    (app, { fetch }) => {
      const api = new HonoClass();
      api.all('/graphql', (c) => fetch(c.req.raw));
      app.route('/api', api);
    },
  ],
  [
    'app.mount(…)',
    '/graphql',
    (app, { fetch }) => app.mount('/graphql', fetch, { replaceRequest: false }),
  ],
];

// First, since @hono/node-server replaces the global Request for good unless this option is given.
describe.each([{ overrideGlobalObjects: false }, {}])('Hono, served with %j', (options) => {
  it.each(MOUNTS)('serves GraphQL with %s', async (_, path, mount) => {
    await using service = await startSlowService();
    await using gateway = over(service.url, path);
    const app = new HonoClass();
    mount(app, gateway);
    app.get('/health', (c) => c.text('the program'));
    await using server = await serve(app.fetch, options);
    await expectGraphql(server.url + path);
    await expectMethods(server.url + path, ORIGIN);
    await expectAbort(server.url + path, service);
    expect(await (await fetch(`${server.url}/health`)).text()).toBe('the program');
    expect(service.seen.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('serves GraphQL alone', async () => {
    await using service = await startSlowService();
    await using gateway = over(service.url);
    await using server = await serve(gateway.fetch, options);
    await expectGraphql(`${server.url}/graphql`);
    await expectMethods(`${server.url}/graphql`, ORIGIN);
    await expectAbort(`${server.url}/graphql`, service);
  });
});

describe('A body that a middleware of Hono has read', () => {
  afterEach(() => void vi.restoreAllMocks());

  const program = (gateway: TestGateway, middleware: Middleware) => {
    const app = new HonoClass();
    app.use(middleware);
    app.all('/graphql', (c) => gateway.fetch(c.req.raw));
    return serve(app.fetch);
  };

  it('from a clone is executed', async () => {
    await using service = await startService({ body: [] });
    await using gateway = over(service.url);
    const read: unknown[] = [];
    await using server = await program(gateway, async (c, next) => {
      if (c.req.raw.method === 'POST') read.push(await c.req.raw.clone().json());
      await next();
    });
    expect((await post(`${server.url}/graphql`, AUDIT)).data).toEqual({ audit: { totalCount: 0 } });
    expect(read).toEqual([JSON.parse(AUDIT)]);
  });

  it('fails with an error on the console that says what to change', async () => {
    await using service = await startService({ body: [] });
    await using gateway = over(service.url);
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    await using server = await program(gateway, async (c, next) => {
      await c.req.json();
      await next();
    });
    expect((await post(`${server.url}/graphql`, AUDIT)).status).toBe(500);
    expect(String(printed.mock.calls[0]?.[0])).toContain('read a `request.clone()`');
    expect(service.seen).toEqual([]);
  });
});

it('Logins are limited by the address of the client in Hono', async () => {
  await using service = await startService({ body: { access_token: 'a' } });
  await using gateway = gatewayOver(service.url, {
    draining: null,
    loginRateLimit: 1,
  });
  const app = new HonoClass();
  app.all('/graphql', (c) =>
    gateway.fetch(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }),
  );
  await using server = await serve(app.fetch);
  const codes = [];
  for (const id of ['a', 'b', 'c', 'd']) {
    const query = `mutation { login(clientId: "${id}", credential: {clientSecret: "s"}) { accessToken } }`;
    codes.push(codeOf(await post(`${server.url}/graphql`, JSON.stringify({ query }))));
  }
  expect(codes).toEqual(['', '', '', 'RATE_LIMITED']);
  expect(service.seen).toHaveLength(3);
});
