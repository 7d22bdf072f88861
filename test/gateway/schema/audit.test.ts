import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

/** The result of `audit` for a response of the service. */
async function read(body: unknown, variables: object = {}) {
  await using service = await startService({ body });
  await using gateway = gatewayOver(service.url);
  return await ask(gateway, AuditDocument, { ...variables, withRaw: true }, { token: 't' });
}

const ids = ({ data }: Awaited<ReturnType<typeof read>>) => data?.audit?.nodes.map(({ id }) => id);

describe('the records', () => {
  it.each([
    ['the body itself', [{ id: 1 }]],
    ['its only list', { anything: [{ id: 1 }] }],
    ['its only list of objects', { fields: ['a', 'b'], things: [{ id: 1 }], page: 1 }],
    ['its only list with records', { errors: [], things: [{ id: 1 }] }],
    ['the list of a usual name', { links: [{ id: 9 }], Events: [{ id: 1 }] }],
  ])('are %s', async (_, body) => {
    expect(ids(await read(body))).toEqual(['1']);
  });

  it.each([
    ['an empty list', []],
    ['an empty list in an envelope', { data: [], page: 1 }],
    ['an empty list of a usual name beside another', { events: [], links: [{ rel: 'self' }] }],
  ])('may be empty: %s', async (_, body) => {
    const { data } = await read(body);
    expect(data?.audit).toMatchObject({ totalCount: 0, nodes: [] });
    expect(data?.audit?.pageInfo).toEqual({
      hasNextPage: false,
      hasPreviousPage: false,
      startCursor: null,
      endCursor: null,
    });
  });

  it.each([
    ['an object without a list', { message: 'hello' }],
    ['lists of texts only', { a: ['x'] }],
    ['two lists of objects of no usual name', { a: [{ id: 1 }], b: [{ id: 2 }] }],
    ['a text', '"x"'],
  ])('are not found in %s', async (_, body) => {
    const result = await read(body);
    expect(codeOf(result)).toBe('UPSTREAM_BAD_RESPONSE');
    expect(result.errors?.[0]?.extensions.reason).toBe('NO_RECORDS');
    expect(result.errors?.[0]?.message).toMatch(/`keytrail learn.*KEYTRAIL_CONTRACT/);
  });
});

describe('an event', () => {
  const NOTHING = {
    id: null,
    occurredAt: null,
    action: null,
    outcome: null,
    ipAddress: null,
    userAgent: null,
    actor: null,
    target: null,
  };

  it.each([
    [
      {
        id: 7,
        timestamp: '2026-11-21T10:00:00+01:00',
        action: 'key.delete',
        actor: { id: 'u1', email: 'ann@example.com', type: 'user' },
        target: { id: 'k1', name: 'CI', kind: 'api_key' },
        outcome: 'success',
        ip: '192.0.2.1',
        user_agent: 'curl',
      },
      {
        id: '7',
        occurredAt: '2026-11-21T09:00:00.000Z',
        action: 'key.delete',
        actor: { identifier: 'u1', name: 'ann@example.com', type: 'user' },
        target: { identifier: 'k1', name: 'CI', type: 'api_key' },
        outcome: 'SUCCESS',
        ipAddress: '192.0.2.1',
        userAgent: 'curl',
      },
    ],
    [
      {
        EventId: 'e',
        createdAt: 1_700_000_000,
        eventType: 'login',
        actor_id: 5,
        'Actor-Name': 'Ann',
        success: false,
      },
      {
        id: 'e',
        occurredAt: '2023-11-14T22:13:20.000Z',
        action: 'login',
        actor: { identifier: '5', name: 'Ann', type: null },
        outcome: 'FAILURE',
      },
    ],
    [
      {
        user: 'ann',
        targets: [{ id: 1 }, { id: 2 }],
        result: { status: 'Denied' },
        sourceIPAddress: '::1',
      },
      {
        actor: { identifier: null, name: 'ann', type: null },
        target: { identifier: '1', name: null, type: null },
        outcome: 'FAILURE',
        ipAddress: '::1',
      },
    ],
    [{ time: '09/07/2021', outcome: 'maybe', id: '', actor: {}, ip: ['x'], action: { a: 1 } }, {}],
    [{ updated_at: '2026-11-21T10:00:00Z', expires: 1_700_000_000 }, {}],
    [{ kind: 'Event', type: 'audit_log' }, {}],
    [{ at: '2026-11-21T10:00:00Z', a: { type: 'b' } }, { occurredAt: '2026-11-21T10:00:00.000Z' }],
    [{}, {}],
    ['text', {}],
    [[1, 2], {}],
  ])('%j is read by its usual names, and null if in doubt', async (record, expected) => {
    const { data } = await read([record]);
    expect(data?.audit?.nodes).toEqual([{ ...NOTHING, ...expected, raw: record }]);
  });

  const time = '2026-11-21T10:00:00Z';
  const old = '2020-01-01T00:00:00Z';

  it('reads records of different shapes by the names that each has', async () => {
    const { data } = await read([
      { occurred_at: time, action: 'a', ip: '192.0.2.1', result: 'ok', user: 'ann' },
      { created_at: old, event_type: 'b', remote_address: '::1', login_result: 'failed' },
    ]);
    const [first, second] = data?.audit?.nodes ?? [];
    expect(first).toMatchObject({ action: 'a', outcome: 'SUCCESS', actor: { name: 'ann' } });
    expect(second).toMatchObject({ occurredAt: '2020-01-01T00:00:00.000Z', action: 'b' });
    expect(second).toMatchObject({ ipAddress: '::1', outcome: 'FAILURE' });
  });

  it.each<readonly [string, readonly object[], readonly object[]]>([
    [
      'a guess that more have',
      [{ action: 'login', message: 'a' }, { message: 'b' }, { message: 'c' }],
      [{ action: 'login' }, { action: 'b' }, { action: 'c' }],
    ],
    [
      'a name in place of an address',
      [{ sourceIPAddress: '192.0.2.1' }, { sourceIPAddress: 'cloud.example.com' }],
      [{ ipAddress: '192.0.2.1' }, { ipAddress: 'cloud.example.com' }],
    ],
  ])('reads a field of many records despite %s', async (_, records, expected) => {
    const { data } = await read(records);
    expect(data?.audit?.nodes).toMatchObject(expected);
  });

  it('takes null as the value', async () => {
    const { data } = await read([
      { id: 'e1', action: 'a', time },
      { id: null, document_id: 'd', action: null, name: 'Test key', time },
    ]);
    expect(data?.audit?.nodes[1]).toMatchObject({ id: null, action: null });
  });

  it('finds records under a name for records, not for kinds of records', async () => {
    const body = { event_types: [{ id: 1, created_at: old }], events: [{ id: 2, time }] };
    const { data } = await read(body);
    expect(data?.audit?.nodes.map(({ id }) => id)).toEqual(['2']);
  });

  it('finds the records after thousands of deeper members', async () => {
    const users = Array.from({ length: 450 }, () => ({ ...Array.from({ length: 13 }, () => 1) }));
    const { data } = await read({ users: { ...users }, data: { events: [{ id: 2, time }] } });
    expect(data?.audit?.nodes.map(({ id }) => id)).toEqual(['2']);
  });

  it('keeps every digit of an integer beyond 2^53, everywhere', async () => {
    const body =
      '[{"id":9007199254740993,"n":-123456789012345678901234567890,"f":0.1,"small":[1],"big":1e400}]';
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const { data } = await ask(gateway, '{ audit { nodes { id raw } } }', {}, { token: 't' });
    expect(data).toEqual({
      audit: {
        nodes: [
          {
            id: '9007199254740993',
            raw: {
              id: '9007199254740993',
              n: '-123456789012345678901234567890',
              f: 0.1,
              small: [1],
              big: '1e400',
            },
          },
        ],
      },
    });
  });

  it('is not confused by a member called __proto__', async () => {
    const { data } = await read('[{"__proto__":{"id":"polluted"},"action":"x"}]');
    expect(data?.audit?.nodes).toMatchObject([{ id: null, action: 'x' }]);
    expect(Object.hasOwn(Object.prototype, 'id')).toBe(false);
  });
});

describe('raw', () => {
  const BODY = { '': 0, 'a/b': { 'm~n': [1, [2, { x: null }]] }, items: [{ id: 1 }] };

  it.each([
    ['', BODY],
    ['/', 0],
    ['/a~1b/m~0n/0', 1],
    ['/a~1b/m~0n/1/1/x', null],
    ['/a~1b/m~0n/01', null],
    ['/a~1b/m~0n/-', null],
    ['/a~1b/m~0n/length', null],
    ['/__proto__', null],
    ['/constructor/name', null],
    ['/nothing/here', null],
  ])('(pointer: %j) is the part that RFC 6901 specifies', async (pointer, expected) => {
    await using service = await startService({ body: BODY });
    await using gateway = gatewayOver(service.url);
    const query = 'query ($p: String) { audit { raw(pointer: $p) nodes { raw(pointer: "/id") } } }';
    const { data } = await ask(gateway, query, { p: pointer }, { token: 't' });
    expect(data).toEqual({ audit: { raw: expected, nodes: [{ raw: 1 }] } });
  });

  it.each(['a', '/~', '/~2', 'a/b', '#/a'])('(pointer: %j) is BAD_USER_INPUT', async (pointer) => {
    await using service = await startService({ body: BODY });
    await using gateway = gatewayOver(service.url);
    const query = 'query ($p: String) { audit { totalCount raw(pointer: $p) } }';
    const result = await ask(gateway, query, { p: pointer }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
    expect(result.errors?.[0]?.message).toContain('JSON pointer');
    expect(service.seen).toEqual([]);
  });
});

describe('a page', () => {
  const BODY = Array.from({ length: 25 }, (_, id) => ({ id, action: id % 5 === 0 ? 'five' : 'x' }));

  it('has 50 events by default, also for null', async () => {
    const many = Array.from({ length: 60 }, (_, id) => ({ id }));
    expect(ids(await read(many))).toHaveLength(50);
    expect(ids(await read(many, { first: null }))).toHaveLength(50);
  });

  it.each([{}, { actions: ['five'] }])(
    'after window walks the whole trail, filter %j',
    async (filter) => {
      await using service = await startService({ body: BODY });
      await using gateway = gatewayOver(service.url);
      const wanted = BODY.filter(({ action }) => !filter.actions || action === 'five').map(
        ({ id }) => `${id}`,
      );
      const walked: string[] = [];
      let after: string | null = null;
      for (;;) {
        const page: Awaited<ReturnType<typeof read>> = await ask(
          gateway,
          AuditDocument,
          { first: 2, after, filter },
          { token: 't' },
        );
        const { nodes = [], pageInfo, totalCount } = page.data?.audit ?? {};
        walked.push(...nodes.map(({ id }) => id ?? ''));
        expect(totalCount).toBe(wanted.length);
        expect(pageInfo?.hasPreviousPage).toBe(after !== null);
        after = pageInfo?.endCursor ?? null;
        if (!pageInfo?.hasNextPage) break;
      }
      expect(walked).toEqual(wanted);
    },
  );

  it.each([
    [
      'in front',
      (body: typeof BODY) => [{ id: 100, action: 'n' }, { id: 101, action: 'n' }, ...body],
    ],
    ['behind', (body: typeof BODY) => [...body, { id: 100, action: 'n' }]],
    ['nowhere, but the oldest are gone', (body: typeof BODY) => body.slice(0, 20)],
    [
      'in front, and all have changed but for their ids',
      (body: typeof BODY) =>
        [{ id: 100, action: 'n' }, ...body].map(({ id }) => ({ id, action: 'changed' })),
    ],
  ])('continues after its event when records are added %s', async (_, grow) => {
    let body = BODY;
    await using service = await startService(() => ({ body }));
    await using gateway = gatewayOver(service.url);
    const first = await ask(gateway, AuditDocument, { first: 3 }, { token: 't' });
    body = grow(body);
    const after = first.data?.audit?.pageInfo.endCursor ?? null;
    const next = await ask(gateway, AuditDocument, { first: 3, after }, { token: 't' });
    expect(next.data?.audit?.nodes.map(({ id }) => id)).toEqual(['3', '4', '5']);
  });

  it('reports that the event of its cursor is gone', async () => {
    let body = BODY;
    await using service = await startService(() => ({ body }));
    await using gateway = gatewayOver(service.url);
    const first = await ask(gateway, AuditDocument, { first: 3 }, { token: 't' });
    body = BODY.slice(10);
    const after = first.data?.audit?.pageInfo.endCursor ?? null;
    const result = await ask(gateway, AuditDocument, { after }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
  });

  it('distinguishes records without id', async () => {
    const body = Array.from({ length: 6 }, (_, index) => ({ action: `a${index}` }));
    const first = await read(body, { first: 3 });
    const after = first.data?.audit?.pageInfo.endCursor ?? null;
    const { data } = await read([{ action: 'new' }, ...body], { first: 3, after });
    expect(data?.audit?.nodes.map(({ action }) => action)).toEqual(['a3', 'a4', 'a5']);
  });

  it('has the total of the service, and none if only the service could know it', async () => {
    expect((await read({ total: 900, items: BODY })).data?.audit?.totalCount).toBe(900);
    const filtered = await read({ total: 900, items: BODY }, { filter: { actions: ['five'] } });
    expect(filtered.data?.audit?.totalCount).toBeNull();
    const beyond = await read({ total: 5e9, items: BODY });
    expect(beyond.data?.audit?.totalCount).toBeNull();
    expect(beyond.errors).toBeUndefined();
  });
});

describe('a filter', () => {
  const BODY = [
    {
      id: 'a',
      time: '2026-01-01T00:00:00Z',
      action: 'x',
      actor: { id: 'u1', name: 'Ann' },
      outcome: 'success',
    },
    {
      id: 'b',
      time: '2026-01-02T00:00:00Z',
      action: 'y',
      actor: { id: 'u2' },
      target: { name: 'Ann' },
      outcome: 'failed',
    },
    { id: 'c', action: 'X', actor: { id: 'u1' } },
    { id: 'd' },
  ];

  it.each([
    [{}, 'abcd'],
    [{ since: '2026-01-02T00:00:00Z' }, 'b'],
    [{ since: '2026-01-02T01:00:00+01:00' }, 'b'],
    [{ until: '2026-01-02T00:00:00.000Z' }, 'a'],
    [{ since: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' }, 'ab'],
    [{ actions: ['x'] }, 'a'],
    [{ actions: ['x', 'y', 'z'] }, 'ab'],
    [{ actions: [] }, ''],
    [{ actor: 'u1' }, 'ac'],
    [{ actor: 'Ann' }, 'a'],
    [{ target: 'Ann' }, 'b'],
    [{ outcome: 'SUCCESS' }, 'a'],
    [{ outcome: 'FAILURE', actor: 'u2' }, 'b'],
    [{ outcome: 'FAILURE', actor: 'u1' }, ''],
    [{ since: null, actions: null, actor: null, target: null, outcome: null }, 'abcd'],
  ])('%j selects %j', async (filter, wanted) => {
    expect(ids(await read(BODY, { filter }))?.join('')).toBe(wanted);
  });
});
