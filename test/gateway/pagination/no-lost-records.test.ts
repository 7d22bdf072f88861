import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, gatewayOver, type Result, type TestGateway } from '../../helpers/gateway.ts';
import { type Service, type ServiceResponse, startService } from '../../helpers/service.ts';

type Paging = NonNullable<NonNullable<ConfiguredContract['audit']>['paging']>;

/** With LOST_RECORDS_SCALE=4, 2,000 wrong contracts. */
const SCALE = Number(process.env['LOST_RECORDS_SCALE'] ?? 1);

/** A service with a list of records, newest first. */
type Stub = {
  readonly style: keyof typeof CONTRACTS;
  readonly records: number;
  readonly pageSize: number;
  /** Number of empty pages before each page with records, where a style has them. */
  readonly gaps: readonly number[];
  /** How it announces that there are more pages, besides links and cursors. */
  readonly announces: Readonly<Record<'more' | 'pages' | 'position', boolean>> & {
    readonly total: 'no' | 'exact' | 'at least';
    readonly partial: 'no' | 'status' | 'range' | 'header';
  };
  /** How it writes true and false. */
  readonly flags: readonly [unknown, unknown];
  /** Whether its flag is true on the last page only. */
  readonly isNegative: boolean;
  /** Whether it leaves the list out of a page without records. */
  readonly leavesOut: boolean;
};

/** The contract that fits each style. */
const CONTRACTS = {
  cursor: { parameter: 'at', next: '/next' },
  'header cursor': { parameter: 'at', next: { header: 'x-next-cursor' } },
  'next link': { style: 'next-link', next: '/next' },
  'link of another host': { style: 'next-link', next: '/next', follow: 'query' },
  'link header': { style: 'link-header' },
  page: { style: 'page', parameter: 'page' },
  'page from 0': { style: 'page', parameter: 'page', start: 0 },
  offset: { style: 'offset', parameter: 'offset' },
  'last id': { style: 'last-id', parameter: 'after' },
  'last value': { style: 'last-value', parameter: 'before', last: '/time' },
  'last value, inclusive': {
    style: 'last-value',
    parameter: 'before',
    last: '/time',
    inclusive: true,
  },
} as const satisfies Readonly<Record<string, Paging>>;

const STYLES = Object.keys(CONTRACTS) as readonly Stub['style'][]; // Object.keys() returns string[]

/** Whether each page leads to the next one in its body or headers. */
const HAS_NEXT: ReadonlySet<Stub['style']> = new Set([
  'cursor',
  'header cursor',
  'next link',
  'link of another host',
  'link header',
]);

/** Entries that a wrong contract has instead. The pointers lead to another number, text or flag, or to nothing. */
const WRONG: fc.Arbitrary<Paging> = fc.oneof(
  fc.record({ parameter: fc.constantFrom('mispelt', 'page', 'offset', 'after', 'at', 'before') }),
  fc.record({
    style: fc.constantFrom(
      ...(['none', 'cursor', 'page', 'offset', 'next-link', 'link-header', 'last-id'] as const),
    ),
  }),
  fc.record({ next: fc.constantFrom('/nothing', '/beyond', '/version') }),
  fc.record({ more: fc.constantFrom('/nothing', '/odd') }),
  fc.record({ pages: fc.constantFrom('/nothing', '/version') }),
  fc.record({ position: fc.constantFrom('/nothing', '/version') }),
  fc.record({ start: fc.nat({ max: 3 }) }),
  fc.record({ inclusive: fc.boolean() }),
  fc.record({ last: fc.constantFrom('/nothing', '/kind') }),
);

function record(index: number) {
  return { id: `r${index}`, time: new Date(1.7e12 - index * 1000).toISOString(), kind: 'login' };
}

/** The pages of a list, with those that are empty. Only links, cursors and announced numbers of pages lead through them. */
function pagesOf({ style, records, pageSize, gaps, announces }: Stub) {
  const all = Array.from({ length: records }, (_, index) => record(index));
  const mayBeEmpty = HAS_NEXT.has(style) || (style.startsWith('page') && announces.pages);
  const pages: (typeof all)[] = [];
  for (let start = 0; start < records; start += pageSize) {
    const empty = mayBeEmpty ? (gaps[start / pageSize] ?? 0) : 0;
    pages.push(...Array.from({ length: empty }, () => []), all.slice(start, start + pageSize));
  }
  return { all, pages: pages.length === 0 ? [[]] : pages };
}

function respond(stub: Stub, url: URL): ServiceResponse {
  const { style, pageSize, announces, flags, isNegative, leavesOut } = stub;
  const { all, pages } = pagesOf(stub);
  const isPaged = HAS_NEXT.has(style) || style.startsWith('page');
  const start = Math.max(0, startOf(stub, all, url)); // a page, or a record
  const items = isPaged ? (pages[start] ?? []) : all.slice(start, start + pageSize);
  const end = isPaged ? start + 1 : start + pageSize;
  const isLast = isPaged ? end >= pages.length : end >= all.length;
  const link = `${url.pathname}?at=c${end}`;
  const next =
    style === 'next link'
      ? link
      : style === 'link of another host'
        ? `http://inner/x?at=c${end}`
        : `c${end}`;
  const hasNext = ['cursor', 'next link', 'link of another host'].includes(style);
  const hasRange = announces.partial === 'range' && !isPaged;
  const total = hasTotal(stub) ? all.length : '*';
  return {
    ...(announces.partial === 'status' && pages.length > 1 && { status: 206 }),
    headers: {
      ...(style === 'header cursor' && !isLast && { 'x-next-cursor': next }),
      ...(style === 'link header' && !isLast && { link: `<${link}>; rel="next"` }),
      ...(hasRange &&
        items.length > 0 &&
        pages.length > 1 && {
          'content-range': `items ${start}-${start + items.length - 1}/${total}`,
        }),
      ...(announces.partial === 'header' && { 'x-total-count': String(all.length) }),
    },
    body: {
      version: 2,
      odd: false,
      ...(!(leavesOut && items.length === 0) && { items }),
      ...(hasNext && { next: isLast ? null : next }),
      ...(announces.total === 'exact' && { total: all.length }),
      ...(announces.total === 'at least' && {
        total: Math.min(all.length, 2),
        total_relation: 'gte',
      }),
      ...(announces.more && {
        [isNegative ? 'is_last' : 'has_more']: flags[isLast === isNegative ? 0 : 1],
      }),
      ...(announces.pages && {
        total_pages: isPaged ? pages.length : Math.ceil(all.length / pageSize),
      }),
      ...(announces.position && style === 'offset' && { offset: start }),
      ...(announces.position && style === 'page' && { page: start + 1 }),
      ...(announces.position && style === 'page from 0' && { page: start }),
    },
  };
}

/** Whether the number of records is stated. */
function hasTotal({ announces: { total, partial } }: Stub): boolean {
  return total === 'exact' || (total === 'no' && partial === 'header');
}

/** The index of a page, or of its first record. Parameters that the service does not know are ignored, invalid ones too. */
function startOf(
  { style }: Stub,
  records: readonly ReturnType<typeof record>[],
  { searchParams }: URL,
): number {
  const number = (name: string) => Number(searchParams.get(name)) || 0;
  switch (style) {
    case 'page':
      return Math.max(1, number('page')) - 1;
    case 'page from 0':
      return number('page');
    case 'offset':
      return number('offset');
    case 'last id':
      return 1 + records.findIndex(({ id }) => id === searchParams.get('after'));
    case 'last value':
    case 'last value, inclusive': {
      const before = searchParams.get('before');
      const isAfter = ({ time }: { readonly time: string }) =>
        before === null || time < before || (style !== 'last value' && time === before);
      const found = records.findIndex(isAfter);
      return found === -1 ? records.length : found;
    }
    default:
      return Number(/^c(\d+)$/.exec(searchParams.get('at') ?? '')?.[1] ?? 0);
  }
}

type Page = {
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
};

const QUERY =
  'query ($first: Int, $after: String) { audit(first: $first, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }';

/** Reads a trail to its end, or until nothing more is returned. */
async function walk(gateway: TestGateway, first: number) {
  const ids: string[] = [];
  let after: string | null = null;
  for (let requests = 0; requests < 60; requests += 1) {
    const { data, errors }: Result<{ readonly audit: Page | null }> = await ask(
      gateway,
      QUERY,
      { first, after },
      { token: 't' },
    );
    if (data?.audit == null) return { ids, end: errors?.[0]?.extensions.reason ?? 'no reason' };
    ids.push(...data.audit.nodes.map(({ id }) => id));
    if (!data.audit.pageInfo.hasNextPage) return { ids, end: 'complete' };
    after = data.audit.pageInfo.endCursor;
  }
  return { ids, end: 'has a next page' };
}

describe('a trail in pages', () => {
  let service: Service;
  let stub: Stub;

  beforeAll(async () => {
    service = await startService(({ url }) => respond(stub, new URL(url, 'http://a')));
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const stubs = fc.record({
    style: fc.constantFrom(...STYLES),
    records: fc.nat({ max: 9 }),
    pageSize: fc.integer({ min: 1, max: 4 }),
    gaps: fc.array(fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: 1, max: 12 })), {
      maxLength: 9,
    }),
    announces: fc.record({
      total: fc.constantFrom('no', 'exact', 'at least'),
      partial: fc.constantFrom('no', 'status', 'range', 'header'),
      more: fc.boolean(),
      pages: fc.boolean(),
      position: fc.boolean(),
    }),
    flags: fc.constantFrom<readonly [unknown, unknown]>(
      [true, false],
      [1, 0],
      ['Y', 'N'],
      ['True', 'False'],
    ),
    isNegative: fc.boolean(),
    leavesOut: fc.boolean(),
  });
  const sizes = fc.integer({ min: 1, max: 5 });

  it(
    'is read whole with the right contract, each record once',
    async () => {
      const check = async (given: Stub, first: number) => {
        stub = given;
        await using gateway = gatewayOver(service.url, {
          contract: { audit: { records: '/items', paging: CONTRACTS[stub.style] } },
        });
        const ids = Array.from({ length: stub.records }, (_, index) => `r${index}`);
        expect(await walk(gateway, first)).toEqual({ ids, end: 'complete' });
      };
      // A page of one record that begins with the last value is the same as the page before it.
      const readable = stubs.filter(
        ({ style, records, pageSize, leavesOut, announces: { total, partial } }) =>
          (style !== 'last value, inclusive' || (pageSize > 1 && records !== 1)) &&
          // A list that is left out next to a count may have another name.
          !(leavesOut && (total !== 'no' || partial === 'header')),
      );
      await fc.assert(fc.asyncProperty(readable, sizes, check), { numRuns: 300 * SCALE });
    },
    90_000 * SCALE,
  );

  it(
    'with any wrong contract is read whole, fails, or has a next page',
    async () => {
      const check = async (given: Stub, wrong: Paging, first: number) => {
        stub = given;
        const paging = { ...CONTRACTS[stub.style], ...wrong };
        const audit = { records: '/items', paging };
        await using gateway = gatewayOver(service.url, { contract: { audit } });
        const { ids, end } = await walk(gateway, first);
        if (end !== 'complete') return;
        expect(new Set(ids).size).toBe(stub.records);
      };
      // Pages that a wrong number skips can be missed only if their records are counted. An empty page that a wrong cursor
      // leads to again looks like the end.
      const isNoticeable = (given: Stub, wrong: Paging) => {
        const isFirstEmpty = pagesOf(given).pages[0]?.length === 0;
        if (HAS_NEXT.has(given.style))
          return !isFirstEmpty || !('parameter' in wrong || wrong.next === '/version');
        if (isFirstEmpty) return false; // a total next to an empty first page counts something else
        const isEntry = ['start', 'position', 'style'].every((entry) => !(entry in wrong));
        return hasTotal(given) || (given.announces.more && isEntry);
      };
      const property = fc.asyncProperty(stubs, WRONG, sizes, async (given, wrong, first) => {
        fc.pre(isNoticeable(given, wrong));
        await check(given, wrong, first);
      });
      // A cursor names a page that begins with the last record of the page before it.
      const inclusive = {
        style: 'last value, inclusive' as const,
        ...{ records: 4, pageSize: 2, gaps: [], leavesOut: false, isNegative: false },
        flags: [true, false] as const,
        announces: {
          ...{ total: 'exact' as const, partial: 'no' as const },
          ...{ more: false, pages: false, position: false },
        },
      };
      await fc.assert(property, {
        numRuns: 500 * SCALE,
        examples: [[inclusive, { more: '/odd' }, 1]],
      });
    },
    90_000 * SCALE,
  );
});
