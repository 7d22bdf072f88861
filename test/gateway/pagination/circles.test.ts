import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, gatewayOver, type Result } from '../../helpers/gateway.ts';
import { keytrailInProcess } from '../../helpers/process.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

type Paging = NonNullable<ConfiguredContract['audit']>['paging'];
type Respond = (query: URLSearchParams, requests: number) => ServiceResponse;

type Trail = {
  readonly audit: {
    readonly nodes: readonly { readonly id: string }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
};

const QUERY =
  'query ($first: Int, $after: String) { audit(first: $first, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }';

const SIZE = 3;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-circles-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The records of a page, which is numbered from 0. */
const pageOf = (page: number, count = Number.POSITIVE_INFINITY) =>
  Array.from({ length: SIZE }, (_, index) => page * SIZE + index)
    .filter((number) => number < count)
    .map((number) => ({
      id: `r${number}`,
      time: new Date(1.7e12 - number * 1000).toISOString(),
      action: 'login',
    }));

const range = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);

/** Reads a trail page by page. At most `limit` requests to the service: a walk that goes on has no end. */
async function walk(respond: Respond, first: number, limit: number, paging: Paging = {}) {
  await using service = await startService(({ url }) =>
    service.seen.length > limit
      ? { status: 418 }
      : respond(new URL(url, 'http://a').searchParams, service.seen.length),
  );
  await using gateway = gatewayOver(service.url, { contract: { audit: { paging } } });
  const ids: string[] = [];
  let after: string | null = null;
  for (;;) {
    const result: Result<Trail> = await ask(gateway, QUERY, { first, after }, { token: 't' });
    const { data, errors } = result;
    const [problem] = errors ?? [];
    const requests = service.seen.length;
    if (data?.audit == null)
      return { ids, requests, end: problem?.extensions.reason ?? problem?.extensions.code };
    ids.push(...data.audit.nodes.map(({ id }) => id));
    after = data.audit.pageInfo.endCursor;
    if (!data.audit.pageInfo.hasNextPage) return { ids, requests, end: 'end' };
  }
}

describe('a number that says that there is no next page', () => {
  const NOTHING = [0, -1, '0', '-1', '', false, null];
  const numbered =
    (none: unknown, more: (page: number) => object): Respond =>
    (query) => {
      const page = Number(query.get('page') ?? 1);
      const isLast = page >= 3;
      // A page 0 or −1 is what many frameworks make of the first one.
      const records = pageOf(Math.max(page, 1) - 1, 7);
      return {
        body: { results: records, pagination: { next: isLast ? none : page + 1, ...more(page) } },
      };
    };

  describe.each(NOTHING.map((none) => [JSON.stringify(none), none] as const))('%s', (_, none) => {
    it.each([
      ['a total', () => ({ count: 7 })],
      ['the number of pages', () => ({ total_pages: 3 })],
      ['the page, and the number of pages', (page: number) => ({ current: page, total_pages: 3 })],
      ['all of them', (page: number) => ({ count: 7, current: page, total_pages: 3 })],
      ['a flag', (page: number) => ({ has_more: page < 3 })],
      ['nothing else', () => ({})],
    ] as const)('ends the list next to %s', async (_, more) => {
      for (const first of [1, 3, 50]) {
        const { ids, end } = await walk(numbered(none, more), first, 60, { parameter: 'page' });
        expect({ ids, end }).toEqual({ ids: range(7), end: 'end' });
      }
    });
  });

  it.each([
    ['a total', { count: 70 }],
    ['the number of pages', { total_pages: 30 }],
    ['a flag', { has_more: true }],
  ])(
    'is PAGING_REPEATS or PAGING_UNKNOWN next to %s that says that there are more',
    async (_, more) => {
      for (const none of NOTHING)
        for (const first of [1, 3, 50]) {
          const respond = numbered(none, () => more);
          const { ids, end } = await walk(respond, first, 60, { parameter: 'page' });
          const isNumber = /^-?\d$/.test(String(none));
          // Without a cursor, whose count of pages is known, a total may count what the caller may not read.
          if (!isNumber && !('has_more' in more)) continue;
          expect(ids).toEqual(range(ids.length));
          expect(end, JSON.stringify([none, first])).toBe(
            isNumber ? 'PAGING_REPEATS' : 'PAGING_UNKNOWN',
          );
        }
    },
  );

  it('ends a list of one page', async () => {
    for (const none of NOTHING)
      for (const more of [{ count: 3 }, { total_pages: 1 }, { current: 1, total_pages: 1 }, {}]) {
        const respond = () => ({
          body: { results: pageOf(0), pagination: { next: none, ...more } },
        });
        const { ids, end, requests } = await walk(respond, 50, 60, { parameter: 'page' });
        expect({ ids, end }).toEqual({ ids: range(3), end: 'end' });
        // Without the number of pages, 0 may be a cursor.
        expect(requests).toBe(String(none) === '0' && !('total_pages' in more) ? 2 : 1);
      }
  });

  it('is followed as the first cursor, which may be 0', async () => {
    const respond: Respond = (query) => ({
      body: query.has('cursor') ? { items: pageOf(1) } : { items: pageOf(0), next_cursor: 0 },
    });
    const { ids, end } = await walk(respond, 50, 60, { parameter: 'cursor' });
    expect({ ids, end }).toEqual({ ids: range(6), end: 'end' });
  });

  it('is followed if offsets are counted down to it', async () => {
    const respond: Respond = (query) => {
      const start = Number(query.get('cursor') ?? 6);
      return { body: { items: pageOf((6 - start) / SIZE), cursor: start - SIZE } };
    };
    for (const first of [1, 3, 50]) {
      const { ids } = await walk(respond, first, 60, { parameter: 'cursor' });
      expect(ids.slice(0, 9)).toEqual(range(9));
    }
  });

  it('is followed if it falls, as the times of the last records do', async () => {
    const respond: Respond = (query) => {
      const before = Number(query.get('before') ?? 1000);
      const start = 1000 - before;
      const items = pageOf(start / SIZE, 7);
      return { body: { items, next: start + SIZE < 7 ? before - SIZE : null } };
    };
    for (const first of [1, 3, 50]) {
      const { ids, end } = await walk(respond, first, 60, { parameter: 'before' });
      expect({ ids, end }).toEqual({ ids: range(7), end: 'end' });
    }
  });

  it('is the end if it leads back to the first page once all were read', async () => {
    const wrapping = numbered(1, (page) => ({ count: 7, current: page, total_pages: 3 }));
    for (const first of [1, 3, 50]) {
      const { ids, end } = await walk(wrapping, first, 60, { parameter: 'page' });
      expect({ ids, end }).toEqual({ ids: range(7), end: 'end' });
    }
  });
});

/** A walk of `tail` pages, and then of `length` pages in a circle. */
type Circle = { readonly tail: number; readonly length: number };

const pagesOf = ({ tail, length }: Circle) => tail + length;
const nextOf = ({ tail, length }: Circle, page: number) =>
  page + 1 < tail + length ? page + 1 : tail;

/** The ways in which a page names the next one. */
const CIRCLES: Readonly<Record<string, (circle: Circle) => Respond>> = {
  'by a cursor': (circle) => (query) => {
    const page = Number(query.get('cursor')?.slice(1) ?? 0);
    return { body: { items: pageOf(page), next_cursor: `c${nextOf(circle, page)}` } };
  },
  'by a cursor, and a flag': (circle) => (query) => {
    const page = Number(query.get('cursor')?.slice(1) ?? 0);
    return {
      body: { items: pageOf(page), has_more: true, next_cursor: `c${nextOf(circle, page)}` },
    };
  },
  'by a link': (circle) => (query) => {
    const page = Number(query.get('cursor') ?? 0);
    return { body: { items: pageOf(page), next: `?cursor=${nextOf(circle, page)}` } };
  },
  'by a Link header': (circle) => (query) => {
    const page = Number(query.get('cursor') ?? 0);
    return {
      body: pageOf(page),
      headers: { link: `<?cursor=${nextOf(circle, page)}>; rel="next"` },
    };
  },
};

describe.each(Object.entries(CIRCLES))('pages in a circle, %s', (name, respondOf) => {
  const paging = name.includes('cursor') ? { parameter: 'cursor' } : {};

  it('are PAGING_REPEATS within one request', async () => {
    for (const circle of [
      { tail: 0, length: 2 },
      { tail: 1, length: 2 },
      { tail: 0, length: 3 },
      { tail: 2, length: 4 },
    ]) {
      const { ids, end, requests } = await walk(respondOf(circle), 50, 40, paging);
      expect({ ids, end }).toEqual({ ids: [], end: 'PAGING_REPEATS' });
      expect(requests).toBeLessThanOrEqual(3 * pagesOf(circle));
    }
  });

  it('end `keytrail audit --limit all` with an error', async () => {
    for (const circle of [
      { tail: 0, length: 2 },
      { tail: 3, length: 14 },
    ]) {
      const respond = respondOf(circle);
      await using service = await startService(({ url }) =>
        respond(new URL(url, 'http://a').searchParams, 0),
      );
      const contract = join(folder, 'contract.json');
      await writeFile(contract, JSON.stringify({ audit: { paging } }));
      await using command = keytrailInProcess(['audit', '--limit', 'all'], {
        UPSTREAM_URL: service.url,
        KEYTRAIL_TOKEN: 't',
        KEYTRAIL_CONTRACT: contract,
      });
      expect([1, 3]).toContain(await command.status); // 1 if events were written
      expect(command.output.stderr).toContain('would repeat or skip records');
      expect(service.seen.length).toBeLessThanOrEqual(6 * pagesOf(circle));
    }
  });

  it('are PAGING_REPEATS across requests, after at most three times the pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 6 }),
        fc.integer({ min: 2, max: 9 }),
        fc.integer({ min: 1, max: 7 }),
        async (tail, length, first) => {
          const circle = { tail, length };
          const { ids, end } = await walk(respondOf(circle), first, 1000, paging);
          expect(end).toBe('PAGING_REPEATS');
          expect(ids.length).toBeLessThanOrEqual(3 * pagesOf(circle) * SIZE);
          const once = range(pagesOf(circle) * SIZE).slice(0, ids.length);
          expect(ids.slice(0, once.length)).toEqual(once);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('a cursor that leads to its own page', () => {
  const own: Respond = (query) => {
    const page = Number(query.get('cursor')?.slice(1) ?? 0);
    return { body: { items: pageOf(page), next_cursor: `c${Math.min(page + 1, 2)}` } };
  };
  it('is the end, and no record is repeated', async () => {
    for (const first of [1, 2, 3, 4, 50]) {
      const { ids, end } = await walk(own, first, 100, { parameter: 'cursor' });
      expect({ ids, end }).toEqual({ ids: range(9), end: 'end' });
    }
  });

  it('leads on if other records come, as with the ID of a scroll', async () => {
    const scroll: Respond = (_, requests) => {
      const items = pageOf(requests - 1, 8);
      return { body: { items, ...(items.length > 0 && { next_cursor: 'scroll' }) } };
    };
    const { ids, end } = await walk(scroll, 50, 100, { parameter: 'cursor' });
    expect({ ids, end }).toEqual({ ids: range(8), end: 'end' });
  });
});
