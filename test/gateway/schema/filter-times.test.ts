import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startLiveTrail } from '../../helpers/live-trail.ts';
import { type Handler, startService } from '../../helpers/service.ts';
import { subscribe } from '../../helpers/subscribe.ts';

const QUERY =
  'query ($filter: AuditFilter) { audit(first: 50, filter: $filter) { nodes { id occurredAt } } }';

type Audit = {
  readonly audit: {
    readonly nodes: readonly { readonly id: string; readonly occurredAt: string }[];
  } | null;
};

const PARAMETERS = { since: 'from', until: 'to' };

/** Nanoseconds of the epoch, of a text that ends with Z. */
function nanosOf(text: string): bigint {
  const [, seconds = '', digits = ''] = /^([^.]+?)(?:\.(\d+))?Z$/.exec(text) ?? [];
  return BigInt(Date.parse(`${seconds}Z`)) * 10n ** 6n + BigInt(digits.padEnd(9, '0'));
}

/** RFC 3339 with this number of digits; further ones are cut. */
function isoOf(nanos: bigint, digits: number): string {
  const seconds = new Date(Number(nanos / 10n ** 6n)).toISOString().slice(0, 19);
  const all = String(nanos % 10n ** 9n).padStart(9, '0');
  return `${seconds}${digits === 0 ? '' : `.${all.slice(0, digits)}`}Z`;
}

type Format = {
  readonly name: string;
  readonly occurredAt?: NonNullable<
    NonNullable<ConfiguredContract['audit']>['event']
  >['occurredAt'];
  /** Digits of a second in a record. */
  readonly digits: number;
  /** Nanoseconds of the unit in which the service compares times. Default: of its digits. */
  readonly unit?: bigint;
  readonly write: (nanos: bigint) => unknown;
};

const local = (nanos: bigint) => isoOf(nanos, 9).replace('T', ' ').slice(0, -1);
const at = '/time';

const FORMATS: readonly Format[] = [
  ...[0, 3, 6, 7, 9].map((digits) => ({
    name: `${digits} digits, and no contract`,
    ...{ digits, unit: 1n, write: (nanos: bigint) => isoOf(nanos, digits) },
  })),
  {
    name: 'iso8601 without a zone',
    occurredAt: { at, as: 'iso8601', zone: 'UTC' },
    ...{ digits: 9, unit: 1n, write: (nanos) => local(nanos) },
  },
  {
    name: 'rfc2822',
    occurredAt: { at, as: 'rfc2822' },
    ...{ digits: 0, write: (nanos) => new Date(Number(nanos / 10n ** 6n)).toUTCString() },
  },
  ...([0, 3, 6, 9] as const).map((digits): Format => {
    const as = ({ 0: 'seconds', 3: 'milliseconds', 6: 'microseconds', 9: 'nanoseconds' } as const)[
      digits
    ];
    return {
      name: `epoch-${as}`,
      occurredAt: { at, as: `epoch-${as}` },
      ...{ digits, write: (nanos) => String(nanos / 10n ** BigInt(9 - digits)) },
    };
  }),
  {
    name: 'a number of microseconds, and no contract',
    ...{ digits: 6, unit: 1n, write: (nanos) => Number(nanos / 1000n) },
  },
  {
    name: 'a pattern to the minute',
    occurredAt: { at, as: { pattern: 'yyyy-MM-dd HH:mm' }, zone: 'UTC' },
    ...{ digits: 0, unit: 60n * 10n ** 9n, write: (nanos) => local(nanos).slice(0, 16) },
  },
  {
    name: 'a pattern to the second',
    occurredAt: { at, as: { pattern: 'yyyyMMddHHmmss' }, zone: 'UTC' },
    ...{ digits: 0, write: (nanos) => local(nanos).slice(0, 19).replace(/\D/g, '') },
  },
  ...[1, 5, 8].map((digits): Format => {
    const pattern = `yyyy-MM-dd HH:mm:ss.${'S'.repeat(digits)}`;
    return {
      name: `a pattern with ${digits} digits`,
      occurredAt: { at, as: { pattern }, zone: 'UTC' },
      ...{ digits, write: (nanos) => local(nanos).slice(0, 20 + digits) },
    };
  }),
];

const START = nanosOf('2026-11-21T09:30:00Z');

/** An instant within three minutes, often close to others. */
const MOMENT = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 180 })),
    fc.oneof(
      fc.constantFrom(0n, 1n, 999_500_000n, 999_999_000n, 999_999_999n, 123_000_000n),
      fc.bigInt({ min: 0n, max: 999_999_999n }),
    ),
  )
  .map(([seconds, nanos]) => START + BigInt(seconds) * 10n ** 9n + nanos);

const BOUND = fc.option(
  fc.tuple(MOMENT, fc.integer({ min: 0, max: 9 })).map(([nanos, digits]) => isoOf(nanos, digits)),
  { nil: null },
);

describe('since and until', () => {
  it('select by all digits, which the result and what is forwarded do not have', async () => {
    const records = ['59.999Z', '59.9995Z', '59.999500Z', '59.9999999Z'].map((end, index) => ({
      id: `r${index}`,
      time: `2026-11-21T09:30:${end}`,
    }));
    await using service = await startService({ body: records });
    const contract = { audit: { parameters: PARAMETERS } };
    await using gateway = gatewayOver(service.url, { contract });
    const select = async (filter: object) => {
      const { data } = await ask<Audit, object>(gateway, QUERY, { filter }, { token: 't' });
      const [, query] = service.seen.at(-1)?.url.split('?') ?? [];
      const times = new Set(data?.audit?.nodes.map(({ occurredAt }) => occurredAt.slice(17)));
      const ids = data?.audit?.nodes.map(({ id }) => id).join(' ');
      return [ids, [...times].join(), decodeURIComponent(query ?? '')];
    };
    expect(await select({ until: '2026-11-21T09:30:59.999999Z' })).toEqual([
      ...['r0 r1 r2', '59.999Z', 'to=2026-11-21T09:31:00.000Z'],
    ]);
    expect(await select({ since: '2026-11-21T10:30:59.999500+01:00' })).toEqual([
      ...['r1 r2 r3', '59.999Z', 'from=2026-11-21T09:30:59.999Z'],
    ]);
    expect(await select({ since: '2026-11-21T09:30:59.9995000001Z' })).toEqual([
      ...['r3', '59.999Z', 'from=2026-11-21T09:30:59.999Z'],
    ]);
    expect(
      await select({ since: '2026-11-21T09:30:59.999Z', until: '2026-11-21T09:30:59.9995Z' }),
    ).toEqual(['r0', '59.999Z', 'from=2026-11-21T09:30:59.999Z&to=2026-11-21T09:31:00.000Z']);
  });

  it.each(FORMATS)(
    'select exactly, and what is forwarded is never narrower: $name',
    async ({ occurredAt, digits, unit = 10n ** BigInt(9 - digits), write }) => {
      let times: readonly bigint[] = [];
      const forwarded: (readonly [bigint | null, bigint | null])[] = [];
      const respond: Handler = ({ url }) => {
        const { searchParams } = new URL(url, 'http://service.test');
        const [from, to] = ['from', 'to'].map((name) => {
          const text = searchParams.get(name);
          return text === null ? null : nanosOf(text);
        });
        forwarded.push([from ?? null, to ?? null]);
        const cut = (nanos: bigint) => nanos - (nanos % unit);
        const isWanted = (nanos: bigint) =>
          (from == null || nanos >= cut(from)) && (to == null || nanos < cut(to));
        const records = times.map((nanos, id) => ({ id: `r${id}`, time: write(nanos), nanos }));
        const wanted = records.filter(({ nanos }) => isWanted(nanos));
        return { body: { events: wanted.map(({ id, time }) => ({ id, time })) } };
      };
      await using service = await startService(respond);
      const event = occurredAt === undefined ? {} : { event: { occurredAt } };
      const contract = { audit: { records: '/events', parameters: PARAMETERS, ...event } };
      await using gateway = gatewayOver(service.url, { contract });
      const moments = fc.array(MOMENT, { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(moments, BOUND, BOUND, async (all, since, until) => {
          const step = unit === 1n ? 10n ** BigInt(9 - digits) : unit;
          times = all.map((nanos) => nanos - (nanos % step));
          const filter = { since, until };
          const { data, text } = await ask<Audit, object>(
            ...([gateway, QUERY, { filter }, { token: 't' }] as const),
          );
          const nodes = data?.audit?.nodes ?? [text];
          const expected = times.flatMap((nanos, id) =>
            (since === null || nanos >= nanosOf(since)) &&
            (until === null || nanos < nanosOf(until))
              ? [{ id: `r${id}`, occurredAt: isoOf(nanos, 3) }]
              : [],
          );
          expect(nodes).toEqual(expected);
          const [from = null, to = null] = forwarded.at(-1) ?? [];
          expect([from === null, to === null]).toEqual([since === null, until === null]);
          if (from !== null && since !== null) expect(from <= nanosOf(since)).toBe(true);
          if (to !== null && until !== null) expect(to >= nanosOf(until)).toBe(true);
        }),
        { numRuns: 60 },
      );
    },
  );

  it.each([
    ['+14:00', 'in its zone'],
    ['-11:00', 'in its zone'],
    ['+05:30', 'as its first ten characters'],
    ['-08:00', 'as its first ten characters'],
    ['+00:00', 'as its first ten characters'],
  ])('of dates alone at %s, of which the service takes a time %s', async (zone, how) => {
    const offset = Number(`${zone[0]}1`) * (Date.parse(`1970-01-01T${zone.slice(1)}Z`) / 1000);
    const dateOf = (iso: string) => {
      const millis = Date.parse(iso) + (how === 'in its zone' ? 1000 * offset : 0);
      return new Date(millis).toISOString().slice(0, 10);
    };
    let dates: readonly string[] = [];
    await using service = await startService(({ url }) => {
      const { searchParams } = new URL(url, 'http://service.test');
      const [from, to] = [searchParams.get('from'), searchParams.get('to')];
      const records = dates.map((time) => ({ id: time, time }));
      return {
        body: records.filter(
          ({ time }) =>
            (from === null || time >= dateOf(from)) && (to === null || time < dateOf(to)),
        ),
      };
    });
    const occurredAt = { at, as: { pattern: 'yyyy-MM-dd' }, zone };
    const contract = { audit: { records: '', parameters: PARAMETERS, event: { occurredAt } } };
    await using gateway = gatewayOver(service.url, { contract });
    const date = fc.integer({ min: 0, max: 5 }).map((day) => `2026-11-2${day}`);
    const bound = fc.option(
      fc
        .tuple(fc.integer({ min: 0, max: 5 * 96 }), fc.constantFrom('', '.0001', '.5'))
        .map(([quarters, digits]) => {
          const millis = Date.UTC(2026, 10, 20) + quarters * 900_000;
          return `${new Date(millis).toISOString().slice(0, 19)}${digits}Z`;
        }),
      { nil: null },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(date), bound, bound, async (all, since, until) => {
        dates = all;
        const filter = { since, until };
        const { data } = await ask<Audit, object>(gateway, QUERY, { filter }, { token: 't' });
        const expected = dates.filter((day) => {
          const nanos = nanosOf(`${day}T00:00:00Z`) - BigInt(offset) * 10n ** 9n;
          return (
            (since === null || nanos >= nanosOf(since)) &&
            (until === null || nanos < nanosOf(until))
          );
        });
        expect(data?.audit?.nodes.map(({ id }) => id)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('are not forwarded if rounding leads beyond the year 9999', async () => {
    await using service = await startService({ body: [{ id: 'r', time: 4102444799 }] });
    const event = { occurredAt: { at, as: 'epoch-seconds' } } as const;
    const contract = { audit: { parameters: PARAMETERS, event } };
    await using gateway = gatewayOver(service.url, { contract });
    const filter = { until: '9999-12-31T23:59:59.9999999Z' };
    const { data } = await ask<Audit, object>(gateway, QUERY, { filter }, { token: 't' });
    expect(data?.audit?.nodes).toHaveLength(1);
    expect(service.seen.map(({ url }) => url)).toEqual(['/api/v1/audit']);
  });
});

/** Records of one millisecond, a microsecond apart. */
const closeRecords = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    id: `r${from + index}`,
    time: `2026-11-24T00:00:00.000${String(from + index).padStart(3, '0')}Z`,
  }));

describe('a stream', () => {
  it('begins at the digits of filter.since', async () => {
    await using live = await startLiveTrail();
    live.respond({ body: closeRecords(1, 9).toReversed() });
    const filter = { since: '2026-11-24T00:00:00.0000069Z' };
    await using stream = await subscribe(live.gateway, { filter });
    expect((await stream.nextBatch()).nodes.map(({ id }) => id)).toEqual(['r7', 'r8', 'r9']);
  });

  it('ends its events before the digits of filter.until', async () => {
    await using live = await startLiveTrail();
    live.respond({ body: closeRecords(1, 9).toReversed() });
    const filter = { since: '2026-11-24T00:00:00Z', until: '2026-11-24T00:00:00.000003001Z' };
    await using stream = await subscribe(live.gateway, { filter });
    expect((await stream.nextBatch()).nodes.map(({ id }) => id)).toEqual(['r1', 'r2', 'r3']);
  });

  it('knows the order of a trail from digits after the third', async () => {
    await using live = await startLiveTrail();
    live.respond({ body: closeRecords(1, 200) });
    await using stream = await subscribe(live.gateway);
    expect((await stream.nextBatch()).nodes).toEqual([]);
    await live.pauses.paused();
    live.respond({ body: closeRecords(1, 202) });
    live.pauses.resume();
    expect((await stream.nextBatch()).nodes.map(({ id }) => id)).toEqual(['r201', 'r202']);
  });
});

describe('a time of the year 1', () => {
  const RECORDS = [{ id: 'a', time: '2026-01-01T00:00:00Z' }, { id: 'b' }];
  const ZEROS = [
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00.0000000+00:00',
    '0001-01-01T00:00:00+01:00',
    '0001-01-01 00:00:00 +0000 UTC',
    '0001-06-30T12:00:00-05:00',
  ];

  it.each(ZEROS)('is no bound as since: %s', async (since) => {
    await using service = await startService({ body: RECORDS });
    const contract = { audit: { parameters: PARAMETERS } };
    await using gateway = gatewayOver(service.url, { contract });
    const inText = `{ audit(filter: { since: ${JSON.stringify(since)} }) { nodes { id } } }`;
    for (const [query, variables] of [
      [QUERY, { filter: { since } }],
      [inText, {}],
    ] as const) {
      const { data } = await ask<Audit, object>(gateway, query, variables, { token: 't' });
      expect(data?.audit?.nodes.map(({ id }) => id)).toEqual(['a', 'b']);
    }
    expect(service.seen.map(({ url }) => url)).toEqual(['/api/v1/audit', '/api/v1/audit']);
  });

  it.each(ZEROS)('is refused as until: %s', async (until) => {
    await using service = await startService({ body: RECORDS });
    await using gateway = gatewayOver(service.url);
    const result = await ask<Audit, object>(gateway, QUERY, { filter: { until } }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
    await using stream = await subscribe(gateway, { filter: { until } });
    const payload = await stream.next();
    expect(payload?.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(service.seen).toEqual([]);
  });

  it('begins a stream now, as without since', async () => {
    await using live = await startLiveTrail();
    live.list(2, 1);
    const filter = { since: '0001-01-01T00:00:00Z' };
    await using stream = await subscribe(live.gateway, { filter });
    expect((await stream.nextBatch()).nodes).toEqual([]);
  });

  it.each([
    '0001-02-30T00:00:00Z',
    '0001-01-01',
    '0001-01-01T00:00:00',
    '0001-01-01T25:00:00Z',
    '0000-01-01T00:00:00Z',
    '00011-01-01T00:00:00Z',
  ])('is not %s', async (since) => {
    await using service = await startService({ body: RECORDS });
    await using gateway = gatewayOver(service.url);
    const result = await ask<Audit, object>(gateway, QUERY, { filter: { since } }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
  });
});
