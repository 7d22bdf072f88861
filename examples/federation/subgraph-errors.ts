import { GraphQLError } from 'graphql';

/** Creates the error for a subgraph that cannot be reached. Names no address. */
export function unreachable(): GraphQLError {
  const extensions = { code: 'DOWNSTREAM_SERVICE_ERROR' };
  return new GraphQLError('A subgraph could not be reached.', { extensions });
}

/**
 * Replaces the errors that `@graphql-tools/executor-http` creates itself. Their extensions contain the request, a login's
 * client secret included, and the servers of The Guild write them to the log.
 */
export function hideRequests<Result extends { readonly errors?: readonly GraphQLError[] }>(
  result: Result,
): Result {
  if (result.errors === undefined) return result;
  const errors = result.errors.map((error) =>
    error.extensions?.['request'] === undefined ? error : unreachable(),
  );
  return { ...result, errors };
}
