import { expect } from 'vitest';
import type { ServiceResponse } from './service.ts';

/** One value per place that may contain a secret or text of the service. None may be logged, traced, counted or returned. */
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

/** Expects that a text contains no canary, not even a part of one. */
export function expectNoCanary(text: string): void {
  expect([...text.matchAll(/.{0,40}canary.{0,40}/gi)].map(([match]) => match)).toEqual([]);
}

/** Adds canaries to the status text, a header and the body of a response. */
export function withCanaries({ headers, ...response }: ServiceResponse = {}): ServiceResponse {
  return {
    statusText: CANARY.upstreamStatus,
    body: { note: CANARY.upstreamBody },
    ...response,
    headers: { 'x-note': CANARY.upstreamHeader, ...headers },
  };
}
