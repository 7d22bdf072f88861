import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { fakeTime } from '../helpers/fake-time.ts';
import type { Order } from '../helpers/paged-trail.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';

type Paging = NonNullable<NonNullable<ConfiguredContract['audit']>['paging']>;

/** How a page is requested: the contract, and where the page begins in the list. */
const STYLES = {
  cursor: { style: 'cursor', parameter: 'at', next: '/next' },
  'next link': { style: 'next-link', next: '/next' },
  'link header': { style: 'link-header' },
  page: { style: 'page', parameter: 'at' },
  offset: { style: 'offset', parameter: 'at' },
  'last id': { style: 'last-id', parameter: 'at' },
} as const satisfies Readonly<Record<string, Paging>>;

type Style = keyof typeof STYLES;

/** A trail, and how the service limits its requests. */
type Limited = {
  readonly order: Order;
  readonly style: Style;
  readonly size: number;
  readonly pages: number;
  readonly hasTotal: boolean;
  /** Requests in a second, and at once. */
  readonly rate: number;
  readonly burst: number;
  readonly retryAfter: 'seconds' | 'date' | 'none';
  /** Each nth request is refused as well; 0: none is. */
  readonly nth: number;
};

const LIMITED: fc.Arbitrary<Limited> = fc.record({
  order: fc.constantFrom('newest-first', 'oldest-first'),
  style: fc.constantFrom(...(Object.keys(STYLES) as readonly Style[])), // Object.keys() returns string[]
  // With pages of one record, a poll of an export needs ten pages at once: no small burst lets it end.
  size: fc.integer({ min: 4, max: 100 }),
  pages: fc.integer({ min: 30, max: 80 }),
  hasTotal: fc.boolean(),
  rate: fc.constantFrom(0.2, 0.5, 1, 3, 10),
  burst: fc.integer({ min: 1, max: 12 }),
  retryAfter: fc.constantFrom('seconds', 'date', 'none'),
  nth: fc.constantFrom(0, 3, 7, 10),
});

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-limits-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts the service. `isLimited` says whether it refuses requests. */
async function serve(limited: Limited, time: ReturnType<typeof fakeTime>, isLimited: boolean) {
  const { order, style, size, pages, hasTotal, rate, burst, retryAfter, nth } = limited;
  const length = size * (pages - 1) + Math.ceil(size / 2);
  const all = Array.from({ length }, (_, index) => {
    const number = order === 'newest-first' ? length - index : index + 1;
    const at = new Date(Date.UTC(2026, 0, 1) - 1000 * (length - number)).toISOString();
    return { id: `e${number}`, at, action: 'key.rotate', actor: { id: 'ann', type: 'user' } };
  });
  let [tokens, filledAt, requests] = [burst, 0, 0];
  const counts = { served: 0, refused: 0 };
  const refuse = (): ServiceResponse | undefined => {
    requests += 1;
    const now = time.passed() / 1000;
    tokens = Math.min(burst, tokens + rate * (now - filledAt));
    filledAt = now;
    const isNth = nth > 0 && requests % nth === 0;
    if (!isNth && tokens >= 1) {
      tokens -= 1;
      return undefined;
    }
    const seconds = Math.ceil(Math.max(0, 1 - tokens) / rate);
    const date = time.timers.now();
    const headers =
      retryAfter === 'none'
        ? {}
        : retryAfter === 'seconds'
          ? { 'retry-after': String(seconds) }
          : {
              date: date.toUTCString(),
              'retry-after': new Date(date.getTime() + 1000 * seconds).toUTCString(),
            };
    return { status: 429, headers, body: { message: 'slow down' } };
  };
  const service = await startService(({ url }) => {
    const refusal = isLimited ? refuse() : undefined;
    counts[refusal === undefined ? 'served' : 'refused'] += 1;
    if (refusal !== undefined) return refusal;
    const at = new URL(url, 'http://service.test').searchParams.get('at');
    const start =
      at === null
        ? 0
        : style === 'page'
          ? (Number(at) - 1) * size
          : style === 'offset'
            ? Number(at)
            : all.findIndex(({ id }) => id === at.replace('after-', '')) + 1;
    const events = all.slice(start, start + size);
    const cursor = start + size < length ? `after-${events.at(-1)?.id}` : null;
    const link = cursor && `/api/v1/audit?at=${cursor}`;
    return {
      ...(style === 'link header' && link && { headers: { link: `<${link}>; rel="next"` } }),
      body: {
        events,
        ...(hasTotal && { total: length }),
        ...(style === 'cursor' && { next: cursor }),
        ...(style === 'next link' && { next: link }),
        ...(style === 'last id' && { has_more: cursor !== null }),
      },
    };
  });
  const contract = { audit: { paging: STYLES[style] } };
  const path = join(folder, `${style}.json`);
  await writeFile(path, JSON.stringify(contract));
  return {
    ...service,
    contract,
    counts,
    ids: all.map(({ id }) => id),
    environment: { UPSTREAM_URL: service.url, KEYTRAIL_CONTRACT: path, KEYTRAIL_TOKEN: 't' },
  };
}

let files = 0;

/** Runs a command to its end, without real pauses. */
async function run(args: readonly string[], limited: Limited, isLimited: boolean) {
  const time = fakeTime();
  await using service = await serve(limited, time, isLimited);
  files += 1;
  const checkpoint = join(folder, `checkpoint-${files}`);
  await using command = keytrailInProcess(
    args.map((arg) => (arg === 'FILE' ? checkpoint : arg)),
    service.environment,
    '',
    {},
    time.timers,
  );
  const status = await command.status;
  const lines = command.output.stdout.split('\n').slice(0, -1);
  const ids = lines.map((line): string => JSON.parse(line).id);
  return {
    status,
    ids,
    expected: service.ids,
    counts: service.counts,
    stderr: command.output.stderr,
  };
}

/** Requests beyond one for each page: without a total, the end of numbered pages is an empty page after one that has not moved. */
const extraOf = ({ style, hasTotal }: Limited) => (isNumbered(style) && !hasTotal ? 2 : 0);

const isNumbered = (style: Style) => style === 'page' || style === 'offset';

/** Whether nothing but the page before shows that a page has not moved. */
const isUncertain = ({ order, style, hasTotal }: Limited) =>
  order === 'oldest-first' && isNumbered(style) && !hasTotal;

it.each([
  ['without failures', false],
  ['under a rate limit', true],
])('audit requests each page once, and prints each event once, %s', async (_, isLimited) => {
  await fc.assert(
    fc.asyncProperty(
      LIMITED,
      fc.constantFrom([], ['--since', '2020-01-01']),
      async (limited, since) => {
        const args = ['audit', '--limit', 'all', ...since];
        const { status, ids, expected, counts } = await run(args, limited, isLimited);
        expect([status, ids]).toEqual([0, expected]);
        const checks = since.length === 0 ? 0 : 1; // whether the rest of a trail is older
        const most = (isUncertain(limited) ? 2 : 1.02) * limited.pages;
        expect(counts.served).toBeLessThanOrEqual(most + extraOf(limited) + checks);
      },
    ),
    { numRuns: 10 },
  );
});

it('an export under a rate limit ends, and writes each event once', async () => {
  await fc.assert(
    fc.asyncProperty(LIMITED, async (limited) => {
      const args = ['audit', '--checkpoint', 'FILE', '--since', '2020-01-01'];
      const { status, ids, expected, counts } = await run(args, limited, true);
      expect([status, ids]).toEqual([0, expected]);
      // The live tail reads up to ten pages, more than once: before, and after what the trail had.
      expect(counts.served).toBeLessThan(2 * limited.pages + 50);
    }),
    { numRuns: 8 },
  );
});
