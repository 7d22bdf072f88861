import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { SETTINGS } from '../../src/config/settings.ts';
import type { ListeningServer } from '../../src/server/http-server.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { type Handler, startService } from '../helpers/service.ts';
import { CONF, hasNginx, type Passed, startNginx } from './nginx.ts';

/** A gateway on a port, over a service of its own. */
type Replica = AsyncDisposable & {
  readonly url: string;
  readonly seen: readonly { readonly url: string; readonly headers: IncomingMessage['headers'] }[];
  /** Closes the port; unless told otherwise, at once and cutting off every caller. */
  readonly stop: () => Promise<void>;
};

const LOGIN = JSON.stringify({
  query: 'mutation { login(clientId: "c", credential: {refreshToken: "r"}) { accessToken } }',
});
const AUDIT = JSON.stringify({ query: '{ audit { totalCount } }' });
const TYPENAME = JSON.stringify({ query: '{ __typename }' });
/** Where nobody listens. */
const CLOSED = 'http://127.0.0.1:1';

async function startReplica(
  answer: Handler = () => ({ body: { access_token: 'a', events: [] } }),
  { drainMs = 0, fuseMs = 1 } = {},
): Promise<Replica> {
  const service = await startService(answer);
  const gateway = gatewayOver(service.url);
  const server: ListeningServer = await onPort(gateway, { drainMs, fuseMs });
  let stopping: PromiseLike<void> | undefined;
  const stop = async () => {
    stopping ??= server[Symbol.asyncDispose]();
    await stopping;
  };
  return {
    url: server.url,
    seen: service.seen,
    stop,
    [Symbol.asyncDispose]: async () => {
      gateway.abort(); // or it waits for an answer to a login
      await stop();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** A time of the file, in seconds. */
const seconds = (name: string) =>
  Number(new RegExp(`^ *${name} (\\d+)s;`, 'm').exec(CONF)?.[1] ?? Number.NaN);

/** In a gateway's place, to see what nginx sends. */
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

/** The values of a header, as the echo saw them. */
function valuesOf({ body }: Passed, name: string): readonly string[] {
  const { rawHeaders }: { rawHeaders: readonly string[] } = JSON.parse(body);
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  );
}

/** Logs in where each gateway breaks down once the service has been sent the login; how often it was. */
async function logInAmidCrashes(conf: string) {
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
  it('sends no login twice when the gateway that has read it drops the connection', async () => {
    expect(await logInAmidCrashes(CONF)).toEqual({ status: 502, logins: 1 });
  });

  it('would send it twice with the one word that must not be added', async () => {
    const conf = CONF.replace('upstream error timeout', 'upstream error timeout non_idempotent');
    expect(await logInAmidCrashes(conf)).toEqual({ status: 502, logins: 2 });
  });

  it('passes by a gateway that is closed, for a login as well', async () => {
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
    await using first = await startReplica(undefined, { drainMs: 500, fuseMs: 10_000 });
    await using second = await startReplica();
    await using nginx = await startNginx([first.url, second.url]);
    let isOver = false;
    const statuses: number[] = [];
    const ask = async () => {
      while (!isOver) statuses.push((await nginx.send({ body: LOGIN })).status);
    };
    const callers = [ask(), ask(), ask()];
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
    isOver = true;
    await Promise.all(callers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(first.seen.length + second.seen.length).toBe(statuses.length);
  });

  it('passes on Authorization byte for byte, of 8 KB too, through both gateways', async () => {
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

  it('passes on Host, x-request-id and the path, and puts the caller last in X-Forwarded-For', async () => {
    await using echo = await startEcho();
    await using nginx = await startNginx([echo.url, echo.url]);
    const headers = {
      host: 'graphql.example.com:8443',
      'x-request-id': 'id-1',
      'x-forwarded-for': '203.0.113.9',
    };
    const path = '/graphql//x?query=%7Ba%7D&b=%2F';
    const passed = await nginx.send({ path, body: '{}', headers });
    expect(JSON.parse(passed.body).url).toBe(path);
    expect(valuesOf(passed, 'host')).toEqual(['graphql.example.com:8443']);
    expect(valuesOf(passed, 'x-request-id')).toEqual(['id-1']);
    expect(valuesOf(passed, 'x-forwarded-for')).toEqual(['203.0.113.9, 127.0.0.1']);
    expect(valuesOf(await nginx.send({}), 'x-forwarded-for')).toEqual(['127.0.0.1']);
  });

  it('keeps connections to a gateway', async () => {
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

  it('takes a body of 64 KB, and refuses a larger one in the words of the gateway', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([replica.url, CLOSED]);
    const pad = (size: number) => TYPENAME.padEnd(size);
    expect((await nginx.send({ body: pad(65_536) })).status).toBe(200);
    const own = await fetch(`${replica.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: pad(65_537),
    });
    const words = await own.json();
    for (const size of [65_537, 1_000_000]) {
      const { status, headers, body } = await nginx.send({ body: pad(size) });
      expect(status).toBe(own.status);
      const [{ message, extensions }] = JSON.parse(body).errors;
      expect({ message, ...extensions, requestId: '' }).toEqual({
        message: words.errors[0].message,
        ...words.errors[0].extensions,
        requestId: '',
      });
      expect(headers['x-request-id']).toBe(extensions.requestId);
      for (const name of ['cache-control', 'x-content-type-options']) {
        expect(headers[name]).toBe(own.headers.get(name));
      }
    }
  });

  it('hands on what the gateway says of a failure, with its headers', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([replica.url, replica.url]);
    for (const question of [{ path: '/nowhere' }, { body: '{' }, { body: AUDIT }]) {
      const passed = await nginx.send(question);
      const [{ extensions }] = JSON.parse(passed.body).errors;
      expect(extensions.code).toMatch(/^[A-Z_]+$/);
      expect(passed.headers['x-request-id']).toBe(extensions.requestId);
      expect(passed.headers['cache-control']).toBe('no-store');
    }
  });

  it('logs who asked, which gateway answered and the id, and nothing that is secret', async () => {
    await using replica = await startReplica();
    await using nginx = await startNginx([CLOSED, replica.url]);
    const secret = 'canary-4b1d';
    const headers = { authorization: `Bearer ${secret}`, 'user-agent': secret, referer: secret };
    const path = `/graphql?query=${secret}`;
    const { headers: answered } = await nginx.send({ path, headers });
    await nginx.send({ path, body: JSON.stringify({ query: secret }), headers });
    await replica.stop();
    expect((await nginx.send({ path, headers })).status).toBe(502);
    // nginx logs a request after its answer has left: the last line may come after the answer.
    const log = await vi.waitFor(async () => {
      const text = await nginx.logged();
      expect(text.match(/\n/g)).toHaveLength(3);
      return text;
    });
    expect(log).not.toContain(secret);
    const records = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records[0]).toMatchObject({ client: '127.0.0.1', method: 'GET', path: '/graphql' });
    expect(records[0].requestId).toBe(answered['x-request-id']);
    expect(records[0].upstream).toContain(new URL(replica.url).host);
  });
});

describe('deploy/nginx.conf', () => {
  it('waits longer than a gateway that asks for ten pages', () => {
    const timeoutMs = SETTINGS.UPSTREAM_TIMEOUT_MS.default;
    expect(seconds('proxy_read_timeout')).toBeGreaterThan((10 * timeoutMs) / 1000);
  });

  it('keeps an idle connection for a shorter time than the gateway does', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    await using server = await onPort(gateway);
    const { headers } = await fetch(`${server.url}/health/live`);
    const [, kept] = /^timeout=(\d+)$/.exec(headers.get('keep-alive') ?? '') ?? [];
    expect(seconds('keepalive_timeout')).toBeLessThan(Number(kept));
  });
});
