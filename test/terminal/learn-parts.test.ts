import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTime, parseTime } from '../../src/gateway/mapping/time.ts';
import { formatContract } from '../../src/terminal/learn/format.ts';
import { detectFormats } from '../../src/terminal/learn/suggest-time.ts';
import { parseResponseHead } from '../../src/terminal/read-responses.ts';
import { cut, isSecret, showValue } from '../../src/terminal/show-value.ts';

const printable = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

describe('a contract in one line', () => {
  it('is printable, and parses as what it was', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (contract) => {
        const line = formatContract(contract);
        expect(line).toMatch(printable);
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(contract)));
      }),
    );
  });
});

describe('saved headers', () => {
  const name = fc.stringMatching(/^[a-z][\w-]{0,20}$/);
  const value = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);

  it('are those of the last response, by lower-case name; a repeated one is a list', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value)), fc.constantFrom('\n', '\r\n'), (pairs, end) => {
        const lines = pairs.map(([key, text]) => `${key.toUpperCase()}: ${text}${end}`);
        const text = `HTTP/1.1 100 Continue${end}old: x${end}${end}HTTP/2 201 ${end}${lines.join('')}${end}`;
        const expected = Object.entries(Object.groupBy(pairs, ([key]) => key.toLowerCase())).map(
          ([key, group = []]) => [
            key,
            group.length > 1 ? group.map(([, one]) => one) : group[0]?.[1],
          ],
        );
        expect(parseResponseHead(text)).toEqual({
          status: 201,
          headers: Object.fromEntries(expected),
        });
      }),
    );
  });

  it('are none without a status line', () => {
    expect(parseResponseHead('content-type: text/plain\n')).toBeNull();
    fc.assert(fc.property(fc.string(), (text) => void parseResponseHead(text)));
  });
});

describe('the format of times', () => {
  it.each([
    ['09/17/2021 03:35 PM', 'MM/dd/yyyy hh:mm a'],
    ['17/09/2021 3:35 pm', 'dd/MM/yyyy h:mm a'],
    ['20231205041122', 'yyyyMMddHHmmss'],
    ['20231205041122123', 'yyyyMMddHHmmssSSS'],
    ['20231205_041122', 'yyyyMMdd_HHmmss'],
    ['5.08.2023 7:11', 'd.MM.yyyy H:mm'],
    ['2023/12/05 14:11:22', 'yyyy/MM/dd HH:mm:ss'],
    ['Tue Dec 05 14:11:22 UTC 2023', "EEE MMM dd HH:mm:ss 'UTC' yyyy"],
    ['5 Nov 2026, 3:05:01 pm', 'd MMM yyyy, h:mm:ss a'],
    ['06/May/2021:12:13:14 +0000', 'dd/MMM/yyyy:HH:mm:ss XX'],
    ['5.12.2023 14:11:22,5', 'd.MM.yyyy HH:mm:ss,S'],
  ])('of %s is %s', (text, pattern) => {
    const [format] = detectFormats([text]);
    expect(format?.as).toEqual({ pattern });
    expect(compileTime({ as: { pattern }, zone: 'UTC' })(text)).not.toBeNull();
  });

  it('has the day or the month first, whichever brings the records closer together', () => {
    const as = (...texts: readonly string[]) => detectFormats(texts).map((format) => format?.as);
    const [us, european] = [{ pattern: 'MM/dd/yyyy HH:mm' }, { pattern: 'dd/MM/yyyy HH:mm' }];
    expect(as('09/07/2021 15:35', '09/03/2021 19:41')).toEqual([us, european]);
    expect(as('07/09/2021 15:35', '03/09/2021 19:41')).toEqual([european, us]);
    expect(as('07/09/2021 15:35', '31/08/2021 19:41')).toEqual([european]);
  });

  it('reads every value, whatever the values are', () => {
    const parts = fc.constantFrom(
      '2023-12-05',
      '05.12.2023',
      '12/05/2023',
      'Dec 5, 2023',
      ' ',
      'T',
      '14:11',
      '2:11 PM',
      '+0200',
      '14:11:22.5',
      'UTC',
      'x',
    );
    const text = fc.oneof(
      fc.array(parts, { maxLength: 4 }).map((all) => all.join('')),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), (values) => {
        for (const format of detectFormats(values)) {
          const parse = format === null ? parseTime : compileTime(format);
          for (const value of values) expect(parse(value)).not.toBeNull();
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a value in the report', () => {
  it.each([
    ['/token', 'x'],
    ['/auth/clientSecret', 'x'],
    ['/password/value', 'x'],
    ['/apiKey', 'x'],
    ['/session_token/0', 'x'],
    ['/note', 'Bearer abcdefghij'],
    ['/what', 'eyJhbGciOiJI.eyJzdWIiOiJ4.x'],
  ])('is not shown if it is a credential: %s', (pointer, value) => {
    expect(isSecret(pointer, value)).toBe(true);
    expect(showValue(pointer, value, 40)).toBe(
      `(${value.length} character${value.length > 1 ? 's' : ''})`,
    );
  });

  it.each([
    ['/token_type', 'Bearer'],
    ['/key', 'k-1'],
    ['/action', 'token.create'],
    ['/token/id', '7'],
  ])('is shown if it is none: %s', (pointer, value) => {
    expect(showValue(pointer, value, 40)).toBe(value);
  });

  it.each([
    ['sk_live_4eC39HqLyjWDarjtT1zdp7dc', '(32 characters)'],
    ['key.delete.sk_live_51HG7qKzD0aBcDeFgHiJ', 'key.delete.(28 characters)'],
    ['ghp_16C7e42F292c6912E7710c838347Ae178B4a used', '(40 characters) used'],
    ['xoxb-263594206564-FGqddMF8t08v8N7Oq4i57vs1', '(42 characters)'],
    ['by AKIAIOSFODNN7EXAMPLE.', 'by (20 characters).'],
    ['sent eyJhbGciOiJIUzI1NiJ9.eyJz', 'sent (25 characters)'],
    ['the start: eyJhbGciOiJI…', 'the start: (12 characters)…'],
    ['5f2c9a7103bd4e8891aa20cd77ff0e11', '(32 characters)'],
    ['/keys/pat_abcdef1234567890abcdef/x', '/keys/(26 characters)/x'],
  ])('is not shown where it has the form of a key: %s', (text, shown) => {
    expect(showValue('/id', text, 60)).toBe(shown);
    expect(cut(text, 60)).toBe(shown);
    expect(showValue('/id', text, 24)).not.toMatch(
      /4eC39H|51HG7q|16C7e4|FGqdd|AKIA|eyJ|5f2c|abcdef/,
    );
  });

  it.each([
    '0af76519-16cd-43dd-8448-eb211c80319c',
    '2026-11-24T06:20:33.156Z',
    '20261124T062033Z',
    '20261124T062033.156+0000',
    'CreateOAuth2AuthorizationCodeGrant',
    'authentication.multi-factor.enrolment_completed',
    'USER_AUTHENTICATION_METHOD_DELETED',
    'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
    'arn:aws:iam::123456789012:role/administrators',
    'ip-10-0-0-12.eu-central-1.compute.internal',
    'internationalization-and-localization',
    '12345678901234567890',
  ])('is shown where it has another form: %s', (text) => {
    expect(showValue('/what', text, 99)).toBe(text);
  });

  it('shows no part of a random key, wherever it is and however it is cut', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const hex = [...'0123456789abcdef'];
    const sets = [
      [...letters, ...'0123456789'],
      [...letters, ...letters.map((letter) => letter.toUpperCase()), ...'0123456789'],
      [...letters.map((letter) => letter.toUpperCase()), ...'234567'],
      hex,
    ];
    const key = fc
      .constantFrom(...sets)
      .chain((set) => fc.array(fc.constantFrom(...set), { minLength: 32, maxLength: 64 }))
      .map((characters) => characters.join(''))
      // What a generator of keys does not create: of few characters, or a name.
      .filter((text) => /(?:\d.*){4}/.test(text) && /[a-z]/i.test(text));
    const before = fc.constantFrom('', 'sk_live_', 'key.delete.', 'note: ', '.'.repeat(30), '/x/');
    fc.assert(
      fc.property(before, key, fc.integer({ min: 1, max: 120 }), (prefix, random, width) => {
        const shown = showValue('/id', `${prefix}${random} and more`, width);
        for (let start = 0; start + 8 <= random.length; start += 1)
          expect(shown).not.toContain(random.slice(start, start + 8));
      }),
      { numRuns: 1000 },
    );
  });

  it('is printable, and as short as it must be', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 50 }), (text, width) => {
        expect(cut(text, width)).toMatch(printable);
        expect(cut(text, width).length).toBeLessThanOrEqual(width);
      }),
    );
  });
});
