import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  ask,
  codeOf,
  gatewayOver,
  type Overrides,
  onPort,
  type TestGateway,
} from '../../helpers/gateway.ts';
import { startRawService } from '../../helpers/raw-socket.ts';
import { type Handler, startService } from '../../helpers/service.ts';
import { createTelemetry } from '../../helpers/telemetry.ts';

type Record = { readonly id?: number; readonly time: string; readonly action: string };

/** Newest first. */
function records(length: number, size = 0): readonly Record[] {
  return Array.from({ length }, (_, index) => ({
    id: length - index,
    time: new Date(1_700_000_000_000 - index * 1000).toISOString(),
    action: `action ${index} of somebody, "quoted"`.padEnd(size),
  }));
}

const MANY = records(8000);
const LONG = records(300, 2000);
const IDS = MANY.map(({ id }) => ({ id }));

/** A service with one response, sent in chunks as long as the client reads. */
async function startLarge(body: unknown, { isAnnounced = true } = {}) {
  const sent: number[] = []; // the share of each response that was sent
  const bytes = Buffer.from(JSON.stringify(body));
  const send: Handler = async (_, response) => {
    response.writeHead(200, isAnnounced ? { 'content-length': bytes.length } : {});
    let size = 0;
    while (size < bytes.length && !response.destroyed) {
      response.write(bytes.subarray(size, size + 65_536));
      size = Math.min(size + 65_536, bytes.length);
      await new Promise((resolve) => setImmediate(resolve));
      if (response.writableNeedDrain)
        await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.end();
    sent.push(response.destroyed ? size / bytes.length : 1);
    return undefined;
  };
  const service = await startService(send);
  return { ...service, sent, limits: { maxBytes: 2 ** 23, timeoutMs: 14_000 } };
}

/** For a busy machine. */

type Large = Awaited<ReturnType<typeof startLarge>>;

function over(service: Large, overrides: Overrides = {}): TestGateway {
  return gatewayOver(service.url, {
    ...overrides,
    upstream: { ...service.limits, ...overrides.upstream },
  });
}

/** Whether the service sent every response to its end. */
async function isWhole({ sent, seen }: Large): Promise<boolean> {
  await expect.poll(() => sent.length).toBe(seen.length);
  expect(sent.every((share) => share === 1) || sent.every((share) => share < 0.5)).toBe(true);
  return sent.every((share) => share === 1);
}

type Window = {
  readonly nodes: readonly { readonly id: string | null; readonly raw?: unknown }[];
  readonly totalCount?: number;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
};

const PAGE_FIELDS = 'nodes { id raw } pageInfo { hasNextPage endCursor }';
const read = (
  gateway: TestGateway,
  query = `{ audit(first: 7) { ${PAGE_FIELDS} } }`,
  variables = {},
) => ask<{ audit: Window }, object>(gateway, query, variables, { token: 't' });

/** The same for a client that may disconnect. */
function send(gateway: TestGateway, signal: AbortSignal): Promise<Response> {
  return gateway.fetch('http://gateway.test/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
    body: JSON.stringify({ query: `{ audit(first: 7) { ${PAGE_FIELDS} } }` }),
    signal,
  });
}

describe('of a large response', () => {
  it.each([
    ['a page', `{ audit(first: 7) { ${PAGE_FIELDS} } }`],
    ['one under another name', `{ trail: audit { ${PAGE_FIELDS} } }`],
    [
      'one beside __typename',
      `{ __typename ...Root } fragment Root on Query { audit { ${PAGE_FIELDS} } }`,
    ],
    [
      'one in two places',
      `{ audit { nodes { id } } ... { audit { edges { cursor node { raw } } } } }`,
    ],
    [
      'one whose filter has no condition',
      `{ audit(filter: {since: null}, after: null) { ${PAGE_FIELDS} } }`,
    ],
    [
      'one with parameters',
      `{ audit(parameters: [{name: "totalCount", value: "1"}]) { ${PAGE_FIELDS} } }`,
    ],
    [
      'one whose count is skipped',
      `{ audit(first: 7) { ${PAGE_FIELDS} totalCount @skip(if: true) } }`,
    ],
    [
      'one beside a field that is skipped',
      `{ audit { ${PAGE_FIELDS} } more: audit @skip(if: true) { totalCount } }`,
    ],
  ])('the service sends only the beginning for %s', async (_, query) => {
    await using service = await startLarge({ events: MANY });
    await using gateway = over(service);
    const { errors } = await read(gateway, query);
    expect(errors).toBeUndefined();
    expect(await isWhole(service)).toBe(false);
  });

  it.each([
    ['totalCount', '{ audit(first: 7) { totalCount } }'],
    [
      'a count in a fragment',
      `{ audit { nodes { id } ...A } } fragment A on AuditEventConnection { ... { n: totalCount } }`,
    ],
    [
      'a count in another place',
      `{ audit { nodes { id } } ... on Query { audit { totalCount } } }`,
    ],
    ['raw of the page', '{ audit(first: 7) { nodes { id } raw(pointer: "/events/7000/id") } }'],
    ['a filter', `{ audit(first: 7, filter: {actions: ["none"]}) { ${PAGE_FIELDS} } }`],
    [
      'two fields',
      `{ audit(first: 7) { ${PAGE_FIELDS} } more: audit(first: 8) { ${PAGE_FIELDS} } }`,
    ],
    [
      'a key',
      `query { _entities(representations: [{__typename: "ApiKey", clientId: "k"}]) { ... on ApiKey { audit { nodes { id } } } } }`,
    ],
  ])('the service sends all for %s', async (_, query) => {
    await using service = await startLarge({ events: MANY });
    const contract = { audit: { event: { actor: { name: '/action' } } } }; // an entity needs a party
    await using gateway = over(service, { contract });
    const { errors, text } = await read(gateway, query);
    expect(errors).toBeUndefined();
    expect(await isWhole(service)).toBe(true);
    if (query.includes('raw(')) expect(text).toContain('"raw":1000}');
  });

  it.each([true, false])('a variable decides whether the whole is needed: %s', async (counts) => {
    await using service = await startLarge({ events: MANY });
    await using gateway = over(service);
    await using server = await onPort(gateway);
    const query =
      'query ($counts: Boolean!) { audit(first: 1) { nodes { id } totalCount @include(if: $counts) } }';
    for (const body of [1, 2, 3].map(() => JSON.stringify({ query, variables: { counts } }))) {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer t' };
      const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
      const audit = { nodes: [{ id: '8000' }], ...(counts && { totalCount: MANY.length }) };
      expect(await response.json()).toEqual({ data: { audit } });
    }
    expect(await isWhole(service)).toBe(counts);
    expect(gateway.logged.at(-1)).toContain('"prepared":true');
  });

  it.each<readonly [string, unknown, object]>([
    ['is the body itself', MANY, {}],
    ['has a usual name', { page: 1, links: [{ a: [{}] }], events: MANY }, {}],
    [
      'has something else far behind',
      { events: [...MANY.slice(0, 1500), 'x', ...MANY.slice(1501)], items: IDS },
      {},
    ],
    ['comes after another one', { columns: IDS, events: MANY }, {}],
    [
      'is deep, as a contract specifies',
      { 'a/b': { x: [[{}]], c: { events: MANY } } },
      { records: '/a~1b/c/events' },
    ],
  ])(
    'only the beginning is read if the list of records %s, with the same result',
    async (_, body, audit) => {
      await using service = await startLarge(body);
      await using gateway = over(service, { contract: { audit } });
      const part = await read(gateway);
      expect(await isWhole(service)).toBe(false);
      const whole = await read(gateway, `{ audit(first: 7) { totalCount ${PAGE_FIELDS} } }`);
      expect(whole.data?.audit.totalCount).toBe(MANY.length);
      expect(part.data?.audit.nodes).toEqual(whole.data?.audit.nodes);
      expect(part.data?.audit.pageInfo.hasNextPage).toBe(true);
    },
  );

  it('all is read without content-length, as it may be too large', async () => {
    await using service = await startLarge(MANY, { isAnnounced: false });
    await using gateway = over(service);
    expect((await read(gateway)).data?.audit.nodes).toHaveLength(7);
    expect(await isWhole(service)).toBe(true);
  });

  it.each<readonly [string, string, unknown, object]>([
    ['is deep', '8000', { result: { events: MANY } }, {}],
    ['has a name that says nothing', '8000', { things: MANY }, {}],
    ['holds no times', '8000', { entries: IDS }, {}],
    ['ends before the page does', '5', { events: MANY.slice(-5), rest: MANY }, {}],
    ['is elsewhere by contract', '5', { events: MANY, rest: MANY.slice(-5) }, { records: '/rest' }],
    [
      'is nowhere, but an object is',
      '5',
      { rest: { ...MANY.slice(-5) }, more: MANY },
      { records: '/rest' },
    ],
  ])('all is read if the list of records %s', async (_, id, body, audit) => {
    await using service = await startLarge(body);
    await using gateway = over(service, { contract: { audit } });
    const { data } = await read(gateway);
    expect(data?.audit.nodes[0]?.id).toBe(id);
    expect(await isWhole(service)).toBe(true);
  });
});

describe('a partial response', () => {
  it.each([
    ['before it is complete returns no page', MANY, 4000, 'UPSTREAM_BAD_RESPONSE'],
    ['after the prefix returns the page', MANY, 200_000, ''],
    ['returns no page if the response is small', records(600), 50_000, 'UPSTREAM_BAD_RESPONSE'],
    ['returns no page if it is half of all', LONG, 600_000, 'UPSTREAM_BAD_RESPONSE'],
  ])('that is truncated %s', async (_, all, size, code) => {
    const body = JSON.stringify(all);
    await using service = await startRawService((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, size)}`);
    });
    await using gateway = gatewayOver(service.url, { upstream: { maxBytes: body.length } });
    const first = all === LONG ? 160 : 7;
    const result = await read(gateway, `{ audit(first: ${first}) { ${PAGE_FIELDS} } }`);
    expect(codeOf(result)).toBe(code);
    expect(result.data?.audit?.nodes.length).toBe(code === '' ? 7 : undefined);
    expect(service.requests()).toBe(1);
  });

  it.each([
    ['at once where much is left', MANY, 60_000, 0],
    ['at the deadline where little is left', records(1000), 1000, 1],
  ])(
    'closes its connection %s, if the rest does not arrive',
    async (_, all, timeoutMs, sockets) => {
      const body = JSON.stringify(all);
      await using service = await startService((_, response) => {
        response.writeHead(200, { 'content-length': body.length });
        response.write(body.slice(0, 80_000));
        return undefined;
      });
      await using gateway = gatewayOver(service.url, {
        upstream: { maxBytes: body.length, timeoutMs },
      });
      expect((await read(gateway)).data?.audit.nodes).toHaveLength(7);
      await expect.poll(service.sockets).toBe(sockets);
      await expect.poll(service.sockets).toBe(0);
    },
  );

  it('is a success for metrics, traces and the circuit breaker', async () => {
    await using service = await startLarge(MANY);
    const telemetry = createTelemetry();
    const calls: string[] = [];
    await using gateway = over(service, {
      ...telemetry.parts,
      upstream: {
        observer: {
          onAttempt: ({ route, outcome, isRetry }) =>
            void calls.push(`${isRetry ? 'retry ' : ''}${route} ${outcome}`),
          onCircuitState: (state) => void calls.push(state),
        },
      },
    });
    for (let round = 0; round < 25; round += 1) expect(codeOf(await read(gateway))).toBe('');
    expect(calls).toEqual(Array.from({ length: 25 }, () => 'audit 2xx'));
    expect(await isWhole(service)).toBe(false);
    const spans = telemetry.spans().filter(({ name }) => name.startsWith('GET'));
    expect(spans).toHaveLength(25);
    for (const { attributes } of spans) {
      expect(attributes['http.response.status_code']).toBe(200);
      expect(attributes['error.type']).toBeUndefined();
    }
    expect(gateway.logged.filter((line) => !line.includes('"msg":"request"'))).toEqual([]);
  });

  it('closes its connection only if much is left', async () => {
    for (const [length, connections] of [
      [8000, 3],
      [1000, 1], // about 100 KB
    ] as const) {
      await using service = await startLarge(records(length));
      await using gateway = over(service, { upstream: { connections: 1 } });
      for (let round = 0; round < 3; round += 1) await read(gateway);
      expect(service.connections()).toBe(connections);
      expect(await isWhole(service)).toBe(connections === 1);
    }
  });

  it('keeps its connection while a small rest arrives, even if the client disconnects', async () => {
    const rest = Promise.withResolvers<void>();
    const body = JSON.stringify(records(1000));
    await using service = await startService(async (_, response) => {
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.slice(0, 80_000));
      await rest.promise;
      response.end(body.slice(80_000));
      return undefined;
    });
    await using gateway = gatewayOver(service.url, { upstream: { connections: 1 } });
    const caller = new AbortController();
    const answer = await send(gateway, caller.signal);
    expect(await answer.text()).toContain('"hasNextPage":true');
    caller.abort();
    rest.resolve();
    expect((await read(gateway)).data?.audit.nodes).toHaveLength(7);
    expect(service.connections()).toBe(1);
  });

  it('is read a hundred times at once, and the connections are free afterwards', async () => {
    await using service = await startLarge(MANY);
    await using gateway = over(service);
    const results = await Promise.all(Array.from({ length: 100 }, () => read(gateway)));
    expect(results.map((result) => result.data?.audit.nodes[6]?.id)).toEqual(
      Array.from({ length: 100 }, () => String(MANY.length - 6)),
    );
    await expect.poll(service.sockets).toBe(0);
    const { data } = await read(gateway, '{ audit { totalCount } }');
    expect(data).toEqual({ audit: { totalCount: MANY.length } });
  });

  it('is aborted if the client disconnects', async () => {
    const arrived = Promise.withResolvers<void>();
    await using service = await startService((_, response) => {
      response.write(JSON.stringify(records(40)).slice(0, -1));
      arrived.resolve();
      return undefined;
    });
    await using gateway = gatewayOver(service.url);
    const caller = new AbortController();
    const answer = send(gateway, caller.signal);
    await arrived.promise;
    caller.abort();
    await answer.catch(() => {});
    await expect.poll(service.sockets).toBe(0);
  });

  it('is rejected if the response never ends or its content-length is too large', async () => {
    let isAnnounced = false;
    await using service = await startService(async (_, response) => {
      response.writeHead(200, isAnnounced ? { 'content-length': 2 ** 30 } : {});
      response.write(JSON.stringify(MANY).slice(0, -1));
      while (!response.destroyed) {
        response.write(`,${JSON.stringify(MANY[0])}`.repeat(1000));
        await new Promise((resolve) => setImmediate(resolve));
      }
      return undefined;
    });
    await using gateway = gatewayOver(service.url);
    for (isAnnounced of [false, true]) {
      const { errors } = await read(gateway);
      expect(errors?.[0]?.extensions.reason).toBe('TOO_LARGE');
    }
    await expect.poll(service.sockets).toBe(0);
  });

  it('reports no drift of what was not read, and the usual drift of what was', async () => {
    await using service = await startLarge({ events: MANY, total: 8000 });
    const event = { id: '/id', action: '/nothing' };
    const contract = { audit: { total: '/total', event } };
    await using gateway = over(service, { contract });
    await read(gateway);
    expect(await isWhole(service)).toBe(false);
    const [drift] = gateway.logged.filter((line) => line.includes('matched nothing'));
    expect(JSON.parse(drift ?? '{}').responses).toEqual({ 'audit.event.action': 1 });
  });
});

describe('a trail whose first page is partial', () => {
  /** Half of them equal others. */
  const action = (index: number) => (index % 2 === 0 ? `a${index % 10}` : `b${index}`);
  const time = '2026-11-21T10:00:00Z';

  it.each([
    ['on one page', (all: readonly object[]) => ({ body: { events: all } })],
    [
      'on pages of the service',
      (all: readonly object[], url: URL) => {
        const from = Number(url.searchParams.get('from') ?? all.length);
        const start = all.length - from; // counted from the end, as records are added at the start
        const events = all.slice(start, start + 1500);
        const isLast = start + 1500 >= all.length;
        return { body: { events, next: isLast ? null : `?from=${from - 1500}` } };
      },
    ],
  ])('%s is read to its end while records are added, each once', async (_, page) => {
    const old = Array.from({ length: 2000 }, (_, index) => ({
      time,
      action: action(index),
      pad: 'x'.repeat(50),
    }));
    let all: readonly object[] = old;
    await using service = await startService(({ url }) => page(all, new URL(url, 'http://s')));
    await using gateway = gatewayOver(service.url);
    const walked: unknown[] = [];
    let after: string | null = null;
    for (const first of [7, 43, 950, 1000, 1000]) {
      const { data }: Awaited<ReturnType<typeof read>> = await read(
        gateway,
        `query ($first: Int, $after: String) { audit(first: $first, after: $after) { ${PAGE_FIELDS} } }`,
        { first, after },
      );
      walked.push(...(data?.audit.nodes ?? []).map(({ raw }) => raw));
      if (!data?.audit.pageInfo.hasNextPage) break;
      after = data.audit.pageInfo.endCursor;
      all = [
        { time, action: `new ${first}` },
        { time, action: 'new' },
        { time, action: 'new' },
        ...all,
      ];
    }
    expect(walked).toEqual(old);
  });
});
