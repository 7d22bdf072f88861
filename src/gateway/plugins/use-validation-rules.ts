import {
  type ASTNode,
  type ASTVisitor,
  type DirectiveNode,
  type DocumentNode,
  execute,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  print,
  subscribe,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  validate,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { foldSelections, fragmentsOf } from '../schema/selection.ts';

/** Errors of a document, or of one variable: a list of thousands would cost seconds. */
export const MAX_ERRORS = 5;

/**
 * Validates documents for graphql-js, and executes them with it: Yoga's own executor treats any object with a member `then`
 * as a promise, even a record of the service. Rejects valid documents that it cannot execute. Errors quote no value, which
 * may be a secret. Without `introspection` it rejects `__schema` and `__type`, and no error suggests names of the schema.
 */
export function useValidationRules({ introspection }: { readonly introspection: boolean }): Plugin {
  return {
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
    onParse() {
      return ({ result, replaceParseResult }) => {
        const isSyntaxError = result instanceof GraphQLError && !result.originalError;
        if (isSyntaxError) replaceParseResult(maskSyntaxError(result));
      };
    },
    onValidate({ addValidationRule, setValidationFn, setResult, params: { documentAST } }) {
      if (!introspection) addValidationRule(NoSchemaIntrospectionCustomRule);
      addValidationRule(ExecutableRule);
      // No rule: that of graphql-js throws if such a directive has a variable.
      const conditions = findRootConditions(documentAST);
      if (conditions.length > 0)
        setResult(conditions.map((nodes) => new GraphQLError(CONDITIONAL_ROOT, { nodes })));
      setValidationFn(
        (schema: GraphQLSchema, document: DocumentNode, rules?: readonly ValidationRule[]) =>
          validate(
            schema,
            document,
            rules?.map((rule) => (rule === ValuesOfCorrectTypeRule ? maskedValuesRule : rule)),
            { maxErrors: MAX_ERRORS, hideSuggestions: !introspection },
          ),
      );
    },
  };
}

function maskSyntaxError({ source, positions, locations }: GraphQLError): GraphQLError {
  const [at] = locations ?? [];
  return new GraphQLError(`Syntax error at line ${at?.line}, column ${at?.column}.`, {
    source,
    positions,
    extensions: { code: 'GRAPHQL_PARSE_FAILED' },
  });
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

/** ValuesOfCorrectTypeRule of graphql-js. Messages that quote a value are replaced. */
function maskedValuesRule(context: ValidationContext): ReturnType<ValidationRule> {
  const reportError = (error: GraphQLError) => {
    const quotesValue = error.nodes?.some((node) => error.message.includes(print(node)));
    const argument = context.getArgument();
    const owner = argument ? `argument "${argument.name}"` : 'the default of a variable';
    const message = `Invalid value in ${owner}: expected "${context.getInputType()}".`;
    context.reportError(
      quotesValue ? new GraphQLError(message, { nodes: error.nodes ?? null }) : error,
    );
  };
  return ValuesOfCorrectTypeRule(Object.create(context, { reportError: { value: reportError } }));
}
