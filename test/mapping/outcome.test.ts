import { describe, expect, it } from 'vitest';
import { parseOutcome } from '../../src/mapping/outcome.ts';

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
