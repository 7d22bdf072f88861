import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, gatewayOver, type Overrides, type Result } from '../../helpers/gateway.ts';
import { type Handler, type ServiceResponse, startService } from '../../helpers/service.ts';

const QUERY =
  'query ($first: Int, $after: String, $filter: AuditFilter) { audit(first: $first, after: $after, filter: $filter) { nodes { id } pageInfo { hasNextPage endCursor } } }';

type Audit = {
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
};

const CONTRACTS = {
  'next-link': { style: 'next-link', next: '/next' },
  page: { style: 'page', parameter: 'page' },
  'last-id': { style: 'last-id', parameter: 'page' },
} as const;

type Style = keyof typeof CONTRACTS;

const reset: Handler = (_, response) => {
  response.destroy();
  return undefined;
};
const cutOff: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
  response.write('{"events": [{"id": "e1"');
  setTimeout(() => response.destroy(), 5);
  return undefined;
};

type Failure = ServiceResponse | Handler;

const PASSING: Readonly<Record<string, Failure>> = {
  429: { status: 429, headers: { 'retry-after': '1' } },
  500: { status: 500 },
  502: { status: 502, body: '<html>' },
  503: { status: 503, headers: { 'retry-after': '2' } },
  504: { status: 504 },
  'a reset': reset,
  'a response that is cut off': cutOff,
};

/** Starts a service with a trail in pages of a size, of which some fail a number of times, and a gateway. */
async function start(
  style: Style,
  { size, pages }: { readonly size: number; readonly pages: number },
  failureOf: (page: number) => Failure | undefined,
  overrides: Overrides = {},
) {
  const service = await startService((seen, response, request) => {
    const at = new URL(seen.url, 'http://service.test').searchParams.get('page') ?? '1';
    const page = style === 'last-id' ? Number(at.replace(/^e/, '')) / size + 1 : Number(at);
    const number = at === '1' ? 1 : page;
    const failure = failureOf(number);
    if (typeof failure === 'function') return failure(seen, response, request);
    if (failure !== undefined) return failure;
    const events = Array.from({ length: size }, (_, index) => ({
      id: `e${(number - 1) * size + index + 1}`,
      time: new Date(1.7e12 - 1000 * ((number - 1) * size + index)).toISOString(),
    }));
    const isMore = number < pages;
    const next =
      style === 'next-link' && isMore ? { next: `/api/v1/audit?page=${number + 1}` } : {};
    return { body: { events, total: size * pages, has_more: isMore, ...next } };
  });
  const contract = { audit: { paging: CONTRACTS[style] } };
  // Between two reads, a circuit breaker closes again. No pause is real.
  let ms = 0;
  const upstream = { wait: async () => {}, ...overrides.upstream };
  const gateway = gatewayOver(service.url, { contract, clock: () => ms, ...overrides, upstream });
  return {
    service,
    read: async (variables: object) => {
      const from = service.seen.length;
      ms += 100_000;
      const result: Result<{ readonly audit: Audit | null }> = await ask(
        gateway,
        QUERY,
        variables,
        {
          token: 't',
        },
      );
      return { ...result, urls: service.seen.slice(from).map(({ url }) => url) };
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

const idsOf = (audit: Audit) => audit.nodes.map(({ id }) => id);

describe('a page that fails after the first event', () => {
  it.each(Object.entries(PASSING))(
    'with %s ends the response, and the next request begins with it',
    async (_, failure) => {
      let isFailing = true;
      const failureOf = (page: number) => (page === 4 && isFailing ? failure : undefined);
      await using trail = await start('next-link', { size: 5, pages: 6 }, failureOf);
      const { data, errors } = await trail.read({ first: 100 });
      expect(errors).toBeUndefined();
      expect(data?.audit?.nodes).toHaveLength(15);
      expect(data?.audit?.pageInfo.hasNextPage).toBe(true);
      const after = data?.audit?.pageInfo.endCursor;
      const failed = await trail.read({ first: 100, after });
      expect(failed.data).toEqual({ audit: null });
      expect(failed.errors?.[0]?.extensions.code).toMatch(/RATE_LIMITED|UPSTREAM_/);
      expect(new Set(failed.urls)).toEqual(new Set(['/api/v1/audit?page=4']));
      isFailing = false;
      const rest = await trail.read({ first: 100, after });
      expect(rest.data?.audit?.nodes).toHaveLength(15);
      expect(rest.data?.audit?.pageInfo.hasNextPage).toBe(false);
      expect(rest.urls).toEqual([4, 5, 6].map((page) => `/api/v1/audit?page=${page}`));
    },
  );

  it('since it does not respond in time ends the response', async () => {
    const hang: Handler = () => undefined;
    const failureOf = (page: number) => (page === 3 ? hang : undefined);
    const upstream = { timeoutMs: 1500 };
    await using trail = await start('page', { size: 5, pages: 6 }, failureOf, { upstream });
    const { data, errors } = await trail.read({ first: 100 });
    expect(errors).toBeUndefined();
    expect(data?.audit?.nodes).toHaveLength(10);
    expect(data?.audit?.pageInfo.hasNextPage).toBe(true);
  });

  it('of a trail that is read to its end makes no client lose or repeat an event', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<Style>('next-link', 'page', 'last-id'),
        fc.record({
          size: fc.integer({ min: 2, max: 20 }),
          pages: fc.integer({ min: 1, max: 25 }),
        }),
        fc.integer({ min: 1, max: 60 }),
        fc.dictionary(
          fc.integer({ min: 1, max: 25 }).map(String),
          fc.record({
            name: fc.constantFrom(...Object.keys(PASSING)),
            count: fc.integer({ min: 1, max: 4 }),
          }),
        ),
        async (style, sizes, first, plan) => {
          const failures = new Map(Object.entries(plan).map(([page, { count }]) => [page, count]));
          const failureOf = (page: number) => {
            const left = failures.get(String(page)) ?? 0;
            failures.set(String(page), left - 1);
            return left > 0 ? PASSING[plan[page]?.name ?? ''] : undefined;
          };
          await using trail = await start(style, sizes, failureOf);
          const ids: string[] = [];
          let after: string | null = null;
          for (let hasNext = true; hasNext; ) {
            const { data, errors } = await trail.read({ first, after });
            if (!data?.audit) {
              expect(errors?.[0]?.extensions.code).toMatch(/RATE_LIMITED|UPSTREAM_/);
              continue; // each page fails a few times only
            }
            ids.push(...idsOf(data.audit));
            const { hasNextPage, endCursor } = data.audit.pageInfo;
            expect(data.audit.nodes.length > 0 || !hasNextPage).toBe(true);
            [hasNext, after] = [hasNextPage, endCursor];
          }
          const length = sizes.size * sizes.pages;
          expect(ids).toEqual(Array.from({ length }, (_, index) => `e${index + 1}`));
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('an error stays an error', () => {
  it('of a page before the first selected event', async () => {
    const failureOf = (page: number) => (page === 3 ? { status: 503 } : undefined);
    await using trail = await start('next-link', { size: 5, pages: 6 }, failureOf);
    const filter = {
      since: '2000-01-01T00:00:00Z',
      until: new Date(1.7e12 - 12_000).toISOString(),
    };
    const { data, errors } = await trail.read({ first: 100, filter });
    expect(data).toEqual({ audit: null });
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_ERROR',
      upstream: { status: 503 },
    });
  });

  it.each([
    [400, 'BAD_USER_INPUT'],
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
  ])('if a later page gets %i', async (status, code) => {
    const failureOf = (page: number) => (page === 3 ? { status } : undefined);
    await using trail = await start('next-link', { size: 5, pages: 6 }, failureOf);
    const { data, errors } = await trail.read({ first: 100 });
    expect([data, errors?.[0]?.extensions.code]).toEqual([{ audit: null }, code]);
  });

  it('if a later page repeats an earlier one', async () => {
    const events = [{ id: 'e1' }, { id: 'e2' }];
    const body = { events, next: '/api/v1/audit?page=2' };
    const repeats = () => ({ body });
    await using trail = await start('next-link', { size: 2, pages: 6 }, repeats);
    const { data, errors } = await trail.read({ first: 100 });
    expect([data, errors?.[0]?.extensions.reason]).toEqual([{ audit: null }, 'PAGING_REPEATS']);
  });
});
