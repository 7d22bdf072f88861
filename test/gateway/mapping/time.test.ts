import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTime, detectFormat, parseTime } from '../../../src/gateway/mapping/time.ts';

it.each([
  ['2026-11-21T09:30:00Z', 'iso8601'],
  ['20261121T093000+0100', 'iso8601'],
  ['Sat, 21 Nov 2026 09:30:00 GMT', 'rfc2822'],
  [1_700_000_000, 'epoch-seconds'],
  ['/Date(1700000000123)/', 'epoch-milliseconds'],
  ['1700000000123456', 'epoch-microseconds'],
  [1_700_000_000_123_456_789n.toString(), 'epoch-nanoseconds'],
  ['2026-11-21T09:30:00', null],
  [20_261_121_100_000, null],
])('detects the format of %j: %s', (value, expected) => {
  expect(detectFormat(value)).toBe(expected);
});

describe('parseTime', () => {
  it.each([
    ['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T10:30:00.5+01:00', '2026-11-21T09:30:00.500Z'],
    ['2026-11-21 10:30:00.123456789+0100', '2026-11-21T09:30:00.123Z456789'],
    ['2026-11-21t09:30z', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T04:30:00-05', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21 09:30:00,25 Z', '2026-11-21T09:30:00.250Z'],
    ['2026-11-21T09:30:00.1230Z', '2026-11-21T09:30:00.123Z'],
    ['2026-11-21T10:30:00.1234500+01:00', '2026-11-21T09:30:00.123Z45'],
    ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.999Z999999'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    [1_700_000_000, '2023-11-14T22:13:20.000Z'],
    [1_700_000_000.5, '2023-11-14T22:13:20.500Z'],
    [1_700_000_000_123, '2023-11-14T22:13:20.123Z'],
    [1_700_000_000_123_456, '2023-11-14T22:13:20.123Z456'],
    [1_700_000_000.123_456, '2023-11-14T22:13:20.123Z456'],
    [1_700_000_000_123.4, '2023-11-14T22:13:20.123Z4'],
    [1_700_000_000.122_999_9, '2023-11-14T22:13:20.123Z'], // a double has no more digits
    ['1700000000.999999999', '2023-11-14T22:13:20.999Z999999'],
    ['1700000000123456789', '2023-11-14T22:13:20.123Z456789'],
    ['1700000000123456789.5', '2023-11-14T22:13:20.123Z4567895'],
    ['1700000000', '2023-11-14T22:13:20.000Z'],
    ['1700000000123', '2023-11-14T22:13:20.123Z'],
  ])('parses %j as %s', (value, expected) => {
    expect(parseTime(value)).toBe(expected);
  });

  it.each([
    '09/07/2021',
    '2026-11-21',
    '2026-11-21T09:30:00',
    '2023-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-21T25:00:00Z',
    '0001-01-01T00:00:00Z',
    '/Date(-62135596800000)/',
    '2026-11-21T09:30:00+25:00',
    'yesterday',
    '',
    '12',
    0,
    12,
    -1_700_000_000,
    250_000_000,
    20_261_121_100_000, // a date in digits
    134_402_112_000_000_000n.toString(), // Windows: units of 100 ns since 1601
    639_000_000_000_000_000n.toString(), // .NET: units of 100 ns since the year 1
    1e20,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    true,
    null,
    undefined,
    {},
    [],
  ])('returns null for %j, which is not an instant, or ambiguous', (value) => {
    expect(parseTime(value)).toBeNull();
  });

  it('parses valid dates and hours, and returns null for all others', () => {
    const part = (most: number) => fc.integer({ min: 0, max: most });
    const moment = fc.tuple(fc.integer({ min: 1000, max: 9998 }), part(13), part(32), part(25));
    const tail = fc.constantFrom('Z', '.5Z', '.25Z', '.250Z', '.1234Z', '+00:00', '.250-00:00');
    const two = (number: number) => String(number).padStart(2, '0');
    fc.assert(
      fc.property(moment, part(61), tail, ([year, month, day, hour], minute, end) => {
        const days = new Date(Date.UTC(year, month, 0)).getUTCDate(); // the last one of the month
        const isDay = month >= 1 && month <= 12 && day >= 1 && day <= days;
        const text = `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:07${end}`;
        const millis = Math.floor(Number(`0${/\.\d+/.exec(end)?.[0] ?? ''}`) * 1000);
        const date = new Date(Date.UTC(year, month - 1, day, hour, minute, 7, millis));
        const further = end === '.1234Z' ? '4' : '';
        expect(parseTime(text)).toEqual(
          isDay && hour < 24 && minute < 60 ? date.toISOString() + further : null,
        );
      }),
      { numRuns: 5000 },
    );
  });

  it('parses every instant in every format', () => {
    const instant = fc.date({
      min: new Date('2000-01-01T00:00:00Z'),
      max: new Date('2099-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instant, fc.integer({ min: -14, max: 14 }), (date, offset) => {
        const local = new Date(date.getTime() + offset * 3_600_000).toISOString().slice(0, -1);
        const zone = `${offset < 0 ? '-' : '+'}${String(Math.abs(offset)).padStart(2, '0')}:00`;
        for (const form of [
          date.toISOString(),
          `${local}${zone}`,
          date.getTime(),
          date.getTime() * 1000,
        ]) {
          expect(parseTime(form)).toBe(date.toISOString());
        }
        expect(parseTime(date.getTime() / 1000)).toBe(date.toISOString());
        expect(parseTime(`${date.getTime()}000000`)).toBe(date.toISOString());
        expect(parseTime(`/Date(${date.getTime()})/`)).toBe(date.toISOString());

        const second = new Date(Math.floor(date.getTime() / 1000) * 1000).toISOString();
        expect(parseTime(date.toUTCString())).toBe(second);
        const [year, month, day] = date.toISOString().slice(0, 10).split('-');
        const clock = date.toISOString().slice(11, 19);
        const parseUs = compileTime({ as: { pattern: 'MM/dd/yyyy HH:mm:ss' }, zone: 'UTC' });
        expect(parseUs(`${month}/${day}/${year} ${clock}`)).toBe(second);
        const parseUtc = compileTime({ as: 'iso8601', zone: 'UTC' });
        expect(parseUtc(`${year}-${month}-${day} ${clock}`)).toBe(second);
        expect(parseUtc(`${local}${zone}`)).toBe(date.toISOString());
        expect(parseTime(`${year}-${month}-${day} ${clock}`)).toBeNull();
        expect(parseTime(`${year}${month}${day}T${clock.replaceAll(':', '')}Z`)).toBe(second);
      }),
    );
  });

  it('returns texts in the order of the instants', () => {
    // The year 1 is the zero time of Go and .NET: not set.
    const years = { min: new Date('0002-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') };
    const instant = fc.date({ ...years, noInvalidDate: true });
    fc.assert(
      fc.property(instant, instant, (one, other) => {
        const [a, b] = [parseTime(one.toISOString()), parseTime(other.toISOString())];
        if (a === null || b === null) throw new Error('An instant was not parsed.');
        expect([a < b, a === b]).toEqual([one < other, one.getTime() === other.getTime()]);
      }),
    );
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.anything(), (value) => void parseTime(value)));
  });
});
