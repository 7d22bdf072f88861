import { type ExecutionResult, GraphQLError } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';

/** Limits of {@link limitResult}. */
export type ResultLimits = {
  /** Largest result, in characters of JSON without escapes: about its bytes. */
  readonly graphqlMaxBytes: number;
};

/** Replaces results that are too large, see {@link limitResult}. */
export function useResultLimit(limits: ResultLimits): Plugin {
  return {
    onSubscribe: () => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) => setResult(limitResult(result, limits)),
      }),
    }),
    onResultProcess({ result, setResult }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      setResult(limitResult(result, limits));
    },
  };
}

/**
 * Returns the result, or OPERATION_TOO_COMPLEX instead of all of it if it is too large. Nothing of a result that is too
 * large is serialized: aliases can repeat a response of the service so often that its JSON would not fit in memory.
 */
export function limitResult(
  result: ExecutionResult,
  { graphqlMaxBytes }: ResultLimits,
): ExecutionResult {
  if (sizeUpTo(graphqlMaxBytes, result.data) <= graphqlMaxBytes) return result;
  const message =
    'The response would be larger than GRAPHQL_MAX_BYTES: select less, or request smaller pages.';
  const originalError = new GatewayError('OPERATION_TOO_COMPLEX', { message });
  const error = new GraphQLError(message, { originalError, extensions: { http: {} } });
  return { data: null, errors: [error] };
}

/** The length of a value as JSON, without escapes. Stops above `limit`. */
function sizeUpTo(limit: number, value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += 1 + sizeUpTo(limit - size, item);
      if (size > limit) break;
    }
    return size;
  }
  for (const key in value) {
    size += key.length + 4 + sizeUpTo(limit - size, (value as Record<string, unknown>)[key]);
    if (size > limit) break;
  }
  return size;
}
