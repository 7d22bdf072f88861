import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../src/gateway/http/gateway-type.ts';
import { gatewayOver, type Overrides } from '../helpers/gateway.ts';
import { serve } from '../helpers/serve.ts';
import { startService } from '../helpers/service.ts';
import { AUDIT, expectGraphql, load, post } from './graphql-over-http.ts';

/** A program of Express, or a router of one. */
type Express = RequestListener & {
  use(...path: readonly [...([] | [string]), RequestListener | Gateway['handle']]): void;
  all: Express['use'];
  get: Express['use'];
  set(name: string, value: unknown): void;
};
type ExpressModule = (() => Express) &
  Readonly<Record<'json' | 'text' | 'raw', (options?: object) => RequestListener>> & {
    Router(): Express;
  };
const EXPRESS: Readonly<Record<string, ExpressModule>> = {
  'Express 4': load('express4'),
  'Express 5': load('express'),
};

/** An instance of Fastify. */
type Fastify = {
  all(
    path: string,
    handler: (
      request: { readonly raw: Parameters<RequestListener>[0]; readonly body: unknown },
      reply: { readonly raw: Parameters<RequestListener>[1]; hijack(): void },
    ) => Promise<void>,
  ): void;
  addContentTypeParser(type: string, options: object, parser: unknown): void;
  removeAllContentTypeParsers(): void;
  listen(at: object): Promise<string>;
  close(): Promise<void>;
};
const fastify: (options?: object) => Fastify = load('fastify');

/** What the program responds to its own paths. */
const program: RequestListener = (_, response) => void response.end('the program');

const over = (url: string, path = '/graphql') =>
  gatewayOver(url, { draining: null, path } satisfies Overrides);

describe.each(Object.entries(EXPRESS))('%s', (_, express) => {
  it.each<[string, string, (app: Express, handle: Gateway['handle']) => void]>([
    ['app.use(handle)', '/graphql', (app, handle) => app.use(handle)],
    ['app.use(path, handle)', '/graphql', (app, handle) => app.use('/graphql', handle)],
    ['app.use(part of the path, handle)', '/api/graphql', (app, handle) => app.use('/api', handle)],
    ['app.all(path, handle)', '/graphql', (app, handle) => app.all('/graphql', handle)],
    [
      'a router of a router',
      '/a/b/graphql',
      (app, handle) => {
        const [inner, outer] = [express.Router(), express.Router()];
        inner.use('/graphql', handle);
        outer.use('/b', inner);
        app.use('/a', outer);
      },
    ],
  ])('serves GraphQL with %s, and body parsers before it or not', async (_case, path, mount) => {
    const { json, text, raw } = express;
    for (const parser of [
      null,
      json(),
      text({ type: '*/*' }),
      raw({ type: '*/*' }),
      json({ type: 'x/y' }),
    ]) {
      await using service = await startService({ body: [] });
      await using gateway = over(service.url, path);
      const app = express();
      app.set('trust proxy', true);
      if (parser !== null) app.use(parser);
      mount(app, gateway.handle);
      app.use(program);
      await using server = await serve(app);
      await expectGraphql(server.url + path);
      expect(await (await fetch(`${server.url}/health/live`)).text()).toBe('the program');
      expect(gateway.logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(4);
    }
  });

  it('leaves a gateway whose path is another to the program', async () => {
    await using gateway = over('http://127.0.0.1:9');
    const app = express();
    app.use('/api', gateway.handle);
    await using server = await serve(app);
    expect((await post(`${server.url}/api/graphql`, AUDIT)).text).toContain('Cannot POST');
    expect(gateway.logged).toEqual([]);
  });
});

describe('Fastify', () => {
  it.each([
    ['its parsers', (_: Fastify) => {}],
    [
      'a parser that reads nothing',
      (app: Fastify) => {
        app.removeAllContentTypeParsers();
        app.addContentTypeParser('*', {}, (_request: unknown, _body: unknown, done: () => void) =>
          done(),
        );
      },
    ],
    [
      'a parser of bytes',
      (app: Fastify) => {
        app.removeAllContentTypeParsers();
        app.addContentTypeParser(
          '*',
          { parseAs: 'buffer' },
          async (_: unknown, body: Buffer) => body,
        );
      },
    ],
  ])('serves GraphQL with %s', async (_case, configure) => {
    await using service = await startService({ body: [] });
    await using gateway = over(service.url);
    const app = fastify();
    configure(app);
    app.all('/graphql', async (request, reply) => {
      reply.hijack();
      await gateway.handle(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    try {
      await expectGraphql(`${origin}/graphql`);
    } finally {
      await app.close();
    }
  });

  it('gets a response that says what to change if it keeps the body to itself', async () => {
    await using gateway = over('http://127.0.0.1:9');
    const app = fastify();
    app.all('/graphql', async (request, reply) => {
      reply.hijack();
      await gateway.handle(request.raw, reply.raw);
    });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    const { status, errors } = await post(`${origin}/graphql`, AUDIT);
    await app.close();
    expect(status).toBe(500);
    expect(errors?.[0]?.message).toContain('`request.body`');
  });
});
