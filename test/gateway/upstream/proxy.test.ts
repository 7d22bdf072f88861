import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import {
  ask,
  codeOf,
  gatewayOver,
  type Overrides,
  type TestGateway,
} from '../../helpers/gateway.ts';
import { keytrailInProcess, startKeytrail } from '../../helpers/process.ts';
import { startProxy } from '../../helpers/proxy.ts';
import { startService } from '../../helpers/service.ts';

const file = (name: string) =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url));
const pem = (name: string) => readFileSync(file(name), 'utf8');

/** A name that nothing resolves: only a proxy that knows the port leads to the service. */
const URL_OF_SERVICE = 'https://service.example/prefix';

type Seen = Readonly<Record<'method' | 'url' | 'authorization' | 'certificate' | 'more', unknown>>;

/** A service over TLS that calls itself service.example, on a loopback port. Its certificate is its own authority. */
async function startTlsService(options: ServerOptions = {}) {
  const seen: Seen[] = [];
  const server = createServer(
    { key: pem('named-service-key'), cert: pem('named-service'), ...options },
    ({ method, url, headers, socket }, response) => {
      const { authorization, 'proxy-authorization': more } = headers;
      const certificate = (socket as TLSSocket).getPeerCertificate().subject?.CN; // it is a server over TLS
      seen.push({ method, url, authorization, certificate, more });
      const isLogin = url?.endsWith('/login');
      response.end(isLogin ? '{"access_token": "a"}' : '[{"id": "1"}]');
    },
  );
  let connections = 0;
  server.on('secureConnection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: Object(server.address()).port,
    seen,
    connections: () => connections,
    closeConnections: () => server.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const through = (
  httpsProxy: string,
  { upstream, ...rest }: Overrides = {},
  url = URL_OF_SERVICE,
): TestGateway =>
  gatewayOver(url, {
    ...rest,
    upstream: { httpsProxy, tls: { ca: pem('named-service') }, ...upstream },
  });

const SECRET = { clientId: 'k', credential: { clientSecret: 's' } };

describe('a service with https behind HTTPS_PROXY', () => {
  it('gets every call through a tunnel: the proxy sees its name and port, and nothing of the call', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    await using gateway = through(proxy.url);
    const read = await ask(gateway, AuditDocument, {}, { token: 'abc' });
    expect(read.data?.audit?.nodes).toMatchObject([{ id: '1' }]);
    const login = await ask(gateway, LoginDocument, SECRET);
    expect(login.data?.login?.accessToken).toBe('a');
    const deletion = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 'abc' });
    expect(deletion.errors).toBeUndefined();
    expect(service.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /prefix/api/v1/audit',
      'POST /prefix/api/v1/auth/login',
      'DELETE /prefix/api/v1/secrets/k',
    ]);
    expect(service.seen[0]?.authorization).toBe('Bearer abc');
    expect(proxy.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'CONNECT service.example:443',
      'CONNECT service.example:443', // the connections for logins are others
    ]);
    for (const { headers } of proxy.seen)
      expect(Object.keys(headers).sort()).toEqual(['connection', 'host', 'proxy-connection']);
  });

  it('shares a bounded number of tunnels among concurrent calls, and gets a new one when they are closed', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    await using gateway = through(proxy.url, { upstream: { connections: 3 } });
    const readAll = async () => {
      const reads = Array.from({ length: 20 }, (_, index) =>
        ask(gateway, AuditDocument, {}, { token: `t${index}` }),
      );
      for (const { errors } of await Promise.all(reads)) expect(errors).toBeUndefined();
    };
    await readAll();
    await readAll();
    expect(service.connections()).toBeLessThanOrEqual(3);
    expect(proxy.seen).toHaveLength(service.connections());
    service.closeConnections();
    await readAll();
    expect(service.seen.length).toBeGreaterThanOrEqual(60);
    expect(service.connections()).toBeLessThanOrEqual(6);
  });

  it('gets tokens through the tunnel only, also beside an instrumentation of undici', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    await using gateway = through(proxy.url, { upstream: { connections: 2 } });
    const observe = () => {};
    subscribe('undici:request:create', observe);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    try {
      for (let round = 0; round < 3; round += 1) {
        const reads = Array.from({ length: 8 }, () =>
          ask(gateway, AuditDocument, {}, { token: 'canary' }),
        );
        for (const { errors } of await Promise.all(reads)) expect(errors).toBeUndefined();
        service.closeConnections();
      }
    } finally {
      unsubscribe('undici:request:create', observe);
      context.disable();
    }
    expect(new Set(service.seen.map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer canary']),
    );
    expect(proxy.seen.length).toBeGreaterThan(2);
    expect(JSON.stringify(proxy.seen)).not.toContain('canary');
  });

  it('does not get the credentials of the proxy, which gets them with each tunnel', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    await using gateway = through(proxy.url.replace('//', '//us%40er:p%3Aw@'));
    await ask(gateway, AuditDocument, {}, { token: 't' });
    const expected = `Basic ${Buffer.from('us@er:p:w').toString('base64')}`;
    expect(proxy.seen.map(({ headers }) => headers['proxy-authorization'])).toEqual([expected]);
    expect(service.seen.map(({ more }) => more)).toEqual([undefined]);
  });

  it.each([[403], [407], [502], [503], ['reset']] as const)(
    'received nothing if the proxy refuses the tunnel (%s): a login and a deletion may be repeated',
    async (refusal) => {
      await using service = await startTlsService();
      await using proxy = await startProxy({
        ports: { 'service.example:443': service.port },
        refuse: () => refusal,
      });
      await using gateway = through(proxy.url);
      const results = [
        await ask(gateway, LoginDocument, SECRET),
        await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' }),
        await ask(gateway, AuditDocument, {}, { token: 't' }),
      ];
      for (const { errors } of results) {
        expect(errors?.[0]?.message).toMatch(/^The proxy did not connect .* nothing was sent/);
        expect(errors?.[0]?.extensions).toMatchObject({
          code: 'UPSTREAM_UNAVAILABLE',
          retryable: true,
        });
      }
      expect(service.connections()).toBe(0);
      expect(proxy.seen).toHaveLength(6); // each is retried once, as after a refused connection
      const cause = refusal === 'reset' ? 'UND_ERR_PRX_CONN' : `PROXY_${refusal}`;
      expect(gateway.logged.map((line) => JSON.parse(line).cause)).toEqual(Array(3).fill(cause));
    },
  );

  it('gets the retry of a deletion if the proxy refused only the first tunnel', async () => {
    await using service = await startTlsService();
    const refusals = [503];
    await using proxy = await startProxy({
      ports: { 'service.example:443': service.port },
      refuse: () => refusals.shift(),
    });
    await using gateway = through(proxy.url);
    const { data } = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(data?.deleteApiKey?.apiKey).toMatchObject({ clientId: 'k' });
    expect(service.seen.map(({ method }) => method)).toEqual(['DELETE']);
  });

  it('received nothing if the proxy is not reachable, or does not respond in time', async () => {
    await using silent = await startProxy({ ports: {}, refuse: () => 'silent' });
    const closed = createTcpServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = Object(closed.address());
    closed.close();
    await once(closed, 'close');
    for (const [url, code] of [
      [`http://127.0.0.1:${port}`, 'UPSTREAM_UNAVAILABLE'],
      [silent.url, 'UPSTREAM_TIMEOUT'],
    ] as const) {
      await using gateway = through(url, { upstream: { timeoutMs: 300 } });
      const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
      expect(result.errors?.[0]?.extensions).toMatchObject({ code, retryable: true });
    }
  });

  it('must have a certificate for its own name from an authority of UPSTREAM_CA_FILE', async () => {
    await using service = await startTlsService();
    const ports = { 'service.example:443': service.port, 'other.example:443': service.port };
    await using proxy = await startProxy({ ports });
    await using unknown = through(proxy.url, { upstream: { tls: undefined } });
    await using elsewhere = through(proxy.url, {}, 'https://other.example');
    for (const gateway of [unknown, elsewhere]) {
      const result = await ask(gateway, AuditDocument, {}, { token: 't' });
      expect(codeOf(result)).toBe('UPSTREAM_UNAVAILABLE');
    }
    const causes = [unknown, elsewhere].map(({ logged: [line = ''] }) => JSON.parse(line).cause);
    expect(causes).toEqual(['DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID']);
    expect(service.seen).toEqual([]);
  });

  it('that requires a client certificate has not received a call without one', async () => {
    await using service = await startTlsService({ requestCert: true, ca: pem('ca') });
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    await using gateway = through(proxy.url);
    const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(result.errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      retryable: true,
    });
    expect(service.seen).toEqual([]);
  });
});

describe('a proxy over TLS', () => {
  const tls = { key: pem('named-proxy-key'), cert: pem('named-proxy'), ca: pem('ca') };

  it('is not trusted because of UPSTREAM_CA_FILE, which is for the service', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port }, tls });
    const ca = pem('named-service') + pem('named-proxy');
    await using gateway = through(proxy.url, { upstream: { tls: { ca } } });
    const result = await ask(gateway, AuditDocument, {}, { token: 't' });
    expect(codeOf(result)).toBe('UPSTREAM_UNAVAILABLE');
    expect(JSON.parse(gateway.logged[0] ?? '').cause).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect([...proxy.seen, ...service.seen]).toEqual([]);
  });

  it('that Node trusts gets no client certificate: it is for the service', async () => {
    await using service = await startTlsService({ requestCert: true, ca: pem('ca') });
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port }, tls });
    await using process = startKeytrail([], {
      PORT: '0',
      NODE_EXTRA_CA_CERTS: file('named-proxy'),
      UPSTREAM_URL: URL_OF_SERVICE,
      UPSTREAM_CA_FILE: file('named-service'),
      UPSTREAM_CERT_FILE: file('client'),
      UPSTREAM_KEY_FILE: file('client-key'),
      HTTPS_PROXY: proxy.url,
    });
    const [, url = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: '{"query": "{ audit { totalCount } }"}',
    });
    expect(service.seen.map(({ certificate }) => certificate)).toEqual(['client']);
    expect(proxy.seen.map(({ certificate }) => certificate)).toEqual([undefined]);
  });
});

describe('a service with http behind HTTP_PROXY', () => {
  const SERVICE = 'http://service.example/prefix';
  const plain = (httpProxy: string, { upstream, ...rest }: Overrides = {}, url = SERVICE) =>
    gatewayOver(url, { ...rest, upstream: { httpProxy, ...upstream } });
  const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port);

  it('gets each call from the proxy, which gets its whole URL and the credentials of the proxy', async () => {
    await using service = await startService({ body: [{ id: '1' }] });
    await using proxy = await startProxy({ ports: { 'service.example': portOf(service) } });
    await using gateway = plain(proxy.url.replace('//', '//user:pw@'));
    const { data } = await ask(gateway, AuditDocument, {}, { token: 'abc' });
    expect(data?.audit?.nodes).toMatchObject([{ id: '1' }]);
    await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 'abc' });
    expect(proxy.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      `GET ${SERVICE}/api/v1/audit`,
      `DELETE ${SERVICE}/api/v1/secrets/k`,
    ]);
    for (const { headers } of proxy.seen) expect(headers['proxy-authorization']).toMatch(/^Basic /);
    expect(service.seen.map(({ url }) => url)).toEqual([
      '/prefix/api/v1/audit',
      '/prefix/api/v1/secrets/k',
    ]);
    expect(service.seen[0]?.headers).toMatchObject({
      host: 'service.example',
      authorization: 'Bearer abc',
    });
  });

  it('received nothing if the proxy requires other credentials (407)', async () => {
    await using service = await startService({ body: {} });
    const ports = { 'service.example': portOf(service) };
    await using proxy = await startProxy({ ports, refuse: () => 407 });
    await using gateway = plain(proxy.url);
    for (const result of [
      await ask(gateway, LoginDocument, SECRET),
      await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' }),
    ])
      expect(result.errors?.[0]?.extensions).toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        retryable: true,
      });
    expect(gateway.logged.map((line) => JSON.parse(line).cause)).toEqual(
      Array(2).fill('PROXY_407'),
    );
    expect(service.seen).toEqual([]);
  });

  it('may have received a login or a deletion whose connection to the proxy was lost', async () => {
    await using proxy = await startProxy({ ports: {}, refuse: () => 'reset' });
    await using gateway = plain(proxy.url);
    const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(codeOf(result)).toBe('OUTCOME_UNKNOWN');
    expect(proxy.seen).toHaveLength(1);
  });

  it('gets calls on as many connections as without a proxy', async () => {
    await using service = await startService({ body: [] });
    await using proxy = await startProxy({ ports: { 'service.example': portOf(service) } });
    await using gateway = plain(proxy.url, { upstream: { connections: 2 } });
    const reads = Array.from({ length: 12 }, () => ask(gateway, AuditDocument, {}, { token: 't' }));
    for (const { errors } of await Promise.all(reads)) expect(errors).toBeUndefined();
    expect(proxy.connections()).toBeLessThanOrEqual(2);
  });
});

describe('no proxy is used', () => {
  it.each(['localhost', '127.0.0.1', '127.1.2.3'])('for loopback: %s', async (host) => {
    await using service = await startService({ body: [] }, 0, host);
    await using proxy = await startProxy({ ports: {} });
    const upstream = { httpsProxy: proxy.url, httpProxy: proxy.url };
    await using gateway = gatewayOver(service.url, { upstream });
    expect((await ask(gateway, AuditDocument, {}, { token: 't' })).errors).toBeUndefined();
    expect([proxy.seen.length, service.seen.length]).toEqual([0, 1]);
  });

  // Linux connects to 0.0.0.0 as to loopback, for which a proxy would never be used.
  it.each([
    ['0.0.0.0', true],
    ['a.example, 0.0.0.0', true],
    ['*', true],
    ['0.0.0.0:PORT', true],
    ['0.0.0.0:1', false],
    ['a.example', false],
    ['', false],
  ])('for the hosts of NO_PROXY: %j is %s', async (list, isDirect) => {
    await using service = await startService({ body: [] });
    const port = Number(new URL(service.url).port);
    await using proxy = await startProxy({ ports: { [`0.0.0.0:${port}`]: port } });
    const upstream = { httpProxy: proxy.url, noProxy: list.replace('PORT', String(port)) };
    await using gateway = gatewayOver(`http://0.0.0.0:${port}`, { upstream });
    expect((await ask(gateway, AuditDocument, {}, { token: 't' })).errors).toBeUndefined();
    expect([proxy.seen.length, service.seen.length]).toEqual([isDirect ? 0 : 1, 1]);
  });

  it('for a service with http if only HTTPS_PROXY is set', async () => {
    await using service = await startService({ body: [] });
    await using proxy = await startProxy({ ports: {} });
    const url = service.url.replace('127.0.0.1', '0.0.0.0');
    await using gateway = gatewayOver(url, { upstream: { httpsProxy: proxy.url } });
    expect((await ask(gateway, AuditDocument, {}, { token: 't' })).errors).toBeUndefined();
    expect(proxy.seen).toEqual([]);
  });
});

describe('the settings of a proxy', () => {
  const settings = { UPSTREAM_URL: URL_OF_SERVICE, UPSTREAM_CA_FILE: file('named-service') };

  it.each(['HTTPS_PROXY', 'https_proxy', '--https-proxy'])(
    'are read from %s, by each command that calls the service, and no output has the credentials',
    async (name) => {
      await using service = await startTlsService();
      await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
      const url = proxy.url.replace('//', '//canary-user:canary-password@');
      const [args, environment] = name.startsWith('--')
        ? [[name, url], settings]
        : [[], { ...settings, [name]: url }];
      await using serve = keytrailInProcess(args, {
        ...environment,
        PORT: '0',
        LOG_LEVEL: 'trace',
      });
      const [, at = ''] = await serve.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
      const response = await fetch(at, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: '{"query": "{ audit { nodes { id } } }"}',
      });
      expect(await response.json()).toEqual({ data: { audit: { nodes: [{ id: '1' }] } } });
      const learnt = { ...environment, KEYTRAIL_TOKEN: 't' };
      await using learn = keytrailInProcess(['learn', ...args], learnt);
      await learn.status;
      const record = ['record', '--to', '/dev/stdout', ...args];
      await using recorded = keytrailInProcess(record, learnt);
      await recorded.status;
      expect(service.seen).toHaveLength(3);
      expect(proxy.seen).toHaveLength(3);
      for (const { output } of [serve, learn, recorded])
        expect(output.stdout + output.stderr).not.toContain('canary');
    },
  );

  it('in lower case take precedence, as undici and curl have it', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    await using learn = keytrailInProcess(['learn'], {
      ...settings,
      ...{ HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: proxy.url, KEYTRAIL_TOKEN: 't' },
    });
    await learn.status;
    expect(service.seen).toHaveLength(1);
  });

  const SOCKS = ['socks', 'socks4', 'socks4a', 'socks5', 'socks5h'].map((scheme) => [
    'HTTPS_PROXY',
    `${scheme}://canary@proxy.example:1080`,
  ]);

  it.each([
    ...SOCKS,
    ['https_proxy', 'ftp://canary@proxy.example'],
    ['HTTPS_PROXY', 'canary proxy.example'],
    ['HTTPS_PROXY', '"canary.example"'],
    ['HTTPS_PROXY', 'https://canary@192.0.2.1'],
    ['HTTP_PROXY', 'http://canary@proxy.example/path'],
    ['http_proxy', 'http://canary:%zz@proxy.example'],
    ['HTTP_PROXY', 'http://proxy.example?canary'],
  ])('are checked if the proxy is used: %s=%s', async (name = '', value = '') => {
    const environment = {
      UPSTREAM_URL: `${name.toLowerCase().replace('_proxy', '')}://service.example`,
      ...{ UPSTREAM_ALLOW_HTTP: 'on', [name]: value },
    };
    await using serve = keytrailInProcess([], environment);
    expect(await serve.status).toBe(2);
    const { stderr } = serve.output;
    expect(stderr).toContain(`  - ${name} must be an http or https URL of a proxy`);
    expect(stderr).toContain('A SOCKS proxy cannot be used: set an HTTP proxy, or list the host');
    expect(stderr).not.toContain('canary');
  });

  const UNUSABLE = ['socks5h://proxy.corp:1080', 'ftp://proxy.corp', 'not a URL', 'http://a/path'];
  const unusable = (value: string) => ({ HTTPS_PROXY: value, http_proxy: value });

  it.each(UNUSABLE)('are not read by the sandbox: %s', async (value) => {
    const environment = { PORT: '0', ...unusable(value), NO_PROXY: '<local>' };
    await using serve = keytrailInProcess([], environment);
    await serve.until(/GraphQL +http/);
    await using sandbox = keytrailInProcess(['sandbox'], environment);
    await sandbox.until(/http:/);
  });

  it.each([
    ['loopback', 'http://127.0.0.1:PORT', {}],
    ['a host of NO_PROXY', 'http://0.0.0.0:PORT', { NO_PROXY: 'other.example,0.0.0.0' }],
    ['a host of no_proxy', 'http://0.0.0.0:PORT', { no_proxy: '*' }],
    ['http, if only HTTPS_PROXY is set', 'http://0.0.0.0:PORT', { http_proxy: '' }],
  ])('are not read for %s', async (_, at, others) => {
    await using service = await startService({ body: [{ id: '1' }] });
    const url = at.replace('PORT', new URL(service.url).port);
    for (const value of UNUSABLE) {
      const environment = { ...unusable(value), ...others, UPSTREAM_ALLOW_HTTP: 'on' };
      for (const [command, more] of [
        [['audit'], { UPSTREAM_URL: url }],
        [['learn'], { UPSTREAM_URL: url }],
        [['audit', '--gateway', url], {}],
      ] as const) {
        const own = { ...environment, ...more, KEYTRAIL_TOKEN: 't' };
        await using process = keytrailInProcess(command, own);
        await process.status;
        expect(process.output.stderr).not.toContain('_PROXY');
      }
    }
    expect(service.seen).toHaveLength(3 * UNUSABLE.length);
  });

  it.each(['', 'HTTP://'])('may have no scheme, or one in any case: %j', async (scheme) => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    const value = `${scheme}user:canary@${new URL(proxy.url).host}`;
    await using learn = keytrailInProcess(['learn'], {
      ...settings,
      ...{ HTTPS_PROXY: value, KEYTRAIL_TOKEN: 't' },
    });
    await learn.status;
    expect(service.seen).toHaveLength(1);
    expect(proxy.seen[0]?.headers['proxy-authorization']).toMatch(/^Basic /);
    expect(learn.output.stderr).not.toContain('canary');
    await using gateway = through(value);
    expect((await ask(gateway, AuditDocument, {}, { token: 't' })).errors).toBeUndefined();
  });
});

describe('a running gateway', () => {
  const GATEWAY = 'http://gateway.example/graphql';
  const EVENT = { id: 'e1', occurredAt: null, action: 'a', outcome: null, raw: {} };
  const PAGE = { nodes: [EVENT], pageInfo: { hasNextPage: false, endCursor: 'c' } };
  const BATCH = { ...{ nodes: [EVENT], checkpoint: 'c', previous: null }, missed: false };
  const DELETED = { outcome: 'DELETED', status: 200, apiKey: { clientId: 'k' } };

  const startGateway = () =>
    startService(({ body, url }, response) => {
      if (url !== '/graphql') return { status: 404 };
      if (body.includes('mutation')) return { body: { data: { deleteApiKey: DELETED } } };
      if (!body.includes('auditEvents')) return { body: { data: { audit: PAGE } } };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const data = { auditEvents: { ...BATCH, hasMore: false } };
      response.end(`event: next\ndata: ${JSON.stringify({ data })}\n\n`);
      return undefined;
    });
  const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port);
  const environment = { UPSTREAM_ALLOW_HTTP: 'on', KEYTRAIL_TOKEN: 'token' };

  it.each(['HTTP_PROXY', 'http_proxy', '--http-proxy'])(
    'gets the requests of the commands through the proxy of %s',
    async (name) => {
      await using gateway = await startGateway();
      await using proxy = await startProxy({ ports: { 'gateway.example': portOf(gateway) } });
      const url = proxy.url.replace('//', '//canary-user:canary-password@');
      const isOption = name.startsWith('--');
      for (const command of [
        ['audit'],
        ['audit', '--checkpoint', '/dev/null'],
        ['delete-key', '--yes', 'k'],
      ]) {
        const args = [...command, '--gateway', GATEWAY, ...(isOption ? [name, url] : [])];
        await using process = keytrailInProcess(args, {
          ...environment,
          ...(!isOption && { [name]: url }),
        });
        await process.status;
        expect(process.output.stdout).toMatch(/e1|DELETED/);
        expect(process.output.stdout + process.output.stderr).not.toContain('canary');
      }
      expect(proxy.seen.length).toBeGreaterThan(2);
      expect(gateway.seen).toHaveLength(proxy.seen.length);
      expect(new Set(proxy.seen.map(({ method, target }) => `${method} ${target}`))).toEqual(
        new Set([`POST ${GATEWAY}`]),
      );
      for (const { headers } of gateway.seen) expect(headers.authorization).toBe('Bearer token');
    },
  );

  it('with https gets them through a tunnel, and the proxy sees no token', async () => {
    await using service = await startTlsService();
    await using proxy = await startProxy({ ports: { 'service.example:443': service.port } });
    const args = ['audit', '--gateway', 'https://service.example'];
    await using process = startKeytrail(args, {
      ...{ HTTPS_PROXY: new URL(proxy.url).host, KEYTRAIL_TOKEN: 'canary' },
      NODE_EXTRA_CA_CERTS: file('named-service'),
    });
    expect(await process.status).toBe(3); // it is no gateway
    expect(process.output.stderr).toContain('The response is not GraphQL (HTTP 200)');
    expect(service.seen).toMatchObject([{ url: '/graphql', authorization: 'Bearer canary' }]);
    expect(proxy.seen.map(({ target }) => target)).toEqual(['service.example:443']);
    expect(JSON.stringify(proxy.seen)).not.toContain('canary');
  });

  it.each([
    ['loopback', 'http://127.0.0.1:PORT', ''],
    ['a host of NO_PROXY', 'http://0.0.0.0:PORT', '0.0.0.0:PORT'],
  ])('gets them without a proxy: %s', async (_, at, list) => {
    await using gateway = await startGateway();
    await using proxy = await startProxy({ ports: {} });
    const port = String(portOf(gateway));
    await using process = keytrailInProcess(['audit', '--gateway', at.replace('PORT', port)], {
      ...environment,
      ...{ HTTP_PROXY: proxy.url, NO_PROXY: list.replace('PORT', port) },
    });
    expect(await process.status).toBe(0);
    expect([proxy.seen.length, gateway.seen.length]).toEqual([0, 1]);
  });

  it('is not asked if its proxy cannot be used: the problem says what to do, and nothing is sent', async () => {
    await using process = keytrailInProcess(['audit', '--gateway', GATEWAY], {
      ...environment,
      HTTP_PROXY: 'socks5h://canary.example:1080',
    });
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toContain('list the host in NO_PROXY');
    expect(process.output.stderr).not.toContain('canary');
  });

  it.each([[403], [407], [502], ['reset']] as const)(
    'with https has received nothing if the proxy refuses (%s): a deletion may be repeated',
    async (refusal) => {
      await using proxy = await startProxy({ ports: {}, refuse: () => refusal });
      const own = { ...environment, HTTPS_PROXY: proxy.url };
      const gateway = ['--gateway', 'https://gateway.example'];
      await using audit = keytrailInProcess(['audit', ...gateway], own);
      expect(await audit.status).toBe(3);
      expect(audit.output.stderr.replaceAll(/\n +/g, ' ')).toMatch(
        /The gateway could not be reached through the proxy \((?:PROXY_\d+|UND_ERR_PRX_\w+)\): check --gateway, HTTPS_PROXY, HTTP_PROXY and NO_PROXY\./,
      );
      await using deletion = keytrailInProcess(['delete-key', '--yes', 'k', ...gateway], own);
      await deletion.status;
      const { stdout, stderr } = deletion.output;
      expect(stdout + stderr).not.toContain('OUTCOME_UNKNOWN');
    },
  );

  it('with http has received nothing if the proxy requires other credentials (407)', async () => {
    await using gateway = await startGateway();
    const ports = { 'gateway.example': portOf(gateway) };
    await using proxy = await startProxy({ ports, refuse: () => 407 });
    const own = { ...environment, HTTP_PROXY: proxy.url };
    await using process = keytrailInProcess(['audit', '--gateway', GATEWAY], own);
    expect(await process.status).toBe(3);
    expect(process.output.stderr).toContain('PROXY_407');
    expect(gateway.seen).toEqual([]);
  });
});
