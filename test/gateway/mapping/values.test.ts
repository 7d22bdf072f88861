import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseHttpStatus, parseOutcome, toFlag } from '../../../src/gateway/mapping/values.ts';

const SUCCESS = [
  'success',
  'Successful (HTTP: 200)',
  'SUCCEEDED',
  'ok',
  'completed',
  'allowed',
  true,
];
const FAILURE = [
  ...['failed', 'FailedLogin', 'loginFailed', 'unknown_error', 'Unsuccessful', 'denied by policy'],
  ...['PERMISSION_DENIED', 'not_found', 'notAuthorized', 'partial_failure', false],
];
const NEITHER = [
  ...['notified', 'notice', 'not_applicable', 'notApplied', 'NOERROR', 'no_error', 'failover'],
  ...['completed_with_errors', 'acceptance_test', 'allowlist', 'pending', '', 0, 1, null],
];

describe('parseOutcome', () => {
  it.each(SUCCESS)('parses %j as SUCCESS', (value) => {
    expect(parseOutcome(value)).toBe('SUCCESS');
  });

  it.each(FAILURE)('parses %j as FAILURE', (value) => {
    expect(parseOutcome(value)).toBe('FAILURE');
  });

  it.each(NEITHER)('returns null for %j, which is neither or both', (value) => {
    expect(parseOutcome(value)).toBeNull();
  });
});

describe('parseHttpStatus', () => {
  it('parses 2xx and 3xx as SUCCESS, 4xx and 5xx as FAILURE, as a number or as text', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), (status) => {
        const expected = status < 400 ? 'SUCCESS' : 'FAILURE';
        expect([parseHttpStatus(status), parseHttpStatus(`${status}`)]).toEqual([
          expected,
          expected,
        ]);
      }),
    );
  });

  it('returns null for anything else', () => {
    const otherNumber = fc.double().filter((value) => !/^[2-5]\d\d$/.test(String(value)));
    const otherText = fc.string().map((text) => `${text}.`);
    fc.assert(
      fc.property(fc.oneof(otherNumber, otherText, fc.boolean(), fc.object()), (value) => {
        expect(parseHttpStatus(value)).toBeNull();
      }),
    );
    for (const value of [100, 600, 2000, '1404', '404 ', ['404'], null])
      expect(parseHttpStatus(value)).toBeNull();
  });
});

describe('toFlag', () => {
  it('reads a word in any case, and no other value', () => {
    const words = fc.constantFrom(
      'true',
      'yes',
      'y',
      't',
      'on',
      '1',
      'false',
      'no',
      'n',
      'f',
      'off',
      '0',
    );
    fc.assert(
      fc.property(words, fc.boolean(), (word, isUpper) => {
        const written = isUpper ? word.toUpperCase() : word;
        expect(toFlag(written)).toBe(/^(?:true|yes|y|t|on|1)$/.test(word));
        expect(toFlag(`${written}x`)).toBeNull();
      }),
    );
    for (const value of [null, undefined, {}, [], [true], '', 2, -1, 0.5])
      expect(toFlag(value)).toBeNull();
  });
});
