import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

type Paging = NonNullable<NonNullable<ConfiguredContract['audit']>['paging']>;

type AuditData = {
  readonly audit: {
    readonly nodes: readonly { readonly id: string }[];
    readonly totalCount: number | null;
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  } | null;
};

const SELECTION = '{ nodes { id } totalCount pageInfo { hasNextPage endCursor } }';
const QUERY = `query ($after: String) { audit(after: $after) ${SELECTION} }`;

function record(id: number) {
  return { id, time: new Date(1.7e12 - id * 1000).toISOString(), action: 'login' };
}

/** Requests a trail, and what follows it. */
async function read(
  response: ServiceResponse | ((url: URL) => ServiceResponse),
  contract: ConfiguredContract['audit'] = {},
  query = QUERY,
) {
  await using service = await startService(({ url }) =>
    typeof response === 'function' ? response(new URL(url, 'http://a')) : response,
  );
  await using gateway = gatewayOver(service.url, { contract: { audit: contract } });
  const first = await ask<AuditData, object>(gateway, query, {}, { token: 't' });
  const { endCursor, hasNextPage } = first.data?.audit?.pageInfo ?? {};
  const rest = hasNextPage
    ? await ask<AuditData, object>(gateway, QUERY, { after: endCursor }, { token: 't' })
    : null;
  const problem = (rest ?? first).errors?.[0];
  return {
    ids: first.data?.audit?.nodes.map(({ id }) => Number(id)),
    totalCount: first.data?.audit?.totalCount,
    hasNextPage,
    reason: problem?.extensions.reason,
    message: problem?.message,
    seen: service.seen.map(({ url }) => url),
  };
}

const PAGE = [1, 2, 3].map(record);

describe('a page that repeats because of a misspelt parameter', () => {
  const bodies: readonly (readonly [string, object])[] = [
    ['a total', { items: PAGE, total: 7 }],
    ['a flag', { items: PAGE, has_more: true }],
    ['a cursor', { items: PAGE, next_cursor: 'c2' }],
    ['the page number and a total', { items: PAGE, page: 1, total: 7 }],
    ['the number of pages', { items: PAGE, page: 1, total_pages: 3 }],
  ];
  it.each(bodies)('is an error if %s says that there are more', async (_, body) => {
    const style = 'next_cursor' in body ? {} : { style: 'page' as const };
    const paging: Paging = { parameter: 'pgae', ...style };
    const { ids, reason, message } = await read({ body }, { paging });
    expect(ids).toBeUndefined();
    expect(reason).toBe('PAGING_REPEATS');
    expect(message).toContain('`audit.paging.parameter`');
  });

  it('is an error for records without ids as well', async () => {
    const items = PAGE.map(({ time, action }) => ({ time, action }));
    const paging: Paging = { style: 'offset', parameter: 'ofset' };
    const { reason } = await read({ body: { items, has_more: true } }, { paging });
    expect(reason).toBe('PAGING_REPEATS');
  });

  it('sets hasNextPage if nothing says whether there are more', async () => {
    const paging: Paging = { style: 'page', parameter: 'pgae' };
    const { ids, hasNextPage, reason } = await read({ body: { items: PAGE } }, { paging });
    expect(ids).toEqual([1, 2, 3]);
    expect(hasNextPage).toBe(true);
    expect(reason).toBe('PAGING_REPEATS');
  });
});

describe('a list ends', () => {
  it.each([
    ['an empty page', []],
    ['an unchanged cursor', [4]],
  ])('with %s, whatever cursor it has', async (_, last) => {
    const respond = ({ searchParams }: URL) =>
      searchParams.has('c')
        ? { body: { items: last.map(record), cursor: 'x' } }
        : { body: { items: PAGE, cursor: 'x' } };
    const { ids, hasNextPage } = await read(respond, { paging: { parameter: 'c' } });
    expect(ids).toEqual([1, 2, 3, ...last]);
    expect(hasNextPage).toBe(false);
  });

  it('where its last page repeats, if the pages before it were others', async () => {
    const respond = ({ searchParams }: URL) => {
      const page = Math.min(2, Number(searchParams.get('page') ?? 1));
      return { body: { items: page === 1 ? PAGE : [record(4)] } };
    };
    const { ids, hasNextPage } = await read(respond, {
      paging: { style: 'page', parameter: 'page' },
    });
    expect(ids).toEqual([1, 2, 3, 4]);
    expect(hasNextPage).toBe(false);
  });

  it('not with an unchanged cursor if a flag says that there are more', async () => {
    const respond = ({ searchParams }: URL) => ({
      body: { items: [record(searchParams.has('c') ? 2 : 1)], cursor: 'x', has_more: true },
    });
    const { reason } = await read(respond, { paging: { parameter: 'c' } });
    expect(reason).toBe('PAGING_REPEATS');
  });

  it('not with an unchanged cursor that leads to other records, as the ID of a scroll does', async () => {
    let page = 0;
    const respond = () => {
      page += 1;
      return { body: { items: [record(page)], cursor: 'x', has_more: page < 5 } };
    };
    const { ids, hasNextPage } = await read(respond, { paging: { parameter: 'c' } });
    expect(ids).toEqual([1, 2, 3, 4, 5]);
    expect(hasNextPage).toBe(false);
  });
});

describe('more records than were returned are announced', () => {
  it.each(['isLast', 'lastPage', 'last', 'done', 'final', 'complete', 'is_last_page'])(
    'by %s: false',
    async (name) => {
      const { ids, hasNextPage, reason } = await read({ body: { items: PAGE, [name]: false } });
      expect(ids).toEqual([1, 2, 3]);
      expect(hasNextPage).toBe(true);
      expect(reason).toBe('PAGING_UNKNOWN');
    },
  );

  it.each([
    'x-next-page',
    'x-next-cursor',
    'x-ms-continuation',
    'x-continuation-token',
    'opc-next-page',
  ])('by the header %s', async (name) => {
    const response = { headers: { [name]: '2' }, body: PAGE };
    const { hasNextPage, reason, message } = await read(response);
    expect(hasNextPage).toBe(true);
    expect(reason).toBe('PAGING_UNKNOWN');
    expect(message).toContain('`audit.paging.parameter`');
  });

  it('by a header, which leads to the next page if the parameter is configured', async () => {
    const respond = ({ searchParams }: URL): ServiceResponse =>
      searchParams.get('page') === 'abc'
        ? { body: [record(4)], headers: { 'opc-next-page': '' } }
        : { body: PAGE, headers: { 'opc-next-page': 'abc' } };
    const { ids, hasNextPage } = await read(respond, { paging: { parameter: 'page' } });
    expect(ids).toEqual([1, 2, 3, 4]);
    expect(hasNextPage).toBe(false);
  });

  it('by remainingItemCount, from which the total follows', async () => {
    const body = { items: PAGE, metadata: { continue: 'c2', remainingItemCount: 4 } };
    const { totalCount, hasNextPage } = await read({ body });
    expect(totalCount).toBe(7);
    expect(hasNextPage).toBe(true);
  });

  it.each<[string, Paging]>([
    ['a style without pages', { style: 'none' }],
    ['a pointer to nothing', { next: '/nothing', parameter: 'cursor' }],
    ['another style', { style: 'link-header' }],
  ])('by a cursor, although the contract has %s', async (_, paging) => {
    const { ids, hasNextPage } = await read(
      { body: { items: PAGE, next_cursor: 'c2' } },
      { paging },
    );
    expect(ids).toEqual([1, 2, 3]);
    expect(hasNextPage).toBe(true);
  });

  it('not by entries that are configured as null', async () => {
    const body = { items: PAGE, total: 9, has_more: true, next_cursor: 'c2' };
    const paging: Paging = { style: 'none', next: null, more: null };
    const { hasNextPage } = await read({ body }, { total: null, paging });
    expect(hasNextPage).toBe(false);
  });
});

describe('a flag without a position', () => {
  it('leaves the style unknown, and the error names the possible ones', async () => {
    const { ids, hasNextPage, reason, message } = await read(
      { body: { data: PAGE, has_more: true } },
      { paging: { parameter: 'starting_after' } },
    );
    expect([ids, hasNextPage, reason]).toEqual([[1, 2, 3], true, 'PAGING_UNKNOWN']);
    expect(message).toContain('`audit.paging.style` (`page`, `offset` or `last-id`)');
  });
});

describe('a bare list', () => {
  const respond = ({ searchParams }: URL) => ({
    body: PAGE.slice(0, Number(searchParams.get('limit') ?? searchParams.get('per_page') ?? 3)),
  });
  const WITH_SIZE = `{ audit(parameters: [{name: "per_page", value: "2"}]) ${SELECTION} }`;

  it('that has as many records as were requested has a next page and no total', async () => {
    const { ids, hasNextPage, totalCount } = await read(respond, {}, WITH_SIZE);
    expect([ids, hasNextPage, totalCount]).toEqual([[1, 2], true, null]);
  });

  it('that has fewer is complete', async () => {
    const query = WITH_SIZE.replace('"2"', '"5"');
    const { ids, hasNextPage, totalCount } = await read(respond, {}, query);
    expect([ids, hasNextPage, totalCount]).toEqual([[1, 2, 3], false, 3]);
  });

  it('that has as many as the contract requests has a next page', async () => {
    const all = Array.from({ length: 250 }, (_, index) => record(index));
    const limited = ({ searchParams }: URL) => ({
      body: all.slice(0, Number(searchParams.get('limit'))),
    });
    const query = `{ audit(first: 1000) ${SELECTION} }`;
    const { ids, hasNextPage, seen } = await read(limited, { paging: { size: 'limit' } }, query);
    expect(seen[0]).toBe('/api/v1/audit?limit=100');
    expect([ids?.length, hasNextPage]).toEqual([100, true]);
  });

  it('in an object whose cursor is null is complete', async () => {
    const body = { items: PAGE.slice(0, 2), next_cursor: null };
    const { hasNextPage, totalCount } = await read({ body }, {}, WITH_SIZE);
    expect([hasNextPage, totalCount]).toEqual([false, 2]);
  });
});

describe('records in groups', () => {
  const days = { '2026-11-20': [1, 2].map(record), '2026-11-21': [3].map(record) };
  const groups = Object.entries(days).map(([day, logs]) => ({ day, logs }));

  it.each<[string, unknown, string]>([
    ['a list of groups', { data: groups }, '/data/*/logs'],
    ['a list of groups without an envelope', groups, '/*/logs'],
    ['an object of days', days, '/*'],
    ['an object of days in an envelope', { data: days, total: 3 }, '/data/*'],
    ['two lists', { logins: [1, 2].map(record), deletions: [3].map(record) }, '/*'],
    [
      'groups with a time',
      { data: groups.map((group) => ({ ...group, at: record(1).time })) },
      '/data/*/logs',
    ],
  ])('are refused in %s, and read with a pattern', async (_, body, records) => {
    const { ids, reason, message } = await read({ body });
    expect(ids).toBeUndefined();
    expect(reason).toBe('NO_RECORDS');
    expect(message).toContain('`audit.records`');
    expect(message).toContain('`/data/*/logs`');
    expect((await read({ body }, { records })).ids).toEqual([1, 2, 3]);
  });

  it('may lack the list in some groups, but not in all', async () => {
    const body = { data: [{ logs: null }, { logs: PAGE }, {}] };
    expect((await read({ body }, { records: '/data/*/logs' })).ids).toEqual([1, 2, 3]);
    expect((await read({ body }, { records: '/data/*/log' })).reason).toBe('NO_RECORDS');
  });

  it('are not what records with lists in them are', async () => {
    const items = PAGE.map((one) => ({ ...one, changes: [{ field: 'due', at: one.time }] }));
    expect((await read({ body: { items } })).ids).toEqual([1, 2, 3]);
  });
});

describe('a link to another host', () => {
  const respond = ({ searchParams }: URL) =>
    searchParams.get('cursor') === 'c2'
      ? { body: { items: [record(4)], next: null } }
      : { body: { items: PAGE, next: 'http://internal:8080/v3/logs?cursor=c2' } };

  it('is not followed, unless the contract takes only its query', async () => {
    const { ids, hasNextPage, reason } = await read(respond);
    expect([ids, hasNextPage, reason]).toEqual([[1, 2, 3], true, 'PAGING_UNKNOWN']);
    const followed = await read(respond, { paging: { follow: 'query' } });
    expect(followed.ids).toEqual([1, 2, 3, 4]);
    expect(followed.seen).toEqual(['/api/v1/audit', '/api/v1/audit?cursor=c2']);
  });
});

describe('pages after the last value', () => {
  const times = [5, 4, 4, 4, 3, 2].map((time, id) => ({ ...record(id), time: record(-time).time }));
  const respond =
    (isInclusive: boolean) =>
    ({ searchParams }: URL) => {
      const before = searchParams.get('before') ?? '9';
      const items = times.filter(({ time }) => time < before || (isInclusive && time === before));
      return { body: { items: items.slice(0, 4) } };
    };
  const paging: Paging = { style: 'last-value', last: '/time', parameter: 'before' };

  it('that are inclusive have each record once', async () => {
    const { ids, hasNextPage } = await read(respond(true), {
      paging: { ...paging, inclusive: true },
    });
    expect([ids, hasNextPage]).toEqual([[0, 1, 2, 3, 4, 5], false]);
  });

  it('that are not are refused if the last records have the same value', async () => {
    const { ids, hasNextPage, reason, message } = await read(respond(false), { paging });
    expect([ids, hasNextPage, reason]).toEqual([[0, 1, 2, 3], true, 'PAGING_REPEATS']);
    expect(message).toContain('`audit.paging.inclusive`');
  });
});

describe('pages after the last record', () => {
  it.each<[string, Paging]>([
    ['last-id', { style: 'last-id', parameter: 'after' }],
    ['last-value', { style: 'last-value', last: '/id', parameter: 'after' }],
    [
      'last-value, inclusive',
      { style: 'last-value', last: '/id', parameter: 'after', inclusive: true },
    ],
  ])(
    'are refused with the style %s if the last record of a page is not the last one',
    async (_, paging) => {
      // JavaScript sorts members whose names are integers: the newest record comes last.
      const respond = ({ searchParams }: URL) => {
        const after = Number(searchParams.get('after') ?? 10);
        const ids = Array.from({ length: 3 }, (_, index) => after - 1 - index).filter(
          (id) => id > 0,
        );
        return { body: { rows: Object.fromEntries(ids.map((id) => [id, record(id)])) } };
      };
      const { ids, reason } = await read(respond, { records: '/rows', paging });
      expect([ids, reason]).toEqual([undefined, 'PAGING_REPEATS']);
    },
  );
});

describe('a filter', () => {
  const filters = {
    since: 'since: "2000-01-01T00:00:00Z"',
    until: 'until: "2100-01-01T00:00:00Z"',
    actions: 'actions: ["x"]',
    actor: 'actor: "ann"',
    target: 'target: "key"',
    outcome: 'outcome: FAILURE',
  };
  const filtered = (filter: string) => `{ audit(filter: {${filter}}) ${SELECTION} }`;

  it.each(Object.entries(filters))(
    'by %s is refused if no record has its field',
    async (name, filter) => {
      const body = {
        records: [
          { id: 1, size: 'a' },
          { id: 2, size: 'b' },
        ],
      };
      const { ids, reason, message } = await read({ body }, {}, filtered(filter));
      expect([ids, reason]).toEqual([undefined, 'FIELD_UNREAD']);
      const field = { since: 'occurredAt', until: 'occurredAt', actions: 'action' }[name] ?? name;
      expect(message).toContain(`\`audit.event.${field}\``);
    },
  );

  it('by time is refused if the format of the configured field is unknown', async () => {
    const body = { records: [{ id: 1, when: '2026-11-20 10:00:00' }] };
    const contract = { event: { occurredAt: '/when' } };
    const { reason } = await read({ body }, contract, filtered(filters.since));
    expect(reason).toBe('FIELD_UNREAD');
  });

  it('matches no event whose field is null, if the field is known', async () => {
    const body = { records: [record(1), { ...record(2), time: null, result: 'failed' }] };
    expect((await read({ body }, {}, filtered(filters.since))).ids).toEqual([1]);
    expect((await read({ body }, {}, filtered(filters.outcome))).ids).toEqual([2]);
  });

  it('reads an empty trail', async () => {
    expect((await read({ body: [] }, {}, filtered(filters.actor))).ids).toEqual([]);
  });

  it('by the key of an entity is refused if neither actor nor target is known', async () => {
    await using service = await startService({ body: [{ id: 1, size: 'a' }] });
    await using gateway = gatewayOver(service.url);
    const query =
      '{ _entities(representations: [{__typename: "ApiKey", clientId: "k"}]) { ... on ApiKey { audit { nodes { id } } } } }';
    const { errors } = await ask(gateway, query, undefined, { token: 't' });
    expect(errors?.[0]?.extensions.reason).toBe('FIELD_UNREAD');
  });
});
