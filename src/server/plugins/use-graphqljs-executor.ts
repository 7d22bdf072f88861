import {
  type ASTNode,
  type ASTVisitor,
  execute,
  GraphQLError,
  subscribe,
  type ValidationContext,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

/**
 * Executes documents with graphql-js, and rejects valid ones that it cannot execute. Yoga's own executor treats any
 * object with a member `then` as a promise, even a record of the service.
 */
export function useGraphqlJsExecutor(): Plugin {
  return {
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
    onValidate({ addValidationRule }) {
      addValidationRule(ExecutableRule);
    },
  };
}

function ExecutableRule(context: ValidationContext): ASTVisitor {
  const report = (message: string, nodes: ASTNode) =>
    context.reportError(new GraphQLError(message, { nodes }));
  return {
    OperationDefinition: (node) => {
      if (!context.getSchema().getRootType(node.operation))
        report(`The schema has no ${node.operation}s.`, node);
    },
    VariableDefinition: (node) => {
      // The executor would set the prototype of its object of variable values.
      if (node.variable.name.value === '__proto__')
        report('A variable must not be named __proto__.', node);
    },
  };
}
