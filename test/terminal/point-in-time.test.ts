import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration, pointInTime } from '../../src/gateway/config/value-types.ts';
import { formatInstant } from '../../src/gateway/mapping/time.ts';
import { instantOf } from '../../src/terminal/audit.ts';
import { keytrailInProcess, startKeytrail } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

const [SECOND, MINUTE, HOUR, DAY, WEEK] = [1000, 60_000, 3_600_000, 86_400_000, 604_800_000];

const DURATIONS: readonly (readonly [text: string, ms: number])[] = [
  ['30s', 30 * SECOND],
  ['90m', 90 * MINUTE],
  ['5min', 5 * MINUTE],
  ['5 mins', 5 * MINUTE],
  ['1 hour', HOUR],
  ['2hrs', 2 * HOUR],
  ['2 days', 2 * DAY],
  ['1 week', WEEK],
  ['1h30m', 90 * MINUTE],
  ['1h 30m', 90 * MINUTE],
  ['1w2d3h4m5s', WEEK + 2 * DAY + 3 * HOUR + 4 * MINUTE + 5 * SECOND],
  ['1 day 12 hours', 36 * HOUR],
  ['0s', 0],
];

/** The names of each unit, the longest unit first. */
const UNITS: readonly (readonly [ms: number, ...names: string[]])[] = [
  [WEEK, 'w', 'week', 'weeks'],
  [DAY, 'd', 'day', 'days'],
  [HOUR, 'h', 'hr', 'hrs', 'hour', 'hours'],
  [MINUTE, 'm', 'min', 'mins', 'minute', 'minutes'],
  [SECOND, 's', 'sec', 'secs', 'second', 'seconds'],
];

describe('a duration', () => {
  it.each(DURATIONS)('%j is %d milliseconds', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    ...[
      '',
      '5',
      'm',
      '1h30',
      '30m1h',
      '1h1h',
      '1.5h',
      '-1h',
      '+1h',
      '1H',
      '5M',
      '1mo',
      '1y',
      '1ms',
    ],
    ...['1h  30m', ' 1h', '1h ', '1h,30m', '2 days ago', '1234567m', '１h'],
  ])('%j is none', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('is the sum of its parts, from the longest unit to the shortest', () => {
    const part = fc.record({
      count: fc.nat(999_999),
      ...{ name: fc.nat(4), space: fc.constantFrom('', ' '), before: fc.constantFrom('', ' ') },
    });
    const parts = fc.subarray([0, 1, 2, 3, 4], { minLength: 1 });
    fc.assert(
      fc.property(parts, fc.array(part, { minLength: 5, maxLength: 5 }), (units, texts) => {
        let total = 0;
        const text = units
          .map((unit, index) => {
            const [ms, ...names] = UNITS[unit] ?? [0];
            const { count = 0, name = 0, space = '', before = '' } = texts[index] ?? {};
            total += ms * count;
            return `${index === 0 ? '' : before}${count}${space}${names[name % names.length]}`;
          })
          .join('');
        expect(parseDuration(text)).toBe(total);
      }),
    );
  });

  it('is read from any text, or it is not a time', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0159 smhdwinyoura-:TZ'), maxLength: 12 });
    fc.assert(
      fc.property(text, (given) => {
        const ms = parseDuration(given);
        if (ms !== undefined) expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true);
        expect(pointInTime.value.safeParse(pointInTime.fromText?.(given) ?? given).success).toBe(
          pointInTime.fromText?.(given) !== undefined,
        );
      }),
    );
  });
});

describe('a day', () => {
  const now = new Date('2026-03-01T00:30:00.123Z');
  it.each([
    ['today', '2026-03-01T00:00:00.000Z'],
    ['Today', '2026-03-01T00:00:00.000Z'],
    ['yesterday', '2026-02-28T00:00:00.000Z'],
  ])('%s begins in UTC', (text, expected) => {
    const { data } = pointInTime.value.safeParse(pointInTime.fromText?.(text));
    const instant = instantOf(data, now);
    expect(instant && formatInstant(instant)).toBe(expected);
  });

  // One zone is always 14 hours ahead of UTC, so that its midnight is never that of UTC.
  it.each([
    [['--since', 'yesterday', '--until', 'today'], 0],
    [['--since', 'yesterday', '--until', 'today', '--local'], 14],
  ])('%j are days of UTC, and with --local of the zone of the machine', async (args, hours) => {
    const midnight = Math.floor((Date.now() + hours * HOUR) / DAY) * DAY - hours * HOUR;
    const times = [midnight, midnight - 1, midnight - DAY, midnight - DAY - 1];
    const body = times.map((at, id) => ({ id: `e${id}`, at: new Date(at).toISOString() }));
    await using service = await startService({ body });
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 't', TZ: 'Pacific/Kiritimati' };
    await using process = startKeytrail(['audit', ...args, '--fields', 'id'], settings);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).toBe('{"id":"e1"}\n{"id":"e2"}\n');
  });
});

it.each([
  ['audit', '--since'],
  ['audit', '--until'],
  ['delete-key', '--unless-active-since'],
])('%s %s says which times there are', async (command, option) => {
  await using process = keytrailInProcess([command, option, 'tomorow']);
  expect(await process.status).toBe(2);
  expect(process.output.stderr).toContain(
    `${option} must be a time: 90m, 1h30m, 7d, today, yesterday, 2026-11-24, or 2026-11-24T09:30:00Z with its zone, not "tomorow".`,
  );
});
