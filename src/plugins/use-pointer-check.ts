import { type ExecutionArgs, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { findInvalidPointer } from '../schema/pointer-arguments.ts';

/**
 * Rejects an operation with an invalid `pointer` before it is executed. The resolvers of `raw` would report it once per
 * record and alias, and a deletion would already have been sent.
 */
export function usePointerCheck(): Plugin {
  return {
    onExecute: ({ args, setResultAndStopExecution }) => {
      const errors = checkPointers(args);
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const errors = checkPointers(args);
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
  };
}

function checkPointers({ document, variableValues }: ExecutionArgs): readonly GraphQLError[] {
  const message = findInvalidPointer(document, variableValues ?? {});
  if (message === null) return [];
  const extensions = { code: 'BAD_USER_INPUT', http: { spec: true, status: 400 } };
  return [new GraphQLError(message, { extensions })];
}
