import { expect, it } from 'vitest';
import { type FailureStatus, failureOf } from '../../../src/gateway/upstream/status.ts';

const CODES: Readonly<Record<number, FailureStatus['code']>> = {
  400: 'BAD_USER_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  410: 'NOT_FOUND',
  422: 'BAD_USER_INPUT',
  429: 'RATE_LIMITED',
  498: 'UNAUTHENTICATED',
  504: 'UPSTREAM_TIMEOUT',
};
const RETRYABLE: Readonly<Record<number, FailureStatus['retryable']>> = {
  408: 'reads',
  425: 'reads',
  429: 'all',
  502: 'reads',
  503: 'reads',
  504: 'reads',
};
const REPEATED = [502, 503, 504];

const statuses = Array.from({ length: 400 }, (_, index) => 200 + index);

it.each(statuses.filter((status) => status < 300))('status %i is no failure', (status) => {
  expect(failureOf(status)).toBeNull();
});

it.each(statuses.filter((status) => status >= 300))(
  'status %i is a failure with its code, and is retryable, repeated and counted as in the tables above',
  (status) => {
    const isRedirect = status < 400;
    expect(failureOf(status)).toEqual({
      code: isRedirect ? 'UPSTREAM_BAD_RESPONSE' : (CODES[status] ?? 'UPSTREAM_ERROR'),
      ...(isRedirect && { reason: 'REDIRECT' }),
      retryable: RETRYABLE[status] ?? 'none',
      repeat: REPEATED.includes(status),
      countsAgainstService: REPEATED.includes(status),
    });
  },
);
