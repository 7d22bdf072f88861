import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ConfigError, createGateway, type GatewayOptions } from '../../../src/index.ts';
import { onPort } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const URL_OF_NOTHING = 'http://127.0.0.1:9';

const post = (query: string, headers: Readonly<Record<string, string>> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ query }),
});
const AUDIT = post('{ audit { totalCount } }', { authorization: 'Bearer t' });

/** The problems of options of any type. */
function problemsOf(options: unknown): readonly string[] {
  try {
    createGateway(options as GatewayOptions); // JavaScript allows it
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const UPSTREAM = { url: URL_OF_NOTHING };
const PEM = readFileSync(new URL('../../fixtures/tls/ca.pem', import.meta.url), 'utf8');
const URL_PROBLEM =
  'upstream.url must be an http or https URL without user, password, query or fragment.';

describe('createGateway', () => {
  it.each<[unknown, readonly RegExp[]]>([
    [undefined, [/^createGateway takes an object of options\.$/]],
    [null, [/^createGateway takes an object/]],
    ['http://a', [/^createGateway takes an object/]],
    [{}, [/^upstream must be an object with the `url` of the service\.$/]],
    [{ upstream: {} }, [new RegExp(`^${URL_PROBLEM}$`)]],
    [{ upstream: { url: 'service' } }, [/^upstream\.url must be an http or https URL/]],
    [{ upstream: { url: 'ftp://a' } }, [/^upstream\.url must be an http or https URL/]],
    [{ upstream: { url: 'https://canary:pw@a' } }, [/^upstream\.url must be/]],
    [{ upstream: { url: 'https://a/?canary=1' } }, [/^upstream\.url must be/]],
    [{ upstream: { url: 7 } }, [/^upstream\.url must be/]],
    [
      { upstream: { url: new URL('https://a/b/api/v1/') } },
      [/^upstream\.url must be without \/api\/v1, which Keytrail adds: https:\/\/a\/b\.$/],
    ],
    [{ upstream: { url: 'http://canary.example' } }, [/^upstream\.url must be https, unless/]],
    [
      { upstream: { ...UPSTREAM, timeoutMs: 0, connections: 1.5, maxBytes: '9' } },
      [
        /^upstream\.timeoutMs must be a whole number of milliseconds, 1 to 600000\.$/,
        /^upstream\.connections must be a whole number, 1 to 65535\.$/,
        /^upstream\.maxBytes must be a whole number of bytes, 1 to 536870912\.$/,
      ],
    ],
    [{ upstream: { ...UPSTREAM, tls: { ca: 'canary' } } }, [/^upstream\.tls must hold PEM texts/]],
    [
      { upstream: { ...UPSTREAM, tls: { cert: PEM } } },
      [/^upstream\.tls must hold .* together\.$/],
    ],
    [
      {
        upstream: {
          ...UPSTREAM,
          headers: { Cookie: 'canary', 'x-a': 'canary\n', 'x b': 'canary' },
        },
      },
      [
        /^upstream\.headers must not have the header cookie: Keytrail sets it, or .*\.$/,
        /^upstream\.headers must have visible ASCII characters as the value of the header x-a\.$/,
        /^upstream\.headers must have `name: value` in entry 3, with a name that HTTP allows\.$/,
      ],
    ],
    [
      { upstream: { ...UPSTREAM, headers: { 'x-a': 7 } } },
      [/^upstream\.headers\.x-a must be a text\.$/],
    ],
    [
      { upstream: { ...UPSTREAM, headers: 'x-a: canary' } },
      [/^upstream\.headers must be an object/],
    ],
    [
      {
        upstream: {
          url: 'https://service.example',
          ...{ httpsProxy: 'socks5://canary', httpProxy: 'canary/unused', noProxy: '"canary"' },
        },
      },
      [
        /^upstream\.httpsProxy must be an http or https URL of a proxy, such as .*\.$/,
        /^upstream\.noProxy must be a list of hosts, .*\.$/,
      ],
    ],
    [
      { upstream: { ...UPSTREAM, tymeoutMs: 1 } },
      [/^upstream\.tymeoutMs is not an option\. Did you mean upstream\.timeoutMs\?$/],
    ],
    [
      { upstream: { ...UPSTREAM, tls: { cacert: PEM } } },
      [/^upstream\.tls\.cacert is not an option\. Did you mean upstream\.tls\.cert\?$/],
    ],
    [
      { upstream: UPSTREAM, introspekt: true, httpsProxy: 'http://canary' },
      [
        /^introspekt is not an option\. Did you mean introspection\?$/,
        /^httpsProxy is not an option\. Did you mean upstream\.httpsProxy\?$/,
      ],
    ],
    [{ upstream: UPSTREAM, port: 4000 }, [/^port is not an option\.$/]],
    [
      { upstream: UPSTREAM, introspection: 'on', playground: 1 },
      [/^introspection must be true or false\.$/, /^playground must be true or false\.$/],
    ],
    [
      { upstream: UPSTREAM, loginRateLimit: 10_001, trustedProxies: -1 },
      [
        /^loginRateLimit must be a whole number of logins a minute, 0 to 10000\.$/,
        /^trustedProxies must be a whole number, 0 to 10\.$/,
      ],
    ],
    ...[
      'canary',
      'http://canary',
      'redis:///0',
      'redis://canary?family=6',
      'redis://canary/a',
      7,
    ].map((rateLimitRedisUrl): [unknown, readonly RegExp[]] => [
      { upstream: UPSTREAM, rateLimitRedisUrl },
      [/^rateLimitRedisUrl must be a redis or rediss URL without query or fragment\.$/],
    ]),
    [{ upstream: UPSTREAM, corsOrigins: '*' }, [/^corsOrigins must be a list of origins/]],
    [{ upstream: UPSTREAM, corsOrigins: ['*'] }, [/^corsOrigins\.0 must be an origin/]],
    [{ upstream: UPSTREAM, log: { info: () => {} } }, [/^log must have the functions/]],
    [{ upstream: UPSTREAM, now: new Date() }, [/^now must be a function/]],
    ...[
      'canary',
      '/canary/',
      '//canary',
      '/canary/../x',
      '/canary/.',
      '',
      '/:canary',
      '/canary*',
      '/a?canary',
      7,
    ].map((path): [unknown, readonly RegExp[]] => [
      { upstream: UPSTREAM, path },
      [/^path must be a path such as \/api\/graphql\.$/],
    ]),
    [
      { upstream: UPSTREAM, contract: { audit: { records: 'canary' } } },
      [/^contract: \/audit\/records: must be an RFC 6901 pointer/],
    ],
    [
      { upstream: { url: 'no', timeoutMs: -1 }, playground: 'x', contract: 7, more: 1 },
      [/^upstream\.url /, /^upstream\.timeoutMs /, /^playground /, /^more is/, /^contract: /],
    ],
  ])('lists every problem of %j, without values', (options, expected) => {
    const problems = problemsOf(options);
    expect(problems).toHaveLength(expected.length);
    for (const pattern of expected) expect(problems.some((each) => pattern.test(each))).toBe(true);
    expect(problems.join()).not.toContain('canary');
  });

  it.each<GatewayOptions>([
    { upstream: { url: new URL('https://service.example/prefix') } },
    { upstream: { url: 'http://service.example', allowHttp: true } },
    { upstream: UPSTREAM, loginRateLimit: 10_000, trustedProxies: 10, path: '/' },
    { upstream: UPSTREAM, path: '/api-1/v2.0/_graphql' },
    { upstream: UPSTREAM, rateLimitRedisUrl: 'rediss://user:secret@redis.example:6380/1' },
    {
      upstream: { url: 'http://[::1]:8080', timeoutMs: undefined, tls: { ca: undefined } },
      contract: undefined,
      introspection: undefined,
      corsOrigins: ['https://app.example.com'],
      log: console,
    },
  ])('accepts %j', async (options) => {
    await createGateway(options)[Symbol.asyncDispose]();
  });

  it('has a fetch with the arguments of the global one, and sends their content', async () => {
    await using service = await startService({ body: [{ id: 1 }] });
    await using gateway = createGateway({ upstream: { url: service.url } });
    const url = 'http://keytrail.test/graphql';
    const inputs: Parameters<typeof gateway.fetch>[] = [
      [url, AUDIT],
      [new URL(url), AUDIT],
      [new Request(url, AUDIT)],
      [new Request(url, { ...AUDIT, body: '{}' }), AUDIT],
    ];
    for (const input of inputs) {
      const response = await gateway.fetch(...input);
      expect(await response.json()).toEqual({ data: { audit: { totalCount: 1 } } });
    }
    expect(service.seen.map(({ headers }) => headers.authorization)).toEqual(
      inputs.map(() => 'Bearer t'),
    );
    await expect(gateway.fetch('/graphql', AUDIT)).rejects.toThrow(TypeError);
  });

  it.each<[string, (request: Request) => Request]>([
    // Next's. It reads every member from the request itself.
    [
      'a Proxy',
      (request) => new Proxy(request, { get: (target, name) => Reflect.get(target, name, target) }),
    ],
    [
      'an object with the prototype',
      ({ url, method, headers, signal, body, bodyUsed }) =>
        Object.create(Request.prototype, {
          ...Object.getOwnPropertyDescriptors({ url, method, headers, signal, body, bodyUsed }),
        }),
    ],
  ])('takes %s of a Request, as frameworks create them', async (_, wrap) => {
    await using service = await startService({ body: [{ id: 1 }] });
    await using gateway = createGateway({ upstream: { url: service.url } });
    const url = 'http://keytrail.test/graphql';
    const aborting = AbortSignal.abort(new Error('aborted'));
    expect(() => new Request(wrap(new Request(url, AUDIT)))).toThrow('#');
    for (const response of [
      await gateway.fetch(wrap(new Request(url, AUDIT))),
      await gateway.fetch(wrap(new Request(url, { ...AUDIT, body: '{}' })), AUDIT),
    ])
      expect(await response.json()).toEqual({ data: { audit: { totalCount: 1 } } });
    const get = await gateway.fetch(wrap(new Request(`${url}?query={__typename}`)));
    expect(await get.json()).toEqual({ data: { __typename: 'Query' } });
    const aborted = wrap(new Request(url, { ...AUDIT, signal: aborting }));
    await expect(gateway.fetch(aborted)).rejects.toThrow('aborted');
    expect(service.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer t',
      'Bearer t',
    ]);
  });

  it('rejects a request whose body was read before, unless it gets another or needs none', async () => {
    await using service = await startService({ body: [] });
    await using gateway = createGateway({ upstream: { url: service.url } });
    const read = async (init: RequestInit) => {
      const request = new Request('http://keytrail.test/graphql', init);
      await request.text();
      return request;
    };
    await expect(gateway.fetch(await read(AUDIT))).rejects.toThrow(
      'The program read the body before Keytrail: call `gateway.fetch` first, or read a `request.clone()` before it.',
    );
    expect(service.seen).toEqual([]);
    expect((await gateway.fetch(await read(AUDIT), { body: AUDIT.body })).status).toBe(200);
    expect((await gateway.fetch(await read({ ...AUDIT, method: 'PUT' }))).status).toBe(405);
  });

  it('neither reads nor cancels the rest of a body that is too large', async () => {
    await using gateway = createGateway({ upstream: UPSTREAM });
    let [sent, cancelled] = [0, false];
    const body = new ReadableStream({
      pull: (controller) => {
        sent += 1;
        controller.enqueue(Buffer.alloc(30_000, ' '));
      },
      cancel: () => {
        cancelled = true;
      },
    });
    const init = { ...AUDIT, body, duplex: 'half' };
    const { status } = await gateway.fetch(new Request('http://keytrail.test/graphql', init));
    expect(status).toBe(413);
    expect(sent).toBeLessThan(6);
    expect(cancelled).toBe(false);
  });

  it.each<[string, Partial<GatewayOptions>, (address: string) => object]>([
    ['`remoteAddress`', {}, (remoteAddress) => ({ remoteAddress })],
    [
      'X-Forwarded-For of a trusted proxy',
      { trustedProxies: 1 },
      (address) => ({ headers: { 'x-forwarded-for': `forged, ${address}` } }),
    ],
  ])('limits the logins of an address that it has from %s', async (_, options, from) => {
    await using service = await startService({ body: { access_token: 'a' } });
    const upstream = { url: service.url };
    await using gateway = createGateway({ upstream, loginRateLimit: 1, ...options });
    const login = async (clientId: string, address: string) => {
      const { method, headers, body } = post(
        `mutation { login(clientId: "${clientId}", credential: {clientSecret: "s"}) { accessToken } }`,
      );
      const init: RequestInit = from(address);
      const request = { method, body, headers: { ...headers, ...Object(init.headers) } };
      const response = await gateway.fetch('http://k/graphql', { ...init, ...request });
      const { errors } = Object(await response.json());
      return errors?.[0].extensions.code;
    };
    expect(await login('a', '192.0.2.1')).toBeUndefined();
    expect(await login('b', '192.0.2.1')).toBeUndefined();
    expect(await login('c', '192.0.2.1')).toBeUndefined();
    expect(await login('d', '192.0.2.1')).toBe('RATE_LIMITED');
    expect(await login('d', '192.0.2.2')).toBeUndefined();
    expect(service.seen).toHaveLength(4);
  });

  it('allows ten logins of a client a minute by default', async () => {
    await using service = await startService({ body: { access_token: 'a' } });
    const mutation =
      'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { accessToken } }';
    const login = { ...post(mutation), remoteAddress: '192.0.2.1' };
    for (const [loginRateLimit, sent] of [
      [undefined, 10],
      [2, 2],
      [0, 12],
    ] as const) {
      const before = service.seen.length;
      await using gateway = createGateway({ upstream: { url: service.url }, loginRateLimit });
      for (let count = 0; count < 12; count += 1) await gateway.fetch('http://k/graphql', login);
      expect(service.seen.length - before).toBe(sent);
    }
  });

  it('has a request listener for a Node server', async () => {
    await using service = await startService({ body: [] });
    await using gateway = createGateway({ upstream: { url: service.url } });
    await using server = createServer(gateway.handle);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = Object(server.address());
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, AUDIT);
    expect(await response.json()).toEqual({ data: { audit: { totalCount: 0 } } });
    server.closeAllConnections();
  });

  it('handles a request whose body was already read, as by `express.raw()`', async () => {
    await using service = await startService({ body: [] });
    await using gateway = createGateway({ upstream: { url: service.url } });
    await using server = createServer(async (request, response) => {
      const body = await buffer(request);
      await gateway.handle(Object.assign(request, { body }), response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = Object(server.address());
    const signal = AbortSignal.timeout(5000);
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, { ...AUDIT, signal });
    expect(await response.json()).toEqual({ data: { audit: { totalCount: 0 } } });
    server.closeAllConnections();
  });

  it('has no introspection and no playground by default', async () => {
    const introspect = post('{ __schema { queryType { name } } }');
    const page = { headers: { accept: 'text/html' } };
    for (const isOpen of [false, true]) {
      await using gateway = createGateway({
        upstream: UPSTREAM,
        ...(isOpen && { introspection: true, playground: true }),
      });
      const schema = await (await gateway.fetch('http://k/graphql', introspect)).json();
      expect('data' in schema).toBe(isOpen);
      const { status } = await gateway.fetch('http://k/graphql', page);
      expect(status === 200).toBe(isOpen);
    }
  });

  it('writes requests and contract drift to its log, and no secret', async () => {
    await using service = await startService({ body: [{ id: 1 }] });
    const written: string[] = [];
    const write = (record: object, message: string) =>
      void written.push(JSON.stringify({ ...record, message }));
    const log = { info: write, warn: write, error: write };
    const contract = { audit: { event: { id: '/Ref' } } };
    await using gateway = createGateway({ upstream: { url: service.url }, contract, log });
    await gateway.fetch('http://k/graphql', post('{ audit { nodes { id } } }', CANARY));
    expect(written.map((line) => JSON.parse(line).message)).toEqual([
      'contract entries matched nothing in a response',
      'request',
    ]);
    expect(written.join()).not.toContain('c4n4ry');
  });

  const CANARY = { authorization: 'Bearer c4n4ry' };
});

describe('a fetch that is aborted', () => {
  const DELETE = post('mutation { deleteApiKey(clientId: "k") { outcome } }', {
    authorization: 'Bearer t',
  });

  it('sends nothing if it was aborted before', async () => {
    await using service = await startService({ status: 204 });
    await using gateway = createGateway({ upstream: { url: service.url } });
    const signal = AbortSignal.abort(new Error('aborted'));
    await expect(gateway.fetch('http://k/graphql', { ...DELETE, signal })).rejects.toThrow(
      'aborted',
    );
    expect(service.seen).toHaveLength(0);
  });

  it.each([AUDIT, DELETE])(
    'rejects with its reason, which is not logged as a bug',
    async (request) => {
      const aborting = new AbortController();
      await using service = await startService(async () => {
        aborting.abort(new Error('aborted'));
        return { status: 204 };
      });
      const bugs: string[] = [];
      const log = {
        info: () => {},
        warn: () => {},
        error: (_: object, text: string) => void bugs.push(text),
      };
      await using gateway = createGateway({ upstream: { url: service.url }, log });
      const response = gateway.fetch('http://k/graphql', { ...request, signal: aborting.signal });
      await expect(response).rejects.toThrow('aborted');
      expect(bugs).toEqual([]);
    },
  );
});

describe('a log that fails', () => {
  const fail = () => {
    throw new Error('the disk is full');
  };
  it.each([
    ['by throwing', fail],
    ['by rejecting', async () => fail()],
  ])('%s does not make a request fail', async (_, write) => {
    await using service = await startService({ body: [] });
    const log = { info: write, warn: write, error: write };
    const gateway = createGateway({ upstream: { url: service.url }, log });
    const response = await gateway.fetch('http://k/graphql', AUDIT);
    expect(await response.json()).toEqual({ data: { audit: { totalCount: 0 } } });
    await gateway[Symbol.asyncDispose]();
    expect((await gateway.fetch('http://k/graphql', AUDIT)).status).toBe(503);
  });
});

describe('a disposed gateway', () => {
  it('responds with 503 to every request and sends nothing', async () => {
    await using service = await startService({ body: [] });
    const gateway = createGateway({ upstream: { url: service.url } });
    await using server = await onPort(gateway);
    await gateway[Symbol.asyncDispose]();
    for (const response of [
      await gateway.fetch('http://k/graphql', AUDIT),
      await gateway.fetch('http://k/health/live'),
      await fetch(`${server.url}/graphql`, AUDIT),
    ]) {
      expect(response.status).toBe(503);
      expect(response.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
      expect(await response.json()).toEqual({
        errors: [
          {
            message: 'This gateway is closed: send the request to one that is running.',
            extensions: {
              code: 'OVERLOADED',
              retryable: true,
              requestId: response.headers.get('x-request-id'),
            },
          },
        ],
      });
    }
    expect(service.seen).toHaveLength(0);
  });

  it('has finished the requests in flight', async () => {
    const requested = Promise.withResolvers<void>();
    const mayRespond = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      requested.resolve();
      await mayRespond.promise;
      return { body: [] };
    });
    const gateway = createGateway({ upstream: { url: service.url } });
    const response = gateway.fetch('http://k/graphql', AUDIT);
    await requested.promise;
    const disposed = gateway[Symbol.asyncDispose]();
    mayRespond.resolve();
    expect(await (await response).json()).toEqual({ data: { audit: { totalCount: 0 } } });
    await disposed;
    await expect.poll(() => service.sockets()).toBe(0);
  });

  it('has finished the requests that were not sent yet', async () => {
    await using service = await startService({ body: [] });
    const gateway = createGateway({ upstream: { url: service.url } });
    const response = gateway.fetch('http://k/graphql', AUDIT);
    await gateway[Symbol.asyncDispose]();
    expect(await (await response).json()).toEqual({ data: { audit: { totalCount: 0 } } });
  });

  it('does not wait for a client that never finishes its request, after abort()', async () => {
    const gateway = createGateway({ upstream: UPSTREAM });
    await using server = createServer(gateway.handle);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const arrived = new Promise((resolve) => server.once('request', resolve));
    const socket = connect(Object(server.address()).port, '127.0.0.1');
    const head = 'host: k\r\ncontent-type: application/json\r\ncontent-length: 100';
    socket.write(`POST /graphql HTTP/1.1\r\n${head}\r\n\r\n{`);
    await arrived;
    gateway.abort();
    await gateway[Symbol.asyncDispose]();
    socket.destroy();
    server.closeAllConnections();
  });

  it('may be disposed twice', async () => {
    const gateway = createGateway({ upstream: UPSTREAM });
    await gateway[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
  });
});
