import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  acceptTokens,
  ask,
  codeOf,
  gatewayOver,
  type Overrides,
  onPort,
} from '../helpers/gateway.ts';
import { sendRaw } from '../helpers/raw-socket.ts';
import { startService } from '../helpers/service.ts';

const AUDIT = '{ audit { totalCount } }';
const NOWHERE = 'http://127.0.0.1:9';

async function openSockets(url: string, count: number, bytes: string): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.write(bytes);
  }
  return sockets;
}

/** A request head with a token, and the bytes of the body that follow it. */
function request(body: string, contentLength = body.length, token = 't'): string {
  return [
    'POST /graphql HTTP/1.1',
    'host: a',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${contentLength}`,
    '',
    body,
  ].join('\r\n');
}

/** A served gateway over a service that has these records. */
async function serve(body: object, options: Overrides = {}) {
  const stack = new AsyncDisposableStack();
  const service = stack.use(await startService({ body }));
  const gateway = stack.use(gatewayOver(service.url, options));
  const server = stack.use(await onPort(gateway));
  const send = async (query: string, variables = {}) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: JSON.stringify({ query, variables }),
    });
    const { status } = response;
    const { data, errors } = await response.json();
    return { status, data, codes: codeOf({ errors }), message: errors?.[0]?.message };
  };
  return { service, gateway, server, send, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('clients that send a part of their bodies', () => {
  it('take no place of others, and leave the gateway ready', async () => {
    await using bed = await serve([], { maxInFlight: 2 });
    const slow = await openSockets(bed.server.url, 20, request('{', 100));
    const { status } = await fetch(`${bed.server.url}/health/ready`);
    expect(status).toBe(200);
    expect(await bed.send(AUDIT)).toMatchObject({ status: 200, data: { audit: {} } });
    for (const socket of slow) socket.destroy();
  });

  it('have a bound of their own, that does not apply to whole requests', async () => {
    await using bed = await serve([], { maxIncompleteRequests: 1 });
    const slow = await openSockets(bed.server.url, 1, request('{', 100));
    // A response on another connection shows that the server has read them.
    expect((await fetch(`${bed.server.url}/health/live`)).status).toBe(200);
    const [late] = await openSockets(bed.server.url, 1, request('{', 100));
    const [response] = await once(late as Socket, 'data');
    expect(String(response)).toContain('503 Service Unavailable');
    expect(String(response)).toContain('OVERLOADED');
    expect(await bed.send(AUDIT)).toMatchObject({ status: 200, data: { audit: {} } });
    for (const socket of [...slow, late]) socket?.destroy();
    await expect
      .poll(async () => {
        const [next] = await openSockets(bed.server.url, 1, request('{', 100));
        const refused = await Promise.race([
          once(next as Socket, 'data').then(() => true),
          new Promise<boolean>((resolve) => setTimeout(resolve, 200, false)),
        ]);
        next?.destroy();
        return refused;
      })
      .toBe(false);
  });

  it('may take six of sixteen places from one network, and half of them from all', async () => {
    await using bed = await serve([], { maxIncompleteRequests: 16, trustedProxies: 1 });
    const sockets: Socket[] = [];
    const open = async (count: number, network: number) => {
      const forwarded = `host: a\r\nx-forwarded-for: 192.0.2.${network}`;
      const bytes = request('{', 100).replace('host: a', forwarded);
      const opened = await openSockets(bed.server.url, count, bytes);
      sockets.push(...opened);
      return opened;
    };
    const waiting = [...(await open(6, 1))];
    expect((await fetch(`${bed.server.url}/health/live`)).status).toBe(200);
    const [late] = await open(1, 1);
    expect(String(await once(late as Socket, 'data'))).toContain('OVERLOADED');
    for (const network of [2, 3]) waiting.push(...(await open(1, network)));
    expect((await fetch(`${bed.server.url}/health/live`)).status).toBe(200);
    const [full] = await open(1, 4);
    expect(String(await once(full as Socket, 'data'))).toContain('OVERLOADED');
    expect(waiting.map(({ bytesRead }) => bytesRead)).toEqual(Array(8).fill(0));
    for (const socket of sockets) socket.destroy();
  });

  it('are served once the rest has arrived, through `fetch` as well', async () => {
    await using bed = await serve([]);
    const body = JSON.stringify({ query: AUDIT });
    const [socket] = await openSockets(bed.server.url, 1, request(body.slice(0, 9), body.length));
    expect((await fetch(`${bed.server.url}/health/live`)).status).toBe(200);
    socket?.write(body.slice(9));
    const [response] = await once(socket as Socket, 'data');
    expect(String(response)).toContain('{"data":{"audit":{"totalCount":0}}}');
    socket?.destroy();
    const encoder = new TextEncoder();
    const stream = new ReadableStream({
      start: (controller) => {
        for (const part of [body.slice(0, 9), body.slice(9)])
          controller.enqueue(encoder.encode(part));
        controller.close();
      },
    });
    const fetched = await bed.gateway.fetch('http://gateway.test/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: stream,
      duplex: 'half',
    } as RequestInit);
    expect(await fetched.json()).toEqual({ data: { audit: { totalCount: 0 } } });
  });

  it('get 413 for more than 64 KiB, chunked or not, and nothing is sent', async () => {
    await using bed = await serve([]);
    const long = 'x'.repeat(70_000);
    const chunked = `POST /graphql HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`;
    expect(await sendRaw(bed.server.url, chunked)).toMatch(/^HTTP\/1.1 413 /);
    const plain = request(long).replace('host: a', 'host: a\r\nconnection: close');
    expect(await sendRaw(bed.server.url, plain)).toMatch(/^HTTP\/1.1 413 /);
    const fetched = await ask(bed.gateway, `{ __typename } # ${long}`);
    expect([fetched.status, codeOf(fetched)]).toEqual([413, 'BAD_REQUEST']);
    expect(bed.service.seen).toEqual([]);
  });
});

describe('clients that never read', () => {
  const LARGE = [{ id: 'x'.repeat(12_000_000) }]; // more than the kernel takes for a socket
  const contract = { audit: { event: { id: '/id' } } }; // inferred IDs are shorter
  const body = JSON.stringify({ query: '{ audit { nodes { id } } }' });

  it('are disconnected after the write timeout', async () => {
    await using bed = await serve(LARGE, {
      contract,
      upstream: { maxBytes: 2 ** 24 },
      writeTimeoutMs: 100,
    });
    const [socket] = await openSockets(bed.server.url, 1, request(body));
    socket?.pause();
    await expect.poll(() => bed.service.seen.length).toBe(1);
    // Node restarts the timer when bytes arrive.
    const rarely = { interval: 500 };
    await expect.poll(() => isClosed(socket as Socket), rarely).toBe(true);
  });

  it('are disconnected, longest waiting first, when too much waits for them', async () => {
    await using bed = await serve(LARGE, {
      contract,
      upstream: { maxBytes: 2 ** 24 },
      maxUnreadBytes: 8_000_000,
    });
    const [first] = await openSockets(bed.server.url, 1, request(body));
    first?.pause();
    // Its response waits from now on. Before, that of the second request could be the first to wait.
    await expect.poll(() => bed.gateway.logged.length).toBe(1);
    const [second] = await openSockets(bed.server.url, 1, request(body));
    second?.pause();
    await expect.poll(() => isClosed(first as Socket)).toBe(true);
    second?.resume();
    let received = 0;
    second?.on('data', ({ length }) => {
      received += length;
    });
    await expect.poll(() => received).toBeGreaterThan(12_000_000);
    second?.destroy();
  });

  it('are disconnected first if they have read nothing for 5 s, whatever others hold', async () => {
    let ahead = 0;
    await using bed = await serve(LARGE, {
      contract,
      upstream: { maxBytes: 2 ** 24 },
      maxUnreadBytes: 22_500_000, // two of them, or three of which the kernel has taken more than it does
      clock: () => performance.now() + ahead,
    });
    await acceptTokens(bed.gateway, 'stalled', 'greedy');
    bed.gateway.logged.length = 0;
    const sockets: Socket[] = [];
    for (const token of ['stalled', 'greedy', 'greedy']) {
      const [socket] = await openSockets(bed.server.url, 1, request(body, body.length, token));
      socket?.pause();
      sockets.push(socket as Socket);
      await expect.poll(() => bed.gateway.logged.length).toBe(sockets.length);
      if (sockets.length === 1) ahead = 6000;
    }
    await expect.poll(() => sockets.map(isClosed)).toEqual([true, false, false]);
    for (const socket of sockets) socket.destroy();
  });

  it('are disconnected before those of another token that hold less, however long these have waited', async () => {
    const twice = [{ id: 'x'.repeat(24_000_000) }]; // the kernel takes less than 6 MB of each
    await using bed = await serve(twice, {
      clock: () => 0, // nobody has waited for 5 s
      contract,
      upstream: { maxBytes: 2 ** 25 },
      maxUnreadBytes: 49_000_000,
    });
    await acceptTokens(bed.gateway, 'ordinary', 'greedy');
    bed.gateway.logged.length = 0;
    const sockets: Socket[] = [];
    for (const token of ['ordinary', 'greedy', 'greedy', 'greedy', 'greedy']) {
      const [socket] = await openSockets(bed.server.url, 1, request(body, body.length, token));
      socket?.pause();
      sockets.push(socket as Socket);
      await expect.poll(() => bed.gateway.logged.length).toBe(sockets.length);
    }
    const [ordinary, ...others] = sockets;
    await expect.poll(() => others.filter(isClosed)).toHaveLength(3);
    let received = 0;
    ordinary?.on('data', ({ length }) => {
      received += length;
    });
    ordinary?.resume();
    await expect.poll(() => received).toBeGreaterThan(24_000_000);
    for (const socket of sockets) socket.destroy();
  });

  /** Whether the other side has closed the connection: a write to it then fails. Servers skip an empty line before a request. */
  function isClosed(socket: Socket): boolean {
    if (!socket.destroyed) socket.write('\r\n');
    return socket.destroyed;
  }
});

describe('another spelling of a path', () => {
  it.each(['/./graphql', '/x/../graphql', '/%2e/graphql', '/health/../graphql', '//graphql'])(
    '%s is not found, and executes nothing',
    async (target) => {
      await using bed = await serve([]);
      const body = JSON.stringify({ query: AUDIT });
      const bytes = request(body)
        .replace('/graphql', target)
        .replace('host: a', 'host: a\r\nconnection: close');
      expect(await sendRaw(bed.server.url, bytes)).toMatch(/^HTTP\/1.1 404 /);
      expect(bed.service.seen).toEqual([]);
    },
  );

  it('/./health/ready is not found', async () => {
    await using bed = await serve([]);
    const bytes = 'GET /./health/ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
    expect(await sendRaw(bed.server.url, bytes)).toMatch(/^HTTP\/1.1 404 /);
  });
});

describe('a pointer', () => {
  it.each([
    ['of 65 tokens', '/a'.repeat(65)],
    ['of more than 2 KB', `/${'a'.repeat(2048)}`],
    ['of 30,000 tokens', '/a'.repeat(30_000)],
    ['without a slash', 'a'],
  ])('%s is rejected once, and nothing is sent', async (_, pointer) => {
    await using bed = await serve([{ id: 1 }, { id: 2 }]);
    const query = 'query ($p: String) { audit { nodes { raw(pointer: $p) } } }';
    for (const _ of [1, 2, 3]) {
      const result = await bed.send(query, { p: pointer });
      expect(result).toMatchObject({ data: undefined, codes: 'BAD_USER_INPUT' });
      expect(result.message).toContain('JSON pointer');
    }
    const literal = `mutation { deleteApiKey(clientId: "k") { raw(pointer: "${pointer}") } }`;
    expect(await bed.send(literal)).toMatchObject({ data: undefined, codes: 'BAD_USER_INPUT' });
    const byDefault = `query ($p: String = "${pointer}") { audit { raw(pointer: $p) } }`;
    expect(await bed.send(byDefault)).toMatchObject({ data: undefined, codes: 'BAD_USER_INPUT' });
    expect(bed.service.seen).toEqual([]);
  });

  it('of 64 tokens is resolved', async () => {
    await using bed = await serve([{ id: 1 }]);
    const query = 'query ($p: String) { audit { nodes { raw(pointer: $p) } } }';
    const result = await bed.send(query, { p: '/a'.repeat(64) });
    expect(result.data).toEqual({ audit: { nodes: [{ raw: null }] } });
  });
});

describe('a list in the arguments', () => {
  it.each([
    ['filter: { actions: $list }', '[String!]', 'a'],
    ['parameters: $list', '[UpstreamParameter!]', { name: 'n', value: 'v' }],
  ])('%s may have 100 items', async (argument, type, item) => {
    await using bed = await serve([{ id: 1, action: 'a' }]);
    const query = `query ($list: ${type}) { audit(${argument}) { nodes { id } } }`;
    const accepted = await bed.send(query, { list: Array(100).fill(item) });
    expect(accepted.data).toEqual({ audit: { nodes: [{ id: '1' }] } });
    const rejected = await bed.send(query, { list: Array(101).fill(item) });
    expect(rejected).toMatchObject({ data: { audit: null }, codes: 'BAD_USER_INPUT' });
    expect(rejected.message).toContain('100');
    expect(bed.service.seen).toHaveLength(1);
  });
});

describe('a GraphQL response that is too large', () => {
  const RECORD = { id: 'é'.repeat(400), text: 'x'.repeat(1000) };

  it.each([
    ['aliases of the whole record', 'a: raw b: raw c: raw'],
    ['aliases of a field', 'a: id b: id c: id d: id e: id f: id g: id h: id'],
    ['long aliases', `${'a'.repeat(2500)}: id`],
  ])('because of %s is OPERATION_TOO_COMPLEX as a whole', async (_, fields) => {
    await using bed = await serve([RECORD], { graphqlMaxBytes: 2500 });
    for (const _ of [1, 2, 3]) {
      const result = await bed.send(`{ audit { nodes { ${fields} } } }`);
      expect(result).toMatchObject({ status: 200, data: null, codes: 'OPERATION_TOO_COMPLEX' });
      expect(result.message).toContain('larger than 32 MiB');
    }
    expect((await bed.send('{ audit { nodes { raw } } }')).data).toEqual({
      audit: { nodes: [{ raw: RECORD }] },
    });
  });
});

describe('the response of a deletion that is too large', () => {
  it('is OUTCOME_UNKNOWN, which says that the request was sent', async () => {
    await using bed = await serve(
      { deleted: 1, note: 'x'.repeat(1000) },
      { graphqlMaxBytes: 2500 },
    );
    for (const [index] of [1, 2, 3].entries()) {
      const result = await bed.send(
        'mutation { deleteApiKey(clientId: "k") { a: raw b: raw c: raw } }',
      );
      expect(result).toMatchObject({ status: 200, data: null, codes: 'OUTCOME_UNKNOWN' });
      expect(result.message).toMatch(/was sent.*larger than 32 MiB.*before you repeat it/);
      expect(bed.service.seen).toHaveLength(index + 1);
    }
  });
});

describe('the responses that one request reads', () => {
  const RECORDS = { body: [{ id: 'x'.repeat(900) }] };
  const two = ['1', '2'].map(
    (n) => `a${n}: audit(parameters: [{ name: "n", value: "${n}" }]) { totalCount }`,
  );

  it.each([
    ['with a length', RECORDS],
    ['chunked', { ...RECORDS, chunked: true }],
  ])('have a bound together, %s', async (_, response) => {
    await using service = await startService(
      'chunked' in response
        ? (_, raw) => {
            raw.end(JSON.stringify(response.body));
            return undefined;
          }
        : response,
    );
    await using gateway = gatewayOver(service.url, { upstream: { maxBytesPerRequest: 1500 } });
    const result = await ask(gateway, `{ ${two.join(' ')} }`, {}, { token: 't' });
    expect(codeOf(result)).toBe('OPERATION_TOO_COMPLEX');
    expect(result.errors).toHaveLength(1);
    expect(result.errors?.[0]?.message).toContain('reads more of the service than one request may');
    const one = await ask(gateway, AUDIT, {}, { token: 't' });
    expect(one.data).toEqual({ audit: { totalCount: 1 } });
  });
});

it('an entity with a client ID of more than 256 characters is BAD_USER_INPUT, and its length is not repeated', async () => {
  await using gateway = gatewayOver(NOWHERE);
  const query =
    'query ($r: [_Any!]!) { _entities(representations: $r) { ... on ApiKey { clientId } } }';
  const entity = (clientId: string) => ({ __typename: 'ApiKey', clientId });
  const refused = ['x'.repeat(257), '', '..', 'a\nb', '\ud800'].map(entity);
  const result = await ask(gateway, query, { r: [...refused, entity('x'.repeat(256))] });
  expect(result.data).toEqual({
    _entities: [...refused.map(() => null), { clientId: 'x'.repeat(256) }],
  });
  expect(codeOf(result)).toBe('BAD_USER_INPUT');
  expect(result.errors).toHaveLength(5);
});

describe('a request with more than 50,000 values', () => {
  const RECORDS = Array.from({ length: 1000 }, (_, id) => ({ id, actor: 'a' }));
  const aliases = (count: number, field: string) =>
    Array.from({ length: count }, (_, at) => `a${at}: ${field}`).join(' ');

  it.each([
    ['fields', aliases(48, 'id'), aliases(50, 'id')],
    ['fields of `raw`, which counts as ten', aliases(4, 'raw'), aliases(5, 'raw')],
    ['fields of fragments', `${aliases(40, 'id')} ...F`, `${aliases(44, 'id')} ...F`],
  ])('of one connection is OPERATION_TOO_COMPLEX, by %s', async (_, accepted, refused) => {
    await using bed = await serve(RECORDS);
    const query = (fields: string) =>
      `{ audit(first: 1000) { nodes { ${fields} } } }${fields.includes('...F') ? ' fragment F on AuditEvent { actor { name } target { name } outcome action }' : ''}`;
    for (const _ of [1, 2, 3]) {
      expect((await bed.send(query(accepted))).codes).toBe('');
      const result = await bed.send(query(refused));
      expect(result).toMatchObject({ data: { audit: null }, codes: 'OPERATION_TOO_COMPLEX' });
      expect(result.message).toContain('50000 values');
    }
  });

  it('of many entities gets data until there are too many', async () => {
    await using bed = await serve(RECORDS);
    const representations = Array.from({ length: 200 }, () => ({
      __typename: 'ApiKey',
      clientId: 'a',
    }));
    const query =
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on ApiKey { audit(first: 1000) { nodes { id action } } } } }';
    const { data, codes } = await bed.send(query, { r: representations });
    expect(codes).toBe('OPERATION_TOO_COMPLEX');
    expect(data._entities.filter(({ audit }: { audit: unknown }) => audit !== null)).toHaveLength(
      16,
    );
  });
});
