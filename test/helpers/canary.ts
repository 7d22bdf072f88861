import { expect } from 'vitest';
import type { ServiceResponse } from './service.ts';

/** One for each place where a secret, or a text of the service, may stand. None may be logged or come back. */
export const CANARY = {
  clientId: 'canary-client-id',
  clientSecret: 'canary-client-secret',
  refreshToken: 'canary-refresh-token',
  accessToken: 'canary-access-token',
  variable: 'canary-variable',
  literal: 'canary_literal',
  upstreamBody: 'canary-upstream-body',
  upstreamHeader: 'canary-upstream-header',
  upstreamStatus: 'canary-upstream-status',
} as const;

/** Says which canaries stand in a text, whole or in part, and that there should be none. */
export function expectNoCanary(text: string): void {
  expect([...text.matchAll(/.{0,40}canary.{0,40}/gi)].map(([match]) => match)).toEqual([]);
}

/** What a service may send that must not be repeated, around what a case wants of it. */
export function planted({ headers, ...answer }: ServiceResponse = {}): ServiceResponse {
  return {
    statusText: CANARY.upstreamStatus,
    body: { note: CANARY.upstreamBody },
    ...answer,
    headers: { 'x-note': CANARY.upstreamHeader, ...headers },
  };
}
