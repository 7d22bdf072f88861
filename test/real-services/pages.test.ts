import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { ask, gatewayOver, onPort, type TestGateway } from '../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';
import { holdPauses, subscribe } from '../helpers/subscribe.ts';

type Audit = ConfiguredContract['audit'];

/** The pages of a service, by the query that requests them. `''` is the first one. Any other is a 404. */
type Pages = Readonly<Record<string, ServiceResponse>>;

type Connection = {
  readonly nodes: readonly { readonly id: string }[];
  readonly totalCount: number | null;
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly endCursor: string | null;
  };
};

const SELECTION = '{ nodes { id } totalCount pageInfo { hasNextPage hasPreviousPage endCursor } }';
const AUDIT = `query ($first: Int, $after: String, $filter: AuditFilter) { audit(first: $first, after: $after, filter: $filter) ${SELECTION} }`;

/** Records with these numbers. */
function records(...ids: readonly number[]) {
  return ids.map((id) => ({
    id: `r${id}`,
    time: new Date(1.7e12 - id * 1000).toISOString(),
    action: 'login',
  }));
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

function serve(pages: Pages) {
  return startService(({ url }) => pages[url.split('?')[1] ?? ''] ?? { status: 404 });
}

async function request(gateway: TestGateway, variables: object = {}, query = AUDIT) {
  const result = await ask<{ readonly audit: Connection | null }, object>(
    gateway,
    query,
    variables,
    { token: 't' },
  );
  return { page: result.data?.audit ?? null, problem: result.errors?.[0] };
}

/** Reads a trail to its end, and what each request to the gateway returned. */
async function walk(pages: Pages, audit: Audit = {}, variables: object = {}) {
  await using service = await serve(pages);
  await using gateway = gatewayOver(service.url, { contract: { audit } });
  const read: Connection[] = [];
  let after: string | null | undefined = null;
  let end: string | undefined = 'has a next page';
  let message: string | undefined;
  while (read.length < 30) {
    const { page, problem } = await request(gateway, { ...variables, after });
    end = problem?.extensions.reason ?? problem?.extensions.code ?? 'complete';
    message = problem?.message;
    if (page === null) break;
    read.push(page);
    if (!page.pageInfo.hasNextPage) break;
    after = page.pageInfo.endCursor;
    end = 'has a next page';
  }
  const ids = read.flatMap(({ nodes }) => nodes.map(({ id }) => Number(id.slice(1))));
  const sent = service.seen.map(({ url }) => url.split('?')[1] ?? '');
  return { ids, end, message, read, sent };
}

const BY_TOKEN: Audit = { paging: { parameter: 'at' } };

describe('P1: a page without records', () => {
  /** Three records, an empty page, six records: each leads to the next by another convention. */
  const chains: readonly (readonly [
    string,
    Audit,
    (next: string | null) => ServiceResponse,
    string,
  ])[] = [
    ['`next_page_token`', BY_TOKEN, (next) => ({ body: { next_page_token: next ?? '' } }), 'at='],
    [
      '`@odata.nextLink`',
      {},
      (next) => ({ body: next === null ? {} : { '@odata.nextLink': `?at=${next}` } }),
      'at=',
    ],
    [
      '`links.next`',
      {},
      (next) => ({ body: { links: { next: next && `/api/v1/audit?at=${next}` } } }),
      'at=',
    ],
    [
      '`_links.next.href`',
      {},
      (next) => ({ body: next === null ? {} : { _links: { next: { href: `?at=${next}` } } } }),
      'at=',
    ],
    [
      'a Link header',
      {},
      (next) => ({ headers: next === null ? {} : { link: `<?at=${next}>; rel="next"` } }),
      'at=',
    ],
    [
      '`LastEvaluatedKey`',
      { paging: { parameter: 'at', next: '/LastEvaluatedKey' } },
      (next) => ({ body: next === null ? {} : { LastEvaluatedKey: next } }),
      'at=',
    ],
    [
      '`x-ms-continuation`',
      BY_TOKEN,
      (next) => ({ headers: next === null ? {} : { 'x-ms-continuation': next } }),
      'at=',
    ],
    [
      '`meta.pagination.cursor.next`',
      BY_TOKEN,
      (next) => ({ body: { meta: { pagination: { cursor: { next } } } } }),
      'at=',
    ],
    [
      'a link to another host',
      { paging: { follow: 'query' } },
      (next) => ({ body: { next: next && `http://inner/x?at=${next}` } }),
      'at=',
    ],
  ];
  const toPages = (
    lengths: readonly number[],
    respond: (next: string | null) => ServiceResponse,
    query: string,
  ): Pages => {
    let count = 0;
    const entries = lengths.map((length, index) => {
      const { body, headers = {} } = respond(index + 1 < lengths.length ? `p${index + 1}` : null);
      const events = records(...range(count + 1, count + length));
      count += length;
      return [
        index === 0 ? '' : `${query}p${index}`,
        { headers, body: { events, ...Object(body) } },
      ];
    });
    return Object.fromEntries(entries);
  };

  it.each(chains)('is not the end with %s', async (_, audit, respond, query) => {
    const { ids, end, sent } = await walk(toPages([3, 0, 6], respond, query), audit);
    expect([ids, end]).toEqual([range(1, 9), 'complete']);
    expect(sent).toEqual(['', 'at=p1', 'at=p2']);
  });

  it.each(chains)(
    'is not the end with %s if it is the first, or several',
    async (_, audit, respond, query) => {
      const { ids, end, read } = await walk(toPages([0, 2, 0, 0, 1, 0], respond, query), audit);
      expect([ids, end]).toEqual([range(1, 3), 'complete']);
      expect(read.map(({ totalCount }) => totalCount)).toEqual([null]);
    },
  );

  it.each(chains)(
    'is not the end with %s, however many follow: each request moves on',
    async (_, audit, respond, query) => {
      const lengths = [1, ...Array.from({ length: 24 }, () => 0), 2];
      const { ids, end, read, sent } = await walk(toPages(lengths, respond, query), audit);
      expect([ids, end]).toEqual([range(1, 3), 'complete']);
      expect(read).toHaveLength(3);
      expect(sent).toHaveLength(26); // each page once
      expect(read.map(({ pageInfo }) => pageInfo.hasPreviousPage)).toEqual([false, true, true]);
    },
  );

  it('that leads to itself, or to a page that was requested, is the end', async () => {
    const empty = (next: string) => ({ body: { events: [], next_cursor: next } });
    const loops: readonly Pages[] = [
      { '': empty('a'), 'at=a': empty('a') },
      { '': empty('a'), 'at=a': empty('b'), 'at=b': empty('a') },
      { '': { body: { events: records(1), next_cursor: 'a' } }, 'at=a': empty('a') },
    ];
    for (const pages of loops) {
      const { end, read, sent } = await walk(pages, BY_TOKEN);
      expect([end, read.length]).toEqual(['complete', 1]);
      expect(sent).toEqual(Object.keys(pages));
    }
  });

  it('that leads to itself is an empty trail with a known count', async () => {
    const body = { events: [], next_cursor: 'a' };
    const { read } = await walk({ '': { body }, 'at=a': { body } }, BY_TOKEN);
    expect(read).toMatchObject([{ totalCount: 0, pageInfo: { hasNextPage: false } }]);
  });

  it.each([
    ['a flag', { has_more: false }],
    ['a flag of another name', { truncated: false }],
    ['a total that was read', { total: 2 }],
  ])('is the end if %s says so', async (_, said) => {
    const pages = {
      '': { body: { events: records(1, 2), next_cursor: 'a', ...('total' in said && said) } },
      'at=a': { body: { events: [], next_cursor: 'b', ...said } },
    };
    const { ids, end, sent } = await walk(pages, BY_TOKEN);
    expect([ids, end, sent]).toEqual([[1, 2], 'complete', ['', 'at=a']]);
  });

  it('with ever new cursors takes ten requests to the service, and the next request goes on', async () => {
    let count = 0;
    await using service = await startService(() => {
      count += 1;
      return { body: { events: [], next_cursor: `c${count}` } };
    });
    await using gateway = gatewayOver(service.url, { contract: { audit: BY_TOKEN } });
    const first = await request(gateway);
    expect(first.page).toMatchObject({
      nodes: [],
      totalCount: null,
      pageInfo: { hasNextPage: true, hasPreviousPage: false },
    });
    expect(service.seen).toHaveLength(10);
    const after = first.page?.pageInfo.endCursor;
    const second = await request(gateway, { after });
    expect(second.page?.pageInfo.endCursor).not.toBe(after);
    expect(service.seen[10]?.url).toBe('/api/v1/audit?at=c10');
    expect(service.seen).toHaveLength(20);
  });

  it('is an error with the entry to set where its cursor cannot be requested', async () => {
    const { read, end, message } = await walk({ '': { body: { events: [], next_cursor: 'a' } } });
    expect(read).toMatchObject([{ nodes: [], totalCount: null, pageInfo: { hasNextPage: true } }]);
    expect(end).toBe('PAGING_UNKNOWN');
    expect(message).toContain('`audit.paging.parameter`');
  });

  it('is not the end of a search, nor of the trail of an API key', async () => {
    const pages = {
      '': { body: { events: records(1), next_cursor: 'a' } },
      'at=a': { body: { events: [], next_cursor: 'b' } },
      'at=b': {
        body: { events: [{ ...records(2)[0], action: 'key.delete', actor: { id: 'k1' } }] },
      },
    };
    const found = await walk(pages, BY_TOKEN, { filter: { actions: ['key.delete'] } });
    expect([found.ids, found.end]).toEqual([[2], 'complete']);
    await using service = await serve(pages);
    await using gateway = gatewayOver(service.url, { contract: { audit: BY_TOKEN } });
    const query = `{ _entities(representations: [{__typename: "ApiKey", clientId: "k1"}]) { ... on ApiKey { audit ${SELECTION} } } }`;
    const { data } = await ask<object, object>(gateway, query, {}, { token: 't' });
    expect(data).toMatchObject({ _entities: [{ audit: { nodes: [{ id: 'r2' }] } }] });
  });

  it('is passed by the live tail of a trail that begins with the oldest', async () => {
    const pages = {
      '': { body: { events: records(3, 2), next_cursor: 'a' } },
      'at=a': { body: { events: [], next_cursor: 'b' } },
      'at=b': { body: { events: records(1) } },
    };
    await using service = await serve(pages);
    await using gateway = gatewayOver(service.url, { contract: { audit: BY_TOKEN } });
    const since = '2000-01-01T00:00:00Z';
    await using stream = await subscribe(gateway, { filter: { since } });
    const { nodes } = await stream.nextBatch();
    expect(nodes.map(({ id }) => id)).toEqual(['r3', 'r2', 'r1']);
  });

  it('gives the same through the fast path', async () => {
    const pages = {
      '': { body: { events: [], next_cursor: 'a' } },
      'at=a': { body: { events: records(1), next_cursor: 'b' } },
      'at=b': { body: { events: [], next_cursor: 'b' } },
    };
    await using service = await serve(pages);
    await using gateway = gatewayOver(service.url, { contract: { audit: BY_TOKEN } });
    await using server = await onPort(gateway);
    const body = JSON.stringify({ query: `{ audit ${SELECTION} }` });
    const headers = { 'content-type': 'application/json', authorization: 'Bearer t' };
    const send = async (fetcher: typeof fetch) =>
      (await fetcher(`${server.url}/graphql`, { method: 'POST', headers, body })).text();
    const expected = await send(gateway.fetch);
    expect(expected).toContain('"nodes":[{"id":"r1"}]');
    for (let count = 0; count < 3; count += 1) expect(await send(fetch)).toBe(expected);
    expect(gateway.logged.some((line) => line.includes('"prepared":true'))).toBe(true);
  });

  it('of an `after` cursor that lost its records says that its item is gone', async () => {
    let isFiltered = false;
    await using service = await startService(({ url }) =>
      url.includes('at=a')
        ? { body: { events: records(3), next_cursor: null } }
        : { body: { events: isFiltered ? [] : records(1, 2), next_cursor: 'a' } },
    );
    await using gateway = gatewayOver(service.url, { contract: { audit: BY_TOKEN } });
    const after = (await request(gateway, { first: 1 })).page?.pageInfo.endCursor;
    isFiltered = true;
    const { problem } = await request(gateway, { after });
    expect(problem?.extensions.code).toBe('BAD_USER_INPUT');
  });
});

/** Pages by number, each with what `said` adds to the records with these numbers. `parameter` is absent on the first. */
function numbered(
  pages: readonly (readonly number[])[],
  said: (number: number) => object,
  { first = 1, parameter = 'page' } = {},
): Pages {
  const entries = pages.map((ids, index) => {
    const number = first + index;
    const page = { body: { events: records(...ids), ...said(number) } };
    return [index === 0 ? '' : `${parameter}=${number}`, page] as const;
  });
  return Object.fromEntries(entries);
}

const BY_PAGE: Audit = { paging: { style: 'page', parameter: 'page' } };

describe('P2: an empty page by number', () => {
  it.each<readonly [string, readonly (readonly number[])[], (number: number) => object, Audit]>([
    ['`total_pages`', [[1, 2], [], [3]], () => ({ total_pages: 3 }), BY_PAGE],
    [
      '`totalPages`, inferred',
      [[1, 2], [], [3]],
      () => ({ totalPages: 3 }),
      { paging: { parameter: 'page' } },
    ],
    [
      '`last_page`, and the first page is empty',
      [[], [1, 2], [3]],
      () => ({ last_page: 3 }),
      BY_PAGE,
    ],
    [
      'the number of pages, two in a row',
      [[1], [], [], [2]],
      (page) => ({ meta: { page, pageCount: 4 } }),
      BY_PAGE,
    ],
    [
      'a total and the size of a page',
      [[1, 2], [], [3, 4]],
      () => ({ total: 6, per_page: 2 }),
      BY_PAGE,
    ],
    ['a total', [[1, 2], [], [3, 4]], () => ({ total: 6 }), BY_PAGE],
  ])('is not the end while %s says so', async (_, pages, said, audit) => {
    const { ids, end } = await walk(numbered(pages, said), audit);
    expect(ids).toEqual(pages.flat());
    // A total that was not reached is an error at the end of the walk.
    const hasTotal = 'total' in said(1);
    expect(end).toBe(hasTotal ? 'PAGING_UNKNOWN' : 'complete');
  });

  it('is requested with its number from 0 on, and the position in the body counts', async () => {
    const pages = numbered([[1], [], [2]], (page) => ({ page, total_pages: 3 }), { first: 0 });
    const { ids, end, sent } = await walk(pages, { paging: { parameter: 'page' } });
    expect([ids, end, sent]).toEqual([[1, 2], 'complete', ['', 'page=1', 'page=2']]);
  });

  it('leads on with every request: ten pages each', async () => {
    const empty = Array.from({ length: 22 }, () => []);
    const pages = numbered([[1], ...empty, [2]], () => ({ total_pages: 24 }));
    const { ids, end, read, sent } = await walk(pages, BY_PAGE);
    expect([ids, end, read.length, sent.length]).toEqual([[1, 2], 'complete', 3, 24]);
  });

  it('that is the last is not passed by', async () => {
    const { ids, end, sent } = await walk(
      numbered([[1], [2], []], () => ({ total_pages: 3 })),
      BY_PAGE,
    );
    expect([ids, end]).toEqual([[1, 2], 'PAGING_UNKNOWN']);
    expect(sent.some((query) => query.includes('page=4'))).toBe(false);
  });

  it('is no hole if it is the first, whatever offset the body repeats', async () => {
    const pages = numbered([[], [1], [2]], () => ({ total_pages: 3, offset: 0, total: 2 }));
    expect(await walk(pages, BY_PAGE)).toMatchObject({ ids: [1, 2], end: 'complete' });
  });

  it('that nothing announced is the end', async () => {
    const { ids, end } = await walk(
      numbered([[1], [2], []], () => ({})),
      BY_PAGE,
    );
    expect([ids, end]).toEqual([[1, 2], 'complete']);
  });
});

describe('P3: a partial response', () => {
  const bare = records(1, 2, 3);

  it.each<readonly [string, ServiceResponse, number | null]>([
    ['status 206', { status: 206 }, null],
    ['content-range: items 0-2/9', { headers: { 'content-range': 'items 0-2/9' } }, 9],
    [
      'status 206 and content-range: items 0-2/*',
      { status: 206, headers: { 'content-range': 'items 0-2/*' } },
      null,
    ],
    ['content-range: items 0-2/*', { headers: { 'content-range': 'items 0-2/*' } }, null],
    ['content-range without a unit', { headers: { 'content-range': '0-2/9' } }, 9],
    ['content-range: events=0-2/9', { headers: { 'content-range': 'events=0-2/9' } }, 9],
    ['content-range from 1 on', { headers: { 'content-range': 'records 1-3/9' } }, 9],
    [
      'a range of ids',
      {
        status: 206,
        headers: { 'content-range': 'id r1..r3; max=3', 'next-range': ']id r3; max=3' },
      },
      null,
    ],
    ['total-count', { headers: { 'total-count': '9' } }, 9],
    ['x-wp-total', { headers: { 'x-wp-total': '9', 'x-wp-totalpages': '3' } }, 9],
    ['x-total-pages', { headers: { 'x-total-pages': '3' } }, null],
    ['x-page-count', { headers: { 'x-page-count': '3' } }, null],
    ['x-total-records', { headers: { 'x-total-records': '9' } }, 9],
    ['x-pagination-total', { headers: { 'x-pagination-total': '9' } }, 9],
    [
      'pagination-count',
      { headers: { 'pagination-count': '9', 'pagination-page': '1', 'pagination-limit': '3' } },
      9,
    ],
    ['x-pagination', { headers: { 'x-pagination': '{"TotalCount":9,"HasNext":true}' } }, 9],
    [
      'x-pagination with a flag alone',
      { headers: { 'x-pagination': '{"pageSize":3,"hasNextPage":true}' } },
      null,
    ],
    [
      'paging-headers',
      {
        headers: {
          'paging-headers': '{"totalCount":9,"pageSize":3,"currentPage":1,"totalPages":3}',
        },
      },
      9,
    ],
    [
      'a total beside that of the page',
      { headers: { 'x-total-count': '9' }, body: { events: bare, total: 3 } },
      9,
    ],
    [
      'a range beside the total of the page',
      { headers: { 'content-range': '0-2/9' }, body: { events: bare, total: 3 } },
      9,
    ],
    ['x-has-more', { headers: { 'x-has-more': 'true' } }, null],
    ['x-last-page: false', { headers: { 'x-is-last-page': '0' } }, null],
    ['partial: true', { body: { events: bare, partial: true } }, null],
    ['incomplete_results: true', { body: { events: bare, incomplete_results: true } }, null],
  ])('by %s has a next page', async (_, response, total) => {
    const { ids, end, read, message } = await walk({ '': { body: bare, ...response } });
    expect([ids, end]).toEqual([[1, 2, 3], 'PAGING_UNKNOWN']);
    expect(read).toMatchObject([{ totalCount: total, pageInfo: { hasNextPage: true } }]);
    expect(message).toContain('`audit.paging');
  });

  it.each<readonly [string, ServiceResponse]>([
    ['content-range: items 0-2/3', { headers: { 'content-range': 'items 0-2/3' } }],
    ['status 206 with the whole range', { status: 206, headers: { 'content-range': '0-2/3' } }],
    ['a range of bytes', { headers: { 'content-range': 'bytes 0-99/1000' } }],
    ['a total that was read', { headers: { 'total-count': '3' } }],
    ['one page', { headers: { 'x-total-pages': '1', 'x-page': '1' } }],
    ['x-pagination', { headers: { 'x-pagination': '{"TotalCount":3,"HasNext":false}' } }],
    ['x-pagination that is no JSON', { headers: { 'x-pagination': '{1' } }],
    [
      'limits of the rate',
      {
        headers: {
          'x-ratelimit-remaining': '99',
          'x-ratelimit-limit': '100',
          'x-rate-limit-total': '100',
        },
      },
    ],
    [
      'counts of requests',
      { headers: { 'x-request-count': '99', 'x-total-time': '12', 'x-retry-total': '4' } },
    ],
    ['incomplete_results: false', { body: { events: bare, incomplete_results: false } }],
  ])('is not what %s says', async (_, response) => {
    const { ids, end, read } = await walk({ '': { body: bare, ...response } });
    expect([ids, end]).toEqual([[1, 2, 3], 'complete']);
    expect(read).toMatchObject([{ totalCount: 3 }]);
  });

  it('is read to its end by offset: the last range is complete', async () => {
    const page = (start: number) => ({
      status: 206,
      headers: { 'content-range': `items ${start}-${Math.min(start + 2, 6)}/7` },
      body: records(...range(start, Math.min(start + 2, 6))),
    });
    const pages = { '': page(0), 'offset=3': page(3), 'offset=6': page(6) };
    const { ids, end } = await walk(pages, { paging: { style: 'offset', parameter: 'offset' } });
    expect([ids, end]).toEqual([range(0, 6), 'complete']);
  });

  it('of which the client requested a later one is read from there', async () => {
    await using service = await startService({
      status: 206,
      headers: { 'content-range': 'items 6-8/9' },
      body: records(7, 8, 9),
    });
    await using gateway = gatewayOver(service.url);
    const query = `{ audit(parameters: [{name: "offset", value: "6"}]) ${SELECTION} }`;
    const { page } = await request(gateway, {}, query);
    expect(page).toMatchObject({ totalCount: 9, pageInfo: { hasNextPage: false } });
  });

  it('that is followed by links ends where there is no link', async () => {
    const pages = {
      '': { status: 206, headers: { link: '<?at=2>; rel="next"' }, body: records(1) },
      'at=2': { status: 206, body: records(2) },
    };
    expect(await walk(pages)).toMatchObject({ ids: [1, 2], end: 'complete' });
  });

  it('is paged by the members of a header', async () => {
    const page = (number: number, ids: readonly number[]) => ({
      headers: {
        'x-pagination': JSON.stringify({ CurrentPage: number, TotalPages: 2, TotalCount: 3 }),
      },
      body: records(...ids),
    });
    const pages = { '': page(0, [1, 2]), 'page=1': page(1, [3]) };
    expect(await walk(pages, { paging: { parameter: 'page' } })).toMatchObject({
      ids: [1, 2, 3],
      end: 'complete',
    });
    const link = { 'x-pagination': '{"nextPageLink":"http://a.test/api/v1/audit?page=1"}' };
    const linked = { '': { headers: link, body: records(1) }, 'page=1': { body: records(2) } };
    expect(await walk(linked, { paging: { follow: 'query' } })).toMatchObject({ ids: [1, 2] });
  });

  it('is complete if the contract says that nothing announces more', async () => {
    const { end } = await walk({ '': { status: 206, body: bare } }, { paging: { more: null } });
    expect(end).toBe('complete');
  });
});

describe('P4: a flag that is no boolean', () => {
  const trues = [1, '1', 'Y', 'y', 'True', 'TRUE', 'yes', 'on', 't', 'T'];
  const falses = [0, '0', 'N', 'n', 'False', 'FALSE', 'no', 'off', 'f', 'F'];
  const cases = (names: readonly string[], values: readonly (string | number)[]) =>
    names.flatMap((name) => values.map((value) => [name, value] as const));
  const positive = ['has_more', 'hasNextPage', 'more', 'is_truncated', 'more_available', 'HasNext'];
  const negative = ['is_last', 'isLastPage', 'done', 'isFinal', 'no_more', 'at_end'];

  it.each([
    ...cases(positive, trues),
    ...cases(negative, falses),
    ...cases(['last'], [0, 'N', 'no']),
    ...cases(['complete', 'is_finished'], falses),
  ])('says that there are more: %s: %j', async (name, value) => {
    const { ids, end } = await walk({ '': { body: { events: records(1, 2), [name]: value } } });
    expect([ids, end]).toEqual([[1, 2], 'PAGING_UNKNOWN']);
  });

  it.each([...cases(positive, falses), ...cases(negative, trues)])(
    'ends the trail: %s: %j',
    async (name, value) => {
      const page = (id: number, flag: object) => ({ body: { events: records(id), ...flag } });
      const pages = { '': page(1, {}), 'page=2': page(2, { [name]: value }) };
      const { ids, end, sent } = await walk(pages, BY_PAGE);
      expect([ids, end, sent]).toEqual([[1, 2], 'complete', ['', 'page=2']]);
    },
  );

  it.each(cases(['has_more', 'is_truncated'], falses))(
    'ends it in spite of a cursor: %s: %j',
    async (name, value) => {
      const body = { events: records(1), next_cursor: 'a', [name]: value };
      const { end, sent } = await walk({ '': { body } }, BY_TOKEN);
      expect([end, sent]).toEqual(['complete', ['']]);
    },
  );

  it.each([
    ['again', 'Y', 'N'],
    ['left', 1, 0],
    ['rest', 'on', 'off'],
  ])('is read under any name that is configured: %s', async (name, more, end) => {
    const pages = numbered([[1], [2]], (number) => ({ [name]: number === 1 ? more : end }));
    const paging = { style: 'page' as const, parameter: 'page', more: `/${name}` };
    expect(await walk(pages, { paging })).toMatchObject({ ids: [1, 2], end: 'complete' });
  });

  it.each(['0', '1', 0, 1, 'f', 'n'])('is a cursor under the name `next`: %j', async (next) => {
    for (const name of ['next', 'next_page', 'nextToken']) {
      const pages = {
        '': { body: { events: records(1), [name]: next } },
        [`at=${next}`]: { body: { events: records(2) } },
      };
      expect(await walk(pages, BY_TOKEN)).toMatchObject({ ids: [1, 2], end: 'complete' });
    }
  });

  it.each([
    ['has_next', 1],
    ['hasNextPage', 'True'],
    ['next_exists', 'y'],
    ['next', 'yes'],
  ])('is no cursor: %s: %j', async (name, value) => {
    const { end, sent } = await walk(
      { '': { body: { events: records(1), [name]: value } } },
      BY_TOKEN,
    );
    expect(end).toBe('PAGING_UNKNOWN');
    expect(new Set(sent)).toEqual(new Set(['']));
  });

  it.each(['complete', 'finished'])(
    '%s: true is said of a response, not of the trail',
    async (name) => {
      const pages = numbered([[1], [2], []], () => ({ [name]: true }));
      expect(await walk(pages, BY_PAGE)).toMatchObject({ ids: [1, 2], end: 'complete' });
    },
  );

  it.each([
    ['positions', { first: 0, last: 0 }],
    ['the number of the last page', { last_page: 1 }],
    ['the last id', { last: 1 }],
    ['an object', { more: { a: 1 } }],
    ['a cost', { total: 1, estimated_cost: 1 }],
  ])('is not %s', async (_, said) => {
    expect(await walk({ '': { body: { events: records(1), ...said } } })).toMatchObject({
      ids: [1],
      end: 'complete',
    });
  });

  it.each(['done', 'complete', 'jobComplete'])(
    '%s: true does not end it if a cursor leads on',
    async (name) => {
      const pages = {
        '': { body: { events: records(1), [name]: true, pageToken: 'a', next_page_token: 'a' } },
        'at=a': { body: { events: records(2), [name]: true } },
      };
      expect(await walk(pages, BY_TOKEN)).toMatchObject({ ids: [1, 2], end: 'complete' });
    },
  );
});

describe('P5: a total that is a lower bound or an estimate', () => {
  const bounds: readonly (readonly [string, object])[] = [
    ['Elasticsearch', { hits: { total: { value: 4, relation: 'gte' } } }],
    ['total_relation', { total: 4, total_relation: 'gte' }],
    ['count_relation', { count: 4, total: 4, count_relation: 'GREATER_THAN_OR_EQUAL_TO' }],
    ['4+', { total: '4+' }],
    ['> 4', { total: '> 4' }],
    ['total_is_estimate', { total: 4, total_is_estimate: true }],
    ['totalCountIsCapped', { totalCount: 4, totalCountIsCapped: true }],
    ['estimatedTotalHits', { estimatedTotalHits: 4 }],
    ['approximate: "Y"', { total: 4, approximate: 'Y' }],
    ['exact: false', { total: 4, total_is_exact: false }],
    ['total_type', { total: 4, totalCountType: 'LOWER_BOUND' }],
    ['total.at_least', { total: { at_least: 4 } }],
  ];
  const merge = (events: object, said: object) =>
    'hits' in said
      ? { ...said, hits: { hits: events, ...Object(said.hits) } }
      : { events, ...said };
  const page = (ids: readonly number[], said: object) => ({ body: merge(records(...ids), said) });
  const BY_OFFSET: Audit = { paging: { style: 'offset', parameter: 'from' } };

  it.each(bounds)(
    'is no total, and paging by offset goes on until a page is empty: %s',
    async (_, said) => {
      const pages = {
        '': page([1, 2, 3, 4], said),
        'from=4': page([5, 6, 7, 8], said),
        'from=8': page([9], said),
        'from=9': page([], said),
      };
      const { ids, end, read } = await walk(pages, BY_OFFSET);
      expect([ids, end]).toEqual([range(1, 9), 'complete']);
      expect(read.map(({ totalCount }) => totalCount)).toEqual([null]);
    },
  );

  it.each(bounds)('has a next page if it cannot be requested: %s', async (_, said) => {
    const { ids, end, read, message } = await walk({ '': page([1, 2, 3, 4], said) });
    expect([ids, end]).toEqual([range(1, 4), 'PAGING_UNKNOWN']);
    expect(read).toMatchObject([{ totalCount: null, pageInfo: { hasNextPage: true } }]);
    expect(message).toContain('`audit.total: null`');
  });

  it.each(bounds)('is no total if the contract leads to it: %s', async (name, said) => {
    const total =
      {
        Elasticsearch: '/hits/total/value',
        estimatedTotalHits: '/estimatedTotalHits',
        totalCountIsCapped: '/totalCount',
        'total.at_least': '/total/at_least',
      }[name] ?? '/total';
    const pages = {
      '': page([1, 2, 3, 4], said),
      'from=4': page([5], said),
      'from=5': page([], said),
    };
    const { ids, end, read } = await walk(pages, { ...BY_OFFSET, total });
    expect([ids, end, read[0]?.totalCount]).toEqual([range(1, 5), 'complete', null]);
  });

  it.each(bounds)('ends where a cursor ends: %s', async (_, said) => {
    const pages = {
      '': page([1, 2], { ...said, next_cursor: 'a' }),
      'at=a': page([3], said),
    };
    expect(await walk(pages, BY_TOKEN)).toMatchObject({ ids: [1, 2, 3], end: 'complete' });
  });

  it.each([
    { hits: { total: { value: 2, relation: 'eq' } } },
    { total: 2, total_is_estimate: false },
    { total: 2, exact: true },
    { total: 2, relation: 'parent' },
  ])('is an exact one: %j', async (said) => {
    const { end, read } = await walk({ '': page([1, 2], said) });
    expect([end, read[0]?.totalCount]).toEqual(['complete', 2]);
  });
});

describe('P6: an empty trail', () => {
  const RECORDS: Audit = { records: '/data/events' };
  const empty = { nodes: [], totalCount: 0, pageInfo: { hasNextPage: false, endCursor: null } };

  it.each<readonly [string, ServiceResponse, Audit]>([
    ['204', { status: 204 }, {}],
    ['205', { status: 205 }, {}],
    ['200 without a body', { body: '' }, {}],
    ['200 with white space', { body: '\r\n' }, {}],
    ['null', { body: 'null' }, {}],
    ['204, with `audit.records`', { status: 204 }, RECORDS],
    ['null, with `audit.records`', { body: 'null' }, RECORDS],
    ['null, with groups', { body: 'null' }, { records: '/data/*/logs' }],
    ['{}', { body: {} }, RECORDS],
    ['{} for groups', { body: {} }, { records: '/days/*' }],
    ['the parent alone', { body: { data: {} } }, RECORDS],
    ['a parent that is null', { body: { data: null, etag: 'x' } }, RECORDS],
    [
      'other members',
      { body: { kind: 'audit#list', etag: 'x', data: { total: 0, page: 1 } } },
      RECORDS,
    ],
    ['an empty element of XML', { body: { data: { events: '', count: '0' } } }, RECORDS],
    ['a success', { body: { code: 0, message: 'success', success: true, data: null } }, RECORDS],
    ['no records found', { body: { status: 'ok', message: 'No audit records found.' } }, RECORDS],
    ['a list that is null', { body: { data: { events: null } } }, RECORDS],
  ])('is %s', async (_, response, audit) => {
    const { read, end } = await walk({ '': response }, audit);
    expect([read, end]).toMatchObject([[empty], 'complete']);
  });

  it.each<readonly [string, ServiceResponse, Audit]>([
    ['{} without a contract', { body: {} }, {}],
    ['a renamed list', { body: { data: { entries: records(1) } } }, RECORDS],
    ['a renamed parent', { body: { result: {} } }, RECORDS],
    ['another list', { body: { warnings: [] } }, RECORDS],
    ['a total above 0', { body: { data: { total: 3 } } }, RECORDS],
    ['a count above 0', { body: { count: '2' } }, RECORDS],
    ['a lower bound', { body: { total: '3+' } }, RECORDS],
    ['a total above 0 in a header', { body: {}, headers: { 'x-total-count': '3' } }, RECORDS],
    [
      'null with a total above 0 in a header',
      { body: 'null', headers: { 'total-count': '3' } },
      {},
    ],
    ['204 with a total above 0 in a header', { status: 204, headers: { 'x-total': '3' } }, {}],
    ['a configured total above 0', { body: { n: 3 } }, { ...RECORDS, total: '/n' }],
    ['a list that is a text', { body: { data: { events: 'none' } } }, RECORDS],
    ['a parent that is a text', { body: { data: 'x' } }, RECORDS],
    ['a list that is false', { body: { data: { events: false } } }, RECORDS],
    ['an array', { body: [] }, RECORDS],
    ['a text that may say what is wrong', { body: { message: 'Zugriff verweigert' } }, RECORDS],
    ['an unknown code', { body: { code: 7 } }, RECORDS],
    ['202 without a body', { status: 202, body: '' }, {}],
    ['206 without a body', { status: 206, body: '' }, {}],
    [
      'a group without its list',
      { body: { data: [{ log: records(1) }] } },
      { records: '/data/*/logs' },
    ],
  ])('is not %s', async (_, response, audit) => {
    const { end } = await walk({ '': response }, audit);
    expect(end).toBe('NO_RECORDS');
  });

  it('is not one that is not ready', async () => {
    const { end } = await walk({ '': { body: { status: 'processing', id: 7 } } }, RECORDS);
    expect(end).toBe('SAYS_IT_FAILED');
  });

  it.each([
    [{ error: 'x' }, 'UPSTREAM_ERROR'],
    [{ success: false }, 'UPSTREAM_ERROR'],
    [{ status: 'failed', data: {} }, 'UPSTREAM_ERROR'],
  ])('is not a failure: %j', async (body, code) => {
    await using service = await serve({ '': { body } });
    await using gateway = gatewayOver(service.url, { contract: { audit: RECORDS } });
    expect((await request(gateway)).problem?.extensions.code).toBe(code);
  });

  it.each<readonly [string, ServiceResponse]>([
    ['204', { status: 204 }],
    ['{}', { body: {} }],
    ['null', { body: 'null' }],
  ])('%s is the last page', async (_, last) => {
    const paging = { style: 'page', parameter: 'page' } as const;
    const pages = { '': { body: { data: { events: records(1) } } }, 'page=2': last };
    expect(await walk(pages, { ...RECORDS, paging })).toMatchObject({ ids: [1], end: 'complete' });
  });

  it('leads on if it has a cursor', async () => {
    const pages = {
      '': { body: { nextPageToken: 'a' } },
      'at=a': { body: { data: { events: records(1) } } },
    };
    expect(await walk(pages, { ...RECORDS, ...BY_TOKEN })).toMatchObject({
      ids: [1],
      end: 'complete',
    });
  });

  it('does not end a live tail', async () => {
    let count = 0;
    await using service = await startService(() => {
      count += 1;
      return count < 2 ? { status: 204 } : { body: records(1) };
    });
    const { pause, paused, resume } = holdPauses();
    await using gateway = gatewayOver(service.url, { pause });
    const since = '2000-01-01T00:00:00Z';
    await using stream = await subscribe(gateway, { filter: { since } });
    expect((await stream.nextBatch()).nodes).toEqual([]);
    await paused();
    resume();
    expect((await stream.nextBatch()).nodes).toEqual([{ id: 'r1' }]);
  });
});

describe('P7: one record where a list is expected', () => {
  const [one, two] = records(1, 2);
  const ITEMS: Audit = { records: '/items' };

  it.each<readonly [string, unknown, string]>([
    ['an object', { items: one }, '/items'],
    [
      'an object with objects and a list',
      { items: { ...one, actor: { id: 1 }, changes: [{ a: 1 }] } },
      '/items',
    ],
    ['attributes of XML', { items: { '@time': one?.time, id: one?.id } }, '/items'],
    ['the only member of a list of XML', { items: { item: one } }, '/items'],
    ['an item of a list of XML', { items: { item: one } }, '/items/item'],
    ['the response itself', one, ''],
    ['a record in a group', { data: [{ logs: one }] }, '/data/*/logs'],
  ])('is that record: %s', async (_, body, at) => {
    const { read, end } = await walk(
      { '': { body } },
      { records: at, event: { id: ['/id', '/item/id'] } },
    );
    expect([read, end]).toMatchObject([[{ nodes: [{ id: 'r1' }], totalCount: 1 }], 'complete']);
  });

  it.each<readonly [string, unknown, Audit]>([
    ['an object, without a contract', { items: one }, {}],
    ['a record with a list, without a contract', { items: { ...one, changes: [{ a: 1 }] } }, {}],
    ['a record with an empty list, without a contract', { events: { ...one, tags: [] } }, {}],
    [
      'a record that consists of objects',
      { items: { event: { type: 'a' }, actor: { id: 1 }, at: { time: 2 } } },
      ITEMS,
    ],
    ['lists', { items: { logins: [one], deletions: [two] } }, ITEMS],
    ['nulls', { items: { id: null, time: null } }, ITEMS],
  ])('is an error: %s', async (_, body, audit) => {
    expect(await walk({ '': { body } }, audit)).toMatchObject({ ids: [], end: 'NO_RECORDS' });
  });

  it.each<readonly [string, unknown, string, number]>([
    ['numbers', { items: { 2: one, 1: two } }, '/items', 2],
    ['ids', { items: { ev_7a: one, ev_8b: two } }, '/items', 2],
    ['names', { items: { alpha: one, beta: { ...two, note: 'x' } } }, '/items', 2],
    ['numbers, next to a count', { items: { 0: one, 1: two, total_count: 2 } }, '/items', 2],
    ['days in groups', { days: { '2026-11-20': [one], '2026-11-21': [two] } }, '/days/*', 2],
    ['a list of XML with several items', { items: { item: [one, two] } }, '/items', 2],
    [
      'a group with one record and a group with a list',
      { data: [{ logs: one }, { logs: [two] }] },
      '/data/*/logs',
      2,
    ],
    ['nothing', { items: {} }, '/items', 0],
  ])('is not what an object with several is: by %s', async (_, body, at, length) => {
    const { ids, end } = await walk({ '': { body } }, { records: at });
    expect([ids.length, end]).toEqual([length, 'complete']);
  });
});

describe('P8: at the end of a walk where more is announced than the caller may read', () => {
  it.each<readonly [string, Pages, Audit, string, Audit]>([
    [
      'a total by page',
      numbered([[1, 2], [3], []], () => ({ total: 5, per_page: 2 })),
      BY_PAGE,
      '`audit.total: null`',
      { total: null },
    ],
    [
      'a total by offset',
      {
        '': { body: { events: records(1, 2), total: 5 } },
        'o=2': { body: { events: [], total: 5 } },
      },
      { paging: { style: 'offset', parameter: 'o' } },
      '`audit.total: null`',
      { total: null },
    ],
    [
      'a total in a header',
      { '': { body: records(1), headers: { 'x-total-count': '5' } } },
      {},
      '`audit.total: null`',
      { total: null },
    ],
    [
      'remaining records',
      { '': { body: { events: records(1), remaining: 5 } } },
      {},
      '`audit.total: null`',
      { total: null },
    ],
    [
      'the number of pages',
      numbered([[1], [2], []], () => ({ total_pages: 3 })),
      BY_PAGE,
      '`audit.paging.pages: null`',
      { paging: { ...BY_PAGE?.paging, pages: null } },
    ],
    [
      'the number of pages next to a cursor that is null',
      { '': { body: { events: records(1), total_pages: 3, next_cursor: null } } },
      { paging: { next: '/next_cursor', parameter: 'at' } },
      '`audit.paging.pages: null`',
      { paging: { next: '/next_cursor', parameter: 'at', pages: null } },
    ],
    [
      'a flag by page',
      numbered([[1], []], () => ({ has_more: true })),
      BY_PAGE,
      '`audit.paging.more: null`',
      { paging: { ...BY_PAGE?.paging, more: null } },
    ],
    [
      'a flag by cursor',
      {
        '': { body: { events: records(1), next_cursor: 'a', has_more: 1 } },
        'at=a': { body: { events: [], has_more: 1 } },
      },
      BY_TOKEN,
      '`audit.paging.more: null`',
      { paging: { ...BY_TOKEN?.paging, more: null } },
    ],
    [
      'a flag next to the same cursor',
      {
        '': { body: { events: records(1), next_cursor: 'a', has_more: true } },
        'at=a': { body: { events: [], next_cursor: 'a', has_more: true } },
      },
      BY_TOKEN,
      '`audit.paging.more: null`',
      { paging: { ...BY_TOKEN?.paging, more: null } },
    ],
    [
      'a flag next to an empty first page',
      { '': { body: { events: [], has_more: true } } },
      {},
      '`audit.paging.more: null`',
      { paging: { more: null } },
    ],
  ])('the error names the entry: %s', async (_, pages, audit, entry, remedy) => {
    const failed = await walk(pages, audit);
    expect(failed.end).toBe('PAGING_UNKNOWN');
    expect(failed.message).toContain(entry);
    const walked = await walk(pages, { ...audit, ...remedy });
    expect([walked.ids, walked.end]).toEqual([failed.ids, 'complete']);
  });
});

describe('P10: pages that are counted from 0, where the contract counts from 1', () => {
  const SIZE = 2;
  const page = (
    number: number,
    said: (start: number) => object,
    headers?: ServiceResponse['headers'],
  ): ServiceResponse => ({
    body: {
      events: records(...range(number * SIZE, number * SIZE + 1).filter((id) => id < 7)),
      ...said(number * SIZE),
    },
    ...(headers && { headers }),
  });
  const pagesOf = (
    said: (start: number) => object,
    toHeaders?: (start: number) => Record<string, string>,
  ): Pages => ({
    '': page(0, said, toHeaders?.(0)),
    'page=1': page(1, said, toHeaders?.(2)),
    'page=2': page(2, said, toHeaders?.(4)),
    'page=3': page(3, said, toHeaders?.(6)),
    'page=4': page(4, said, toHeaders?.(8)),
  });

  it.each<readonly [string, Pages]>([
    ['an offset and a total', pagesOf((offset) => ({ offset, total: 7 }))],
    ['an offset from 1 on', pagesOf((start) => ({ from: start + 1, total: 7 }))],
    [
      'an offset and the size of a page',
      pagesOf((offset) => ({ skip: offset, limit: SIZE, total: 7 })),
    ],
    [
      'a range',
      pagesOf(
        () => ({}),
        (start) => ({ 'content-range': `items ${start}-${Math.min(start + 1, 6)}/7` }),
      ),
    ],
  ])('the page after the hole is refused: %s', async (_, pages) => {
    const { ids, end, message, sent } = await walk(pages, BY_PAGE, { first: 2 });
    expect([ids, end, sent.at(-1)]).toEqual([[0, 1], 'PAGING_REPEATS', 'page=2']);
    expect(message).toContain('`audit.paging.start`');
    const paging = { ...BY_PAGE?.paging, start: 0 };
    expect(await walk(pages, { paging })).toMatchObject({ ids: range(0, 6), end: 'complete' });
  });

  it.each<readonly [string, (start: number) => object]>([
    ['a total', () => ({ total: 7 })],
    ['a number of pages', () => ({ total_pages: 4 })],
    ['both', () => ({ total: 7, total_pages: 4, per_page: SIZE })],
  ])('the walk does not end as if it were complete: %s', async (_, said) => {
    const { end, message } = await walk(pagesOf(said), BY_PAGE);
    expect(end).toBe('PAGING_UNKNOWN');
    expect(message).toContain('`audit.paging.start`');
  });

  it.each<readonly [string, (start: number) => object]>([
    ['a size', (offset) => ({ offset, limit: 3, total: 7 })],
    ['no size', (offset) => ({ offset, total: 7 })],
    ['the size of this page', (offset) => ({ offset, size: offset === 6 ? 1 : 2, total: 7 })],
    ['times', (start) => ({ from: 1_700_000_000 - start, total: 7 })],
  ])('a page that the service filtered after it had cut it is no hole: %s', async (_, said) => {
    const pages = {
      '': { body: { events: records(1, 2), ...said(0) } },
      'page=2': { body: { events: records(4, 5), ...said(3) } },
      'page=3': { body: { events: records(7), ...said(6) } },
      'page=4': { body: { events: [], total: 7 } },
    };
    const { ids } = await walk(pages, BY_PAGE, { first: 2 });
    expect(ids).toEqual([1, 2, 4, 5, 7]);
  });
});

describe('P11: a next link that leads elsewhere', () => {
  const linked = (body: object, headers = {}): Pages => ({
    '': { body: { events: records(1), ...body }, headers },
    'page=2': { body: { events: records(2) } },
  });

  it.each<readonly [string, Pages, string]>([
    [
      'another host',
      linked({ next: 'https://inner.test/api/v1/audit?page=2' }),
      'the link at `/next`',
    ],
    ['another path', linked({ links: { next: '/v3/logs?page=2' } }), 'the link at `/links/next`'],
    [
      'another port',
      linked({ _links: { next: { href: 'http://127.0.0.1:9/api/v1/audit?page=2' } } }),
      'the link at `/_links/next/href`',
    ],
    [
      'OData',
      linked({ '@odata.nextLink': 'http://inner.test/x?page=2' }),
      'the link at `/@odata.nextLink`',
    ],
    [
      'a Link header',
      linked({}, { link: '<https://inner.test/x?page=2>; rel="next"' }),
      'the link in the header `link`',
    ],
    [
      'a key that is data',
      linked({ e4f1a2: { next: 'https://inner.test/x?page=2' } }),
      'the link to the next page',
    ],
  ])('names the cause: %s', async (_, pages, place) => {
    const { ids, end, message } = await walk(pages);
    expect([ids, end]).toEqual([[1], 'PAGING_UNKNOWN']);
    const cause = `${place} leads to another host or path: set \`audit.paging.follow\` to \`query\``;
    expect(message).toContain(cause);
    expect(message).not.toContain('inner.test');
    await using service = await serve(pages);
    await using gateway = gatewayOver(service.url);
    const { text } = await ask(
      gateway,
      '{ audit { pageInfo { hasNextPage } } }',
      {},
      { token: 't', headers: { 'x-keytrail-explain': '1' } },
    );
    const { extensions } = JSON.parse(text);
    expect(extensions.explain.mapping.paging.why).toBe(cause);
    const paging = { follow: 'query' as const };
    expect(await walk(pages, { paging })).toMatchObject({ ids: [1, 2], end: 'complete' });
  });

  it('has another cause without a query', async () => {
    const { end, message } = await walk(linked({ next: 'https://inner.test/pages/2' }));
    expect(end).toBe('PAGING_UNKNOWN');
    expect(message).not.toContain('leads to another host');
  });
});
