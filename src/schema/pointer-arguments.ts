import { type DocumentNode, Kind, type ValueNode, visit } from 'graphql';
import { describeInvalidPointer } from '../mapping/json-pointer.ts';
import { memoizeByObject } from '../util/memoize.ts';

/** What is wrong with the first invalid value of an argument `pointer`; null if all are valid. */
export function findInvalidPointer(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): string | null {
  for (const node of pointerValues(document)) {
    const value = node.kind === Kind.VARIABLE ? variables[node.name.value] : Object(node).value;
    const message = typeof value === 'string' ? describeInvalidPointer(value) : null;
    if (message !== null) return message;
  }
  return null;
}

/** The values of all arguments `pointer` of a document: literals, variables and the defaults of variables. */
const pointerValues = memoizeByObject((document: DocumentNode): readonly ValueNode[] => {
  const values: ValueNode[] = [];
  visit(document, {
    Argument: ({ name, value }) => {
      if (name.value === 'pointer') values.push(value);
    },
  });
  const isUsed = (name: string) =>
    values.some((value) => value.kind === Kind.VARIABLE && value.name.value === name);
  visit(document, {
    VariableDefinition: ({ variable, defaultValue }) => {
      if (defaultValue && isUsed(variable.name.value)) values.push(defaultValue);
    },
  });
  return values;
});
