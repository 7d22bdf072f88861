import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver, type TestGateway } from '../../helpers/gateway.ts';
import { type ReceivedRequest, type ServiceResponse, startService } from '../../helpers/service.ts';

const SIZE = 50;
const TOTAL = 1000;

type Record = { readonly id: number; readonly time: string; readonly action: string };

/** Newest first, as most services list them. Three of the first thousand are deletions. */
function record(id: number): Record {
  const action = [17, 500, 998].includes(id) ? 'key.delete' : 'login';
  return { id, time: new Date(1_700_000_000_000 + id * 1000).toISOString(), action };
}

type Style = {
  readonly contract: ConfiguredContract;
  /** The response of the service if it has these records. */
  readonly page: (records: readonly Record[], url: URL) => ServiceResponse;
};

/** The page of a service after a record; null for the first. */
function behind(records: readonly Record[], id: string | null) {
  const start = id === null ? 0 : 1 + records.findIndex((one) => String(one.id) === id);
  const items = records.slice(start, start + SIZE);
  return { items, last: items.at(-1)?.id, isLast: start + SIZE >= records.length };
}

const STYLES: Readonly<{ [name: string]: Style }> = {
  'everything at once': { contract: {}, page: (records) => ({ body: { events: records } }) },
  cursor: {
    contract: { audit: { paging: { parameter: 'cursor' } } },
    page: (records, url) => {
      const { items, last, isLast } = behind(records, url.searchParams.get('cursor'));
      return { body: { items, next_cursor: isLast ? null : String(last) } };
    },
  },
  'a cursor that never ends': {
    contract: { audit: { paging: { parameter: 'cursor', next: '/cursor' } } },
    page: (records, url) => {
      const { items, last } = behind(records, url.searchParams.get('cursor'));
      return { body: { items, cursor: String(last ?? records.at(-1)?.id) } };
    },
  },
  page: {
    contract: { audit: { paging: { style: 'page', parameter: 'page' } } },
    page: (records, url) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      return { body: { data: records.slice((page - 1) * SIZE, page * SIZE) } };
    },
  },
  'pages from 0 on': {
    contract: { audit: { paging: { parameter: 'page' } } },
    page: (records, url) => {
      const page = Number(url.searchParams.get('page') ?? 0);
      const data = records.slice(page * SIZE, (page + 1) * SIZE);
      return { body: { data, page, totalPages: Math.ceil(records.length / SIZE) } };
    },
  },
  offset: {
    contract: { audit: { paging: { style: 'offset', parameter: 'start', size: 'limit' } } },
    page: (records, url) => {
      const start = Number(url.searchParams.get('start') ?? 0);
      const size = Number(url.searchParams.get('limit'));
      return { body: { records: records.slice(start, start + size), total: records.length } };
    },
  },
  'next link': {
    contract: {},
    page: (records, url) => {
      const { items, last, isLast } = behind(records, url.searchParams.get('from'));
      return {
        body: { items, links: { next: isLast ? null : `/audit?from=${last}` } },
      };
    },
  },
  'a next link and a total': {
    contract: {},
    page: (records, url) => {
      const { items, last, isLast } = behind(records, url.searchParams.get('from'));
      const next = isLast ? null : `/audit?from=${last}`;
      return { body: { items, total: records.length, next } };
    },
  },
  'a cursor and a total': {
    contract: { audit: { paging: { parameter: 'cursor' } } },
    page: (records, url) => {
      const { items, last, isLast } = behind(records, url.searchParams.get('cursor'));
      return { body: { items, total: records.length, ...(!isLast && { next_cursor: last }) } };
    },
  },
  'a page and a total': {
    contract: { audit: { paging: { parameter: 'page' } } },
    page: (records, url) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const data = records.slice((page - 1) * SIZE, page * SIZE);
      if (data.length === 0) return { status: 404 };
      return { body: { data, pagination: { per_page: SIZE, page, total: records.length } } };
    },
  },
  'a page, how many there are on it, and whether there is more': {
    contract: { audit: { paging: { parameter: 'page' } } },
    page: (records, url) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const events = records.slice((page - 1) * SIZE, page * SIZE);
      const isLast = page * SIZE >= records.length;
      return { body: { page, total: events.length, has_more: !isLast, events } };
    },
  },
  'the number of the last page before the current one': {
    contract: { audit: { paging: { parameter: 'page' } } },
    page: (records, url) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const data = records.slice((page - 1) * SIZE, page * SIZE);
      return { body: { data, last_page: Math.ceil(records.length / SIZE), page, per_page: SIZE } };
    },
  },
  'numbers from 0 on': {
    contract: { audit: { paging: { parameter: 'page' } } },
    page: (records, url) => {
      const number = Number(url.searchParams.get('page') ?? 0);
      const totalPages = Math.ceil(records.length / SIZE);
      if (number >= totalPages) return { status: 404 };
      const content = records.slice(number * SIZE, (number + 1) * SIZE);
      return { body: { content, number, totalPages } };
    },
  },
  'an offset, and the times that were asked for': {
    contract: { audit: { paging: { parameter: 'offset' } } },
    page: (records, url) => {
      const offset = Number(url.searchParams.get('offset') ?? 0);
      const events = records.slice(offset, offset + SIZE);
      return { body: { from: 1_700_000_000, to: 1_700_009_999, total: records.length, events } };
    },
  },
  'link header': {
    contract: {},
    page: (records, url) => {
      const { items, last, isLast } = behind(records, url.searchParams.get('from'));
      const next = `<${url.origin}/api/v1/audit?from=${last}&a=%2C>; rel="next"`;
      return {
        body: items,
        headers: { link: `</api/v1/audit>; rel=first${isLast ? '' : `, ${next}`}` },
      };
    },
  },
  'last id': {
    contract: { audit: { paging: { style: 'last-id', parameter: 'after_id' } } },
    page: (records, url) => {
      return { body: { logs: behind(records, url.searchParams.get('after_id')).items } };
    },
  },
};

/** A service that gets a new record at the start with every third request. */
async function startGrowing(style: Style) {
  let requests = 0;
  return startService((seen: ReceivedRequest) => {
    requests += 1;
    const arrived = Math.floor(requests / 3);
    const records = Array.from({ length: TOTAL + arrived }, (_, index) =>
      record(TOTAL + arrived - index),
    );
    return style.page(records, new URL(seen.url, `http://${seen.headers.host}`));
  });
}

type Window = {
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
};

const AS_T = { token: 't' };

const QUERY =
  'query ($after: String, $filter: AuditFilter) { audit(first: 7, after: $after, filter: $filter) { nodes { id } pageInfo { hasNextPage endCursor } } }';

async function open(gateway: TestGateway, variables: object): Promise<Window> {
  const result = await ask<{ audit: Window | null }, object>(gateway, QUERY, variables, {
    token: 't',
  });
  if (!result.data?.audit) throw new Error(result.text);
  return result.data.audit;
}

async function walk(gateway: TestGateway, filter: object | null): Promise<readonly number[]> {
  const ids: number[] = [];
  let cursor: string | null = null;
  for (let round = 0; round < 400; round += 1) {
    const { nodes, pageInfo } = await open(gateway, { after: cursor, filter });
    ids.push(...nodes.map(({ id }) => Number(id)));
    if (!pageInfo.hasNextPage) return ids;
    cursor = pageInfo.endCursor;
  }
  throw new Error('it never ends');
}

describe.each(Object.entries(STYLES))('a service that returns %s', (_, style) => {
  it('is read to its end while it grows: each record once, in order', async () => {
    await using service = await startGrowing(style);
    await using gateway = gatewayOver(service.url, { contract: style.contract });
    const ids = await walk(gateway, null);
    const start = ids[0] ?? 0;
    expect(start).toBeGreaterThanOrEqual(TOTAL);
    expect(ids).toEqual(Array.from({ length: start }, (_, index) => start - index));
    // One request per page of the client, and one more if it spans two pages of the service.
    expect(service.seen.length).toBeLessThanOrEqual(Math.ceil(TOTAL / 7) * 2 + 2);
  });

  it('is searched to its end with a filter', async () => {
    await using service = await startGrowing(style);
    await using gateway = gatewayOver(service.url, { contract: style.contract });
    expect(await walk(gateway, { actions: ['key.delete'] })).toEqual([998, 500, 17]);
    expect(service.seen.length).toBeLessThanOrEqual(TOTAL / SIZE + 6);
  });
});

describe('pages of the service', () => {
  it('are fetched ten at most for one field, and each once for all fields of a request', async () => {
    const style = STYLES['cursor'] as Style; // defined above
    await using service = await startGrowing(style);
    await using gateway = gatewayOver(service.url, { contract: style.contract });
    const field = 'audit(filter: {actions: ["none"]}) { nodes { id } pageInfo { hasNextPage } }';
    const result = await ask(gateway, `{ a: ${field} b: ${field} }`, undefined, AS_T);
    expect(result.data).toEqual({
      a: { nodes: [], pageInfo: { hasNextPage: true } },
      b: { nodes: [], pageInfo: { hasNextPage: true } },
    });
    expect(service.seen).toHaveLength(10);
  });

  it.each([
    [{ items: [record(1)], next_cursor: 'x' }, 'audit.paging.parameter'],
    [{ items: [record(1)], total: 2 }, 'audit.paging.style'],
    [{ items: [record(1)], count: 2 }, 'audit.paging.style'],
    [{ items: [record(1)], has_more: true }, 'audit.paging.style'],
    [{ items: [record(1)], page: 1, total: 2 }, 'audit.paging.parameter'],
    [{ items: [record(1)], next: 'https://elsewhere.test/api/v1/audit?page=2' }, 'audit.paging'],
    [{ items: [record(1)], next: '/api/v1/secrets/k1?page=2' }, 'audit.paging'],
  ])(
    'that cannot be requested set hasNextPage, and for %j the error names %s',
    async (body, entry) => {
      await using service = await startService({ body });
      await using gateway = gatewayOver(service.url);
      const first = await ask<{ audit: Window }, object>(gateway, QUERY, {}, AS_T);
      expect(first.data?.audit.nodes).toEqual([{ id: '1' }]);
      expect(first.data?.audit.pageInfo.hasNextPage).toBe(true);
      const after = first.data?.audit.pageInfo.endCursor;
      const second = await ask(gateway, QUERY, { after }, AS_T);
      expect(codeOf(second)).toBe('UPSTREAM_BAD_RESPONSE');
      expect(second.errors?.[0]?.extensions.reason).toBe('PAGING_UNKNOWN');
      expect(second.errors?.[0]?.message).toContain(`\`${entry}\``);
      expect(service.seen.map(({ url }) => url)).toEqual(['/api/v1/audit', '/api/v1/audit']);
    },
  );

  it.each(['https://elsewhere.test/api/v1/audit?a=b', '/api/v1/secrets/k1?a=b', 'x', '//h/?a'])(
    'are never asked for elsewhere: a cursor that names %s is refused and nothing is sent',
    async (link) => {
      await using service = await startService({ body: [record(1)] });
      await using gateway = gatewayOver(service.url);
      const after = Buffer.from(JSON.stringify(['f', 0, 1, link])).toString('base64url');
      const result = await ask(gateway, QUERY, { after }, AS_T);
      expect(codeOf(result)).toBe('BAD_USER_INPUT');
      expect(service.seen).toHaveLength(0);
    },
  );

  it('are requested with the parameter of the contract, even if a link leads to another origin', async () => {
    await using service = await startService(({ url }) => ({
      body: url.includes('at=c2')
        ? { items: [record(1)], next: null }
        : { items: [record(2)], next: 'https://elsewhere.test/?at=c2', next_cursor: 'c2' },
    }));
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { paging: { parameter: 'at' } } },
    });
    expect((await open(gateway, {})).nodes).toEqual([{ id: '2' }, { id: '1' }]);
    expect(service.seen.map(({ url }) => url)).toEqual(['/api/v1/audit', '/api/v1/audit?at=c2']);
  });

  it.each([
    { items: null, total: 0 },
    { logs: null },
    { _shards: { total: 0, successful: 0, failed: 0 }, hits: { hits: [] } },
  ])(
    'of %j are empty: some services write null for the empty list, some count what they asked',
    async (body) => {
      await using service = await startService({ body });
      await using gateway = gatewayOver(service.url);
      expect((await open(gateway, {})).nodes).toEqual([]);
    },
  );

  it('continue if a page repeats because a page of records was added', async () => {
    let newest = 4;
    await using service = await startService(({ url }) => {
      const page = Number(new URL(url, 'http://a').searchParams.get('page') ?? 1);
      const first = newest - 2 * (page - 1);
      newest = Math.min(newest + 2, 8);
      return { body: { data: [first, first - 1].filter((n) => n > 0).map(record) } };
    });
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { paging: { style: 'page', parameter: 'page' } } },
    });
    expect(await walk(gateway, null)).toEqual([4, 3, 2, 1]);
  });

  it('end after the last one if the client started with a later one', async () => {
    await using service = await startService(({ url }) => {
      const page = Number(new URL(url, 'http://a').searchParams.get('page') ?? 1);
      if (page > 4) return { status: 404 };
      return { body: { page, total_pages: 4, items: [record(10 - page)] } };
    });
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { paging: { parameter: 'page' } } },
    });
    const query =
      '{ audit(parameters: [{name: "page", value: "3"}]) { nodes { id } pageInfo { hasNextPage } } }';
    const { data } = await ask(gateway, query, undefined, AS_T);
    expect(data).toEqual({
      audit: { nodes: [{ id: '7' }, { id: '6' }], pageInfo: { hasNextPage: false } },
    });
  });

  it('end with the last record if the client started with a later one', async () => {
    const events = [record(2), record(1)];
    await using service = await startService({ body: { offset: 4, total: 6, events } });
    await using gateway = gatewayOver(service.url);
    const query =
      '{ audit(parameters: [{name: "offset", value: "4"}]) { pageInfo { hasNextPage } } }';
    const { data } = await ask(gateway, query, undefined, AS_T);
    expect(data).toEqual({ audit: { pageInfo: { hasNextPage: false } } });
  });

  it.each([1, 2])(
    'of %i end with the last record where the first has the offset 1',
    async (size) => {
      const records = [3, 2, 1].map(record);
      await using service = await startService(({ url }) => {
        const startIndex = Number(new URL(url, 'http://a').searchParams.get('startIndex') ?? 1);
        const Resources = records.slice(startIndex - 1, startIndex - 1 + size);
        return { body: { totalResults: 3, startIndex, itemsPerPage: size, Resources } };
      });
      await using gateway = gatewayOver(service.url, {
        contract: { audit: { paging: { parameter: 'startIndex' } } },
      });
      expect(await walk(gateway, null)).toEqual([3, 2, 1]);
    },
  );

  it('continue if the service denies that there is no more', async () => {
    const body = { items: [record(1)], no_more: false, next_cursor: 'x' };
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    expect((await open(gateway, {})).pageInfo.hasNextPage).toBe(true);
  });

  it('have a next page if the service says so, whatever its counts, even if it cannot be requested', async () => {
    const events = [record(2), record(1)];
    await using service = await startService({
      body: { page: 1, total: 2, has_more: true, events },
    });
    await using gateway = gatewayOver(service.url);
    const { endCursor, hasNextPage } = (await open(gateway, {})).pageInfo;
    expect(hasNextPage).toBe(true);
    const { errors } = await ask(gateway, QUERY, { after: endCursor }, AS_T);
    expect(errors).toMatchObject([{ extensions: { reason: 'PAGING_UNKNOWN' } }]);
  });

  it('end with an empty page that leads to itself, or if the service says that there is no more', async () => {
    for (const [body, requests] of [
      [{ items: [], next_cursor: 'x' }, 2],
      [{ items: [record(1)], next_cursor: 'x', has_more: false }, 1],
    ] as const) {
      await using service = await startService({ body });
      await using gateway = gatewayOver(service.url, {
        contract: { audit: { paging: { parameter: 'c' } } },
      });
      const { data } = await ask<{ audit: Window }, object>(gateway, QUERY, {}, AS_T);
      expect(data?.audit.pageInfo.hasNextPage).toBe(false);
      expect(service.seen).toHaveLength(requests);
    }
  });
});

describe('records with the same id', () => {
  it('are distinguished by their other fields if one was the last that was read', async () => {
    let newest = 20;
    await using service = await startService(() => ({
      body: { page: 1, total_pages: 9, items: [0, 1, 2, 3].map((n) => named(newest - n)) },
    }));
    const named = (n: number) => ({ ...record(n), id: Math.ceil(n / 2), action: String(n) });
    await using gateway = gatewayOver(service.url);
    const read = async (after?: string | null) => {
      const query =
        'query ($after: String) { audit(first: 2, after: $after) { nodes { action } pageInfo { endCursor } } }';
      const { data } = await ask<{ audit: Window }, object>(gateway, query, { after }, AS_T);
      return data?.audit;
    };
    const before = await read();
    newest = 21;
    const behind = await read(before?.pageInfo.endCursor);
    expect([before?.nodes, behind?.nodes]).toEqual([
      [{ action: '20' }, { action: '19' }],
      [{ action: '18' }],
    ]);
  });

  it('are all returned if one page ends with the first and the next starts with the second', async () => {
    const records = ['started', 'failed'].map((status) => ({ ...record(7), status }));
    await using service = await startService(({ url }) =>
      url.includes('c=2')
        ? { body: { items: [records[1], record(8)] } }
        : { body: { items: [record(6), records[0]], next_cursor: '2' } },
    );
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { paging: { parameter: 'c' } } },
    });
    const { nodes } = await open(gateway, {});
    expect(nodes.map(({ id }) => id)).toEqual(['6', '7', '7', '8']);
  });
});

describe('a count in a response', () => {
  it.each([
    [{ _shards: { total: 5 }, hits: { total: { value: 120 }, hits: [record(1)] } }, 120],
    [{ quota: { total: 10_000 }, unread_count: 12, events: [record(1)] }, 1],
    [{ rate_limit: { total: 5000 }, total: 1, events: [record(1)] }, 1],
    [{ pagination: { total: 120, page: 1 }, total: 1, events: [record(1)] }, 120],
    [{ events: [record(1)], next_time: 1_763_700_000 }, null],
    [{ events: [record(1)], next_sync_at: '2026-11-22T00:00:00Z', retry_count: 3 }, 1],
    [{ events: [record(1)], next_poll_seconds: 60, query: { after: 'x' } }, 1],
  ])('is totalCount only if it counts records: %j', async (body, totalCount) => {
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const query = '{ audit { totalCount pageInfo { hasNextPage } } }';
    const { data } = await ask(gateway, query, undefined, AS_T);
    const hasNextPage = totalCount !== 1;
    expect(data).toEqual({ audit: { totalCount, pageInfo: { hasNextPage } } });
  });
});

describe('a condition', () => {
  it('is forwarded if the contract names the parameter, and checked by the gateway as well', async () => {
    await using service = await startService({ body: [record(998), record(997)] });
    await using gateway = gatewayOver(service.url, {
      contract: {
        audit: {
          paging: { size: 'limit' },
          parameters: { since: 'from', until: 'to', actor: 'user', action: 'do' },
        },
      },
    });
    const query =
      '{ audit(filter: {since: "2023-11-14T22:00:00Z", until: "2023-11-15T00:00:00Z", actions: ["key.delete"]}, parameters: [{name: "to", value: "mine"}]) { nodes { id } } }';
    const { data } = await ask(gateway, query, undefined, AS_T);
    expect(data).toEqual({ audit: { nodes: [{ id: '998' }] } });
    expect(service.seen[0]?.url).toBe(
      '/api/v1/audit?to=mine&limit=100&from=2023-11-14T22%3A00%3A00.000Z&do=key.delete',
    );
  });

  it('on several actions is not forwarded, because a parameter takes one', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { parameters: { action: 'do' } } },
    });
    await ask(gateway, '{ audit(filter: {actions: ["a", "b"]}) { totalCount } }', undefined, {
      token: 't',
    });
    expect(service.seen[0]?.url).toBe('/api/v1/audit');
  });
});
