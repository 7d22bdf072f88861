import { GraphQLError } from 'graphql';
import { isAsyncIterable, mapAsyncIterator } from 'graphql-yoga';

/** What a subgraph returned for an operation, or for one event of a subscription. */
type Result = {
  // biome-ignore lint/suspicious/noExplicitAny: as in the ExecutionResult of GraphQL Tools
  readonly data?: any;
  readonly errors?: readonly GraphQLError[];
};

/** Creates the error for a subgraph that cannot be reached. Names no address. */
export function unreachable(): GraphQLError {
  const extensions = { code: 'DOWNSTREAM_SERVICE_ERROR' };
  return new GraphQLError('A subgraph could not be reached.', { extensions });
}

/**
 * Replaces the errors that `@graphql-tools/executor-http` creates itself. Their extensions contain the request, a login's
 * client secret included, and the servers of The Guild write them to the log. One of them ends a stream whose connection
 * is lost.
 */
export function hideRequests(
  result: Result | AsyncIterable<Result>,
): Result | AsyncIterable<Result> {
  return isAsyncIterable(result)
    ? // After a result without data, Hive Router's query planner would repeat the last event.
      mapAsyncIterator(result, (each) => ({ data: {}, ...hideInResult(each) }))
    : hideInResult(result);
}

function hideInResult(result: Result): Result {
  if (result.errors === undefined) return result;
  const errors = result.errors.map((error) =>
    error.extensions?.['request'] === undefined && error.originalError === undefined
      ? toGraphQLError(error)
      : unreachable(),
  );
  return { ...result, errors };
}

/** In a stream they are plain objects, which Hive Router's query planner would mask as unexpected errors. */
function toGraphQLError(error: Pick<GraphQLError, 'message' | 'path' | 'extensions'>) {
  return error instanceof GraphQLError ? error : new GraphQLError(error.message, error);
}
