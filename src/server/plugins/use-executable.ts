import {
  type ASTNode,
  type ASTVisitor,
  execute,
  GraphQLError,
  type ValidationContext,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

/**
 * Has documents executed by graphql-js, and refuses what that finds valid though it cannot be executed here. Yoga's own
 * executor takes whatever has a member `then` for a promise, be it a record of the service.
 */
export function useGraphqlJsExecutor(): Plugin {
  return {
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
    onValidate({ addValidationRule }) {
      addValidationRule(executableRule);
    },
  };
}

function executableRule(context: ValidationContext): ASTVisitor {
  const refuse = (message: string, nodes: ASTNode) =>
    context.reportError(new GraphQLError(message, { nodes }));
  return {
    OperationDefinition: (node) => {
      if (!context.getSchema().getRootType(node.operation))
        refuse(`The schema has no ${node.operation}s.`, node);
    },
    VariableDefinition: (node) => {
      // The executor reads the values into an object, whose prototype that is.
      if (node.variable.name.value === '__proto__')
        refuse('A variable cannot have this name.', node);
    },
  };
}
