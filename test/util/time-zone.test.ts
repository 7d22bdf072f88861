import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTime } from '../../src/gateway/mapping/time.ts';
import { compileTimeZone, isTimeZone } from '../../src/util/time-zone.ts';

const read = (value: string, zone: string) => compileTime({ as: 'iso8601', zone })(value);

describe('a time without a zone, in a zone,', () => {
  it.each([
    ['2026-06-01 12:00:00', 'Europe/Berlin', '2026-06-01T10:00:00.000Z'],
    ['2026-12-01T12:00:00.5', 'Europe/Berlin', '2026-12-01T11:00:00.500Z'],
    ['20261201T120000', 'Asia/Kolkata', '2026-12-01T06:30:00.000Z'],
    ['2026-06-01 12:00:00', '+09:00', '2026-06-01T03:00:00.000Z'],
    ['2026-06-01 12:00:00', '-0330', '2026-06-01T15:30:00.000Z'],
    ['2026-06-01 12:00:00', 'UTC', '2026-06-01T12:00:00.000Z'],
    ['2026-03-29 01:59:59', 'Europe/Berlin', '2026-03-29T00:59:59.000Z'],
    ['2026-03-29 03:00:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25 01:59:59', 'Europe/Berlin', '2026-10-24T23:59:59.000Z'],
    ['2026-10-25 03:00:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
    ['1890-01-01 00:00:00', 'Europe/Berlin', '1889-12-31T23:06:32.000Z'], // local mean time
  ])('%s, %s, is %s', (value, zone, instant) => {
    expect(read(value, zone)).toBe(instant);
  });

  it.each([
    ['2026-03-29 02:30:00', 'Europe/Berlin', 'skipped'],
    ['2026-10-25 02:30:00', 'Europe/Berlin', 'shown twice'],
    ['2026-03-08 02:00:00', 'America/New_York', 'skipped'],
    ['2026-04-05 01:45:00', 'Australia/Lord_Howe', 'shown twice'],
    ['2011-12-30 12:00:00', 'Pacific/Apia', 'skipped'],
    ['2026-11-20', 'UTC', 'no time'],
    ['2026-02-30 12:00:00', 'UTC', 'no date'],
  ])('%s, %s, is null: %s', (value, zone) => {
    expect(read(value, zone)).toBeNull();
  });

  it.each(['2026-06-01T12:00:00Z', '2026-06-01T14:00:00+02:00', 1_780_315_200])(
    'is ignored if the value has its own: %s',
    (value) => {
      expect(compileTime({ as: 'iso8601', zone: 'Asia/Tokyo' })(value)).toBe(
        '2026-06-01T12:00:00.000Z',
      );
    },
  );

  it('is the instant whose clock shows it, or null if there are two', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC', '+09:00');
    const instant = fc.date({
      min: new Date('1970-01-01T00:00:00Z'),
      max: new Date('2099-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(zones, instant, (zone, date) => {
        const formatter = new Intl.DateTimeFormat('sv-SE', {
          ...({ timeZone: zone, dateStyle: 'short', timeStyle: 'medium' } as const),
        });
        const clock = formatter.format(date);
        const second = Math.floor(date.getTime() / 1000) * 1000;
        const found = compileTimeZone(zone)(Date.parse(`${clock.replace(' ', 'T')}Z`));
        if (found !== null) expect([found, formatter.format(found)]).toEqual([second, clock]);
        else {
          // Clocks are changed by 20 minutes to 3 hours, or a day.
          const others = Array.from(
            { length: 300 },
            (_, index) => second + (index - 150) * 600_000,
          );
          expect(others.filter((one) => formatter.format(one) === clock).length).toBe(2);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('a zone', () => {
  it.each(['UTC', 'utc', 'Europe/Berlin', 'Etc/GMT+10', '+09:00', '-0330'])('%s exists', (zone) => {
    expect(isTimeZone(zone)).toBe(true);
  });

  it.each(['', 'Z', 'Mars/Olympus', '+25:00', 'CET+1', 'Europe/Berlin '])(
    '%j does not exist',
    (zone) => {
      expect(isTimeZone(zone)).toBe(false);
    },
  );
});
