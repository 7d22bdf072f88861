import { spawn } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { fileTokens } from '../../src/client/file-tokens.ts';
import { createGateway } from '../../src/gateway/api/create-gateway.ts';
import { parseTime } from '../../src/gateway/mapping/time.ts';
import { ask, gatewayOver, onPort, post } from '../helpers/gateway.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { startRawService } from '../helpers/raw-socket.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';
import { holdPauses, requestEvents, subscribe } from '../helpers/subscribe.ts';

const AUDIT = '{ audit(first: 100) { nodes { action raw } } }';
const DELETE = 'mutation { deleteApiKey(clientId: "k") { outcome } }';
const LOGIN = 'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { accessToken } }';
const RECORDS = [{ id: '1', action: 'key.delete', occurred_at: '2026-11-20T10:00:00Z' }];

type Trail = {
  readonly audit?: {
    readonly nodes: readonly { readonly action: string | null; readonly raw: unknown }[];
  };
};

/** The result of an operation, when the service has one response to everything. */
async function resultOf(response: ServiceResponse, query = AUDIT) {
  await using service = await startService(response);
  await using gateway = gatewayOver(service.url);
  const result = await ask<Trail, undefined>(gateway, query, undefined, { token: 't' });
  return { ...result, extensions: result.errors?.[0]?.extensions, sent: service.seen.length };
}

describe('T1: every call names its client', () => {
  const NAME = `keytrail/${manifest.version}`;

  it.each([
    ['a read', AUDIT],
    ['a deletion', DELETE],
    ['a login', LOGIN],
  ])(
    '%s has the user agent of the caller, and that of this version if it is off',
    async (_, query) => {
      await using service = await startService({ body: [] });
      await using gateway = gatewayOver(service.url);
      await using silent = gatewayOver(service.url, { forwardClient: false });
      const headers = { 'user-agent': 'curl/8' };
      for (const each of [gateway, silent])
        await ask(each, query, undefined, { token: 't', headers });
      expect(service.seen.map((seen) => seen.headers['user-agent'])).toEqual(['curl/8', NAME]);
    },
  );

  it('so has each poll of a subscription, a gateway in a program, and the command', async () => {
    await using service = await startService({ body: { events: RECORDS } });
    await using gateway = createGateway({ upstream: { url: service.url } });
    await using subscription = await subscribe(gateway);
    await subscription.next();
    await using command = keytrailInProcess(['learn'], {
      UPSTREAM_URL: service.url,
      KEYTRAIL_TOKEN: 't',
    });
    expect(await command.status).toBe(0);
    const agents = service.seen.map((seen) => seen.headers['user-agent']);
    expect(agents.length).toBeGreaterThan(1);
    expect(new Set(agents)).toEqual(new Set([NAME]));
  });

  it('a firewall that rejects calls without a user agent lets them pass', async () => {
    await using service = await startService(({ headers }) =>
      headers['user-agent'] ? { body: { events: RECORDS } } : { status: 403 },
    );
    await using gateway = gatewayOver(service.url);
    const { data } = await ask<Trail, undefined>(gateway, AUDIT, undefined, { token: 't' });
    expect(data?.audit?.nodes).toHaveLength(1);
  });
});

type Address = { readonly address: string; readonly family: number };

/** Resolves hosts as a name server would. */
function resolveHosts(hosts: Readonly<Record<string, readonly Address[]>>) {
  vi.spyOn(dns, 'lookup').mockImplementation(
    // The overloads of `lookup` cannot be implemented by one function.
    ((host: string, _options: object, done: (error: null, found: unknown) => void) =>
      done(null, hosts[host])) as unknown as typeof dns.lookup,
  );
}

/** A service that is stopped while its queue of connections is full: its host drops what others send, as one that is far away or dead does. */
async function startStopped() {
  const script = `require('node:http').createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end('[]');
  }).listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    process.stdout.write(String(this.address().port));
  })`;
  const child = spawn(process.execPath, ['-e', script]);
  const [printed] = await once(child.stdout, 'data');
  const port = Number(printed);
  child.kill('SIGSTOP');
  const sockets: ReturnType<typeof connect>[] = [];
  for (let isConnected = true; isConnected; ) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    isConnected = await Promise.race([
      once(socket, 'connect').then(() => true),
      sleep(100).then(() => false),
    ]);
  }
  return {
    port,
    resume: () => void child.kill('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

const V4 = { address: '127.0.0.1', family: 4 };
const OTHER_V4 = { address: '127.0.0.2', family: 4 };
const V6 = { address: '::1', family: 6 };

describe('T2: each address of the service gets a quarter of UPSTREAM_TIMEOUT_MS', () => {
  afterEach(() => void vi.restoreAllMocks());
  const COUNT = '{ audit { totalCount } }';
  const COUNTED = { audit: { totalCount: 0 } };

  it('a far address is connected to, whatever is before or after it', async () => {
    const hosts = {
      'before-an-unreachable-family.test': [V4, V6],
      'after-an-unreachable-family.test': [V6, V4, OTHER_V4],
      'before-a-dead-one.test': [V4, OTHER_V4],
    };
    resolveHosts(hosts);
    await using far = await startStopped();
    const results = Object.keys(hosts).map(async (host) => {
      const upstream = { timeoutMs: 20_000 };
      await using gateway = gatewayOver(`http://${host}:${far.port}`, { upstream });
      return (await ask(gateway, COUNT, undefined, { token: 't' })).data;
    });
    await sleep(600);
    far.resume(); // the system repeats its SYN after a second
    expect(await Promise.all(results)).toEqual([COUNTED, COUNTED, COUNTED]);
  });

  it('a dead first address leaves time for the next ones', async () => {
    const hosts = {
      'same-family.test': [V4, OTHER_V4],
      'two-families.test': [V4, V6, OTHER_V4],
      'two-dead.test': [V4, V4, OTHER_V4],
    };
    await using dead = await startStopped();
    await using service = await startService({ body: [] }, dead.port, OTHER_V4.address);
    resolveHosts(hosts);
    const results = Object.keys(hosts).map(async (host) => {
      const upstream = { timeoutMs: 2000 };
      await using gateway = gatewayOver(`http://${host}:${dead.port}`, { upstream });
      return (await ask(gateway, COUNT, undefined, { token: 't' })).data;
    });
    expect(await Promise.all(results)).toEqual([COUNTED, COUNTED, COUNTED]);
    expect(service.seen).toHaveLength(3);
  });
});

describe('T3: a 403 that is a rate limit', () => {
  const LIMITS: readonly {
    readonly name: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly seconds?: number;
  }[] = [
    { name: 'Retry-After', headers: { 'retry-after': '60' }, seconds: 60 },
    { name: 'a date', headers: { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, seconds: 0 },
    {
      name: 'GitHub',
      headers: {
        'x-ratelimit-limit': '5000',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1795168800',
      },
    },
    { name: 'both', headers: { 'x-ratelimit-remaining': '0', 'retry-after': '7' }, seconds: 7 },
    { name: 'RateLimit-Remaining', headers: { 'ratelimit-remaining': '0' } },
    { name: 'Okta', headers: { 'x-rate-limit-remaining': '0' } },
    {
      name: 'Kong',
      headers: { 'x-ratelimit-remaining-minute': '0', 'x-ratelimit-remaining-hour': '17' },
    },
    { name: 'HubSpot', headers: { 'x-hubspot-ratelimit-secondly-remaining': '0' } },
    { name: 'the IETF draft', headers: { ratelimit: '"default";r=0;t=30' } },
    { name: 'two policies', headers: { ratelimit: '"hour";r=12;t=900, "minute";r=0;t=9' } },
    { name: 'an older IETF draft', headers: { ratelimit: 'limit=100, remaining=0, reset=50' } },
  ];

  it.each(LIMITS)('is RATE_LIMITED: $name', async ({ headers, seconds }) => {
    for (const query of [AUDIT, DELETE, LOGIN]) {
      const { extensions, sent } = await resultOf({ status: 403, headers }, query);
      expect(extensions).toMatchObject({
        code: 'RATE_LIMITED',
        retryable: true,
        upstream: { status: 403 },
      });
      expect(extensions?.retryAfterSeconds).toBe(seconds);
      expect(sent).toBe(1);
    }
  });

  it.each([
    {},
    { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': '1795168800' },
    { 'x-ratelimit-limit': '0' },
    { 'x-ratelimit-remaining': '10' },
    { ratelimit: '"default";r=10;t=0' },
    { ratelimit: 'limit=100, remaining=50, reset=0' },
    { 'x-credits-remaining': '0' },
  ])('is FORBIDDEN with %j', async (headers) => {
    const { extensions } = await resultOf({ status: 403, headers });
    expect(extensions).toMatchObject({ code: 'FORBIDDEN', retryable: false });
  });

  it('does not end a stream, and a missing permission does', async () => {
    const pauses = holdPauses();
    let next: ServiceResponse = { body: { events: RECORDS } };
    await using service = await startService(() => next);
    await using gateway = gatewayOver(service.url, { pause: pauses.pause });
    await using subscription = await subscribe(gateway);
    await subscription.nextBatch();
    for (const { headers } of LIMITS) {
      next = { status: 403, headers };
      const second = subscription.next();
      await pauses.paused();
      pauses.resume();
      await pauses.paused(); // it failed, and polls again later
      next = { body: { events: [{ ...RECORDS[0], id: service.seen.length }, ...RECORDS] } };
      pauses.resume();
      expect((await second)?.errors).toBeUndefined();
    }
    next = { status: 403 };
    const last = subscription.next();
    await pauses.paused();
    pauses.resume();
    expect((await last)?.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  it('opens no circuit', async () => {
    await using service = await startService({ status: 403, headers: { 'retry-after': '9' } });
    await using gateway = gatewayOver(service.url);
    for (let time = 0; time < 30; time += 1)
      await ask(gateway, AUDIT, undefined, { token: `t${time}` });
    expect(service.seen).toHaveLength(30);
  });
});

describe('T4: headers that are too large', () => {
  const LARGE: readonly (readonly [string, string])[] = [
    ['one of 20 KB', `x-a: ${'a'.repeat(20_000)}\r\n`],
    ['many cookies', 'set-cookie: a=0123456789012345678901234567890123456789\r\n'.repeat(500)],
    ['a name', `${'x'.repeat(20_000)}: a\r\n`],
  ];
  const head = (large: string) => `HTTP/1.1 200 OK\r\n${large}content-length: 2\r\n\r\n[]`;

  it.each(LARGE)(
    'are HEADERS_TOO_LARGE, and the message does not doubt the URL: %s',
    async (_, large) => {
      await using service = await startRawService((socket) => socket.write(head(large)));
      await using gateway = gatewayOver(service.url);
      const { errors } = await ask(gateway, AUDIT, undefined, { token: 't' });
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'UPSTREAM_BAD_RESPONSE',
        reason: 'HEADERS_TOO_LARGE',
        retryable: false,
      });
      expect(errors?.[0]?.message).toContain('--max-http-header-size');
      expect(errors?.[0]?.message).not.toContain('UPSTREAM_URL');
      expect(service.requests()).toBe(1);
    },
  );

  it.each([DELETE, LOGIN])('leave the outcome unknown: %s', async (query) => {
    await using service = await startRawService((socket) =>
      socket.write(head(LARGE[0]?.[1] ?? '')),
    );
    await using gateway = gatewayOver(service.url);
    const { errors } = await ask(gateway, query, undefined, { token: 't' });
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      reason: 'HEADERS_TOO_LARGE',
      retryable: false,
    });
    expect(service.requests()).toBe(1);
  });

  it('after the body are, too', async () => {
    const trailers = `0\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`;
    await using service = await startRawService((socket) =>
      socket.write(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-a\r\n\r\n2\r\n[]\r\n${trailers}`,
      ),
    );
    await using gateway = gatewayOver(service.url);
    const { errors } = await ask(gateway, AUDIT, undefined, { token: 't' });
    expect(errors?.[0]?.extensions.reason).toBe('HEADERS_TOO_LARGE');
  });

  it('open no circuit: the service works', async () => {
    await using service = await startRawService((socket) =>
      socket.write(head(LARGE[0]?.[1] ?? '')),
    );
    await using gateway = gatewayOver(service.url);
    for (let time = 0; time < 30; time += 1)
      await ask(gateway, AUDIT, undefined, { token: `t${time}` });
    expect(service.requests()).toBe(30);
  });
});

/** A response of bytes. */
async function startBytes(bytes: Buffer, headers: Readonly<Record<string, string>>) {
  return startService((_, response) => {
    response.writeHead(200, { 'content-length': bytes.length, ...headers }).end(bytes);
    return undefined;
  });
}

async function actionsOf(bytes: Buffer, headers: Readonly<Record<string, string>>) {
  await using service = await startBytes(bytes, headers);
  await using gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 22 } });
  const { data, errors } = await ask<Trail, undefined>(gateway, AUDIT, undefined, { token: 't' });
  return data?.audit?.nodes.map(({ action }) => action) ?? errors?.[0]?.extensions.reason;
}

const json = (action: string) => JSON.stringify({ events: [{ id: '1', action }] });
const [BEFORE = '', AFTER = ''] = json('|').split('|');
/** The trail with this action in any encoding in which ASCII is ASCII. */
const around = (hex: string) =>
  Buffer.concat([Buffer.from(BEFORE), Buffer.from(hex, 'hex'), Buffer.from(AFTER)]);
const swap16 = (bytes: Buffer) => Buffer.from(bytes).swap16();

describe('T5: a charset that is declared', () => {
  it.each([
    ['application/json; charset=ISO-8859-1', around('4dfc6c6c6572'), 'Müller'],
    ['application/json;charset="iso-8859-15"', around('a4'), '€'],
    ['text/json; Charset=Windows-1252', around('80'), '€'],
    ['application/json; charset=latin1; odata=minimal', around('e9'), 'é'],
    ['application/json; charset=shift_jis', around('8ded8f9c'), '削除'],
    ['application/json; charset=Shift_JIS', around('835c'), 'ソ'],
    ['application/json; charset=gbk', around('c9beb3fd'), '删除'],
    ['application/json; charset=GB18030', around('b5c7c2bc'), '登录'],
    ['application/json; charset=euc-kr', around('bbe8c1a6'), '삭제'],
    ['application/json; charset=koi8-r', around('c4c1'), 'да'],
    [
      'application/json; charset=utf-16le',
      Buffer.from(json('Müller 削除'), 'utf16le'),
      'Müller 削除',
    ],
    [
      'application/json; charset=utf-16be',
      swap16(Buffer.from(json('Müller'), 'utf16le')),
      'Müller',
    ],
    [
      'application/json; charset=utf-16',
      swap16(Buffer.from(`\ufeff${json('Müller')}`, 'utf16le')),
      'Müller',
    ],
    ['application/json', Buffer.from(`\ufeff${json('Müller')}`, 'utf16le'), 'Müller'],
    ['application/json; charset=utf-8', Buffer.from(`\ufeff${json('Müller')}`), 'Müller'],
    ['application/json; charset=iso-2022-jp', around('1b24423a6f3d7c1b2842'), '削除'],
  ])('decodes the body: %s', async (type, bytes, action) => {
    expect(await actionsOf(bytes, { 'content-type': type })).toEqual([action]);
  });

  it.each(['ISO-8859-1', 'us-ascii', 'gbk', 'utf-16', 'utf8mb4', 'x-unknown', 'UTF8', ''])(
    'as %j does not spoil a body that is UTF-8',
    async (charset) => {
      const type = `application/json; charset=${charset}`;
      expect(await actionsOf(Buffer.from(json('Müller 削除')), { 'content-type': type })).toEqual([
        'Müller 削除',
      ]);
    },
  );

  it.each(['utf-8', 'x-unknown', 'utf8mb4', 'utf-7', 'hz-gb-2312', 'gb2312x', ''])(
    'as %j that does not fit the bytes is NOT_JSON',
    async (charset) => {
      expect(
        await actionsOf(around('fc'), { 'content-type': `application/json; charset=${charset}` }),
      ).toBe('NOT_JSON');
    },
  );

  it('is decoded in a large body too, of which only the first records are needed', async () => {
    const events = Array.from({ length: 5000 }, (_, index) => ({
      id: String(index),
      action: 'schön',
      pad: 'x'.repeat(200),
    }));
    for (const [charset, bytes] of [
      ['iso-8859-1', Buffer.from(JSON.stringify({ events }), 'latin1')],
      ['utf-16le', Buffer.from(JSON.stringify({ events }), 'utf16le')],
      [
        'shift_jis',
        Buffer.from(
          JSON.stringify({ events }).replaceAll('sch\u00f6n', '\u0083[\u0083{\u0083\\'),
          'latin1',
        ),
      ],
    ] as const) {
      const actions = await actionsOf(bytes, {
        'content-type': `application/json; charset=${charset}`,
      });
      expect(actions).toEqual(Array(100).fill(charset === 'shift_jis' ? 'ゼボソ' : 'schön'));
    }
  });

  it('is decoded in a plain token', async () => {
    const type = 'text/plain; charset=utf-16le';
    await using service = await startBytes(Buffer.from('tok-1', 'utf16le'), {
      'content-type': type,
    });
    await using gateway = gatewayOver(service.url, { contract: { login: { accessToken: '' } } });
    expect((await ask(gateway, LOGIN)).data).toEqual({ login: { accessToken: 'tok-1' } });
  });

  it('property: any text in UTF-16 and, unless it looks like UTF-8, in Latin-1 comes back', async () => {
    let reply: { bytes: Buffer; type: string } = { bytes: Buffer.alloc(0), type: '' };
    await using service = await startService((_, response) => {
      response.writeHead(200, { 'content-type': reply.type }).end(reply.bytes);
      return undefined;
    });
    await using gateway = gatewayOver(service.url);
    const latin = fc.string({
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .map((code) => String.fromCharCode(code))
        .filter((c) => c < '\u0080' || c > '\u009f'),
    });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), latin, async (text, other) => {
        for (const [charset, encoding, given] of [
          ['utf-16le', 'utf16le', text],
          ['iso-8859-1', 'latin1', `ü${other}`],
        ] as const) {
          reply = {
            bytes: Buffer.from(JSON.stringify({ events: [{ id: '1', note: given }] }), encoding),
            type: `application/json; charset=${charset}`,
          };
          const { data } = await ask<Trail, undefined>(gateway, AUDIT, undefined, { token: 't' });
          expect(data?.audit?.nodes[0]?.raw).toEqual({ id: '1', note: given });
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('T5: a content encoding that is none', () => {
  it.each([
    'utf-8',
    'UTF-8',
    'utf8',
    'none',
    'None',
    'identity',
    '',
    'UTF_8',
    'iso-8859-1',
    'text',
    'json',
    'binary',
    '8bit',
    'identity, utf-8',
    'aws-chunked',
    'amz-1.0',
    'chunked',
    'gb2312',
    'application/json',
  ])('%j is taken for identity', async (encoding) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    expect(await actionsOf(Buffer.from(json('x')), headers)).toEqual(['x']);
  });

  it.each([
    'gzip',
    'br',
    'deflate',
    'x-gzip',
    'compress',
    'zstd',
    'GZIP',
    'utf-8, gzip',
    'dcb',
    'exi',
    'pack200-gzip',
    'snappy',
  ])('%j is still refused', async (encoding) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    expect(await actionsOf(Buffer.from(json('x')), headers)).toBe('CONTENT_ENCODING');
  });

  it('is taken for identity in a login and a deletion', async () => {
    const headers = { 'content-encoding': 'UTF-8' };
    const { data } = await resultOf({ headers, body: { access_token: 'a' } }, LOGIN);
    expect(data).toEqual({ login: { accessToken: 'a' } });
    expect((await resultOf({ headers, body: {} }, DELETE)).errors).toBeUndefined();
  });
});

describe('T7: members of a request that Keytrail does not know', () => {
  const KNOWN = { query: 'query A { audit { totalCount } }' };
  const BODIES: readonly (readonly [string, object])[] = [
    ['Strawberry Shake', { id: '0123', ...KNOWN, operationName: 'A' }],
    ['react-relay-network-modern', { id: 'A', ...KNOWN, variables: {} }],
    [
      'Apollo Client with an SSE link',
      { operationType: 'query', ...KNOWN, operationName: 'A', variables: {}, extensions: {} },
    ],
    [
      'Apollo Client 4',
      { ...KNOWN, extensions: { clientLibrary: { name: '@apollo/client', version: '4.1.0' } } },
    ],
    ['Relay with a hash', { doc_id: '7', documentId: null, ...KNOWN }],
    [
      'a member with a value of any type',
      { ...KNOWN, debug: true, tags: [1, { a: null }], __proto__x: {} },
    ],
    ['empty texts for none', { ...KNOWN, variables: '', extensions: '', operationName: '' }],
    [
      'null for none',
      { ...KNOWN, variables: null, extensions: null, operationName: null, id: null },
    ],
    ['names of Object.prototype', { ...KNOWN, constructor: 1, toString: 'x', hasOwnProperty: 0 }],
  ];

  it.each(BODIES)('are ignored by the port, prepared or not: %s', async (_, body) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    for (const time of [1, 2, 3]) {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: JSON.stringify(body),
      });
      expect([response.status, await response.json()]).toEqual([
        200,
        { data: { audit: { totalCount: 0 } } },
      ]);
      expect(service.seen).toHaveLength(time);
    }
    expect(gateway.logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(2);
  });

  it.each(BODIES)('are ignored by `fetch`: %s', async (_, body) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const result = await post(gateway, JSON.stringify(body), { authorization: 'Bearer t' });
    expect([result.status, result.data]).toEqual([200, { audit: { totalCount: 0 } }]);
  });

  it.each([
    'id=1',
    'operationType=query&foo=bar',
    'variables=',
    'variables=&extensions=&operationName=',
    'variables=%22%22&extensions=%22%22',
    'variables=null&query2=x',
    '__proto__=1&constructor=2',
  ])('are ignored in a GET: %s', async (parameters) => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const response = await gateway.fetch(`http://k/graphql?query={__typename}&${parameters}`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { data: { __typename: 'Query' } },
    ]);
  });

  it('are ignored in a subscription', async () => {
    await using service = await startService({ body: { events: RECORDS } });
    await using gateway = gatewayOver(service.url);
    const body = {
      operationType: 'subscription',
      id: '1',
      variables: '',
      query: 'subscription { auditEvents { nodes { id } } }',
    };
    const response = await gateway.fetch('http://k/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: 'Bearer t',
      },
      body: JSON.stringify(body),
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream',
    ]);
    await response.body?.cancel();
  });

  it.each([
    { query: 1 },
    { query: ['{__typename}'] },
    { query: {} },
    { query: '{__typename}', variables: 'x' },
    { query: '{__typename}', variables: ' ' },
    { query: '{__typename}', variables: [] },
    { query: '{__typename}', variables: 0 },
    { query: '{__typename}', extensions: 'x' },
    { query: '{__typename}', extensions: [] },
    { query: '{__typename}', operationName: 1 },
    { id: '0123' },
  ])('do not make %j valid', async (body) => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    await using server = await onPort(gateway);
    const send = (fetcher: typeof fetch, url: string) =>
      fetcher(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, id: 1 }),
      });
    for (const response of [await send(gateway.fetch, 'http://k'), await send(fetch, server.url)]) {
      expect(response.status).toBe(400);
      expect(Object(await response.json()).errors[0].extensions.code).toBe('BAD_REQUEST');
    }
  });

  it('property: any of them changes nothing', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (others) => {
        const body = JSON.stringify({
          ...others,
          variables: undefined,
          extensions: undefined,
          operationName: undefined,
          ...KNOWN,
        });
        const headers = { 'content-type': 'application/json', authorization: 'Bearer t' };
        const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
        expect(await response.json()).toEqual({ data: { audit: { totalCount: 0 } } });
      }),
      { numRuns: 50 },
    );
  });
});

describe('T8: files and variables as Windows and editors write them', () => {
  const CONTRACT = '{"audit": {"event": {"action": "/verb"}}}';
  const BODY = JSON.stringify({ events: [{ id: '1', verb: 'login', action: 'other' }] });
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const write = async (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };
  const run = async (args: readonly string[], environment = {}) => {
    const command = keytrailInProcess(args, environment);
    return { status: await command.status, ...command.output };
  };

  it('a contract, a response, its headers and a recording with a byte order mark are read', async () => {
    const contract = await write('contract.json', `\ufeff${CONTRACT}\r\n`);
    const response = await write('response.json', `\ufeff${BODY}\r\n`);
    const headers = await write('headers.txt', '\ufeffHTTP/1.1 200 OK\r\nx-total-count: 1\r\n\r\n');
    const learnt = await run([
      'learn',
      '--from',
      response,
      '--headers',
      headers,
      '--contract',
      contract,
    ]);
    expect([learnt.status, learnt.stdout]).toEqual([0, expect.stringContaining('/verb')]);
    const har = {
      log: {
        entries: [
          {
            request: { method: 'GET', url: 'https://x/api/v1/audit' },
            response: { status: 200, headers: [], content: { text: BODY } },
          },
        ],
      },
    };
    const recording = await write('recording.har', `\ufeff${JSON.stringify(har)}`);
    await using service = await startService({ body: BODY });
    const settings = {
      UPSTREAM_URL: service.url,
      KEYTRAIL_TOKEN: 't',
      KEYTRAIL_CONTRACT: contract,
    };
    const checked = await run(['check', '--from', recording], settings);
    expect([checked.status, checked.stderr]).toEqual([0, '']);
  });

  it.each([
    ['little-endian with its mark', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['little-endian', (text: string) => Buffer.from(text, 'utf16le')],
    ['big-endian with its mark', (text: string) => swap16(Buffer.from(`\ufeff${text}`, 'utf16le'))],
  ])('UTF-16 is named, and what to do: %s', async (_, encode) => {
    const contract = await write('contract.json', encode(CONTRACT));
    const response = await write('response.json', encode(BODY));
    const utf8 = await write('utf8.json', BODY);
    for (const [args, environment] of [
      [['serve'], { KEYTRAIL_CONTRACT: contract }],
      [['learn', '--from', response], {}],
      [['learn', '--from', utf8, '--contract', contract], {}],
      [['learn', '--from', utf8, '--headers', response], {}],
      [['sandbox', '--recording', response], {}],
      [['serve'], { UPSTREAM_URL: 'https://x', UPSTREAM_CA_FILE: response }],
    ] as const) {
      const { status, stderr } = await run(args, environment);
      expect([status, stderr]).toEqual([2, expect.stringMatching(/UTF-16.*UTF-8/s)]);
      expect(stderr).not.toContain('not valid JSON');
    }
  });

  it.each(['\n', '\r\n', '  ', '\t', '\u00a0\n'])(
    'a token, a URL and a mode that end in %j are trimmed',
    async (end) => {
      await using service = await startService({ body: BODY });
      const { status } = await run(['learn'], {
        NODE_ENV: `production${end}`,
        UPSTREAM_URL: `${service.url}${end}`,
        UPSTREAM_TIMEOUT_MS: `9000${end}`,
        KEYTRAIL_TOKEN: `${end}secret${end}`,
      });
      expect(status).toBe(0);
      expect(service.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret']);
    },
  );

  it('a token with a break in it is still refused, and nothing is sent', async () => {
    await using service = await startService({ body: BODY });
    const { status, stderr } = await run(['learn'], {
      UPSTREAM_URL: service.url,
      KEYTRAIL_TOKEN: 'sec\nret',
    });
    expect([status, stderr.includes('ret"')]).toEqual([2, false]);
    expect(service.seen).toEqual([]);
  });

  it('tokens that an editor saved with a byte order mark are read', async () => {
    const tokens = { accessToken: 'a', refreshToken: 'r', expiresAt: null };
    const path = await write('tokens.json', `\ufeff${JSON.stringify(tokens)}\r\n`);
    expect(await fileTokens(path, { onWarning: () => {} }).load()).toEqual(tokens);
  });

  it('a setting of spaces counts as not set', async () => {
    const { status, stderr } = await run(['learn'], { UPSTREAM_URL: ' \n', KEYTRAIL_TOKEN: 't' });
    expect([status, stderr]).toEqual([2, expect.stringContaining('learn needs')]);
  });
});

describe('T9: instants that are unambiguous', () => {
  const INSTANT = '2026-11-20T10:00:00.000Z';
  const TEXTS: readonly (readonly [string, string])[] = [
    ['2026-11-20 10:00:00 +0000 UTC', INSTANT],
    ['2026-11-20 11:00:00.123456789 +0100 CET m=+0.000012345', '2026-11-20T10:00:00.123Z'],
    ['2026-11-20 05:00:00 -0500 EST', INSTANT],
    ['2026-11-20 13:30:00 +0330 +0330', INSTANT],
    ['2026-11-20 07:00:00 -0300 -03 m=-1.5', INSTANT],
    ['2026-11-20T11:00:00+01:00[Europe/Berlin]', INSTANT],
    ['2026-11-20T10:00:00Z[UTC]', INSTANT],
    ['2026-11-20T11:00+01:00[Europe/Berlin]', INSTANT],
    ['2026-11-20T11:00:00.000+01:00[!Europe/Berlin][u-ca=hebrew]', INSTANT],
    ['2026-11-20T10:00:00Z[!u-ca=iso8601]', INSTANT],
    ['2026-11-20T05:00:00-05:00[America/Argentina/Buenos_Aires]', INSTANT],
    ['2026-11-20T11:00:00+01:00[+01:00]', INSTANT],
    ['2026/11/20 18:00:00 +0800', INSTANT],
    ['2026/11/20 10:00:00 UTC', INSTANT],
    ['2026/11/20T10:00:00Z', INSTANT],
    ['2026/3/5 8:11:12 +0800', '2026-03-05T00:11:12.000Z'],
    ['2026.11.20 11:00:00 +01:00', INSTANT],
    ['2026-11-20 10:00:00 UTC', INSTANT],
    ['2026-11-20 10:00:00 GMT', INSTANT],
    ['2026-11-20 10:00:00 +0000', INSTANT],
    ['2026-11-20T11:00:00+0100', INSTANT],
    ['20261120T100000Z', INSTANT],
    ['2026-11-20T10:00:00,123Z', '2026-11-20T10:00:00.123Z'],
    ['2026-11-20 18:00:00 UTC+08:00', INSTANT],
    ['2026-11-20 18:00:00 GMT+0800', INSTANT],
    ['Fri, 20 Nov 2026 10:00:00 GMT', INSTANT],
    ['Fri, 20 Nov 2026 11:00:00 +0100 (CET)', INSTANT],
    ['20 Nov 2026 10:00:00 +0000', INSTANT],
    ['Fri Nov 20 2026 11:00:00 GMT+0100 (Central European Standard Time)', INSTANT],
    ['Fri Nov 20 10:00:00 +0000 2026', INSTANT],
  ];

  it('are read, and their field is recognised as the time', async () => {
    for (const [text, instant] of TEXTS) {
      const events = [
        { id: '1', created: text, action: 'x' },
        { id: '2', created: text, action: 'y' },
      ];
      await using service = await startService({ body: { events } });
      await using gateway = gatewayOver(service.url);
      const { data } = await ask(gateway, '{ audit { nodes { occurredAt } } }', undefined, {
        token: 't',
      });
      expect([text, data]).toEqual([
        text,
        { audit: { nodes: [{ occurredAt: instant }, { occurredAt: instant }] } },
      ]);
    }
  });

  it.each([
    '2026-11-20 10:00:00 CST',
    '2026-11-20 10:00:00 IST',
    '2026-11-20T10:00:00[Europe/Berlin]',
    '2026/11/20 18:11:12',
    '11/20/2026 10:00:00 +0000',
    '05/03/2026 10:00:00 +0000',
    '2026-11-31 10:00:00 +0000 UTC',
    '31 Nov 2026 10:00:00 +0000',
    'Fri Nov 31 10:00:00 +0000 2026',
    'Fri Nov 20 2026 10:00:00 +0000 2027',
    'Fri Abc 20 10:00:00 +0000 2026',
    'Fri, 20 Nov 26 10:00:00 GMT',
    '2026-11-20 10:00:00 UTC+3',
    '2026-11-20 10:00:00 m=+1.5',
    'Fri Nov 20 10:00:00 CST 2026',
    'Fri Nov 20 10:00:00 2026',
    '2026/11-20 10:00:00 +0000',
    '2026-11-20 25:00:00 +0000 UTC',
    '2026-11-20 10:00:00 +0000 UTC and more',
    '2026-11-20T10:00:00Z[',
    '2026-11-20T10:00:00Z[Europe/Berlin',
    'Friday',
  ])('and nothing else: %s', (text) => {
    expect(parseTime(text)).toBeNull();
  });

  it('property: an instant in each format is parsed as that instant', () => {
    const instants = fc.date({
      min: new Date('1970-01-01T00:00:00Z'),
      max: new Date('2099-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(
        instants,
        fc.integer({ min: -14 * 4, max: 14 * 4 }),
        fc.constantFrom('CET', 'UTC', '+0330', 'ChST', '-03'),
        (given, quarters, name) => {
          const date = new Date(Math.floor(given.getTime() / 1000) * 1000);
          const local = new Date(date.getTime() + quarters * 900_000);
          const iso = local.toISOString();
          const minutes = Math.abs(quarters) * 15;
          const two = (number: number) => String(number).padStart(2, '0');
          const [sign, hh, mm] = [
            quarters < 0 ? '-' : '+',
            two(Math.floor(minutes / 60)),
            two(minutes % 60),
          ];
          const [day, clock] = [iso.slice(0, 10), iso.slice(11, 19)];
          const [weekday, dd, month, year] = local.toUTCString().replace(',', '').split(' ');
          for (const text of [
            `${day} ${clock} ${sign}${hh}${mm} ${name}`,
            `${day} ${clock}.5 ${sign}${hh}${mm} ${name} m=+12.345`,
            `${day}T${clock}${sign}${hh}:${mm}[Europe/Berlin]`,
            `${day}T${clock}${sign}${hh}:${mm}[!Asia/Tokyo][u-ca=japanese]`,
            `${day.replaceAll('-', '/')} ${clock} ${sign}${hh}${mm}`,
            `${weekday} ${month} ${dd} ${clock} ${sign}${hh}${mm} ${year}`,
            `${weekday} ${month} ${dd} ${year} ${clock} GMT${sign}${hh}${mm} (Some Time)`,
            `${weekday}, ${dd} ${month} ${year} ${clock} ${sign}${hh}${mm} (XYZ)`,
          ]) {
            const millis = text.includes('.5 ') ? 500 : 0;
            expect([text, parseTime(text)]).toEqual([
              text,
              new Date(date.getTime() + millis).toISOString(),
            ]);
          }
        },
      ),
    );
  });

  it('property: a text of the same characters never throws, and takes linear time', () => {
    const text = fc.string({ unit: fc.constantFrom(...'2026-/:T+0Z []!uca=GMTUCFriNov.,m ') });
    fc.assert(fc.property(text, (value) => void parseTime(value)));
    expect(parseTime(`2026-11-20T10:00:00Z${'[a'.repeat(100_000)}`)).toBeNull();
    expect(parseTime(`Fri Nov 20 ${' '.repeat(100_000)}`)).toBeNull();
  });
});

describe('C8: a subscription that nobody reads', () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  it.each([
    ['at all', 't', 0],
    ['after its first payload', 't', 1],
    ['although it was rejected', null, 0],
  ])('%s keeps no timer after its gateway is disposed', async (_, token, payloads) => {
    await using service = await startService({ body: { events: RECORDS } });
    const before = timers();
    const gateway = gatewayOver(service.url);
    const response = await requestEvents(gateway, {}, { token });
    const reader = response.body?.getReader();
    let text = '';
    const decoder = new TextDecoder();
    while (text.split('event: next').length - 1 < payloads)
      text += decoder.decode((await reader?.read())?.value, { stream: true });
    await gateway[Symbol.asyncDispose]();
    await expect.poll(timers).toBeLessThanOrEqual(before);
    expect(response.status).toBe(200);
  });

  it('is complete if it is read after that', async () => {
    await using service = await startService({ body: { events: RECORDS } });
    const gateway = gatewayOver(service.url);
    const response = await requestEvents(gateway);
    await gateway[Symbol.asyncDispose]();
    expect(await response.text()).toMatch(/event: complete\ndata:\n\n$/);
    expect(service.seen).toEqual([]);
  });

  it('lets its program end', async () => {
    await using service = await startService({ body: { events: RECORDS } });
    const script = `
      import { createGateway } from '${new URL('../../src/index.ts', import.meta.url)}';
      const gateway = createGateway({ upstream: { url: '${service.url}' } });
      await gateway.fetch('http://k/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: 'Bearer t' },
        body: '{"query":"subscription { auditEvents { nodes { id } } }"}',
      });
      await gateway[Symbol.asyncDispose]();
      console.log('disposed');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 30_000, // then it is killed, and its exit status is null
    });
    const printed = text(child.stdout);
    const [code] = await once(child, 'exit');
    expect([await printed, code]).toEqual(['disposed\n', 0]);
  });
});

describe('C9: a client that disconnects after a garbage collection', () => {
  setFlagsFromString('--expose-gc');
  const gc: () => void = runInNewContext('gc');
  const collect = async () => {
    for (let time = 0; time < 3; time += 1) {
      await sleep(5);
      gc();
    }
  };
  type Send = (send: typeof fetch, signal: AbortSignal, query: string) => Promise<Response>;
  const ENDPOINT = 'http://k/graphql';
  const HEADERS = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: 'Bearer t',
  };
  const toInit = (query: string) => ({
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ query }),
  });
  const SENDS: readonly (readonly [string, Send])[] = [
    ['a URL and `init`', (send, signal, query) => send(ENDPOINT, { ...toInit(query), signal })],
    [
      'a `Request`',
      (send, signal, query) => send(new Request(ENDPOINT, { ...toInit(query), signal })),
    ],
    [
      'a `Request` and `init`',
      (send, signal, query) => send(new Request(ENDPOINT, toInit(query)), { signal }),
    ],
    [
      'a `Request` and other headers',
      (send, signal, query) =>
        send(new Request(ENDPOINT, { ...toInit(query), signal }), { headers: HEADERS }),
    ],
    [
      'a GET',
      (send, signal, query) =>
        send(
          new Request(`${ENDPOINT}?query=${encodeURIComponent(query)}`, {
            headers: HEADERS,
            signal,
          }),
        ),
    ],
  ];

  it.each(SENDS)('closes the call to the service: %s', async (_, send) => {
    const closed = Promise.withResolvers<void>();
    await using service = await startService((_seen, response) => {
      response.on('close', closed.resolve);
      return undefined;
    });
    await using gateway = gatewayOver(service.url);
    const client = new AbortController();
    const response = send(gateway.fetch, client.signal, AUDIT).then(() => 'a response', String);
    await expect.poll(() => service.seen.length).toBe(1);
    await collect();
    client.abort(new Error('gone'));
    await closed.promise;
    expect(await response).toBe('Error: gone');
  });

  it.each(SENDS)('ends its subscription: %s', async (_, send) => {
    const pauses = holdPauses();
    await using service = await startService({ body: { events: RECORDS } });
    await using gateway = gatewayOver(service.url, { pause: pauses.pause });
    const client = new AbortController();
    const query = 'subscription { auditEvents { nodes { id } } }';
    const response = await send(gateway.fetch, client.signal, query);
    const text = response.text();
    await pauses.paused();
    await collect();
    client.abort();
    expect(await text).toMatch(/event: complete\ndata:\n\n$/);
    expect(gateway.logged.at(-1)).toContain('"ended":"client"');
  });
});
