import { GatewayError } from '../errors.ts';
import type { Verdict } from './circuit-breaker.ts';
import { NoResponseError, type RawResponse } from './http-request.ts';
import { failureOf } from './status.ts';
import type { Attempt } from './types.ts';

/** What one attempt returned or threw. */
export type AttemptResult = { readonly response: RawResponse } | { readonly error: unknown };

/** The result of an attempt as it is reported. */
export function outcomeOf(
  result: AttemptResult,
): Pick<Attempt, 'outcome' | 'status' | 'code' | 'bytes' | 'isSent'> {
  if ('response' in result) {
    const { status, body } = result.response;
    return { outcome: classOf(status), status, bytes: body.length, isSent: true };
  }
  const { error } = result;
  const hasLeft = error instanceof NoResponseError && error.reason === 'client-disconnected';
  const code = error instanceof GatewayError ? error.extensions.code : 'INTERNAL_SERVER_ERROR';
  const isSent = error instanceof NoResponseError ? error.isSent : true;
  return { outcome: hasLeft ? 'left' : 'none', code, bytes: 0, isSent };
}

function classOf(status: number): Attempt['outcome'] {
  if (status >= 500) return '5xx';
  if (status >= 400) return '4xx';
  return status >= 300 ? '3xx' : '2xx';
}

/** What an attempt says about the service. A response that is refused for its size or encoding is a success: the service works. */
export function verdictOf(result: AttemptResult): Verdict {
  if ('response' in result)
    return failureOf(result.response.status)?.countsAgainstService ? 'failure' : 'success';
  const { error } = result;
  if (error instanceof NoResponseError)
    return error.reason === 'client-disconnected' ? 'ignored' : 'failure';
  if (!(error instanceof GatewayError)) return 'ignored'; // our bug
  const { reason } = error.extensions;
  return reason === 'NOT_HTTP' || reason === 'TRUNCATED' ? 'failure' : 'success';
}
