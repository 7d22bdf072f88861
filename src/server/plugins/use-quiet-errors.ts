import {
  coerceInputValue,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isRequiredInputField,
  print,
  typeFromAST,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  type VariableDefinitionNode,
  validate,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Of a document, or of a variable: more help nobody, and a list of thousands costs seconds. */
const MAX_ERRORS = 5;

/** So many wrong places of one variable are looked at: many may be told by the same words. */
const MAX_LOOKS = 100;
const ENOUGH = new Error('enough is wrong');

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
        (schema: GraphQLSchema, document: DocumentNode, rules?: readonly ValidationRule[]) =>
          validate(
            schema,
            document,
            rules?.map((rule) => (rule === ValuesOfCorrectTypeRule ? quietValuesRule : rule)),
            { maxErrors: MAX_ERRORS, hideSuggestions },
          ),
      );
    },
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues } = args;
      const given: Readonly<Record<string, unknown>> = variableValues ?? {};
      const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
      // The executor would write fifty messages, and into each the whole value.
      const isWrong = (definition: VariableDefinitionNode) =>
        getVariableValues(schema, [definition], given, { maxErrors: 1 }).errors !== undefined;
      const wrong = definitions.filter(isWrong).slice(0, MAX_ERRORS);
      const errors = wrong.flatMap((definition) =>
        quietVariableErrors(schema, definition, given, hideSuggestions),
      );
      if (errors.length > 0) setResultAndStopExecution({ errors });
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

function quietVariableErrors(
  schema: GraphQLSchema,
  definition: VariableDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  hideSuggestions: boolean,
): readonly GraphQLError[] {
  const name = definition.variable.name.value;
  const type = typeFromAST(schema, definition.type);
  const problem = (message: string) =>
    new GraphQLError(message, {
      nodes: definition,
      extensions: { code: 'BAD_USER_INPUT', http: { spec: true, status: 400 } },
    });
  if (!isInputType(type)) return [problem(`Variable "$${name}" has no input type.`)];
  const value = Object.hasOwn(given, name) ? given[name] : null;
  if (value == null)
    return [problem(`Variable "$${name}" of type "${type}" must be given and not be null.`)];
  const messages = new Map<string, string>(); // by place: what is wrong there is told at once
  let looks = MAX_LOOKS;
  const note = (path: readonly (string | number)[], wrong: unknown, error: GraphQLError) => {
    looks -= 1;
    if (looks === 0) throw ENOUGH;
    const place = [name, ...path].join('.');
    if (messages.has(place)) return;
    const expected = typeAt(type, path);
    // Where a scalar of ours has thrown, its own words: they quote nothing.
    const hint = error.originalError?.message ?? hintAt(expected, wrong, hideSuggestions);
    messages.set(
      place,
      `Variable "$${name}" does not fit at "${place}": "${expected}" is expected there${hint && `: ${hint}`}.`,
    );
  };
  try {
    coerceInputValue(value, type, note);
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return [...messages.values()].slice(0, MAX_ERRORS).map(problem);
}

/** What fits, in names of the schema: of what was given, only that it is wrong. */
function hintAt(type: GraphQLInputType, wrong: unknown, hideSuggestions: boolean): string {
  const named = getNamedType(type);
  if (isEnumType(named)) return hideSuggestions ? '' : `one of ${list(named.getValues())}`;
  if (!isInputObjectType(named)) return '';
  const fields = Object.values(named.getFields());
  const names = hideSuggestions ? '' : list(fields);
  if (named.isOneOf) return `exactly one of ${names || 'its fields'} must be given`;
  if (typeof wrong !== 'object' || wrong === null || Array.isArray(wrong)) return '';
  const missing = fields.filter(
    (field) => isRequiredInputField(field) && !Object.hasOwn(wrong, field.name),
  );
  const isUnknown = Object.keys(wrong).some((name) => !named.getFields()[name]);
  const hints = [
    missing.length > 0 && `${list(missing)} must be given`,
    isUnknown && (names ? `it has no field but ${names}` : 'it has not all fields that are given'),
  ];
  return hints.filter(Boolean).join('; ');
}

function list(elements: readonly { readonly name: string }[]): string {
  return elements.map(({ name }) => name).join(', ');
}

function typeAt(type: GraphQLInputType, path: readonly (string | number)[]): GraphQLInputType {
  return path.reduce<GraphQLInputType>((outer, key) => {
    const inner = getNullableType(outer);
    if (isListType(inner)) return inner.ofType;
    return (isInputObjectType(inner) && inner.getFields()[key]?.type) || outer;
  }, type);
}
