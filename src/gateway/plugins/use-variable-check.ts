import {
  coerceInputValue,
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
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { findInvalidPointer } from '../schema/pointer-arguments.ts';
import { MAX_ERRORS } from './use-validation-rules.ts';

/** Errors of one variable to inspect: many may be at the same path. */
const MAX_INSPECTED = 100;
const STOP = new Error('MAX_INSPECTED errors');

type Variables = Readonly<Record<string, unknown>>;

/**
 * Rejects an operation with an invalid variable or an invalid `pointer` before it is executed. Errors of variables give the
 * path and the expected type: graphql-js quotes the value, which may be a secret. Without `introspection` they also omit
 * names of the schema that the request does not have.
 */
export function useVariableCheck({ introspection }: { readonly introspection: boolean }): Plugin {
  const check = ({ args, setResultAndStopExecution }: Checked) => {
    const invalid = findInvalidVariables(args, !introspection);
    const errors = invalid.length > 0 ? invalid : findInvalidPointers(args);
    if (errors.length > 0) setResultAndStopExecution({ errors });
  };
  return { onExecute: check, onSubscribe: check };
}

/** What the hooks of queries, mutations and subscriptions have in common. */
type Checked = {
  readonly args: ExecutionArgs;
  setResultAndStopExecution(result: { errors: readonly GraphQLError[] }): void;
};

function findInvalidVariables(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  hideSuggestions: boolean,
): readonly GraphQLError[] {
  const given: Variables = variableValues ?? {};
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  // Otherwise the executor would build up to 50 messages, each with the whole value.
  const isInvalid = (definition: VariableDefinitionNode) =>
    getVariableValues(schema, [definition], given, { maxErrors: 1 }).errors !== undefined;
  return definitions
    .filter(isInvalid)
    .slice(0, MAX_ERRORS)
    .flatMap((definition) => findVariableErrors(schema, definition, given, hideSuggestions));
}

/** The resolvers of `raw` would report it once per record and alias, and a deletion would already have been sent. */
function findInvalidPointers({ document, variableValues }: ExecutionArgs): readonly GraphQLError[] {
  const message = findInvalidPointer(document, variableValues ?? {});
  return message === null ? [] : [toBadInput(message)];
}

function toBadInput(message: string, nodes?: VariableDefinitionNode): GraphQLError {
  const extensions = { code: 'BAD_USER_INPUT', http: { spec: true, status: 400 } };
  return new GraphQLError(message, { nodes: nodes ?? null, extensions });
}

function findVariableErrors(
  schema: GraphQLSchema,
  definition: VariableDefinitionNode,
  given: Variables,
  hideSuggestions: boolean,
): readonly GraphQLError[] {
  const name = definition.variable.name.value;
  const type = typeFromAST(schema, definition.type);
  const toError = (message: string) => toBadInput(message, definition);
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
