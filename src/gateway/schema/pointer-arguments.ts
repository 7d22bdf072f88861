import { type DocumentNode, Kind, type ValueNode, visit } from 'graphql';
import { memoizeByObject } from '../../util/memoize.ts';
import { POINTER } from '../mapping/json-pointer.ts';

/** Bounds of a pointer that a client sends: the service's responses are at most 64 levels deep. */
const MAX_LENGTH = 2048;
const MAX_TOKENS = 64;

/**
 * What is wrong with the first invalid value of an argument `pointer`; null if all are valid. Called before an operation
 * is executed: resolvers would find out once per record, and after a deletion.
 */
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

/** What is wrong with a client's JSON pointer; null if it is valid. */
function describeInvalidPointer(pointer: string): string | null {
  if (pointer.length > MAX_LENGTH || pointer.split('/', MAX_TOKENS + 2).length > MAX_TOKENS + 1)
    return `Use a JSON pointer of at most ${MAX_LENGTH} characters and ${MAX_TOKENS} tokens.`;
  if (POINTER.test(pointer)) return null;
  return 'Use a JSON pointer: empty, or with a leading `/` as in `/data/0/id` (RFC 6901).';
}
