import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, gatewayOver, type Result } from '../../helpers/gateway.ts';
import type { Order } from '../../helpers/paged-trail.ts';
import { startService } from '../../helpers/service.ts';

type Paging = NonNullable<NonNullable<ConfiguredContract['audit']>['paging']>;

const STYLES = {
  page: { style: 'page', parameter: 'at' },
  offset: { style: 'offset', parameter: 'at' },
  'link with a number': { style: 'next-link', next: '/next' },
  'cursor with a number': { style: 'cursor', parameter: 'at', next: '/next' },
  'link with a cursor': { style: 'next-link', next: '/next' },
  'last id': { style: 'last-id', parameter: 'at' },
} as const satisfies Readonly<Record<string, Paging>>;

type Style = keyof typeof STYLES;

/** What happens to a list between two requests of a client: records are added, the oldest are removed, or one is. */
type Change = { readonly kind: 'add' | 'expire' | 'remove'; readonly count: number };

type List = {
  readonly style: Style;
  readonly order: Order;
  readonly size: number;
  readonly records: number;
  readonly hasTotal: boolean;
  readonly first: number;
  readonly changes: readonly (Change | null)[];
};

const LIST: fc.Arbitrary<List> = fc.record({
  style: fc.constantFrom(...(Object.keys(STYLES) as readonly Style[])), // Object.keys() returns string[]
  order: fc.constantFrom('newest-first', 'oldest-first'),
  size: fc.integer({ min: 2, max: 12 }),
  records: fc.integer({ min: 10, max: 150 }),
  hasTotal: fc.boolean(),
  first: fc.integer({ min: 1, max: 60 }),
  changes: fc.array(
    fc.option(
      fc.record({
        kind: fc.constantFrom('add', 'expire', 'remove'),
        count: fc.integer({ min: 1, max: 15 }),
      }),
    ),
    { minLength: 1, maxLength: 20 },
  ),
});

const QUERY =
  'query ($first: Int, $after: String) { audit(first: $first, after: $after) { edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }';

type Audit = {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
};

/** Reads a list to its end, or to an error. */
async function read({ style, order, size, records, hasTotal, first, changes }: List) {
  let newest = 0;
  const add = () => {
    newest += 1;
    return newest;
  };
  let numbers = Array.from({ length: records }, add).toReversed(); // newest first
  const service = await startService(({ url }) => {
    const at = new URL(url, 'http://service.test').searchParams.get('at');
    const list = order === 'newest-first' ? numbers : numbers.toReversed();
    const isAfter = (number: number) =>
      order === 'newest-first' ? number < Number(at?.slice(1)) : number > Number(at?.slice(1));
    const found = list.findIndex(isAfter);
    const start =
      at === null
        ? 0
        : style === 'page'
          ? (Number(at) - 1) * size
          : at.startsWith('e')
            ? found < 0
              ? list.length
              : found
            : Number(at);
    const page = list.slice(start, start + size);
    const isLast = start + size >= list.length;
    const next = style.endsWith('number') ? start + size : `e${page.at(-1)}`;
    return {
      body: {
        events: page.map((number) => ({
          id: `e${number}`,
          time: new Date(1.7e12 + 1000 * number).toISOString(),
        })),
        ...(hasTotal && { total: list.length }),
        ...(style === 'last id' && { has_more: !isLast }),
        ...(/^(?:link|cursor)/.test(style) && {
          next: isLast ? null : style.startsWith('link') ? `/api/v1/audit?at=${next}` : `${next}`,
        }),
      },
    };
  });
  await using _ = service;
  await using gateway = gatewayOver(service.url, {
    contract: { audit: { paging: STYLES[style] } },
  });
  const ids: string[] = [];
  let always = numbers;
  let after: string | null = null;
  for (let turn = 0; turn < 1000; turn += 1) {
    const result: Result<{ readonly audit: Audit | null }> = await ask(
      gateway,
      QUERY,
      { first, after },
      { token: 't' },
    );
    if (!result.data?.audit)
      return {
        ids,
        always,
        code: result.errors?.[0]?.extensions.code,
        requests: service.seen.length,
      };
    const { edges, pageInfo } = result.data.audit;
    ids.push(...edges.map(({ node }) => node.id));
    expect(edges.at(-1)?.cursor ?? pageInfo.endCursor).toBe(pageInfo.endCursor);
    if (!pageInfo.hasNextPage)
      return { ids, always, code: undefined, requests: service.seen.length };
    after = pageInfo.endCursor;
    const change = changes[turn] ?? null;
    // Nothing but the page before shows that one record of a trail without a total was removed.
    if (change?.kind === 'remove' && !hasTotal) continue;
    if (change?.kind === 'add')
      numbers = [...Array.from({ length: change.count }, add).reverse(), ...numbers];
    if (change?.kind === 'expire') numbers = numbers.slice(0, -change.count);
    if (change?.kind === 'remove') numbers = numbers.filter((_, at) => at !== change.count * 3);
    if (numbers.length === 0) numbers = [add()];
    always = always.filter((number) => numbers.includes(number));
  }
  throw new Error('It does not end.');
}

describe('a list that changes between the requests of a client', () => {
  it('is read without losing or repeating a record, or the client gets an error', async () => {
    await fc.assert(
      fc.asyncProperty(LIST, async (list) => {
        const { ids, always, code } = await read(list);
        expect(new Set(ids).size).toBe(ids.length);
        if (code === undefined)
          expect(always.filter((number) => !ids.includes(`e${number}`))).toEqual([]);
        // A total that has grown says that there are more records than were read: they were added before the cursor.
        else expect(code).toMatch(/^(?:BAD_USER_INPUT|UPSTREAM_BAD_RESPONSE)$/);
      }),
      { numRuns: Number(process.env['MOVING_RUNS'] ?? 80) },
    );
  });

  it('if it does not change, is read with one request for each page', async () => {
    await fc.assert(
      fc.asyncProperty(LIST, async ({ changes: _, ...list }) => {
        const pages = Math.ceil(list.records / list.size);
        const all = { ...list, first: list.size * (1 + (list.first % 12)), changes: [] };
        const { ids, requests } = await read(all);
        expect(ids).toHaveLength(list.records);
        const isNumbered = /page|offset|number/.test(list.style);
        // Nothing but the page before shows that none of its records was removed.
        const isUncertain = list.order === 'oldest-first' && isNumbered && !list.hasTotal;
        // Without a total and a next page, an empty page is the end, if the page before it is where it was.
        const extra = ['page', 'offset'].includes(list.style) && !list.hasTotal ? 2 : 0;
        expect(requests).toBeLessThanOrEqual(pages * (isUncertain ? 2 : 1) + extra);
      }),
      { numRuns: 40 },
    );
  });
});

it('a page without records after a cursor is no end: the cursor may have expired', async () => {
  let hasExpired = false;
  await using service = await startService(({ url }) => {
    const cursor = new URL(url, 'http://service.test').searchParams.get('at');
    const at = Number(cursor?.slice(1) ?? 0);
    if (hasExpired && at > 0) return { body: { events: [], next: null } };
    const events = [at, at + 1].map((id) => ({ id: `e${id}` }));
    return { body: { events, next: at < 8 ? `/api/v1/audit?at=c${at + 2}` : null } };
  });
  const paging = { style: 'next-link', next: '/next' } as const;
  await using gateway = gatewayOver(service.url, { contract: { audit: { paging } } });
  const page = (after: string | null): Promise<Result<{ readonly audit: Audit | null }>> =>
    ask(gateway, QUERY, { first: 4, after }, { token: 't' });
  const { data } = await page(null);
  hasExpired = true;
  const result = await page(data?.audit?.pageInfo.endCursor ?? null);
  expect(result.data?.audit).toBeNull();
  expect(result.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT' });
});
