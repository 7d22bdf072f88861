import {
  coerceInputValue,
  type DocumentNode,
  type ExecutionArgs,
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

/** Per document and per variable: a list of thousands would cost seconds. */
const MAX_ERRORS = 5;

/** Errors of one variable to inspect: many may be at the same path. */
const MAX_INSPECTED = 100;
const STOP = new Error('MAX_INSPECTED errors');

/**
 * Masks values in the errors about a document or its variables: they give the path and the expected type. graphql-js
 * quotes the value, which may be a secret. `hideSuggestions` also omits names of the schema that the request does not have.
 */
export function useValueMasking(options: { readonly hideSuggestions: boolean }): Plugin {
  const { hideSuggestions } = options;
  return {
    onParse() {
      return ({ result, replaceParseResult }) => {
        const isSyntaxError = result instanceof GraphQLError && !result.originalError;
        if (isSyntaxError) replaceParseResult(maskSyntaxError(result));
      };
    },
    onValidate({ setValidationFn }) {
      setValidationFn(
        (schema: GraphQLSchema, document: DocumentNode, rules?: readonly ValidationRule[]) =>
          validate(
            schema,
            document,
            rules?.map((rule) => (rule === ValuesOfCorrectTypeRule ? maskedValuesRule : rule)),
            { maxErrors: MAX_ERRORS, hideSuggestions },
          ),
      );
    },
    onExecute: ({ args, setResultAndStopExecution }) => {
      const errors = checkVariables(args, hideSuggestions);
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const errors = checkVariables(args, hideSuggestions);
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
  };
}

function checkVariables(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  hideSuggestions: boolean,
): readonly GraphQLError[] {
  const given: Readonly<Record<string, unknown>> = variableValues ?? {};
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  // Otherwise the executor would build up to 50 messages, each with the whole value.
  const isInvalid = (definition: VariableDefinitionNode) =>
    getVariableValues(schema, [definition], given, { maxErrors: 1 }).errors !== undefined;
  return definitions
    .filter(isInvalid)
    .slice(0, MAX_ERRORS)
    .flatMap((definition) => findVariableErrors(schema, definition, given, hideSuggestions));
}

function maskSyntaxError({ source, positions, locations }: GraphQLError): GraphQLError {
  const [at] = locations ?? [];
  return new GraphQLError(`Syntax error at line ${at?.line}, column ${at?.column}.`, {
    source,
    positions,
    extensions: { code: 'GRAPHQL_PARSE_FAILED' },
  });
}

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

function findVariableErrors(
  schema: GraphQLSchema,
  definition: VariableDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  hideSuggestions: boolean,
): readonly GraphQLError[] {
  const name = definition.variable.name.value;
  const type = typeFromAST(schema, definition.type);
  const toError = (message: string) =>
    new GraphQLError(message, {
      nodes: definition,
      extensions: { code: 'BAD_USER_INPUT', http: { spec: true, status: 400 } },
    });
  if (!isInputType(type)) return [toError(`Variable "$${name}" has no input type.`)];
  const value = Object.hasOwn(given, name) ? given[name] : null;
  if (value == null)
    return [toError(`Variable "$${name}" of type "${type}" is required and must not be null.`)];
  const messages = new Map<string, string>(); // by path: the first error at a path covers the others
  let inspected = 0;
  const onError = (path: readonly (string | number)[], invalid: unknown, error: GraphQLError) => {
    inspected += 1;
    if (inspected === MAX_INSPECTED) throw STOP;
    const at = [name, ...path].join('.');
    if (messages.has(at)) return;
    const expected = typeAt(type, path);
    // The message of our own scalars, which quotes no value.
    const hint = error.originalError?.message ?? hintFor(expected, invalid, hideSuggestions);
    messages.set(
      at,
      `Variable "$${name}" is invalid at "${at}": expected "${expected}"${hint && `; ${hint}`}.`,
    );
  };
  try {
    coerceInputValue(value, type, onError);
  } catch (error) {
    if (error !== STOP) throw error;
  }
  return [...messages.values()].slice(0, MAX_ERRORS).map(toError);
}

/** How to correct a value, in names of the schema. Contains nothing of the value. */
function hintFor(type: GraphQLInputType, invalid: unknown, hideSuggestions: boolean): string {
  const named = getNamedType(type);
  if (isEnumType(named)) return hideSuggestions ? '' : `use one of ${list(named.getValues())}`;
  if (!isInputObjectType(named)) return '';
  const fields = Object.values(named.getFields());
  const names = hideSuggestions ? '' : list(fields);
  if (named.isOneOf) return `set exactly one of ${names || 'its fields'}`;
  if (typeof invalid !== 'object' || invalid === null || Array.isArray(invalid)) return '';
  const missing = fields.filter(
    (field) => isRequiredInputField(field) && !Object.hasOwn(invalid, field.name),
  );
  const isUnknown = Object.keys(invalid).some((name) => !named.getFields()[name]);
  const hints = [
    missing.length > 0 && `${list(missing)} is required`,
    isUnknown && (names ? `its only fields are ${names}` : 'it has a field that is unknown'),
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
