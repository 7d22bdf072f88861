// Exists for speed: of what type a variable must be is looked up once, and most types are plain.
import {
  type GraphQLSchema,
  getNullableType,
  getVariableValues,
  isInputType,
  isLeafType,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql';

type Values = Readonly<Record<string, unknown>>;

/** Coerces variables as graphql-js does (GraphQL, October 2021, section 6.1.2); null where they do not fit. */
export function createCoercion(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): (given: Values) => Record<string, unknown> | null {
  const plain = definitions.flatMap(({ type: node, variable, defaultValue }) => {
    const type = typeFromAST(schema, node);
    const leaf = isInputType(type) && getNullableType(type);
    const name = variable.name.value;
    return isLeafType(leaf) && !defaultValue ? { name, leaf, isNullable: leaf === type } : [];
  });
  if (plain.length < definitions.length)
    return (given) => getVariableValues(schema, definitions, given).coerced ?? null;
  return (given) => {
    const coerced: Record<string, unknown> = Object.create(null);
    try {
      for (const { name, leaf, isNullable } of plain) {
        const value = Object.hasOwn(given, name) ? given[name] : undefined;
        if (value == null && !isNullable) return null;
        if (value === undefined) continue;
        coerced[name] = value === null ? null : leaf.parseValue(value);
        if (coerced[name] === undefined) return null;
      }
    } catch {
      return null;
    }
    return coerced;
  };
}
