import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import type { ServiceResponse } from './service.ts';

/** The contract that a user writes for a convention, null if none is needed, or why no contract can say it. */
type Paging = NonNullable<ConfiguredContract['audit']>['paging'] | null | string;

/** How a published service divides a list into pages, as a service: what it responds to a URL. */
export type PagingConvention = {
  readonly name: string;
  readonly respond: (url: URL, base: string) => ServiceResponse;
  readonly paging: Paging;
  /** The number of all records, if the service states it. */
  readonly total: number | null;
  /** Whether nothing in a response says if there are more records. */
  readonly isUnknowable: boolean;
};

const PATH = '/api/v1/audit';
const SIZE = 3;
const TOTAL = 7;
const PAGES = 3;

/** Seven records, three on a page. */
export const RECORDS = Array.from({ length: TOTAL }, (_, index) => ({
  id: `e${index + 1}`,
  created_at: new Date(Date.UTC(2026, 0, 20 - index)).toISOString(),
  action: ['key.delete', 'client.login', 'key.create'][index % 3],
  user_id: `u${index % 2}`,
}));

type Row = (typeof RECORDS)[number];

const from = (start: number) => RECORDS.slice(start, start + SIZE);
const more = (start: number) => start + SIZE < TOTAL;
const last = (start: number) => RECORDS[start + SIZE - 1];
/** The offset that a parameter says, by itself or by a record. */
const at = (url: URL, name: string, key?: (record: Row) => string) => {
  const value = url.searchParams.get(name);
  if (value === null) return 0;
  return key === undefined ? Number(value) : RECORDS.findIndex((one) => key(one) === value) + 1;
};
const page1 = (url: URL, name = 'page') => (Number(url.searchParams.get(name) ?? 1) - 1) * SIZE;

type Convention = readonly [
  string,
  PagingConvention['respond'],
  Paging,
  number | null,
  'unknowable'?,
];

const CONVENTIONS_OF_SERVICES: readonly Convention[] = [
  [
    'GitHub Link, own path',
    (u: URL, base: string) => {
      const s = page1(u);
      return {
        body: from(s),
        headers: more(s)
          ? {
              link: `<${base}${PATH}?page=${s / SIZE + 2}>; rel="next", <${base}${PATH}?page=3>; rel="last"`,
            }
          : {},
      };
    },
    null,
    null,
  ],
  [
    'GitHub Link to another path',
    (u: URL, base: string) => {
      const s = at(u, 'after');
      return {
        body: from(s),
        headers: more(s)
          ? { link: `<${base}/organizations/9919/audit-log?after=${s + SIZE}>; rel="next"` }
          : {},
      };
    },
    { style: 'link-header', follow: 'query' },
    null,
  ],
  [
    'Okta Link self and next, two headers',
    (u: URL, base: string) => {
      const s = at(u, 'after', (r) => r.id);
      return {
        body: from(s),
        headers: {
          link: [
            `<${base}${PATH}>; rel="self"`,
            ...(more(s) ? [`<${base}${PATH}?after=${last(s)?.id}>; rel="next"`] : []),
          ],
        },
      };
    },
    null,
    null,
  ],
  [
    'Stripe has_more, starting_after',
    (u: URL) => {
      const s = at(u, 'starting_after', (r) => r.id);
      return { body: { object: 'list', url: PATH, has_more: more(s), data: from(s) } };
    },
    { style: 'last-id', parameter: 'starting_after' },
    null,
  ],
  [
    'Slack next_cursor',
    (u: URL) => {
      const s = at(u, 'cursor', (r) => `c${r.id}`);
      return {
        body: {
          ok: true,
          entries: from(s),
          response_metadata: { next_cursor: more(s) ? `c${last(s)?.id}` : '' },
        },
      };
    },
    { parameter: 'cursor' },
    null,
  ],
  [
    'Auth0 page with totals, from 0',
    (u: URL) => {
      const s = at(u, 'page') * SIZE;
      return {
        body: { start: s, limit: SIZE, length: from(s).length, total: TOTAL, logs: from(s) },
      };
    },
    { style: 'page', parameter: 'page', start: 0 },
    TOTAL,
  ],
  [
    'Auth0 page, bare list',
    (u: URL) => ({ body: from(at(u, 'page') * SIZE) }),
    { style: 'page', parameter: 'page', start: 0 },
    null,
    'unknowable',
  ],
  [
    'Auth0 from/take, bare list',
    (u: URL) => ({ body: from(at(u, 'from', (r) => r.id)) }),
    { style: 'last-id', parameter: 'from' },
    null,
    'unknowable',
  ],
  [
    'Graph @odata.nextLink',
    (u: URL, base: string) => {
      const s = at(u, '$skiptoken');
      return {
        body: {
          '@odata.context': 'x',
          ...(more(s) ? { '@odata.nextLink': `${base}${PATH}?$skiptoken=${s + SIZE}` } : {}),
          value: from(s),
        },
      };
    },
    null,
    null,
  ],
  [
    'Graph @odata.nextLink and @odata.count',
    (u: URL, base: string) => {
      const s = at(u, '$skiptoken');
      return {
        body: {
          '@odata.count': TOTAL,
          ...(more(s) ? { '@odata.nextLink': `${base}${PATH}?$skiptoken=${s + SIZE}` } : {}),
          value: from(s),
        },
      };
    },
    null,
    TOTAL,
  ],
  [
    'Elasticsearch search_after as a GET',
    (u: URL) => {
      const s = at(u, 'search_after', (r) => r.id);
      return {
        body: {
          took: 1,
          timed_out: false,
          _shards: { total: 1, successful: 1 },
          hits: {
            total: { value: TOTAL, relation: 'eq' },
            max_score: null,
            hits: from(s).map((r) => ({ _index: 'a', _id: r.id, _source: r, sort: [r.id] })),
          },
        },
      };
    },
    { style: 'last-id', parameter: 'search_after' },
    TOTAL,
  ],
  [
    'Google nextPageToken',
    (u: URL) => {
      const s = at(u, 'pageToken', (r) => `T${r.id}`);
      return {
        body: {
          kind: 'x#list',
          ...(more(s) ? { nextPageToken: `T${last(s)?.id}` } : {}),
          items: from(s),
        },
      };
    },
    { parameter: 'pageToken' },
    null,
  ],
  [
    'Jira startAt and total',
    (u: URL) => {
      const s = at(u, 'startAt');
      return { body: { startAt: s, maxResults: SIZE, total: TOTAL, values: from(s) } };
    },
    { parameter: 'startAt' },
    TOTAL,
  ],
  [
    'Jira Cloud isLast, no total',
    (u: URL) => {
      const s = at(u, 'startAt');
      return { body: { startAt: s, maxResults: SIZE, isLast: !more(s), values: from(s) } };
    },
    { style: 'offset', parameter: 'startAt', position: '/startAt' },
    null,
  ],
  [
    'Atlassian _links.next, relative',
    (u: URL, base: string) => {
      const s = at(u, 'start');
      return {
        body: {
          results: from(s),
          start: s,
          limit: SIZE,
          size: from(s).length,
          _links: {
            base: `${base}/wiki`,
            ...(more(s) ? { next: `${PATH}?start=${s + SIZE}` } : {}),
          },
        },
      };
    },
    null,
    null,
  ],
  [
    'Confluence _links.next without context path',
    (u: URL, base: string) => {
      const s = at(u, 'start');
      return {
        body: {
          results: from(s),
          start: s,
          limit: SIZE,
          size: from(s).length,
          _links: {
            base: `${base}/api`,
            context: '/api',
            ...(more(s) ? { next: `/v1/audit?start=${s + SIZE}` } : {}),
          },
        },
      };
    },
    null,
    null,
  ],
  [
    'Twilio next_page_uri, relative',
    (u: URL) => {
      const s = at(u, 'PageToken');
      return {
        body: {
          first_page_uri: `${PATH}?Page=0`,
          end: 2,
          previous_page_uri: null,
          page_size: SIZE,
          page: s / SIZE,
          next_page_uri: more(s) ? `${PATH}?Page=1&PageToken=${s + SIZE}` : null,
          events: from(s),
          uri: PATH,
        },
      };
    },
    null,
    null,
  ],
  [
    'Twilio meta.next_page_url',
    (u: URL, base: string) => {
      const s = at(u, 'PageToken');
      return {
        body: {
          meta: {
            page: s / SIZE,
            page_size: SIZE,
            first_page_url: `${base}${PATH}`,
            previous_page_url: null,
            url: `${base}${PATH}`,
            next_page_url: more(s) ? `${base}${PATH}?PageToken=${s + SIZE}` : null,
            key: 'events',
          },
          events: from(s),
        },
      };
    },
    null,
    null,
  ],
  [
    'Zendesk after_cursor and links.next',
    (u: URL, base: string) => {
      const s = at(u, 'page[after]');
      return {
        body: {
          audit_logs: from(s),
          meta: { has_more: more(s), after_cursor: `${s + SIZE}`, before_cursor: 'b' },
          links: { next: `${base}${PATH}?page%5Bafter%5D=${s + SIZE}`, prev: null },
        },
      };
    },
    null,
    null,
  ],
  [
    'JSON:API links.next',
    (u: URL, base: string) => {
      const s = page1(u, 'page[number]');
      return {
        body: {
          data: from(s).map((r) => ({ type: 'event', id: r.id, attributes: r })),
          links: {
            self: base + PATH,
            ...(more(s) ? { next: `${base}${PATH}?page[number]=${s / SIZE + 2}` } : {}),
            last: `${base}${PATH}?page[number]=3`,
          },
          meta: { total: TOTAL },
        },
      };
    },
    null,
    TOTAL,
  ],
  [
    'JSON:API links.next.href',
    (u: URL, base: string) => {
      const s = page1(u, 'page[number]');
      return {
        body: {
          data: from(s).map((r) => ({ type: 'event', id: r.id, attributes: r })),
          links: {
            next: more(s)
              ? { href: `${base}${PATH}?page[number]=${s / SIZE + 2}`, meta: {} }
              : null,
          },
        },
      };
    },
    null,
    null,
  ],
  [
    'HAL _links.next.href and page',
    (u: URL, base: string) => {
      const p = at(u, 'page');
      return {
        body: {
          _embedded: { events: from(p * SIZE) },
          _links: {
            self: { href: base + PATH },
            ...(p < PAGES - 1 ? { next: { href: `${base}${PATH}?page=${p + 1}` } } : {}),
          },
          page: { size: SIZE, totalElements: TOTAL, totalPages: PAGES, number: p },
        },
      };
    },
    null,
    TOTAL,
  ],
  [
    'DRF count, next',
    (u: URL, base: string) => {
      const s = page1(u);
      return {
        body: {
          count: TOTAL,
          next: more(s) ? `${base}${PATH}?page=${s / SIZE + 2}` : null,
          previous: s ? `${base}${PATH}?page=${s / SIZE}` : null,
          results: from(s),
        },
      };
    },
    null,
    TOTAL,
  ],
  [
    'DRF behind a proxy, another host in next',
    (u: URL) => {
      const s = page1(u);
      return {
        body: {
          count: TOTAL,
          next: more(s) ? `http://internal.example:8000${PATH}?page=${s / SIZE + 2}` : null,
          previous: null,
          results: from(s),
        },
      };
    },
    { style: 'page', parameter: 'page' },
    TOTAL,
  ],
  [
    'Spring Data page, from 0',
    (u: URL) => {
      const p = at(u, 'page');
      return {
        body: {
          content: from(p * SIZE),
          pageable: { offset: p * SIZE, pageNumber: p, pageSize: SIZE, paged: true },
          totalElements: TOTAL,
          totalPages: PAGES,
          last: p === PAGES - 1,
          first: p === 0,
          size: SIZE,
          number: p,
          numberOfElements: from(p * SIZE).length,
          empty: false,
        },
      };
    },
    { parameter: 'page' },
    TOTAL,
  ],
  [
    'Laravel resource',
    (u: URL, base: string) => {
      const s = page1(u),
        p = s / SIZE + 1;
      return {
        body: {
          data: from(s),
          links: {
            first: `${base}${PATH}?page=1`,
            last: `${base}${PATH}?page=3`,
            prev: null,
            next: p < PAGES ? `${base}${PATH}?page=${p + 1}` : null,
          },
          meta: {
            current_page: p,
            from: s + 1,
            last_page: PAGES,
            links: [{ url: null, label: 'Previous', active: false }],
            path: base + PATH,
            per_page: SIZE,
            to: s + SIZE,
            total: TOTAL,
          },
        },
      };
    },
    null,
    TOTAL,
  ],
  [
    'Laravel paginator, flat',
    (u: URL, base: string) => {
      const s = page1(u),
        p = s / SIZE + 1;
      return {
        body: {
          current_page: p,
          data: from(s),
          first_page_url: `${base}${PATH}?page=1`,
          from: s + 1,
          last_page: PAGES,
          last_page_url: `${base}${PATH}?page=3`,
          links: [{ url: null, label: 'Next', active: false }],
          next_page_url: p < PAGES ? `${base}${PATH}?page=${p + 1}` : null,
          path: base + PATH,
          per_page: SIZE,
          prev_page_url: null,
          to: s + SIZE,
          total: TOTAL,
        },
      };
    },
    null,
    TOTAL,
  ],
  [
    'Salesforce nextRecordsUrl on another path',
    (u: URL) => {
      const m = /01g-(\d+)$/.exec(u.pathname),
        s = m ? Number(m[1]) : at(u, 'skip');
      return {
        body: {
          totalSize: TOTAL,
          done: !more(s),
          ...(more(s) ? { nextRecordsUrl: `/services/data/v59.0/query/01g-${s + SIZE}` } : {}),
          records: from(s),
        },
      };
    },
    'the cursor is in the path',
    TOTAL,
  ],
  [
    'AWS NextToken as a query',
    (u: URL) => {
      const s = at(u, 'NextToken', (r) => `N${r.id}`);
      return { body: { Events: from(s), ...(more(s) ? { NextToken: `N${last(s)?.id}` } : {}) } };
    },
    { parameter: 'NextToken' },
    null,
  ],
  [
    'Kubernetes metadata.continue',
    (u: URL) => {
      const s = at(u, 'continue', (r) => `K${r.id}`);
      return {
        body: {
          kind: 'List',
          metadata: {
            continue: more(s) ? `K${last(s)?.id}` : '',
            remainingItemCount: Math.max(0, TOTAL - s - SIZE),
          },
          items: from(s),
        },
      };
    },
    { style: 'cursor', next: '/metadata/continue', parameter: 'continue' },
    null,
  ],
  [
    'limit, offset, total',
    (u: URL) => {
      const s = at(u, 'offset');
      return { body: { items: from(s), offset: s, limit: SIZE, total: TOTAL } };
    },
    { parameter: 'offset' },
    TOTAL,
  ],
  [
    'page, total_pages',
    (u: URL) => {
      const s = page1(u);
      return {
        body: {
          data: from(s),
          meta: {
            page_number: s / SIZE + 1,
            page_size: SIZE,
            total_pages: PAGES,
            total_results: TOTAL,
          },
        },
      };
    },
    { parameter: 'page' },
    TOTAL,
  ],
  [
    'X-Total-Count and page, bare list',
    (u: URL) => ({
      body: from(page1(u)),
      headers: { 'x-total-count': String(TOTAL) },
    }),
    { style: 'page', parameter: 'page' },
    TOTAL,
  ],
  [
    'cursor in a header (Files.com)',
    (u: URL) => {
      const s = at(u, 'cursor');
      return { body: from(s), headers: more(s) ? { 'x-files-cursor': `${s + SIZE}` } : {} };
    },
    { style: 'cursor', next: { header: 'x-files-cursor' }, parameter: 'cursor' },
    null,
  ],
  [
    'Duo next_offset [a, b]',
    (u: URL) => {
      const v = (u.searchParams.get('next_offset') ?? '0,x').split(','),
        s = Number(v[0]);
      return v[1]
        ? {
            body: {
              stat: 'OK',
              response: {
                authlogs: from(s),
                metadata: {
                  next_offset: more(s) ? [`${s + SIZE}`, 'af0b'] : null,
                  total_objects: TOTAL,
                },
              },
            },
          }
        : { status: 400, body: { stat: 'FAIL' } };
    },
    'the cursor has two parts',
    TOTAL,
  ],
  [
    'authentik pagination.next, a number',
    (u: URL) => {
      const s = page1(u),
        p = s / SIZE + 1;
      return {
        body: {
          pagination: {
            next: p < PAGES ? p + 1 : 0,
            previous: p - 1,
            count: TOTAL,
            current: p,
            total_pages: PAGES,
            start_index: 1,
            end_index: 3,
          },
          results: from(s),
        },
      };
    },
    { parameter: 'page' },
    TOTAL,
  ],
  [
    'Intercom pages.next, an object',
    (u: URL) => {
      const s = at(u, 'starting_after');
      return {
        body: {
          type: 'list',
          data: from(s),
          total_count: TOTAL,
          pages: {
            type: 'pages',
            page: s / SIZE + 1,
            per_page: SIZE,
            total_pages: PAGES,
            ...(more(s) ? { next: { page: s / SIZE + 2, starting_after: `${s + SIZE}` } } : {}),
          },
        },
      };
    },
    { style: 'cursor', next: '/pages/next/starting_after', parameter: 'starting_after' },
    TOTAL,
  ],
  [
    'Mailgun paging.next, always there',
    (u: URL, base: string) => {
      const s = at(u, 't');
      return {
        body: {
          items: from(s),
          paging: {
            next: `${base}${PATH}?t=${Math.min(s + SIZE, TOTAL)}`,
            previous: `${base}${PATH}?t=0`,
            first: base + PATH,
            last: base + PATH,
          },
        },
      };
    },
    null,
    null,
  ],
  [
    'LaunchDarkly, the last time as before',
    (u: URL) => {
      const s = at(u, 'before', (r) => r.created_at);
      return { body: { items: from(s), has_more: more(s) } };
    },
    { style: 'last-value', last: '/created_at', parameter: 'before' },
    null,
  ],
];

/** 39 conventions of published services. */
export const PAGING_CONVENTIONS = CONVENTIONS_OF_SERVICES.map(
  ([name, respond, paging, total, unknowable]): PagingConvention => ({
    ...{ name, respond, paging, total },
    isUnknowable: unknowable !== undefined,
  }),
);
