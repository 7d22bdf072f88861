import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTime } from '../../src/gateway/mapping/time.ts';
import { compileTimePattern } from '../../src/util/time-pattern.ts';

const read = (pattern: string, value: unknown, zone = 'UTC') =>
  compileTime({ as: { pattern }, zone })(value);

describe('a pattern', () => {
  it.each([
    ['yyyyMMddHHmmss', '20261120160500', '2026-11-20T16:05:00.000Z'],
    ['yyyyMMddHHmmss', 20261120160500, '2026-11-20T16:05:00.000Z'],
    ['yyyyMMddHHmmssSSS', '20261120160500123', '2026-11-20T16:05:00.123Z'],
    ['M/d/yyyy h:mm:ss a', '11/7/2026 4:05:00 PM', '2026-11-07T16:05:00.000Z'],
    ['MM/dd/yy hh:mm a', '11/07/26 12:05 am', '2026-11-07T00:05:00.000Z'],
    ['MM/dd/yy hh:mm a', '11/07/26 12:05 PM', '2026-11-07T12:05:00.000Z'],
    ['d.M.y H:m', '7.11.2026 9:5', '2026-11-07T09:05:00.000Z'],
    ['dd-MMM-yy HH.mm.ss', '20-NOV-26 16.05.00', '2026-11-20T16:05:00.000Z'],
    ['EEE MMM dd HH:mm:ss yyyy', 'Fri Nov 20 16:05:00 2026', '2026-11-20T16:05:00.000Z'],
    [
      "EEEE, d MMMM yyyy 'at' HH:mm",
      'Friday, 20 November 2026 at 16:05',
      '2026-11-20T16:05:00.000Z',
    ],
    ["HH 'o''clock' ''mm'' dd MM yyyy", "16 o'clock '05' 20 11 2026", '2026-11-20T16:05:00.000Z'],
    ['yyyy-MM-dd HH:mm:ss.SSSSSS', '2026-11-20 16:05:00.123456', '2026-11-20T16:05:00.123Z456'],
    ['dd/MMM/yyyy:HH:mm:ss Z', '20/Nov/2026:16:05:00 +0100', '2026-11-20T15:05:00.000Z'],
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2026-11-20T16:05:00-03:30', '2026-11-20T19:35:00.000Z'],
    ['yyyyMMdd HHmmssX', '20261120 160500Z', '2026-11-20T16:05:00.000Z'],
    ['yyyyMMdd HHmmssX', '20261120 160500+01', '2026-11-20T15:05:00.000Z'],
    ['[yyyy.MM.dd] (HH|mm)', '[2026.11.20] (16|05)', '2026-11-20T16:05:00.000Z'],
  ])('%s reads %j as %s', (pattern, value, instant) => {
    expect(read(pattern, value)).toBe(instant);
  });

  it.each([
    ['yyyyMMddHHmmss', '2026112016050'],
    ['yyyyMMddHHmmss', '202611201605001'],
    ['yyyyMMddHHmmss', '20261320160500'],
    ['yyyyMMddHHmmss', '20260230160500'],
    ['yyyyMMddHHmmss', '20261120240000'],
    ['M/d/yyyy h:mm a', '11/07/2026 4:05 PM'], // a leading zero
    ['M/d/yyyy h:mm a', '11/7/2026 0:05 PM'],
    ['M/d/yyyy h:mm a', '11/7/2026 16:05 PM'],
    ['MM/dd/yyyy HH:mm', '9/7/2026 16:05'],
    ['MM/dd/yyyy HH:mm', ' 09/07/2026 16:05'],
    ['MM/dd/yyyy HH:mm', '09/07/2026  16:05'],
    ['MM.dd.yyyy HH:mm', '09/07/2026 16:05'],
    ['EEE dd MMM yyyy HH:mm', 'Thu 20 Nov 2026 16:05'], // it is a Friday
    ["yyyy-MM-dd'T'HH:mm", '2026-11-20t16:05'],
    ['yyyy-MM-dd HH:mm XXX', '2026-11-20 16:05 +25:00'],
    ['yyyy-MM-dd HH:mm', ''],
    ['yyyy-MM-dd HH:mm', null],
    ['yyyy-MM-dd HH:mm', ['2026-11-20 16:05']],
    ['yyyy-MM-dd HH:mm', true],
  ])('%s does not read %j', (pattern, value) => {
    expect(read(pattern, value)).toBeNull();
  });

  it.each([
    '',
    'HH:mm',
    'yyyy-MM',
    'yyyy-MM-dd ss',
    'yyyy-MM-dd a',
    'yyyy-MM-dd HH',
    'yyyy-MM-dd hh:mm', // morning or afternoon
    'yyyy-MM-dd HH:mm a',
    'yyyy-MM-ddTHH:mm', // T is no field
    'yyyy-MM-dd HH:mm z',
    'YYYY-MM-DD HH:mm',
    'yyyy-MM-dd HH:mm mm',
    'yyyy-MM-dd HH:mm H',
    'yyyyy-MM-dd HH:mm',
    'yyyy-MMMMM-dd HH:mm',
    'yyyy-MM-dd HH:mm:ss.SSSSSSSSSS',
    "yyyy-MM-dd 'HH:mm",
    'Mdyyyy HH:mm', // 1112026
  ])('%s is invalid', (pattern) => {
    expect(compileTimePattern(pattern)).toBeNull();
  });

  it('reads what it formats, and nothing else of one character more, less or other', () => {
    const instant = fc.date({
      min: new Date('2000-01-01T00:00:00Z'),
      max: new Date('2099-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instant, fc.constantFrom(...Object.keys(FORMATS)), (date, pattern) => {
        const text = FORMATS[pattern]?.(date.toISOString()) ?? '';
        expect(read(pattern, text)).toBe(`${date.toISOString().slice(0, 19)}.000Z`);
        for (const other of [` ${text}`, `${text} `, `${text}0`, text.slice(1), text.slice(0, -1)])
          expect(read(pattern, other)).not.toBe(read(pattern, text));
      }),
    );
  });

  it('is compiled or refused, and reads any text without throwing', () => {
    const letters = fc.stringMatching(/^[yMdHhmsSaEXZzT'\-: ]*$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), letters), fc.string(), (pattern, text) => {
        compileTimePattern(pattern)?.toIso(text);
      }),
      { numRuns: 2000 },
    );
  });
});

/** Formats an instant without its fraction. */
const FORMATS: Readonly<Record<string, (iso: string) => string>> = {
  yyyyMMddHHmmss: (iso) => iso.slice(0, 19).replace(/\D/g, ''),
  'dd.MM.yyyy HH:mm:ss': (iso) =>
    `${iso.slice(8, 10)}.${iso.slice(5, 7)}.${iso.slice(0, 4)} ${iso.slice(11, 19)}`,
  'M/d/yyyy, h:mm:ss a': (iso) =>
    new Date(iso).toLocaleString('en-US', { timeZone: 'UTC' }).replace('\u202f', ' '),
  "EEE, dd MMM yyyy HH:mm:ss 'GMT'": (iso) => new Date(iso).toUTCString(),
};
