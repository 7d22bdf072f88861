// Exists for speed: an executor looks at the document again for each record, a plan has looked at it once.
import { collectFields, collectSubFields } from '@graphql-tools/utils';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  print,
} from 'graphql';

/** A valid operation of a document. */
type Operation = Pick<GraphQLResolveInfo, 'schema' | 'operation'> & {
  readonly document: DocumentNode;
};

/** An operation is planned for so many choices of its `@skip` and `@include`: for the others it goes the long way. */
const MAX_CHOICES = 8;

/**
 * Plans a query, or a mutation of one field. For values of its variables it gives what carries it out; null where they
 * do not fit, or it is not planned. Root fields are resolved here, once. What they give is completed here as long as
 * nothing is wrong or unusual in it: then graphql-js does that, and says what is wrong. Not planned are abstract types,
 * `__schema`, `__type`, nested resolvers that ask for `info`, the response name `__proto__`, which JavaScript keeps for
 * itself; and all where Node was told to make no code out of strings.
 */
export function compileOperation(valid: Operation) {
  const { schema, document, operation } = valid;
  const { variableDefinitions = [], name } = operation;
  const choices = new Map<string, readonly Field[] | null>();
  return (given: Readonly<Record<string, unknown>>) => {
    const { coerced } = getVariableValues(schema, variableDefinitions, given, { maxErrors: 1 });
    const flags = Object.entries(coerced ?? {}).filter(([, value]) => typeof value === 'boolean');
    const choice = flags.join(); // conditions are flags, and nothing else is one
    if (coerced && choices.size < MAX_CHOICES && !choices.has(choice))
      choices.set(choice, planRoot(valid, Object.fromEntries(flags))); // no other value is kept
    const fields = choices.get(choice);
    if (!coerced || !fields) return null;
    return async (context: unknown): Promise<ExecutionResult> => {
      const run = { context, coerced };
      const resolving = fields.map(async ({ read }) => read(undefined, run));
      try {
        const values = await Promise.all(resolving);
        const members = fields.map(({ key, complete }, at) => [key, complete(values[at], run)]);
        return { data: Object.fromEntries(members) };
      } catch {
        const rootValue = new Resolving(fields.map(({ key }, index) => [key, resolving[index]]));
        const values = { contextValue: context, variableValues: given, operationName: name?.value };
        return execute({ schema, document, rootValue, ...values });
      }
    };
  };
}

/** What root fields give, by their keys in the result. */
class Resolving extends Map<string | number, unknown> {}

/** Lets root fields give what they have given already, where that is to be completed again. */
export function reuseResolvedRootFields(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const { resolve } = field;
      field.resolve = (source, args, context, info) =>
        source instanceof Resolving
          ? source.get(info.path.key)
          : resolve?.(source, args, context, info);
    }
  }
}

/** In its room so many fields may still be planned. */
type Planning = Operation & GraphQLResolveInfo & { readonly room: { fields: number } };

/** One time that an operation is carried out, with coerced values of its variables. */
type Run = { readonly context: unknown; readonly coerced: Record<string, unknown> };

/** Reads what a resolver gives, or makes what the caller gets of that; throws where something is wrong or unusual. */
type Step = (value: unknown, run: Run) => unknown;

type Field = { readonly key: string; readonly read: Step; readonly complete: Step };

function giveUp(): never {
  throw new Error('This is for graphql-js to carry out.');
}

function planRoot(valid: Operation, variableValues: Run['coerced']) {
  const { schema, document, operation } = valid;
  const named = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  const fragments = Object.fromEntries(named.map((fragment) => [fragment.name.value, fragment]));
  const room = { fields: (document.loc?.end ?? 0) / 4 }; // fragments may stand for many more
  // Each field adds what is its own. No resolver here reads other variables, or what other versions of graphql-js add.
  const planning = { ...valid, fragments, variableValues, rootValue: undefined, room } as Planning;
  const values = { coerced: variableValues, sources: {} };
  try {
    const type = schema.getRootType(operation.operation) ?? giveUp();
    const root = collectFields(schema, fragments, values, type, operation.selectionSet);
    return planFields(planning, type, root.fields);
  } catch {
    return null;
  }
}

function planFields(
  planning: Planning,
  parentType: GraphQLObjectType,
  selected: ReadonlyMap<string, FieldNode[]>,
): readonly Field[] {
  planning.room.fields -= selected.size;
  if (planning.room.fields < 0 || parentType.isTypeOf || selected.has('__proto__')) giveUp();
  const isRoot = parentType === planning.schema.getRootType(planning.operation.operation);
  return [...selected].map(([key, fieldNodes]) => {
    const [node] = fieldNodes;
    const fieldName = node?.name.value ?? '';
    if (fieldName === '__typename')
      return { key, read: () => parentType.name, complete: (name) => name };
    const field = parentType.getFields()[fieldName];
    if (!node || !field || (!isRoot && (field.resolve?.length ?? 0) > 3)) giveUp();
    const { resolve, type: returnType } = field;
    const complete = planType(planning, returnType, fieldNodes);
    // One function for each field: V8 remembers where it found the property.
    if (!resolve)
      return { key, read: new Function('source', `return source.${fieldName}`) as Step, complete };
    const path = { prev: undefined, key, typename: parentType.name };
    const info = { ...planning, fieldName, fieldNodes, returnType, parentType, path };
    // Where no dollar stands there is no variable, and the arguments are the same each time.
    const fixed = print(node).includes('$') ? null : getArgumentValues(field, node, {});
    const read: Step = (source, { context, coerced }) =>
      resolve(source, fixed ?? getArgumentValues(field, node, coerced), context, info);
    return { key, read, complete };
  });
}

function planType(planning: Planning, type: GraphQLOutputType, nodes: FieldNode[]): Step {
  const nullable = getNullableType(type);
  const complete = planNullable(planning, nullable, nodes);
  return (value, run) => {
    if (value == null) return type === nullable ? null : giveUp();
    return isUnusual(value) ? giveUp() : complete(value, run);
  };
}

/** What graphql-js waits for, throws or, unless a resolver gave it, calls. */
function isUnusual(value: NonNullable<unknown>): boolean {
  if (typeof value !== 'object') return typeof value === 'function';
  if (value instanceof Promise) value.catch(() => {}); // graphql-js asks again, and gets the same
  return value instanceof Promise || value instanceof Error;
}

function planNullable(planning: Planning, type: GraphQLOutputType, nodes: FieldNode[]): Step {
  if (isLeafType(type)) return (value) => type.serialize(value) ?? giveUp();
  if (isListType(type)) {
    const complete = planType(planning, type.ofType, nodes);
    return (all, run) => (Array.isArray(all) ? all.map((one) => complete(one, run)) : giveUp());
  }
  if (!isObjectType(type)) return giveUp();
  const { schema, fragments, variableValues } = planning;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectSubFields(schema, fragments, values, type, nodes);
  return compileObject(planFields(planning, type, fields));
}

/**
 * V8 makes an object whose members it was told in several times less than one whose members come one by one. The code
 * holds names of GraphQL alone: what a Name is, letters, digits and `_`, is an identifier's name in JavaScript too.
 */
function compileObject(fields: readonly Field[]): Step {
  const parameters = fields.flatMap((_, index) => [`read${index}`, `complete${index}`]);
  const members = fields.map(({ key }, at) => `${key}: complete${at}(read${at}(source, run), run)`);
  const make = new Function(...parameters, `return (source, run) => ({ ${members.join()} });`);
  return make(...fields.flatMap(({ read, complete }) => [read, complete]));
}
