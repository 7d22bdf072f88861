import { setImmediate as nextIteration } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identityText } from '../../src/gateway/mapping/identity-text.ts';
import { ask, gatewayOver, type Overrides } from '../helpers/gateway.ts';
import { type LiveTrail, PAGED, paged, record, startLiveTrail } from '../helpers/live-trail.ts';
import { type Handler, type ServiceResponse, startService } from '../helpers/service.ts';
import { type Batch, type Subscription, subscribe } from '../helpers/subscribe.ts';

type Node = { readonly raw: { readonly n: number } };

const EVENTS = `subscription ($after: String, $filter: AuditFilter) {
  auditEvents(after: $after, filter: $filter) { nodes { raw } checkpoint previous missed }
}`;
const range = (from: number, to: number) =>
  Array.from(
    { length: Math.abs(to - from) + 1 },
    (_, index) => from + Math.sign(to - from) * index,
  );
const numbers = ({ nodes }: Pick<Batch<Node>, 'nodes'>) => nodes.map(({ raw }) => raw.n);
const numbered =
  (members: object = {}) =>
  (n: number) => ({ ...record(n, members), n });
const queryOf = (url: string) => Object.fromEntries(new URL(url, 'http://a').searchParams);
const follow = (live: LiveTrail, variables: object = {}) =>
  subscribe<Node>(live.gateway, { ...variables }, { query: EVENTS });

/** What a paused stream has sent is on its way until the client has it. */
async function settle() {
  for (let turn = 0; turn < 10; turn += 1) await nextIteration();
}

/** What a client receives, while the test ends the pauses of its stream. */
class Follower implements AsyncDisposable {
  readonly batches: Batch<Node>[] = [];
  readonly #live: LiveTrail;
  readonly #stream: Subscription<Node>;
  readonly ended: Promise<string | undefined>;

  constructor(live: LiveTrail, stream: Subscription<Node>) {
    this.#live = live;
    this.#stream = stream;
    this.ended = this.#read();
    this.ended.catch(() => {});
  }

  /** The code with which the stream ended. */
  async #read(): Promise<string | undefined> {
    for (;;) {
      const payload = await this.#stream.next();
      const batch = payload?.data?.auditEvents;
      if (!batch) return payload?.errors?.[0]?.extensions.code;
      this.batches.push(batch);
    }
  }

  /** Polls with these responses, one after the other. Returns what came. */
  async poll(...responses: readonly (ServiceResponse | Handler)[]) {
    await this.#live.pauses.paused();
    const before = this.batches.length;
    for (const response of responses) {
      this.#live.respond(response);
      await this.#live.poll();
    }
    // A payload is on its way until the client has it.
    await settle();
    const came = this.batches.slice(before);
    return { came: came.flatMap(numbers), missed: came.map(({ missed }) => missed) };
  }

  [Symbol.asyncDispose] = () => this.#stream[Symbol.asyncDispose]();
}

/** A client that has received the first payload. */
async function begin(live: LiveTrail, response: ServiceResponse | Handler, variables = {}) {
  live.respond(response);
  const follower = new Follower(live, await follow(live, variables));
  await live.pauses.paused();
  await settle();
  return follower;
}

const NOTHING = { came: [], missed: [] };
const once = (...came: readonly number[]) => ({ came, missed: [false] });

/** Another order of the members, at every depth. */
function reorder(value: unknown, turn: number): unknown {
  if (Array.isArray(value)) return value.map((item) => reorder(item, turn));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, item]) => [name, reorder(item, turn)] as const);
  const at = turn % members.length;
  const turned = [...members.slice(at), ...members.slice(0, at)];
  // Object.fromEntries defines `__proto__` as a member.
  return Object.fromEntries(turn % 2 === 0 ? turned : turned.toReversed());
}

describe('I1: a record is the same whatever the order of its members', () => {
  const SHAPES = [
    ['flat', { ip: '192.0.2.1', ok: true }],
    ['with parties', { actor: { id: 'u1', name: 'Ann' }, target: { type: 'api_key', id: 'k1' } }],
    [
      'with objects in lists',
      { changes: [{ from: 1, to: 2 }, [{ b: null, a: [] }]], tags: ['b', 'a'] },
    ],
    ['with objects by id', { changed: { 10: { b: 1, a: 2 }, 9: {}, 'x-1': { z: 0, y: -1.5 } } }],
    [
      'with a member __proto__',
      JSON.parse('{"m":{"__proto__":{"b":1,"a":2},"constructor":1,"":0}}'),
    ],
  ] as const;

  describe.each(SHAPES)('%s', (_, members) => {
    it.each([
      ['the newest first', {}, (all: readonly object[]) => ({ body: all.toReversed() })],
      ['the oldest first', {}, (all: readonly object[]) => ({ body: all })],
      [
        'the newest first, in pages',
        PAGED,
        (all: readonly object[]) => paged(all.toReversed(), 10),
      ],
      ['the oldest first, in pages', PAGED, (all: readonly object[]) => paged(all, 10)],
    ])('%s: a tail delivers only what is new', async (_, audit, list) => {
      await using live = await startLiveTrail({ contract: { audit } });
      const at = (turn: number, newest: number) =>
        list(range(1, newest).map((n) => Object(reorder(numbered(members)(n), turn))));
      await using client = await begin(live, at(0, 40));
      expect(await client.poll(at(1, 40), at(2, 40), at(3, 40))).toEqual(NOTHING);
      expect(await client.poll(at(4, 42))).toEqual(once(41, 42));
      expect(await client.poll(at(5, 42), at(6, 42))).toEqual(NOTHING);
    });

    it('`audit` without ids: a cursor leads to the next events', async () => {
      let turn = 0;
      const all = range(1, 9).map((n) => {
        const { id: _, ...rest } = numbered(members)(n);
        return rest;
      });
      await using service = await startService((...request) => {
        turn += 1;
        return paged(
          all.map((one) => Object(reorder(one, turn))),
          4,
        )(...request);
      });
      const audit = { ...PAGED, event: { id: null } };
      await using gateway = gatewayOver(service.url, { contract: { audit } });
      expect(await walk(gateway)).toEqual(range(1, 9));
    });
  });

  it.each([
    ['a number and a text', { v: 1 }, { v: '1' }],
    ['the order of a list', { v: [1, 2] }, { v: [2, 1] }],
    ['a list and an object', { v: ['a', 1] }, { v: { a: 1 } }],
    ['an empty list and an empty object', { v: [] }, { v: {} }],
    ['lists in lists', { v: [[1], 2] }, { v: [[1, 2]] }],
    ['null and no member', { v: null }, {}],
    ['two values that were exchanged', { v: 1, w: 2 }, { v: 2, w: 1 }],
    ['a member that moved to another depth', { v: { w: 1 } }, { v: {}, w: 1 }],
  ])('%s are another record', async (_, before, after) => {
    await using live = await startLiveTrail();
    await using client = await begin(live, { body: [numbered(before)(2), numbered()(1)] });
    expect(await client.poll({ body: [numbered(after)(2), numbered()(1)] })).toEqual(once(2));
  });

  it('its text is equal if and only if the JSON is', () => {
    const isEqual = (one: unknown, other: unknown) =>
      identityText({ id: null, raw: one }) === identityText({ id: null, raw: other });
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(50), (value, turn) => {
        expect(isEqual(value, reorder(value, turn))).toBe(true);
      }),
    );
    const small = fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom('0', 'a', '') });
    fc.assert(
      fc.property(small, small, (one, other) => {
        expect(isEqual(one, other)).toBe(isDeepEqual(one, other));
      }),
      { numRuns: 2000 },
    );
  });
});

/** By value, as JSON knows it: 0 and -0 are one number. */
function isDeepEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return one === other;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === others.length &&
    names.every(
      (name) => Object.hasOwn(other, name) && isDeepEqual(Object(one)[name], Object(other)[name]),
    )
  );
}

type Connection = Pick<Batch<Node>, 'nodes'> & {
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
};

/** The numbers of all events, read two at a time. */
async function walk(
  gateway: Parameters<typeof ask>[0],
  after?: string,
): Promise<readonly number[]> {
  const query = `query ($after: String) {
    audit(first: 2, after: $after) { nodes { raw } pageInfo { hasNextPage endCursor } } }`;
  const { data, errors } = await ask<{ readonly audit: Connection }, object>(
    gateway,
    query,
    { after },
    { token: 't' },
  );
  expect(errors).toBeUndefined();
  if (!data) return [];
  const { hasNextPage, endCursor } = data.audit.pageInfo;
  return [...numbers(data.audit), ...(hasNextPage ? await walk(gateway, endCursor) : [])];
}

/** Lists in both orders, with and without pages. */
const LISTS = [
  [
    'the newest first',
    {},
    (all: readonly number[]) => ({ body: all.toReversed().map(numbered()) }),
  ],
  ['the oldest first', {}, (all: readonly number[]) => ({ body: all.map(numbered()) })],
  [
    'the newest first, in pages',
    PAGED,
    (all: readonly number[]) => paged(all.toReversed().map(numbered()), 20),
  ],
  ['the oldest first, in pages', PAGED, (all: readonly number[]) => paged(all.map(numbered()), 20)],
] as const;

describe.each(LISTS)('I2: replicas that list %s', (_, audit, list) => {
  const start = () => startLiveTrail({ contract: { audit } });

  it.each([1, 2, 31, 32, 60])('of which one lacks the newest %i: each record once', async (lag) => {
    await using live = await start();
    await using client = await begin(live, list(range(1, 150)));
    const [behind, fresh] = [list(range(1, 150 - lag)), list(range(1, 150))];
    expect(await client.poll(behind, fresh, behind, behind, fresh)).toEqual(NOTHING);
    expect(await client.poll(list(range(1, 152)), behind)).toEqual(once(151, 152));
    expect(await client.poll(list(range(1, 151)), list(range(1, 153)))).toEqual(once(153));
    expect(await client.poll(fresh, list(range(1, 153)))).toEqual(NOTHING);
  });

  it.each([3, 63])(
    'of which one lacks the newest %i, over connections and gateways',
    async (lag) => {
      await using live = await start();
      let after: string | undefined;
      let newest = 100;
      for (const lacking of [0, lag, 0, lag, lag, 0]) {
        await using other = await start();
        other.respond(list(range(1, newest)));
        await using first = await begin(other, list(range(1, newest - lacking)), { after });
        if (after !== undefined) expect(first.batches.flatMap(numbers)).toEqual([]);
        newest += 1;
        expect(await first.poll(list(range(1, newest - lacking)), list(range(1, newest)))).toEqual(
          once(newest),
        );
        after = first.batches.at(-1)?.checkpoint;
      }
      expect(live.service.seen).toEqual([]);
    },
  );

  it.each([1, 5, 64, 65, 150])(
    'one empty response in between, of a trail of %i',
    async (length) => {
      await using live = await start();
      const all = range(1, length);
      await using client = await begin(live, list(all));
      expect(await client.poll(list([]), list(all), list([]), list([]), list(all))).toEqual(
        NOTHING,
      );
      expect(await client.poll(list([]), list(range(1, length + 2)))).toEqual(
        once(length + 1, length + 2),
      );
      expect(await client.poll(list([]), list(range(1, length + 2)))).toEqual(NOTHING);
    },
  );

  it.each([
    ['every second record', (n: number) => n % 2 === 0],
    ['the newest five', (n: number) => n > 145],
    ['all but the newest ten', (n: number) => n <= 140],
    ['some in the middle', (n: number) => n > 100 && n < 120],
    ['a single known one', (n: number) => n === 120],
  ])('one response in between that has only %s', async (_, has) => {
    await using live = await start();
    const all = range(1, 150);
    await using client = await begin(live, list(all));
    const part = list(all.filter(has));
    expect(await client.poll(part, list(all), part, part, list(all))).toEqual(NOTHING);
    expect(await client.poll(part, list(range(1, 151)))).toEqual(once(151));
  });

  it('a short trail of which parts are missing in between: each record once, also a late one', async () => {
    await using live = await start();
    await using client = await begin(live, list([2, 3, 4, 5]));
    expect(await client.poll(list([3]), list([2, 3, 4, 5]), list([2, 5]))).toEqual(NOTHING);
    expect(await client.poll(list([1, 2, 3, 4, 5, 6]))).toEqual(once(1, 6));
    expect(await client.poll(list([]), list([6]), list([1, 2, 3, 4, 5, 6]))).toEqual(NOTHING);
  });

  it.each([3, 64, 100])(
    'a trail of %i that was replaced as a whole: missed, once',
    async (length) => {
      await using live = await start();
      await using client = await begin(live, list(range(1, length)));
      const other = range(1001, 1007);
      expect(await client.poll(list([]), list(other))).toEqual({ came: other, missed: [true] });
      expect(await client.poll(list(other), list([]), list(other))).toEqual(NOTHING);
      expect(await client.poll(list([...other, 1008]))).toEqual(once(1008));
    },
  );
});

/** A service whose cursors can be made to expire, with the oldest or the newest first. */
function cursorService(refusal: ServiceResponse | Handler, size = 10) {
  let all: readonly number[] = [];
  let epoch = 0;
  const handler: Handler = (...request) => {
    const { cursor } = queryOf(request[0].url);
    const [of = epoch, at = 0] = (cursor ?? `${epoch}.0`).split('.').map(Number);
    if (of !== epoch) return typeof refusal === 'function' ? refusal(...request) : refusal;
    const events = all.slice(at, at + size).map(numbered());
    const next = at + size < all.length ? `${epoch}.${at + size}` : null;
    return { body: { events, next_cursor: next } };
  };
  return {
    handler,
    list: (numbers: readonly number[]) => {
      all = numbers;
    },
    expire: () => {
      epoch += 1;
    },
  };
}

const CURSOR = {
  paging: { style: 'cursor', parameter: 'cursor', next: '/next_cursor' },
} as const;

/** A client of a trail in many pages with the oldest first: it began with nine of them, and has followed since. */
async function beginLong(refusal: ServiceResponse | Handler, length: number) {
  const service = cursorService(refusal);
  const live = await startLiveTrail({ contract: { audit: CURSOR } });
  service.list(range(1, 85));
  const client = await begin(live, service.handler);
  for (let newest = 85; newest <= length; newest += 60) {
    service.list(range(1, Math.min(length, newest + 60)));
    await client.poll(service.handler);
  }
  expect(client.batches.flatMap(numbers)).toEqual(range(86, length));
  live.service.forget();
  const cursors = () => live.service.seen.map(({ url }) => queryOf(url)['cursor'] ?? null);
  return {
    ...{ live, service, client, cursors },
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await live[Symbol.asyncDispose]();
    },
  };
}

const REFUSALS: readonly (readonly [string, ServiceResponse])[] = [
  ['400', { status: 400, body: { error: 'invalid cursor' } }],
  ['404', { status: 404 }],
  ['409', { status: 409 }],
  ['410', { status: 410, body: 'Gone' }],
  ['422', { status: 422 }],
  ['a 2xx that says 410', { body: { code: 410, message: 'cursor expired' } }],
  ['a 2xx with an error', { body: { success: false, error: 'cursor expired' } }],
  ['a 2xx with an error beside an empty list', { body: { events: [], error: 'cursor expired' } }],
  ['a 2xx with a message', { body: { message: 'The cursor has expired' } }],
  ['an empty page', { body: { events: [], next_cursor: null } }],
];

describe('I3: a cursor of the service that has expired', () => {
  it.each(REFUSALS)('with %s: the stream reads on from the first page', async (_, refusal) => {
    await using long = await beginLong(refusal, 300);
    const { service, client, cursors } = long;
    service.expire();
    service.list(range(1, 303));
    expect(await client.poll(service.handler)).toEqual(once(301, 302, 303));
    expect(cursors().filter((cursor) => cursor?.startsWith('0.'))).toHaveLength(1);
    expect(cursors()[1]).toBeNull();
    // From then on it polls from near the end.
    long.live.service.forget();
    service.list(range(1, 304));
    expect(await client.poll(service.handler)).toEqual(once(304));
    expect(cursors()).not.toContain(null);
  });

  it.each(REFUSALS)('with %s: `after` continues at another gateway', async (_, refusal) => {
    await using long = await beginLong(refusal, 300);
    const after = long.client.batches.at(-1)?.checkpoint;
    long.service.expire();
    long.service.list(range(1, 305));
    await using other = await startLiveTrail({ contract: { audit: CURSOR } });
    await using client = await begin(other, long.service.handler, { after });
    expect(client.batches.flatMap(numbers)).toEqual(range(301, 305));
    expect(client.batches[0]).toMatchObject({ missed: false, previous: after });
  });

  it('in a trail of 600 records: nothing is delivered on the way, and each poll has ten requests at most', async () => {
    await using long = await beginLong({ status: 410 }, 600);
    const { service, client, cursors, live } = long;
    service.expire();
    expect(await client.poll(service.handler)).toEqual(NOTHING);
    expect(cursors().slice(0, 3)).toEqual([expect.stringMatching(/^0\./), null, '1.10']);
    expect(cursors().length).toBeLessThan(75);
    service.list(range(1, 640));
    live.service.forget();
    expect(await client.poll(service.handler)).toEqual(once(...range(601, 640)));
    expect(cursors()).not.toContain(null);
  });

  it('again on the way: it begins anew, and loses nothing', async () => {
    await using long = await beginLong({ status: 410 }, 400);
    const { service, client } = long;
    service.expire();
    let requests = 0;
    const expiring: Handler = (...request) => {
      requests += 1;
      if (requests === 15) service.expire();
      return service.handler(...request);
    };
    service.list(range(1, 402));
    expect(await client.poll(expiring)).toEqual(once(401, 402));
  });

  it('in the middle of a poll: the same', async () => {
    await using long = await beginLong({ status: 400 }, 300);
    const { service, client } = long;
    service.list(range(1, 340));
    let requests = 0;
    const expiring: Handler = (...request) => {
      requests += 1;
      if (requests === 3) service.expire();
      return service.handler(...request);
    };
    expect((await client.poll(expiring)).came).toEqual(range(301, 340));
    expect(client.batches.some(({ missed }, index) => index > 0 && missed)).toBe(false);
  });

  it('and no known record is there any more: missed, once, at the end of the trail', async () => {
    await using long = await beginLong({ status: 410 }, 300);
    const { service, client } = long;
    service.expire();
    service.list(range(1001, 1255));
    const { came, missed } = await client.poll(service.handler);
    expect(missed).toEqual([true]);
    expect(came.at(-1)).toBe(1255);
    service.list(range(1001, 1256));
    expect(await client.poll(service.handler, service.handler)).toEqual(once(1256));
  });

  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [302, 'UPSTREAM_BAD_RESPONSE'],
  ])('%i is no such refusal: the stream ends', async (status, code) => {
    await using long = await beginLong({ status }, 300);
    long.service.expire();
    await long.live.pauses.paused();
    long.live.respond(long.service.handler);
    long.live.pauses.resume();
    expect(await long.client.ended).toBe(code);
    expect(long.cursors()).not.toContain(null);
  });

  it.each([429, 500, 503])('nor is %i: the same page is requested again', async (status) => {
    await using long = await beginLong({ status }, 300);
    const { service, client, cursors } = long;
    expect(await client.poll({ status }, service.handler)).toEqual(NOTHING);
    expect(cursors()).not.toContain(null);
    service.list(range(1, 301));
    expect(await client.poll(service.handler)).toEqual(once(301));
  });

  it.each([400, 404, 422])('a %i of the first page as well ends the stream', async (status) => {
    await using long = await beginLong({ status }, 300);
    await long.live.pauses.paused();
    long.live.respond({ status });
    long.live.pauses.resume();
    expect(await long.client.ended).toBe(status === 404 ? 'NOT_FOUND' : 'BAD_USER_INPUT');
    expect(long.cursors()).toHaveLength(2);
  });
});

/** Responses of a service with the newest first that lists five pages of ten, and refuses the sixth. */
function shallow(all: readonly number[], refusal: ServiceResponse, pages = 5): Handler {
  return (...request) => {
    const page = Number(queryOf(request[0].url)['page'] ?? 1);
    return page > pages ? refusal : paged(all.map(numbered()), 10)(...request);
  };
}

describe('I4: a service that refuses deep pages', () => {
  const DEEP: readonly (readonly [string, ServiceResponse])[] = [
    ['400', { status: 400, body: { error: 'Result window is too large' } }],
    ['404', { status: 404 }],
    ['416', { status: 416 }],
    ['422', { status: 422 }],
    ['500', { status: 500, body: { error: { type: 'illegal_argument_exception' } } }],
    ['a 2xx that says 400', { body: { code: 400, message: 'offset too large' } }],
  ];
  const start = (overrides: Overrides = {}) =>
    startLiveTrail({ contract: { audit: { ...PAGED, order: 'newest-first' } }, ...overrides });

  it.each(DEEP)('with %s: a stream begins with what can be read', async (_, refusal) => {
    await using live = await start();
    await using client = await begin(live, shallow(range(2000, 1), refusal));
    expect(client.batches).toMatchObject([{ nodes: [], missed: false }]);
    expect(live.service.seen).toHaveLength(6);
    for (const newest of [2001, 2010, 2040]) {
      const before = client.batches.flatMap(numbers).at(-1) ?? 2000;
      expect(await client.poll(shallow(range(newest, 1), refusal))).toEqual(
        once(...range(before + 1, newest)),
      );
    }
    expect(await client.poll(shallow(range(2040, 1), refusal))).toEqual(NOTHING);
  });

  it.each([1, 2])('after page %i: the same', async (pages) => {
    await using live = await start();
    await using client = await begin(live, shallow(range(50, 1), { status: 400 }, pages));
    expect(await client.poll(shallow(range(53, 1), { status: 400 }, pages))).toEqual(
      once(51, 52, 53),
    );
  });

  it('more new records than it lists: missed, and the newest come', async () => {
    await using live = await start();
    await using client = await begin(live, shallow(range(200, 1), { status: 400 }));
    expect(await client.poll(shallow(range(300, 1), { status: 400 }))).toEqual({
      came: range(251, 300),
      missed: [true],
    });
  });

  it('before filter.since is reached: missed', async () => {
    await using live = await start();
    await using client = await begin(live, shallow(range(200, 1), { status: 422 }), {
      filter: { since: record(100).time },
    });
    expect(client.batches[0]).toMatchObject({ missed: true });
    expect(client.batches.flatMap(numbers)).toEqual(range(151, 200));
  });

  it('with the oldest first, the end is unknown: TRAIL_TOO_LONG', async () => {
    await using live = await startLiveTrail({ contract: { audit: PAGED } });
    live.respond(shallow(range(1, 80), { status: 400 }));
    await using stream = await follow(live);
    const [payload] = await stream.rest();
    expect(payload?.errors?.[0]?.extensions.reason).toBe('TRAIL_TOO_LONG');
    expect(payload?.errors?.[0]?.message).toContain('refuses');
  });

  it('the first page is no deep one: its error ends the stream', async () => {
    await using live = await start();
    live.respond({ status: 400 });
    await using stream = await follow(live);
    const [payload] = await stream.rest();
    expect(payload?.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });
});

describe('I5: a rate limit that a poll exceeds', () => {
  const audit = { ...PAGED, order: 'newest-first' } as const;
  it.each([1, 2, 4])(
    'after page %i: a stream begins, and delivers each record once',
    async (pages) => {
      await using live = await startLiveTrail({ contract: { audit } });
      const limited = (newest: number) =>
        shallow(range(newest, 1), { status: 429, headers: { 'retry-after': '1' } }, pages);
      await using client = await begin(live, limited(500));
      expect(client.batches).toMatchObject([{ nodes: [], missed: false }]);
      expect(await client.poll(limited(503), limited(503), limited(505))).toEqual({
        came: range(501, 505),
        missed: [false, false],
      });
    },
  );

  it('before a known record is met: it is polled again, and nothing is missed', async () => {
    await using live = await startLiveTrail({ contract: { audit } });
    await using client = await begin(live, paged(range(500, 1).map(numbered()), 10));
    const all = range(530, 1);
    const limited = shallow(all, { status: 429 }, 2);
    expect(await client.poll(limited, paged(all.map(numbered()), 10))).toEqual(
      once(...range(501, 530)),
    );
  });

  it.each([
    ['before a known record is met', range(530, 1), 2, { status: 503 }],
    ['before a known record is met, by a lost connection', range(530, 1), 1, null],
  ])('or a failure %s: the same', async (_, all, pages, failure) => {
    await using live = await startLiveTrail({ contract: { audit } });
    await using client = await begin(live, paged(range(500, 1).map(numbered()), 10));
    const whole = paged(all.map(numbered()), 10);
    const fails: Handler = (...request) => {
      const page = Number(queryOf(request[0].url)['page'] ?? 1);
      if (page <= pages) return whole(...request);
      if (failure !== null) return failure;
      request[1].socket?.destroy();
      return undefined;
    };
    expect(await client.poll(fails, whole)).toEqual(once(...range(501, 530)));
  });

  it('before filter.since is reached: the same', async () => {
    await using live = await startLiveTrail({ contract: { audit } });
    const whole = paged(range(200, 1).map(numbered()), 10);
    const limited = shallow(range(200, 1), { status: 503, headers: { 'retry-after': '1' } }, 3);
    live.respond(limited);
    await using stream = await subscribe(live.gateway, { filter: { since: record(150).time } });
    const first = stream.nextBatch();
    await live.pauses.paused();
    live.respond(whole);
    live.pauses.resume();
    const { nodes, missed } = await first;
    expect(nodes.map(({ id }) => id)).toEqual(range(150, 200).map((number) => `r${number}`));
    expect(missed).toBe(false);
  });

  it('a page that is no JSON ends the stream, though known records were met', async () => {
    await using live = await startLiveTrail({ contract: { audit } });
    await using client = await begin(live, paged(range(500, 1).map(numbered()), 10));
    await live.pauses.paused();
    live.respond(shallow(range(503, 1), { body: '<p>' }, 1));
    live.pauses.resume();
    expect(await client.ended).toBe('UPSTREAM_BAD_RESPONSE');
  });
});

describe('P1: a tail that begins with the oldest goes through pages without records', () => {
  /** Each page has one record or none; the cursor of the page after the last one is the last page itself. */
  const sparse =
    (pages: readonly (number | null)[], isReversed = false): Handler =>
    (...request) => {
      const at = Number(queryOf(request[0].url)['cursor'] ?? 0);
      const n = (isReversed ? pages.toReversed() : pages)[at] ?? null;
      const events = n === null ? [] : [numbered()(n)];
      return { body: { events, next_cursor: at + 1 < pages.length ? `${at + 1}` : null } };
    };
  const empty = (length: number) => Array<null>(length).fill(null);
  const start = (overrides: object = {}) =>
    startLiveTrail({
      contract: { audit: { ...CURSOR, order: 'oldest-first', parameters: { since: 'from' } } },
      ...overrides,
    });

  it.each([3, 9, 10, 11, 12, 25, 45])('%i of them between two records', async (length) => {
    await using live = await start();
    let pages: readonly (number | null)[] = [1, 2];
    await using client = await begin(live, sparse(pages));
    pages = [...pages, ...empty(length), 3, ...empty(length), 4, 5];
    const { came, missed } = await client.poll(sparse(pages), sparse(pages), sparse(pages));
    expect([came, missed.includes(true)]).toEqual([[3, 4, 5], false]);
    live.service.forget();
    pages = [...pages, 6, ...empty(length), 7];
    expect((await client.poll(sparse(pages), sparse(pages))).came).toEqual([6, 7]);
  });

  it('hundreds of them, in polls of ten requests, over two gateways', async () => {
    await using live = await start();
    await using client = await begin(live, sparse([1, 2]));
    const pages = [1, 2, ...empty(300), 3];
    for (let polls = 0; polls < 25; polls += 1) await client.poll(sparse(pages));
    expect(client.batches.flatMap(numbers)).toEqual([3]);
    await using other = await start();
    const after = client.batches.at(-1)?.checkpoint;
    await using next = await begin(other, sparse([...pages, ...empty(5), 4]), { after });
    expect(next.batches.flatMap(numbers)).toEqual([4]);
    expect(next.batches[0]).toMatchObject({ missed: false, previous: after });
  });

  it('at the end of the trail, which grows by records and by empty pages', async () => {
    await using live = await start();
    let pages: readonly (number | null)[] = [1];
    await using client = await begin(live, sparse(pages));
    for (const n of range(2, 12)) {
      pages = [...pages, ...empty(7)];
      expect(await client.poll(sparse(pages))).toEqual(NOTHING);
      pages = [...pages, ...empty(8), n];
      expect((await client.poll(sparse(pages), sparse(pages))).came).toEqual([n]);
    }
  });

  it('from filter.since on, before the first record', async () => {
    await using live = await start();
    const pages = [...empty(35), 1, 2];
    await using client = await begin(live, sparse(pages), { filter: { since: record(1).time } });
    expect(client.batches.flatMap(numbers)).toEqual([1, 2]);
    expect(client.batches.map(({ missed }) => missed)).not.toContain(true);
  });

  it('and of which the cursor expires: it searches from the first page, and nothing comes again', async () => {
    await using live = await start();
    await using client = await begin(live, sparse([1, 2]));
    const pages = [1, 2, ...empty(30), 3, ...empty(30)];
    await client.poll(sparse(pages), sparse(pages), sparse(pages));
    expect(client.batches.flatMap(numbers)).toEqual([3]);
    let isExpired = true;
    const expired: Handler = (...request) => {
      const wasExpired = isExpired;
      isExpired = false;
      return wasExpired ? { status: 410 } : sparse([...pages, 4])(...request);
    };
    const { came, missed } = await client.poll(expired, expired, expired);
    expect([came, missed.includes(true)]).toEqual([[4], false]);
  });
});

describe('I6: a member that differs in every response', () => {
  let response = 0;
  const volatile = (n: number) => {
    response += 1;
    return {
      ...numbered()(n),
      link: `/e/${n}?sig=${response}`,
      meta: { age: `${response} s ago` },
    };
  };
  const { id: _, ...nameless } = record(0);

  it.each([
    ['a pointer', '/n'],
    ['two pointers, all of which count', ['/time', '/n']],
    ['pointers of which one leads to nothing', ['/nothing', '/n']],
    ['an object', ['/who', '/n']],
  ])('audit.identity, %s: each record once', async (_, identity) => {
    await using live = await startLiveTrail({ contract: { audit: { identity } } });
    const who = (n: number) => ({ who: n % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 } });
    const list = (newest: number) => ({
      body: range(newest, 1).map((n) => ({ ...volatile(n), ...who(n) })),
    });
    await using client = await begin(live, list(80));
    expect(await client.poll(list(80), list(80))).toEqual(NOTHING);
    expect(await client.poll(list(82))).toEqual(once(81, 82));
  });

  it('without it, all comes again, and `missed` is true', async () => {
    await using live = await startLiveTrail();
    const list = () => ({ body: range(3, 1).map(volatile) });
    await using client = await begin(live, list());
    expect(await client.poll(list())).toEqual({ came: [1, 2, 3], missed: [true] });
  });

  it('records that have none of its values are compared as a whole', async () => {
    await using live = await startLiveTrail({ contract: { audit: { identity: ['/key'] } } });
    const list = (newest: number) => ({ body: range(newest, 1).map(numbered()) });
    await using client = await begin(live, list(5));
    expect(await client.poll(list(7), list(7))).toEqual(once(6, 7));
  });

  it('cursors of `audit` without ids lead on', async () => {
    await using service = await startService((...request) =>
      paged(
        range(1, 9).map((n) => ({ ...nameless, ...volatile(n), id: undefined })),
        4,
      )(...request),
    );
    const audit = { ...PAGED, identity: '/n', event: { id: null } };
    await using gateway = gatewayOver(service.url, { contract: { audit } });
    expect(await walk(gateway)).toEqual(range(1, 9));
  });
});
