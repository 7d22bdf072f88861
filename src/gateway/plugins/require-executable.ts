import type { ExecutionResult, GraphQLError } from 'graphql';
import type { YogaServerInstance } from 'graphql-yoga';

/**
 * Executes a query as requests do, with all plugins, but without a report. Each of `graphql`, Yoga and Pothos can be
 * installed so that it refuses the objects of the others: nothing else fails before the first request.
 * @throws the error with which every request would fail.
 */
export function requireExecutable<Context extends object>({
  getEnveloped,
}: Pick<YogaServerInstance<Context, object>, 'getEnveloped'>): void {
  const { schema, parse, validate, execute } = getEnveloped();
  const document = parse('{ __typename }');
  const invalid: readonly GraphQLError[] = validate(schema, document);
  const { data, errors = invalid }: ExecutionResult =
    invalid.length > 0 ? {} : execute({ schema, document, contextValue: {} });
  if (data?.['__typename'] !== 'Query') throw errors[0] ?? new Error('it has no result');
}
