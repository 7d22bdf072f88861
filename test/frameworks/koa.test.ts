import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../src/gateway/http/gateway-type.ts';
import { gatewayOver } from '../helpers/gateway.ts';
import { serve } from '../helpers/serve.ts';
import {
  AUDIT,
  expectAbort,
  expectGraphql,
  expectMethods,
  load,
  post,
  startSlowService,
} from './graphql-over-http.ts';

/** A request in Koa. */
type Context = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly request: { readonly body?: unknown; readonly originalUrl: string };
  readonly path: string;
  body: unknown;
  respond: boolean;
  set(name: string, value: string): void;
};
type Middleware = (context: Context, next: () => Promise<void>) => Promise<void> | void;
type Koa = { use(middleware: Middleware): Koa; callback(): RequestListener };

const KoaClass: new () => Koa = load('koa');
const mount: (path: string, middleware: Middleware) => Middleware = load('koa-mount');
const Router: new () => { all(path: string, to: Middleware): void; routes(): Middleware } =
  load('@koa/router').Router;

const ORIGIN = 'https://app.example';
const over = (url: string, path = '/graphql') =>
  gatewayOver(url, { draining: null, path, corsOrigins: [ORIGIN] });

/** The middleware of the example, at any path. */
const respondWith =
  ({ handle }: Gateway): Middleware =>
  async (ctx) => {
    ctx.respond = false;
    const { body, originalUrl } = ctx.request;
    await handle(Object.assign(ctx.req, { body, originalUrl }), ctx.res);
  };

const program: Middleware = (ctx) => {
  ctx.body = 'the program';
};

const PARSERS: readonly (readonly [string, () => Middleware])[] = [
  ['no parser', () => (_, next) => next()],
  ['koa-bodyparser', () => load('koa-bodyparser')()],
  [
    'koa-bodyparser of texts',
    () => load('koa-bodyparser')({ enableTypes: ['text'], extendTypes: { text: ['*/*'] } }),
  ],
  ['@koa/bodyparser', () => load('@koa/bodyparser').bodyParser()],
];

describe.each(PARSERS)('Koa with %s', (_, createParser) => {
  it.each<[string, string, (app: Koa, respond: Middleware) => void]>([
    [
      'a comparison of the path',
      '/graphql',
      (app, respond) =>
        app.use((ctx, next) => (ctx.path === '/graphql' ? respond(ctx, next) : next())),
    ],
    [
      '@koa/router',
      '/graphql',
      (app, respond) => {
        const router = new Router();
        router.all('/graphql', respond);
        app.use(router.routes());
      },
    ],
    ['koa-mount', '/api/graphql', (app, respond) => app.use(mount('/api/graphql', respond))],
  ])('serves GraphQL by %s', async (_case, path, route) => {
    await using service = await startSlowService();
    await using gateway = over(service.url, path);
    const app = new KoaClass().use(createParser());
    route(app, respondWith(gateway));
    app.use(program);
    await using server = await serve(app.callback());
    await expectGraphql(server.url + path);
    await expectMethods(server.url + path, ORIGIN);
    await expectAbort(server.url + path, service);
    expect(await (await fetch(`${server.url}/health`)).text()).toBe('the program');
    expect(
      gateway.logged.filter((line) => line.includes('"prepared":true')).length,
    ).toBeGreaterThan(1);
    expect(service.seen.every(({ method }) => method === 'GET')).toBe(true);
  });
});

it('Headers that the program of Koa sets are sent with the response of Keytrail', async () => {
  await using service = await startSlowService();
  await using gateway = over(service.url);
  const app = new KoaClass().use((ctx, next) => {
    ctx.set('x-program', 'koa');
    return next();
  });
  app.use(respondWith(gateway));
  await using server = await serve(app.callback());
  for (const _ of [1, 2]) {
    const { status, headers } = await post(`${server.url}/graphql`, AUDIT);
    expect([status, headers.get('x-program')]).toEqual([200, 'koa']);
  }
});
