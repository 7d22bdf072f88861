import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compileTime,
  cutToMillis,
  formatInstant,
  INSTANT_FORMATS,
  type Instant,
  parseIso,
  parseTime,
  parseZeroTime,
  roundInstant,
  type TimeFormat,
  ZERO_TIME,
} from '../../../src/gateway/mapping/time.ts';

/** An instant of this century, as seconds of the epoch and 0 to 9 digits after them. A double rounds its last second up. */
const MOMENT = fc.record({
  seconds: fc.integer({ min: Date.UTC(2000) / 1000, max: Date.UTC(2100) / 1000 - 2 }),
  digits: fc.oneof(fc.stringMatching(/^\d{0,9}$/), fc.constantFrom('', '000', '999', '999999999')),
});

type Moment = { readonly seconds: number; readonly digits: string };

const nanosOf = ({ seconds, digits }: Moment) =>
  BigInt(seconds) * 10n ** 9n + BigInt(digits.padEnd(9, '0'));

const isoOf = ({ seconds, digits }: Moment, offsetHours = 0) => {
  const local = new Date(1000 * (seconds + 3600 * offsetHours)).toISOString().slice(0, 19);
  return digits === '' ? local : `${local}.${digits}`;
};

/** The instant in each way in which a service may write all of its digits. */
function formsOf(moment: Moment, hours: number): readonly (readonly [unknown, Instant | null])[] {
  const { seconds, digits } = moment;
  const zone = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
  const [iso, local] = [isoOf(moment), isoOf(moment, hours)];
  const texts = [
    `${iso}Z`,
    `${local}${zone}`,
    `${iso.replace('T', ' ').replace('.', ',')} UTC`,
    `${local.replace('T', ' ')} ${zone.replace(':', '')} XYZ m=+1.5`,
    digits === '' ? String(seconds) : `${seconds}.${digits}`,
  ];
  const epochs = ([3, 6, 9] as const).map((unit) => {
    const rest = digits.slice(unit);
    const whole = `${seconds}${digits.slice(0, unit).padEnd(unit, '0')}`;
    return rest === '' ? whole : `${whole}.${rest}`;
  });
  const readLocal = compileTime({ as: 'iso8601', zone });
  const pattern = `yyyy-MM-dd'T'HH:mm:ss${digits === '' ? '' : `.${'S'.repeat(digits.length)}`}`;
  return [
    ...[...texts, ...epochs].map((text) => [text, parseTime(text)] as const),
    [local, readLocal(local)],
    [local, compileTime({ as: { pattern }, zone })(local)],
  ];
}

const HOURS = fc.integer({ min: -13, max: 13 });

describe('an instant', () => {
  it('keeps all digits of every format that has them', () => {
    fc.assert(
      fc.property(MOMENT, HOURS, (moment, hours) => {
        const millis = new Date(1000 * moment.seconds).toISOString().slice(0, 20);
        const all = moment.digits.replace(/0+$/, '').padEnd(3, '0');
        for (const [form, instant] of formsOf(moment, hours)) {
          if (instant === null) throw new Error(`${form} was not parsed.`);
          expect([form, formatInstant(instant)]).toEqual([form, `${millis}${all}Z`]);
          expect(cutToMillis(instant)).toBe(`${millis}${all.slice(0, 3)}Z`);
          expect(parseIso(formatInstant(instant))).toBe(instant);
        }
      }),
    );
  });

  it('sorts as a text beside those of other digits and formats', () => {
    const close = fc
      .tuple(MOMENT, MOMENT, fc.boolean())
      .map(([one, other, isSame]) => [one, isSame ? { ...other, seconds: one.seconds } : other]);
    fc.assert(
      fc.property(close, HOURS, ([one, other], hours) => {
        if (one === undefined || other === undefined) throw new Error('There are two.');
        const [a, b] = [nanosOf(one), nanosOf(other)];
        const others = formsOf(other, -hours);
        for (const [, first] of formsOf(one, hours))
          for (const [, second] of others) {
            if (first === null || second === null) throw new Error('An instant was not parsed.');
            expect([first < second, first === second]).toEqual([a < b, a === b]);
          }
      }),
    );
  });

  it('is a number with the digits of a double: those of a microsecond', () => {
    fc.assert(
      fc.property(MOMENT, ({ seconds, digits }) => {
        const moment = { seconds, digits: digits.slice(0, 6) };
        const expected = parseTime(`${isoOf(moment)}Z`);
        const [whole, rest] = [moment.digits.padEnd(6, '0').slice(0, 3), moment.digits.slice(3)];
        expect(parseTime(Number(`${seconds}.${moment.digits}`))).toBe(expected);
        expect(parseTime(Number(`${seconds}${whole}.${rest}`))).toBe(expected);
        expect(parseTime(Number(`${seconds}${moment.digits.padEnd(6, '0')}`))).toBe(expected);
      }),
    );
  });

  it('with any number of digits is parsed in linear time', () => {
    const digits = `${'0'.repeat(300_000)}1`;
    for (const text of [`2026-11-21T09:30:00.${digits}Z`, `1700000000.${digits}`])
      expect(parseTime(text)).toMatch(/Z0+1$/);
    expect(parseTime(`1700000000.1${'0'.repeat(300_000)}`)).toBe('2023-11-14T22:13:20.100Z');
  });
});

/** Nanoseconds of the unit of each format. */
const UNITS = new Map<TimeFormat | undefined, bigint>([
  [undefined, 10n ** 6n],
  ...INSTANT_FORMATS.map((format): [TimeFormat, bigint] => [format, 10n ** 6n]),
  ['rfc2822', 10n ** 9n],
  ['epoch-seconds', 10n ** 9n],
  ['epoch-microseconds', 10n ** 3n],
  ['epoch-nanoseconds', 1n],
  [{ pattern: 'yyyyMMddHHmmss' }, 10n ** 9n],
  [{ pattern: 'dd.MM.yyyy H:mm' }, 60n * 10n ** 9n],
  [{ pattern: 'yyyy-MM-dd HH:mm:ss.S' }, 10n ** 8n],
  [{ pattern: 'yyyy-MM-dd HH:mm:ss.SSSSSS' }, 10n ** 3n],
  [{ pattern: 'yyyy-MM-dd HH:mm:ss.SSSSSSSXXX' }, 100n],
]);

describe('an instant that is rounded', () => {
  it.each([...UNITS])('for %j is the next of its units, or itself', (format, unit) => {
    fc.assert(
      fc.property(MOMENT, (moment) => {
        const instant = parseTime(`${isoOf(moment)}Z`);
        if (instant === null) throw new Error('It was not parsed.');
        const [down, up] = (['down', 'up'] as const).map((direction) => {
          const rounded = roundInstant(instant, direction, format);
          if (rounded === null) throw new Error('It was not rounded.');
          const [, digits = ''] = formatInstant(rounded).match(/\.(\d+)Z$/) ?? [];
          const seconds = Date.parse(cutToMillis(rounded).replace(/\.\d+/, '')) / 1000;
          return nanosOf({ seconds, digits });
        });
        const exact = nanosOf(moment);
        expect(down).toBe(exact - (exact % unit));
        expect(up).toBe(exact % unit === 0n ? exact : exact - (exact % unit) + unit);
      }),
    );
  });

  it('for a date alone is that day, or the second one after it began', () => {
    const round = (text: string, direction: 'down' | 'up') =>
      roundInstant(parseIso(text) ?? ('' as Instant), direction, { pattern: 'yyyy-MM-dd' });
    expect(round('2026-11-21T09:30:00Z', 'down')).toBe('2026-11-21T00:00:00.000Z');
    expect(round('2026-11-21T09:30:00Z', 'up')).toBe('2026-11-23T00:00:00.000Z');
    expect(round('2026-11-21T00:00:00Z', 'down')).toBe('2026-11-21T00:00:00.000Z');
    expect(round('2026-11-21T00:00:00Z', 'up')).toBe('2026-11-22T00:00:00.000Z');
  });

  it('is null after the year 9999', () => {
    const last = parseIso('9999-12-31T23:59:59.9999999Z') ?? ('' as Instant);
    expect(roundInstant(last, 'up')).toBeNull();
    expect(roundInstant(last, 'down')).toBe('9999-12-31T23:59:59.999Z');
    expect(roundInstant(last, 'up', 'epoch-nanoseconds')).toBe(last);
  });
});

describe('the zero time', () => {
  it('is any valid time of the year 1, and nothing else; it is before all others', () => {
    const moment = fc.record({
      seconds: fc.integer({ min: Date.UTC(2001) / 1000, max: Date.UTC(2002) / 1000 - 1 }),
      digits: fc.stringMatching(/^\d{0,9}$/),
    });
    fc.assert(
      fc.property(moment, fc.constantFrom('Z', '+14:00', '-12:00', ' UTC'), (each, zone) => {
        const text = `${isoOf(each)}${zone}`;
        expect(parseZeroTime(text.replace('2001', '0001'))).toBe(ZERO_TIME);
        expect(parseZeroTime(text)).toBeNull();
        expect(ZERO_TIME < (parseIso(text) ?? '')).toBe(true);
      }),
    );
    const other = fc.string({ unit: fc.constantFrom(...'0001-:TZ+ .') });
    fc.assert(
      fc.property(fc.oneof(fc.string(), other), (text) => {
        const isValid = parseIso(text.replace(/^0001/, '2001')) !== null;
        expect(parseZeroTime(text)).toBe(/^0001/.test(text) && isValid ? ZERO_TIME : null);
      }),
    );
  });
});
