import {
  type ASTNode,
  type ASTVisitor,
  type DirectiveNode,
  type DocumentNode,
  execute,
  GraphQLError,
  Kind,
  OperationTypeNode,
  subscribe,
  type ValidationContext,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { foldSelections, fragmentsOf } from '../schema/selection.ts';

/**
 * Executes documents with graphql-js, and rejects valid ones that it cannot execute. Yoga's own executor treats any
 * object with a member `then` as a promise, even a record of the service.
 */
export function useGraphqlJsExecutor(): Plugin {
  return {
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
    onValidate({ addValidationRule, setResult, params: { documentAST } }) {
      addValidationRule(ExecutableRule);
      // No rule: that of graphql-js throws if such a directive has a variable.
      const conditions = findRootConditions(documentAST);
      if (conditions.length > 0)
        setResult(conditions.map((nodes) => new GraphQLError(CONDITIONAL_ROOT, { nodes })));
    },
  };
}

const CONDITIONAL_ROOT =
  'Remove `@skip` and `@include` from the root of the subscription: its only field must always be selected.';

/** Finds `@skip` and `@include` at the root of subscriptions, fragments included (GraphQL, September 2025, section 5.2.4.1). */
function findRootConditions(document: DocumentNode): readonly DirectiveNode[] {
  const conditionsIn = foldSelections<ReadonlySet<DirectiveNode>>(
    fragmentsOf(document),
    new Set(),
    (found, { kind, directives = [] }, inner) => {
      const own = directives.filter(({ name }) => CONDITIONS.has(name.value));
      return new Set([...found, ...own, ...(kind === Kind.FIELD ? [] : inner)]);
    },
  );
  return document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION && node.operation === OperationTypeNode.SUBSCRIPTION
      ? [...conditionsIn(node.selectionSet)]
      : [],
  );
}

const CONDITIONS: ReadonlySet<string> = new Set(['skip', 'include']);

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
