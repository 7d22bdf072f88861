import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../src/mapping/contract.ts';
import { ask, gatewayOver, type Result, type TestGateway } from '../helpers/gateway.ts';
import { type Service, type ServiceResponse, startService } from '../helpers/service.ts';

type Paging = NonNullable<NonNullable<ConfiguredContract['audit']>['paging']>;

/** A service with a list of records, newest first. */
type Stub = {
  readonly style: keyof typeof CONTRACTS;
  readonly records: number;
  readonly pageSize: number;
  /** How it announces that there are more pages, besides links and cursors. */
  readonly announces: Readonly<Record<'total' | 'more' | 'pages' | 'position', boolean>>;
};

/** The contract that fits each style. */
const CONTRACTS = {
  cursor: { parameter: 'at', next: '/paging/next' },
  'header cursor': { parameter: 'at', next: { header: 'x-next-cursor' } },
  'next link': { style: 'next-link', next: '/paging/next' },
  'link of another host': { style: 'next-link', next: '/paging/next', follow: 'query' },
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
  fc.record({ next: fc.constantFrom('/nothing', '/paging/nothing', '/version') }),
  fc.record({ more: fc.constantFrom('/nothing', '/paging/ok') }),
  fc.record({ pages: fc.constantFrom('/nothing', '/version') }),
  fc.record({ position: fc.constantFrom('/nothing', '/version') }),
  fc.record({ start: fc.nat({ max: 3 }) }),
  fc.record({ inclusive: fc.boolean() }),
  fc.record({ last: fc.constantFrom('/nothing', '/kind') }),
);

function record(index: number) {
  return { id: `r${index}`, time: new Date(1.7e12 - index * 1000).toISOString(), kind: 'login' };
}

function respond(stub: Stub, url: URL): ServiceResponse {
  const { style, pageSize, announces } = stub;
  const records = Array.from({ length: stub.records }, (_, index) => record(index));
  const start = Math.max(0, startOf(stub, records, url));
  const items = records.slice(start, start + pageSize);
  const end = start + pageSize;
  const isLast = end >= records.length;
  const link = `${url.pathname}?at=c${end}`;
  const next =
    style === 'next link'
      ? link
      : style === 'link of another host'
        ? `http://inner/x?at=c${end}`
        : `c${end}`;
  const hasNext = ['cursor', 'next link', 'link of another host'].includes(style);
  return {
    headers: {
      ...(style === 'header cursor' && !isLast && { 'x-next-cursor': next }),
      ...(style === 'link header' && !isLast && { link: `<${link}>; rel="next"` }),
    },
    body: {
      version: 2,
      items,
      paging: {
        ok: false,
        ...(hasNext && { next: isLast ? null : next }),
        ...(announces.total && { total: records.length }),
        ...(announces.more && { has_more: !isLast }),
        ...(announces.pages && { total_pages: Math.ceil(records.length / pageSize) }),
        ...(announces.position && style === 'offset' && { offset: start }),
        ...(announces.position && style === 'page' && { page: start / pageSize + 1 }),
        ...(announces.position && style === 'page from 0' && { page: start / pageSize }),
      },
    },
  };
}

/** The index of the first record of a page. Parameters that the service does not know are ignored, invalid ones too. */
function startOf(
  { style, pageSize }: Stub,
  records: readonly ReturnType<typeof record>[],
  { searchParams }: URL,
): number {
  const number = (name: string) => Number(searchParams.get(name)) || 0;
  switch (style) {
    case 'page':
      return (Math.max(1, number('page')) - 1) * pageSize;
    case 'page from 0':
      return number('page') * pageSize;
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
  for (let requests = 0; requests < 30; requests += 1) {
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
    announces: fc.record({
      total: fc.boolean(),
      more: fc.boolean(),
      pages: fc.boolean(),
      position: fc.boolean(),
    }),
  });
  const sizes = fc.integer({ min: 1, max: 5 });

  it('is read whole with the right contract, each record once', async () => {
    const check = async (given: Stub, first: number) => {
      stub = given;
      await using gateway = gatewayOver(service.url, {
        contract: { audit: { paging: CONTRACTS[stub.style] } },
      });
      const ids = Array.from({ length: stub.records }, (_, index) => `r${index}`);
      expect(await walk(gateway, first)).toEqual({ ids, end: 'complete' });
    };
    // A page of one record that begins with the last value is the same as the page before it.
    const readable = stubs.filter(
      ({ style, records, pageSize }) =>
        style !== 'last value, inclusive' || (pageSize > 1 && records !== 1),
    );
    await fc.assert(fc.asyncProperty(readable, sizes, check), { numRuns: 300 });
  }, 90_000);

  it('with any wrong contract is read whole, fails, or has a next page', async () => {
    const check = async (given: Stub, wrong: Paging, first: number) => {
      stub = given;
      const paging = { ...CONTRACTS[stub.style], ...wrong };
      await using gateway = gatewayOver(service.url, { contract: { audit: { paging } } });
      const { ids, end } = await walk(gateway, first);
      if (end !== 'complete') return;
      expect(new Set(ids).size).toBe(stub.records);
    };
    // Pages that a wrong number skips can be missed only if their records are counted.
    const isNoticeable = ({ style, announces: { total, more } }: Stub, wrong: Paging) =>
      total ||
      HAS_NEXT.has(style) ||
      (more && ['start', 'position', 'style'].every((entry) => !(entry in wrong)));
    const property = fc.asyncProperty(stubs, WRONG, sizes, async (given, wrong, first) => {
      fc.pre(isNoticeable(given, wrong));
      await check(given, wrong, first);
    });
    await fc.assert(property, { numRuns: 2000 });
  }, 90_000);
});
