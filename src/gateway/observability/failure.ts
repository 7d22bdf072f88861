import type { CompletedRequest } from './observer.ts';

/** Codes of failures of the service or the gateway. The others are mistakes of the caller. */
const FAILURE = /^(?:UPSTREAM_.*|OVERLOADED|OUTCOME_UNKNOWN|INTERNAL_SERVER_ERROR)$/;

/** The first code of a request that is a failure of the service or the gateway; undefined if there is none. */
export function failureOf({
  codes,
  operation,
  aborted,
}: Pick<CompletedRequest, 'codes' | 'operation' | 'aborted'>): string | undefined {
  // The gateway cancels a query when its client disconnects: the service did not fail. A mutation runs to completion.
  if (aborted && operation === 'query') return undefined;
  return codes?.split(',').find((code) => FAILURE.test(code));
}
