import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { SETTINGS } from '../../src/gateway/config/settings.ts';
import type { ListeningServer } from '../../src/gateway/http/http-server.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { records } from '../helpers/live-trail.ts';
import { type Handler, startService } from '../helpers/service.ts';
import { AUDIT_EVENTS, type Batch, readEvents } from '../helpers/subscribe.ts';
import { CONF, hasNginx, type Nginx, type ProxiedResponse, startNginx } from './nginx.ts';

/** A gateway on a port, in front of its own service. */
type Replica = AsyncDisposable & {
  readonly url: string;
  readonly seen: readonly { readonly url: string; readonly headers: IncomingMessage['headers'] }[];
  readonly logged: readonly string[];
  /** Stops the gateway; by default at once, and every connection is cut off. */
  readonly stop: () => Promise<void>;
};

const LOGIN = JSON.stringify({
  query: 'mutation { login(clientId: "c", credential: {refreshToken: "r"}) { accessToken } }',
});
const DELETION = JSON.stringify({
  query: 'mutation { deleteApiKey(clientId: "c") { outcome } }',
});
const AUDIT = JSON.stringify({ query: '{ audit { totalCount } }' });
const TYPENAME = JSON.stringify({ query: '{ __typename }' });
/** Between two polls of a subscription. */
const POLL_MS = 20;
/** A port that is closed. */
const CLOSED = 'http://127.0.0.1:1';

async function startReplica(
  response: Handler = () => ({ body: { access_token: 'a', events: [] } }),
  { drainMs = 0, timeoutMs = 1, trustedProxies = 0 } = {},
): Promise<Replica> {
  const service = await startService(response);
  const draining = new AbortController();
  const gateway = gatewayOver(service.url, {
    trustedProxies,
    draining: draining.signal,
    pause: (_, signal) => wait(POLL_MS, undefined, { signal }),
  });
  const server: ListeningServer = await onPort(gateway, { draining, drainMs, timeoutMs });
  let stopping: PromiseLike<void> | undefined;
  const stop = async () => {
    stopping ??= server[Symbol.asyncDispose]();
    await stopping;
  };
  return {
    url: server.url,
    seen: service.seen,
    logged: gateway.logged,
    stop,
    [Symbol.asyncDispose]: async () => {
      gateway.abort(); // otherwise it waits for the response to a login
      await stop();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Subscribes to the trail through nginx. Disposing the result disconnects. */
async function follow(nginx: Nginx, after: string | null = null) {
  const response = await nginx.open({
    body: JSON.stringify({ query: AUDIT_EVENTS, variables: { after } }),
    headers: { authorization: 'Bearer t', accept: 'text/event-stream' },
  });
  return readEvents(new Response(Readable.toWeb(response) as ReadableStream)); // the types of Node and the web differ
}

const idsOf = ({ nodes }: Batch<{ readonly id: string }>) => nodes.map(({ id }) => id);

/** A duration from the file, in seconds. */
const seconds = (name: string) =>
  Number(new RegExp(`^ *${name} (\\d+)s;`, 'm').exec(CONF)?.[1] ?? Number.NaN);

/** Starts a server that returns what nginx sent to it, in place of a gateway. */
async function startEcho() {
  const server = createServer((request, response) => {
    response.end(JSON.stringify({ url: request.url, rawHeaders: request.rawHeaders }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on TCP
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** All values of a header, as the echo server received them. */
function valuesOf({ body }: ProxiedResponse, name: string): readonly string[] {
  const { rawHeaders }: { rawHeaders: readonly string[] } = JSON.parse(body);
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  );
}

/** Logs in through gateways that stop as soon as the service receives the login. Counts the logins it receives. */
async function logInDuringCrashes(conf: string) {
  const replicas: Replica[] = [];
  const stops: Promise<void>[] = [];
  const start = async () => {
    const replica: Replica = await startReplica(() => {
      stops.push(replica.stop());
      return undefined;
    });
    replicas.push(replica);
    return replica;
  };
  await using first = await start();
  await using second = await start();
  await using nginx = await startNginx([first.url, second.url], conf);
  const { status } = await nginx.send({ body: LOGIN });
  await Promise.all(stops);
  return { status, logins: replicas.flatMap(({ seen }) => seen).length };
}

describe.skipIf(!hasNginx)('nginx with deploy/nginx.conf', () => {
  it('does not retry a login that a gateway received before it dropped the connection', async () => {
    expect(await logInDuringCrashes(CONF)).toEqual({ status: 502, logins: 1 });
  });

  it('would retry that login with `non_idempotent`', async () => {
    const conf = CONF.replace('upstream error timeout', 'upstream error timeout non_idempotent');
    expect(await logInDuringCrashes(conf)).toEqual({ status: 502, logins: 2 });
  });

  it('skips a gateway that is closed, for a login too', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([CLOSED, replica.url]);
    for (let count = 1; count <= 10; count += 1) {
      const { status, body } = await nginx.send({ body: LOGIN });
      expect(status).toBe(200);
      expect(JSON.parse(body)).toEqual({ data: { login: { accessToken: 'a' } } });
      expect(replica.seen).toHaveLength(count);
    }
  });

  it('loses no request while a gateway is taken out and stopped', async () => {
    await using first = await startReplica(undefined, { drainMs: 500, timeoutMs: 10_000 });
    await using second = await startReplica();
    await using nginx = await startNginx([first.url, second.url]);
    let isDone = false;
    const statuses: number[] = [];
    const keepLoggingIn = async () => {
      while (!isDone) statuses.push((await nginx.send({ body: LOGIN })).status);
    };
    const clients = [keepLoggingIn(), keepLoggingIn(), keepLoggingIn()];
    const untilServed = async ({ seen }: Replica, count: number) => {
      for (const goal = seen.length + count; seen.length < goal; ) await wait(5);
    };
    await untilServed(first, 5);
    await nginx.takeOutFirst();
    for (let before = -1; before < first.seen.length; ) {
      before = first.seen.length;
      await untilServed(second, 20);
    }
    await first.stop();
    await untilServed(second, 10);
    isDone = true;
    await Promise.all(clients);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(first.seen.length + second.seen.length).toBe(statuses.length);
  });

  it('forwards Authorization byte for byte, up to 8 KiB, to both gateways', async () => {
    const token = `Bearer ${'a~B.c_D-e+F/'.repeat(680)}==`;
    await using first = await startReplica();
    await using second = await startReplica();
    await using nginx = await startNginx([first.url, second.url]);
    for (const authorization of [token, 'bEaReR x', token, 'Bearer y=']) {
      await nginx.send({ body: AUDIT, headers: { authorization } });
    }
    const sent = [...first.seen, ...second.seen].map(({ headers }) => headers.authorization);
    expect(first.seen.length).toBeGreaterThan(0);
    expect(second.seen.length).toBeGreaterThan(0);
    expect(sent.filter((value) => value === token)).toHaveLength(2);
    expect(sent).toContain('Bearer y=');
  });

  it('forwards Host, x-request-id and the path, and appends the client to X-Forwarded-For', async () => {
    await using echo = await startEcho();
    await using nginx = await startNginx([echo.url, echo.url]);
    const headers = {
      host: 'graphql.example.com:8443',
      'x-request-id': 'id-1',
      'x-forwarded-for': '203.0.113.9',
    };
    const path = '/graphql//x?query=%7Ba%7D&b=%2F';
    const response = await nginx.send({ path, body: '{}', headers });
    expect(JSON.parse(response.body).url).toBe(path);
    expect(valuesOf(response, 'host')).toEqual(['graphql.example.com:8443']);
    expect(valuesOf(response, 'x-request-id')).toEqual(['id-1']);
    expect(valuesOf(response, 'x-forwarded-for')).toEqual(['203.0.113.9, 127.0.0.1']);
    expect(valuesOf(await nginx.send({}), 'x-forwarded-for')).toEqual(['127.0.0.1']);
  });

  it('reuses connections to a gateway', async () => {
    let connections = 0;
    const server = createServer((_, response) => response.end('{}'));
    server.on('connection', () => {
      connections += 1;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
    await using nginx = await startNginx(
      [url, CLOSED],
      CONF.replace(/worker_processes auto/, 'worker_processes 1'),
    );
    for (let count = 0; count < 10; count += 1) await nginx.send({ body: TYPENAME });
    expect(connections).toBe(1);
    server.closeAllConnections();
    server.close();
  });

  it('accepts a body of 64 KiB, and rejects a larger one with the same error as the gateway', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([replica.url, CLOSED]);
    const pad = (size: number) => TYPENAME.padEnd(size);
    expect((await nginx.send({ body: pad(65_536) })).status).toBe(200);
    const direct = await fetch(`${replica.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: pad(65_537),
    });
    const expected = await direct.json();
    for (const size of [65_537, 1_000_000]) {
      const { status, headers, body } = await nginx.send({ body: pad(size) });
      expect(status).toBe(direct.status);
      const [{ message, extensions }] = JSON.parse(body).errors;
      expect({ message, ...extensions, requestId: '' }).toEqual({
        message: expected.errors[0].message,
        ...expected.errors[0].extensions,
        requestId: '',
      });
      expect(headers['x-request-id']).toBe(extensions.requestId);
      for (const name of ['cache-control', 'x-content-type-options']) {
        expect(headers[name]).toBe(direct.headers.get(name));
      }
    }
  });

  it('forwards the gateway’s errors, with their headers', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([replica.url, replica.url]);
    for (const request of [{ path: '/nowhere' }, { body: '{' }, { body: AUDIT }]) {
      const response = await nginx.send(request);
      const [{ extensions }] = JSON.parse(response.body).errors;
      expect(extensions.code).toMatch(/^[A-Z_]+$/);
      expect(response.headers['x-request-id']).toBe(extensions.requestId);
      expect(response.headers['cache-control']).toBe('no-store');
    }
  });

  it('passes on each event at once, keeps a quiet subscription open, and ends it with its client', async () => {
    let trail = records(2, 1);
    await using replica = await startReplica(() => ({ body: trail }));
    // Comments come every 0.3 s in tests, and every 12 s otherwise.
    const conf = CONF.replace('proxy_read_timeout 120s', 'proxy_read_timeout 1s');
    await using nginx = await startNginx([replica.url, CLOSED], conf);
    {
      await using stream = await follow(nginx);
      expect(idsOf(await stream.nextBatch())).toEqual([]);
      trail = records(3, 2, 1);
      expect(idsOf(await stream.nextBatch())).toEqual(['r3']);
      const next = stream.nextBatch();
      const comments = () => stream.received().match(/^:$/gm)?.length;
      await vi.waitFor(() => expect(comments()).toBeGreaterThan(10), 10_000);
      trail = records(5, 4, 3, 2, 1);
      expect(idsOf(await next)).toEqual(['r4', 'r5']);
    }
    await vi.waitFor(() => expect(replica.logged.at(-1)).toContain('"ended":"client"'));
  });

  it('lets a subscriber continue on the other gateway when its own stops, and loses no event', async () => {
    let trail = records(2, 1);
    await using first = await startReplica(() => ({ body: trail }), { timeoutMs: 10_000 });
    await using second = await startReplica(() => ({ body: trail }), { timeoutMs: 10_000 });
    await using nginx = await startNginx([first.url, second.url]);
    await using stream = await follow(nginx);
    const { checkpoint } = await stream.nextBatch();
    const [own, other] = first.seen.length > 0 ? [first, second] : [second, first];
    await own.stop();
    expect(await stream.next()).toBeNull(); // complete
    trail = records(4, 3, 2, 1);
    await using resumed = await follow(nginx, checkpoint);
    expect(idsOf(await resumed.nextBatch())).toEqual(['r3', 'r4']);
    expect(other.seen).not.toEqual([]);
  });

  it('logs the client, the gateway and the request ID, and no secret', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([CLOSED, replica.url]);
    const secret = 'canary-4b1d';
    const headers = { authorization: `Bearer ${secret}`, 'user-agent': secret, referer: secret };
    const path = `/graphql?query=${secret}`;
    const { headers: received } = await nginx.send({ path, headers });
    await nginx.send({ path, body: JSON.stringify({ query: secret }), headers });
    await replica.stop();
    expect((await nginx.send({ path, headers })).status).toBe(502);
    // nginx logs a request after it has sent the response, so the last line may come later than that.
    const log = await vi.waitFor(async () => {
      const text = await nginx.readLogs();
      expect(text.match(/\n/g)).toHaveLength(3);
      return text;
    });
    expect(log).not.toContain(secret);
    const records = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records[0]).toMatchObject({ client: '127.0.0.1', method: 'GET', path: '/graphql' });
    expect(records[0].requestId).toBe(received['x-request-id']);
    expect(records[0].upstream).toContain(new URL(replica.url).host);
  });
});

/** An address of this machine that is not loopback, which a service may not learn. */
const CLIENT = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

describe.skipIf(!hasNginx || CLIENT === undefined)('a gateway behind two nginx in a chain', () => {
  const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
  const CLAIMED = '203.0.113.9';

  /** Sends each operation through the chain. Returns what the service received. */
  async function sendAll(
    trustedProxies: number,
    claims: Readonly<Record<string, string | readonly string[]>>,
  ) {
    await using replica = await startReplica(undefined, { trustedProxies });
    await using inner = await startNginx([replica.url, CLOSED]);
    const conf = CONF.replace('proxy_pass http:', 'proxy_pass https:');
    await using outer = await startNginx([inner.url, CLOSED], conf);
    for (const body of [LOGIN, AUDIT, DELETION]) {
      const headers = {
        authorization: 'Bearer t',
        traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`,
        ...claims,
      };
      const { status } = await outer.send({ body, headers, localAddress: CLIENT });
      expect(status).toBe(200);
    }
    expect(replica.seen).toHaveLength(3);
    return replica.seen.map(({ headers }) => headers);
  }

  it.each([
    {},
    { 'x-forwarded-for': CLAIMED },
    { 'x-forwarded-for': `${CLAIMED}, 198.51.100.1, 2001:db8::1` },
    { 'x-forwarded-for': [CLAIMED, '198.51.100.1'] },
    { 'x-forwarded-for': `${CLAIMED}:4711,` },
    { 'x-forwarded-for': 'unknown', forwarded: `for=${CLAIMED}`, 'x-real-ip': CLAIMED },
    { via: `1.1 ${CLAIMED}` },
  ])(
    'tells the service the address of a client that sends %j, and one of each header',
    async (claims) => {
      for (const headers of await sendAll(2, claims)) {
        expect(headers).toMatchObject({ 'x-forwarded-for': CLIENT, via: '1.1 keytrail' });
        expect(headers['traceparent']).toMatch(new RegExp(`^00-${TRACE_ID}-[\\da-f]{16}-01$`));
        expect(JSON.stringify(headers)).not.toMatch(/203\.0\.113|198\.51\.100|2001:db8/);
      }
    },
  );

  it('would tell it what the client claims if TRUSTED_PROXIES were 3', async () => {
    const seen = await sendAll(3, { 'x-forwarded-for': CLAIMED });
    expect(seen.map((headers) => headers['x-forwarded-for'])).toEqual([CLAIMED, CLAIMED, CLAIMED]);
  });
});

describe('deploy/nginx.conf', () => {
  it('waits longer than a gateway that fetches ten pages', () => {
    const timeoutMs = SETTINGS.UPSTREAM_TIMEOUT_MS.default;
    expect(seconds('proxy_read_timeout')).toBeGreaterThan((10 * timeoutMs) / 1000);
  });

  it('lets old workers complete every request but a subscription', () => {
    expect(seconds('worker_shutdown_timeout')).toBeGreaterThan(seconds('proxy_read_timeout'));
  });

  it('closes an idle connection before the gateway does', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    await using server = await onPort(gateway);
    const { headers } = await fetch(`${server.url}/health/live`);
    const [, keepAlive] = /^timeout=(\d+)$/.exec(headers.get('keep-alive') ?? '') ?? [];
    expect(seconds('keepalive_timeout')).toBeLessThan(Number(keepAlive));
  });
});
