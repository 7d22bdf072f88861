import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkContract } from '../../../src/gateway/config/contract-schema.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

/** Every row of the table in docs/contract-reference.md: what the service returns, and the entries to set. */
const PAGE = readFileSync(new URL('../../../docs/contract-reference.md', import.meta.url), 'utf8');
const TABLE = /\| the service returns \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(PAGE)?.[1] ?? '';
const ROWS = TABLE.trimEnd()
  .split('\n')
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([, does = '', entries = '']) => ({ does, entries: entries.replaceAll('`', '') }));

const SIZE = 3;
const RECORDS = [8, 7, 6, 5, 4, 3, 2, 1].map((id) => ({
  id: `r${id}`,
  time: new Date(1.7e12 + id * 1000).toISOString(),
  action: 'login',
}));

/** The records of a page, and where the next one starts; undefined on the last page. */
function slice(start: number, size = SIZE) {
  const items = RECORDS.slice(start, start + size);
  const next = start + size < RECORDS.length ? start + size : undefined;
  return { items, next };
}

type Respond = (query: URLSearchParams) => ServiceResponse;

/** A page whose start is encoded in a parameter, so that a service with another name ignores it. */
function byCursor(parameter: string, respond: (page: ReturnType<typeof slice>) => ServiceResponse) {
  return (query: URLSearchParams) =>
    respond(slice(Number(/^c(\d+)$/.exec(query.get(parameter) ?? '')?.[1] ?? 0)));
}

function byNumber(
  parameter: string,
  first: number,
  respond: (page: ReturnType<typeof slice> & { readonly number: number }) => ServiceResponse,
): Respond {
  return (query) => {
    const number = Number(query.get(parameter) ?? first);
    return respond({ ...slice((number - first) * SIZE), number });
  };
}

function byOffset(
  parameter: string,
  first: number,
  respond: (page: ReturnType<typeof slice> & { readonly offset: number }) => ServiceResponse,
  size?: string,
): Respond {
  return (query) => {
    const offset = Number(query.get(parameter) ?? first);
    const limit = size === undefined ? SIZE : Number(query.get(size) ?? SIZE);
    return respond({ ...slice(offset - first, limit), offset });
  };
}

function byRecord(
  parameter: string,
  precedes: (record: (typeof RECORDS)[number], value: string) => boolean,
  respond: (page: ReturnType<typeof slice>) => ServiceResponse,
): Respond {
  return (query) => {
    const value = query.get(parameter);
    return respond(
      slice(value === null ? 0 : RECORDS.findLastIndex((one) => precedes(one, value)) + 1),
    );
  };
}

const cursorOf = (next: number | undefined) => (next === undefined ? null : `c${next}`);
const TOTAL = RECORDS.length;
const PAGES = Math.ceil(TOTAL / SIZE);

/** A service for each row. */
const SERVICES: Readonly<Record<string, Respond>> = {
  'all records in one response': () => ({ body: RECORDS }),
  'all records in one response, with a `cursor` for new ones': () => ({
    body: { items: RECORDS, cursor: 'c8' },
  }),
  'a link to the next page in the body, absolute or relative': byCursor(
    'at',
    ({ items, next }) => ({
      body: { items, _links: { next: next && { href: `/api/v1/audit?at=c${next}` } } },
    }),
  ),
  'the same link in a member whose name does not contain "next"': byCursor(
    'at',
    ({ items, next }) => ({ body: { items, links: { older: next && `?at=c${next}` } } }),
  ),
  'a link whose host or path is not that of `UPSTREAM_URL`': byCursor('at', ({ items, next }) => ({
    body: { items, next: next && `http://internal:8080/v3/logs?at=c${next}` },
  })),
  'a `Link` header with `rel="next"`': byCursor('at', ({ items, next }) => ({
    body: items,
    ...(next && { headers: { link: `</api/v1/audit?at=c${next}>; rel="next"` } }),
  })),
  'a `Link` header that leads to another host': byCursor('at', ({ items, next }) => ({
    body: items,
    ...(next && { headers: { link: `<http://internal:8080/v3/logs?at=c${next}>; rel="next"` } }),
  })),
  'a cursor in the body, such as `next_cursor`': byCursor('cursor', ({ items, next }) => ({
    body: { items, next_cursor: cursorOf(next) },
  })),
  'a cursor in a member with another name': byCursor('from', ({ items, next }) => ({
    body: { items, meta: { resume: cursorOf(next) } },
  })),
  'a cursor in a header, such as `x-next-cursor` or `opc-next-page`': byCursor(
    'page',
    ({ items, next }) => ({ body: items, headers: { 'opc-next-page': cursorOf(next) ?? '' } }),
  ),
  'a cursor in a header with another name': byCursor('from', ({ items, next }) => ({
    body: items,
    ...(next && { headers: { 'x-resume': `c${next}` } }),
  })),
  'a cursor on the last page as well; the page after it is empty': byCursor(
    'cursor',
    ({ items, next = 99 }) => ({ body: { items, cursor: `c${next}` } }),
  ),
  'a cursor on the last page as well, and a flag such as `has_more`': byCursor(
    'cursor',
    ({ items, next }) => ({
      body: { items, cursor: `c${next ?? 0}`, has_more: next !== undefined },
    }),
  ),
  'a cursor, and the number of records that remain': byCursor('continue', ({ items, next }) => ({
    body: { items, metadata: next && { continue: `c${next}`, remainingItemCount: TOTAL - next } },
  })),
  'the number of the next page, such as `nextPage`': byNumber(
    'page',
    1,
    ({ items, next, number }) => ({
      body: { items, nextPage: next === undefined ? null : number + 1 },
    }),
  ),
  'the number of the next page in the header `x-next-page`': byNumber(
    'page',
    1,
    ({ items, next, number }) => ({
      body: items,
      headers: { 'x-next-page': next === undefined ? '' : String(number + 1) },
    }),
  ),
  'pages counted from 1; the body has the number of pages': byNumber('page', 1, ({ items }) => ({
    body: { items, total_pages: PAGES },
  })),
  'pages counted from 1; the body has the page and the total': byNumber(
    'page',
    1,
    ({ items, number }) => ({ body: { items, page: number, total: TOTAL } }),
  ),
  'pages counted from 0; the body has the page and the number of pages': byNumber(
    'page',
    0,
    ({ items, number }) => ({ body: { items, page: number, totalPages: PAGES } }),
  ),
  'pages counted from 1; the body does not say which': byNumber('page', 1, ({ items }) => ({
    body: items,
  })),
  'pages counted from 0; the body does not say which': byNumber('page', 0, ({ items }) => ({
    body: { items, total: TOTAL },
  })),
  'pages, and a flag such as `isLast`': byNumber('page', 1, ({ items, next, number }) => ({
    body: number > PAGES ? '[]' : { items, isLast: next === undefined },
  })),
  'pages, and a flag with another name': byNumber('page', 1, ({ items, next, number }) =>
    number > PAGES ? { status: 404 } : { body: { items, again: next !== undefined } },
  ),
  'pages; the page and the number of pages have other names': byNumber(
    'p',
    1,
    ({ items, number }) =>
      number > PAGES ? { status: 404 } : { body: { items, this: number, of: PAGES } },
  ),
  'offsets; the body has the offset and the total': byOffset('offset', 0, ({ items, offset }) => ({
    body: { items, offset, total: TOTAL },
  })),
  'offsets; the body does not say which': byOffset('skip', 0, ({ items }) => ({ body: items })),
  'offsets counted from 1; the body has the offset and the total': byOffset(
    'startIndex',
    1,
    ({ items, offset }) => ({
      body: { Resources: items, startIndex: offset, totalResults: TOTAL },
    }),
  ),
  'offsets counted from 1; the body does not say which': byOffset('start', 1, ({ items }) => ({
    body: { items, total: TOTAL },
  })),
  'offsets, and a parameter for the page size, which may be up to 100': byOffset(
    'offset',
    0,
    ({ items }) => ({ body: items }),
    'limit',
  ),
  'the records after the last ID, and a flag such as `has_more`': byRecord(
    'starting_after',
    ({ id }, value) => id === value,
    ({ items, next }) => ({ body: { data: items, has_more: next !== undefined } }),
  ),
  'the records after the last ID, until a page is empty': byRecord(
    'after_id',
    ({ id }, value) => id === value,
    ({ items }) => ({ body: items }),
  ),
  'the records before a time, or before another value of the last record': byRecord(
    'before',
    ({ time }, value) => time >= value,
    ({ items }) => ({ body: { items } }),
  ),
  'the records up to and including a time': byRecord(
    'until',
    ({ time }, value) => time > value,
    ({ items }) => ({ body: { items } }),
  ),
};

type Trail = {
  readonly audit: {
    readonly nodes: readonly { readonly id: string }[];
    readonly pageInfo: { readonly hasNextPage: boolean };
  };
};

describe('the table of paging in docs/contract-reference.md', () => {
  it('has at least 30 rows, and a test for each', () => {
    expect(ROWS.length).toBeGreaterThanOrEqual(30);
    expect(ROWS.map(({ does }) => does)).toEqual(Object.keys(SERVICES));
  });

  it.each(ROWS)('reads every record once from: $does', async ({ does, entries }) => {
    const respond = SERVICES[does];
    if (respond === undefined) throw new Error('The row has no service.');
    const checked = checkContract({ audit: { paging: JSON.parse(`{${entries}}`) } });
    if (!('contract' in checked)) throw new Error(checked.problems.join());
    await using service = await startService(({ url }) =>
      respond(new URL(url, 'http://a').searchParams),
    );
    await using gateway = gatewayOver(service.url, { contract: checked.contract });
    const query = '{ audit { nodes { id } pageInfo { hasNextPage } } }';
    const { data, errors } = await ask<Trail, object>(gateway, query, {}, { token: 't' });
    expect(errors).toBeUndefined();
    expect(data?.audit.nodes.map(({ id }) => id)).toEqual(RECORDS.map(({ id }) => id));
    expect(data?.audit.pageInfo.hasNextPage).toBe(false);
  });

  it.each(ROWS.filter(({ entries }) => entries !== ''))(
    'needs the entries for: $does',
    async ({ does }) => {
      const respond = SERVICES[does];
      if (respond === undefined) throw new Error('The row has no service.');
      await using service = await startService(({ url }) =>
        respond(new URL(url, 'http://a').searchParams),
      );
      await using gateway = gatewayOver(service.url);
      const query = '{ audit { nodes { id } pageInfo { hasNextPage } } }';
      const { data } = await ask<Trail, object>(gateway, query, {}, { token: 't' });
      const isComplete =
        data?.audit.nodes.length === RECORDS.length && !data.audit.pageInfo.hasNextPage;
      expect(isComplete).toBe(false);
    },
  );
});
