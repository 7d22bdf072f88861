import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { findInvalidPointer } from '../../schema/pointer-arguments.ts';

/**
 * Rejects an operation with an invalid `pointer` before it is executed. The resolvers of `raw` would report it once per
 * record and alias, and a deletion would already have been sent.
 */
export function usePointerCheck(): Plugin {
  return {
    onExecute({ args: { document, variableValues }, setResultAndStopExecution }) {
      const message = findInvalidPointer(document, variableValues ?? {});
      if (message === null) return;
      const extensions = { code: 'BAD_USER_INPUT', http: { spec: true, status: 400 } };
      setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] });
    },
  };
}
