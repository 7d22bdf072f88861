import {
  coerceInputValue,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  isInputType,
  isListType,
  Kind,
  print,
  typeFromAST,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  type VariableDefinitionNode,
  validate,
} from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import { withoutStacks } from '../stacks.ts';

/** Of a document, or of a variable: more help nobody, and a list of thousands costs seconds. */
const MAX_ERRORS = 5;

/**
 * Says where a document or a variable is wrong without repeating what stands there: graphql-js quotes the value,
 * which may be a secret. Where the schema is not told, no name of it is suggested either.
 */
export function useQuietErrors({ hideSuggestions }: { readonly hideSuggestions: boolean }): Plugin {
  return {
    onParse() {
      return ({ result, replaceParseResult }) => {
        const isSyntaxError = result instanceof GraphQLError && !result.originalError;
        if (isSyntaxError) replaceParseResult(quietSyntaxError(result));
      };
    },
    onValidate({ setValidationFn }) {
      setValidationFn(
        (schema: GraphQLSchema, document: DocumentNode, rules?: readonly ValidationRule[]) => {
          const quiet = rules?.map((rule) =>
            rule === ValuesOfCorrectTypeRule ? quietValuesRule : rule,
          );
          const options = { maxErrors: MAX_ERRORS, hideSuggestions };
          // Yoga keeps them; by a stack they would keep what their caller had sent.
          return withoutStacks(() => validate(schema, document, quiet, options));
        },
      );
    },
    onExecute({ args: { schema, variableValues } }) {
      return {
        onExecuteDone({ result, setResult }) {
          if (isAsyncIterable(result) || result.data !== undefined) return;
          const definitions = new Set(
            result.errors?.flatMap(({ nodes = [] }) => nodes.filter(isVariableDefinition)),
          );
          if (definitions.size === 0) return;
          setResult({
            errors: [...definitions]
              .slice(0, MAX_ERRORS)
              .flatMap((definition) =>
                quietVariableErrors(
                  schema,
                  definition,
                  variableValues?.[definition.variable.name.value],
                ),
              ),
          });
        },
      };
    },
  };
}

function quietSyntaxError({ source, positions, locations }: GraphQLError): GraphQLError {
  const [at] = locations ?? [];
  return new GraphQLError(`Syntax error at line ${at?.line}, column ${at?.column}.`, {
    source,
    positions,
    extensions: { code: 'GRAPHQL_PARSE_FAILED' },
  });
}

/** The rule of graphql-js, with its own words where they quote no value. */
function quietValuesRule(context: ValidationContext): ReturnType<ValidationRule> {
  const reportError = (error: GraphQLError) => {
    const quotes = error.nodes?.some((node) => error.message.includes(print(node)));
    const argument = context.getArgument();
    const place = argument ? `argument "${argument.name}"` : 'the default of a variable';
    const message = `A value of ${place} does not fit: "${context.getInputType()}" is expected there.`;
    context.reportError(quotes ? new GraphQLError(message, { nodes: error.nodes ?? null }) : error);
  };
  return ValuesOfCorrectTypeRule(Object.create(context, { reportError: { value: reportError } }));
}

function isVariableDefinition(node: { readonly kind: string }): node is VariableDefinitionNode {
  return node.kind === Kind.VARIABLE_DEFINITION;
}

function quietVariableErrors(
  schema: GraphQLSchema,
  definition: VariableDefinitionNode,
  value: unknown,
): readonly GraphQLError[] {
  const name = definition.variable.name.value;
  const type = typeFromAST(schema, definition.type);
  const problem = (message: string) =>
    new GraphQLError(message, {
      nodes: definition,
      extensions: { code: 'BAD_USER_INPUT', http: { spec: true, status: 400 } },
    });
  if (!isInputType(type)) return [problem(`Variable "$${name}" has no input type.`)];
  if (value == null)
    return [problem(`Variable "$${name}" of type "${type}" must be given and not be null.`)];
  const messages = new Set<string>();
  coerceInputValue(value, type, (path) => {
    if (messages.size === MAX_ERRORS) return;
    const place = [name, ...path].join('.');
    messages.add(
      `Variable "$${name}" does not fit at "${place}": "${typeAt(type, path)}" is expected there.`,
    );
  });
  return [...messages].map(problem);
}

function typeAt(type: GraphQLInputType, path: readonly (string | number)[]): GraphQLInputType {
  return path.reduce<GraphQLInputType>((outer, key) => {
    const inner = getNullableType(outer);
    if (isListType(inner)) return inner.ofType;
    return (isInputObjectType(inner) && inner.getFields()[key]?.type) || outer;
  }, type);
}
