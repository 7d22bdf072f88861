// It exists for speed: what a document does not select need not be read.
import { collectFields, collectSubFields } from '@graphql-tools/utils';
import { type GraphQLResolveInfo, getNamedType, isObjectType } from 'graphql';

/** Whether a field is the only one at the root of its operation, `__typename` apart, and selects none of these names. */
export function isOnlyFieldWithout(names: readonly string[], info: GraphQLResolveInfo): boolean {
  const { schema, fragments, operation, parentType, fieldNodes, variableValues } = info;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectFields(schema, fragments, values, parentType, operation.selectionSet);
  const type = getNamedType(info.returnType);
  if (!isObjectType(type)) return false;
  const own = collectSubFields(schema, fragments, values, type, [...fieldNodes]).fields;
  const others = [...fields.values()].flat().filter((node) => !fieldNodes.includes(node));
  const isWithout = [...own.values()].flat().every(({ name }) => !names.includes(name.value));
  return isWithout && others.every(({ name }) => name.value === '__typename');
}
