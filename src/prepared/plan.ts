// Exists for speed: an executor looks at the document again for each record, a plan has looked at it once.
import { collectFields, collectSubFields, type VariableValues } from '@graphql-tools/utils';
import {
  type DocumentNode,
  defaultFieldResolver,
  type ExecutionResult,
  execute,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLID,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLString,
  getArgumentValues,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  print,
} from 'graphql';

/** A valid operation of a document. */
export type ValidOperation = {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
};

/** An operation that only has to be carried out. */
export type Plan = (run: Run) => Promise<ExecutionResult>;

/** One time that it is carried out, with values of variables as they were given, and coerced. */
type Run = Readonly<{ context: unknown } & Record<'given' | 'coerced', Record<string, unknown>>>;

/**
 * Plans a query, or a mutation of one field, for variables that decide its `@skip` and `@include` as these do. Its root
 * fields are resolved here, once. What they give is completed here as long as nothing is wrong or unusual in it: then
 * graphql-js does that, and says what is wrong. Null for what is not planned: abstract types, `__schema`, `__type`,
 * nested resolvers that ask for `info`, the response name `__proto__`, which JavaScript keeps for itself; and everything
 * where Node was told to make no code out of strings.
 */
export function createPlan(valid: ValidOperation, coerced: Record<string, unknown>): Plan | null {
  const { schema, document, operation } = valid;
  const named = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  const fragments = Object.fromEntries(named.map((fragment) => [fragment.name.value, fragment]));
  const values = { coerced, sources: {} };
  const type = schema.getRootType(operation.operation);
  let fields: readonly Field[];
  try {
    if (!type) return null;
    const root = collectFields(schema, fragments, values, type, operation.selectionSet);
    fields = planFields({ schema, fragments, operation, values }, type, root.fields, true);
  } catch {
    return null;
  }
  return async (run) => {
    const resolving = fields.map(async ({ read }) => read(undefined, run));
    try {
      const given = await Promise.all(resolving);
      const members = fields.map(({ key, complete }, index) => [key, complete(given[index], run)]);
      return { data: Object.fromEntries(members) };
    } catch {
      return execute({
        ...{ schema, document, operationName: operation.name?.value, contextValue: run.context },
        variableValues: run.given,
        rootValue: new Resolving(fields.map(({ key }, index) => [key, resolving[index]])),
      });
    }
  };
}

/** What root fields give, by their keys in the result. */
class Resolving extends Map<string | number, unknown> {}

/** Lets root fields give what they have given already, where that is to be completed again. */
export function makeRepeatable(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const { resolve = defaultFieldResolver } = field;
      field.resolve = (source, args, context, info) =>
        source instanceof Resolving
          ? source.get(info.path.key)
          : resolve(source, args, context, info);
    }
  }
}

type Planning = Omit<ValidOperation, 'document'> & {
  readonly fragments: Record<string, FragmentDefinitionNode>;
  readonly values: VariableValues;
};

/** What a resolver gives. */
type Read = (source: unknown, run: Run) => unknown;

/** Makes what the caller gets of what a resolver gave, or throws. */
type Complete = (value: unknown, run: Run) => unknown;

type Field = {
  readonly key: string;
  readonly read: Read;
  /** The property that would be all that is read. */
  readonly property?: string;
  readonly complete: Complete;
};

const UNUSUAL = new Error('This is for graphql-js to carry out.');

function giveUp(): never {
  throw UNUSUAL;
}

const TEXTS: ReadonlySet<GraphQLOutputType> = new Set([GraphQLString, GraphQLID]);

function planFields(
  planning: Planning,
  type: GraphQLObjectType,
  selected: ReadonlyMap<string, FieldNode[]>,
  isRoot = false,
): readonly Field[] {
  if (type.isTypeOf || selected.has('__proto__')) giveUp();
  const { schema, fragments, operation, values } = planning;
  return [...selected].map(([key, nodes]) => {
    const [node] = nodes;
    if (node?.name.value === '__typename')
      return { key, read: () => type.name, complete: (name) => name };
    const field = type.getFields()[node?.name.value ?? ''];
    if (!node || !field || (!isRoot && (field.resolve?.length ?? 0) > 3)) giveUp();
    const { resolve = defaultFieldResolver, name } = field;
    const complete = planType(planning, field.type, nodes);
    if (resolve === defaultFieldResolver)
      return { key, read: () => undefined, property: name, complete };
    const path = { prev: undefined, key, typename: type.name };
    const standing: unknown = {
      ...{ fieldName: name, fieldNodes: nodes, returnType: field.type, parentType: type, path },
      ...{ schema, fragments, operation, rootValue: undefined, variableValues: values.coerced },
    };
    const info = standing as GraphQLResolveInfo; // other versions of graphql-js add members that no resolver here reads
    // Where no dollar stands there is no variable, and the arguments are the same each time.
    const fixed = print(node).includes('$') ? null : getArgumentValues(field, node, {});
    const read: Read = (source, { context, coerced }) =>
      resolve(source, fixed ?? getArgumentValues(field, node, coerced), context, info);
    return { key, read, complete };
  });
}

function planType(planning: Planning, type: GraphQLOutputType, nodes: FieldNode[]): Complete {
  const nullable = getNullableType(type);
  const complete = planNullable(planning, nullable, nodes);
  const isText = TEXTS.has(nullable);
  return (value, run) => {
    if (isText && typeof value === 'string') return value;
    if (value == null && type === nullable) return null;
    return value == null || isUnusual(value) ? giveUp() : complete(value, run);
  };
}

/** What graphql-js waits for, throws or, unless a resolver gave it, calls. */
function isUnusual(value: NonNullable<unknown>): boolean {
  if (typeof value !== 'object') return typeof value === 'function';
  if (value instanceof Promise) value.catch(() => {}); // graphql-js asks again, and gets the same
  return value instanceof Promise || value instanceof Error;
}

function planNullable(planning: Planning, type: GraphQLOutputType, nodes: FieldNode[]): Complete {
  if (isLeafType(type)) return (value) => type.serialize(value) ?? giveUp();
  if (isListType(type)) {
    const complete = planType(planning, type.ofType, nodes);
    return (list, run) =>
      Array.isArray(list) ? list.map((item) => complete(item, run)) : giveUp();
  }
  if (!isObjectType(type)) return giveUp();
  const { schema, fragments, values } = planning;
  const { fields } = collectSubFields(schema, fragments, values, type, nodes);
  return compileObject(planFields(planning, type, fields));
}

/**
 * V8 makes an object whose members it was told in several times less than one whose members come one by one. The code
 * holds names of GraphQL alone: what a Name is, letters, digits and `_`, is an identifier's name in JavaScript too.
 */
function compileObject(fields: readonly Field[]): Complete {
  const parameters = fields.flatMap((_, index) => [`read${index}`, `complete${index}`]);
  const members = fields.map(({ key, property }, index) => {
    const given = property === undefined ? `read${index}(source, run)` : `source.${property}`;
    return `${key}: complete${index}(${given}, run)`;
  });
  const body = `return (source, run) => ({ ${members.join(', ')} });`;
  const make = new Function(...parameters, body);
  return make(...fields.flatMap(({ read, complete }) => [read, complete]));
}
