import { GatewayError } from '../errors.ts';
import type { Verdict } from './circuit-breaker.ts';
import { NoResponseError, type RawResponse } from './http-request.ts';
import type { CallOutcome, CallTrace } from './types.ts';

/** How one try of a request ended. */
export type Outcome = { readonly response: RawResponse } | { readonly error: unknown };

/** It was not sent, as the breaker opened while it waited for a connection. */
export function isSpared(outcome: Outcome): boolean {
  return (
    'error' in outcome &&
    outcome.error instanceof NoResponseError &&
    outcome.error.why === 'breaker'
  );
}

/** What it says of the service: 4xx are the caller's, and so is leaving; what we would not take says that the service answers. */
export function judge(outcome: Outcome): Verdict {
  if ('response' in outcome) return outcome.response.status >= 500 ? 'down' : 'up';
  const { error } = outcome;
  if (error instanceof NoResponseError) return error.why === 'caller' ? null : 'down';
  if (!(error instanceof GatewayError)) return null; // a bug of ours
  return BROKEN.has(error.extensions.reason) ? 'down' : 'up';
}

const BROKEN: ReadonlySet<string | undefined> = new Set(['NOT_HTTP', 'TRUNCATED']);

/** As it is counted. */
export function classOf(outcome: Outcome): CallOutcome {
  if ('error' in outcome) {
    const { error } = outcome;
    return error instanceof NoResponseError && error.why === 'caller' ? 'left' : 'none';
  }
  const { status } = outcome.response;
  if (status >= 500) return '5xx';
  if (status >= 400) return '4xx';
  return status >= 300 ? '3xx' : '2xx';
}

/** As its span tells it. */
export function resultOf(outcome: Outcome): Parameters<CallTrace['end']>[0] {
  if ('response' in outcome) return { status: outcome.response.status };
  const { error } = outcome;
  return {
    failure: error instanceof GatewayError ? error.extensions.code : 'INTERNAL_SERVER_ERROR',
  };
}
