// Exists for speed: what the values of variables must be is looked up once, and most of them are plain.
import {
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isInputType,
  isLeafType,
  isNonNullType,
  Kind,
  print,
  typeFromAST,
  type ValueNode,
  type VariableDefinitionNode,
} from 'graphql';
import type { Variables } from './plan.ts';

type PlainVariable = {
  readonly name: string;
  readonly isRequired: boolean;
  readonly parse: (value: unknown) => unknown;
};

/** Coerces values of variables as graphql-js does (GraphQL, October 2021, section 6.1.2); null where they do not fit. */
export function createCoercion(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): (given: Readonly<Variables>) => Variables | null {
  const coerceAny = (given: Readonly<Variables>) =>
    getVariableValues(schema, definitions, given).coerced ?? null;
  const plain = definitions.map((definition) => toPlain(schema, definition));
  if (!plain.every((variable) => variable !== null)) return coerceAny;
  return (given) => {
    const coerced: Variables = Object.create(null);
    try {
      for (const { name, isRequired, parse } of plain) {
        const value = Object.hasOwn(given, name) ? given[name] : undefined;
        if (value == null && isRequired) return null;
        if (value === undefined) continue;
        coerced[name] = value === null ? null : parse(value);
        if (coerced[name] === undefined) return null;
      }
    } catch {
      return null; // what does not fit throws
    }
    return coerced;
  };
}

/** Of a leaf type and without a default. */
function toPlain(
  schema: GraphQLSchema,
  { type: node, variable, defaultValue }: VariableDefinitionNode,
): PlainVariable | null {
  const type = typeFromAST(schema, node);
  if (!isInputType(type) || defaultValue !== undefined) return null;
  const leaf = getNullableType(type);
  if (!isLeafType(leaf)) return null;
  return {
    name: variable.name.value,
    isRequired: isNonNullType(type),
    parse: (value) => leaf.parseValue(value),
  };
}

/**
 * Gives the arguments of a field. What stands in the document is coerced once; what a variable has is taken as it is,
 * since it was coerced already.
 * @throws GraphQLError where a variable has nothing that the argument could take.
 */
export function createArguments(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
): (variables: Variables) => Variables {
  const variable = (value: ValueNode) => (value.kind === Kind.VARIABLE ? value.name.value : null);
  const given = (node.arguments ?? []).map(({ name, value }) => ({
    name: name.value,
    variable: variable(value),
    isKnown: variable(value) !== null || !print(value).includes('$'),
  }));
  const isPlain = given.every(({ isKnown }) => isKnown);
  const varying = given.flatMap(({ name, variable }) =>
    variable === null ? [] : [[name, variable] as const],
  );
  let known: Variables | undefined;
  return (variables) => {
    if (known !== undefined && varying.length === 0) return known;
    if (known === undefined || varying.some(([, name]) => variables[name] == null)) {
      const values = getArgumentValues(field, node, variables);
      if (isPlain) known ??= values;
      return values;
    }
    const values = { ...known };
    for (const [argument, name] of varying) values[argument] = variables[name];
    return values;
  };
}
