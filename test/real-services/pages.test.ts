import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../src/mapping/contract.ts';
import { ask, gatewayOver, type TestGateway } from '../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';

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
  /** Three records, an empty page, six records: each leads to the next in its own way. */
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

  it('with ever new cursors ends after ten of them if the configured flag is false', async () => {
    let count = 0;
    await using service = await startService(() => {
      count += 1;
      return {
        body: { events: count === 1 ? records(1) : [], again: false, next_cursor: `c${count}` },
      };
    });
    const paging = { parameter: 'at', more: '/again' };
    await using gateway = gatewayOver(service.url, { contract: { audit: { paging } } });
    const { page } = await request(gateway);
    expect(page).toMatchObject({ nodes: [{ id: 'r1' }], pageInfo: { hasNextPage: false } });
    expect(service.seen).toHaveLength(10);
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
      'at=b': { body: { events: [{ ...records(2)[0], action: 'key.delete', actor: 'k1' }] } },
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
    const query = `subscription { auditEvents(filter: {since: "${since}"}) { nodes { id } } }`;
    const response = await gateway.fetch(
      new Request('http://gateway.test/graphql', {
        method: 'POST',
        headers: {
          accept: 'text/event-stream',
          'content-type': 'application/json',
          authorization: 'Bearer t',
        },
        body: JSON.stringify({ query }),
      }),
    );
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('data: {')) text += Buffer.from((await reader?.read())?.value ?? []);
    await reader?.cancel();
    expect(text).toContain('[{"id":"r3"},{"id":"r2"},{"id":"r1"}]');
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
