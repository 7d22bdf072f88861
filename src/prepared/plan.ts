// Exists because an executor looks at the document again for each record; a plan has looked at it once.
import { collectFields, collectSubFields } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  locatedError,
  type OperationDefinitionNode,
  print,
} from 'graphql';

/** A valid operation, with what it is made of. */
export type ValidOperation = {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Record<string, FragmentDefinitionNode>;
};

/** Values of variables, coerced. */
export type Variables = Record<string, unknown>;

/** An operation that only has to be carried out. */
export type Plan = (context: unknown, variables: Variables) => Promise<PlanResult>;

/** What graphql-js gives: `errors` is left out when there are none. */
export type PlanResult = { readonly errors?: readonly GraphQLError[]; readonly data: unknown };

/**
 * Plans a query, or a mutation of one field, for variables that decide its `@skip` and `@include` as these do. It
 * gives what the specification says (GraphQL, October 2021, section 6). Null for what is not planned: abstract types,
 * `__schema`, `__type`, and the response name `__proto__`, which JavaScript keeps for itself.
 */
export function createPlan(valid: ValidOperation, variables: Variables): Plan | null {
  const { schema, fragments, operation } = valid;
  const type = schema.getRootType(operation.operation);
  if (!type) return null;
  const planning: Planning = { ...valid, variables, isPossible: true };
  const { fields } = collectFields(
    schema,
    fragments,
    { coerced: variables, sources: {} },
    type,
    operation.selectionSet,
  );
  const execute = planObject(planning, type, fields);
  if (!planning.isPossible) return null;
  return async (context, values) => {
    const errors: GraphQLError[] = [];
    try {
      const data = await execute(undefined, undefined, { context, variables: values, errors });
      return errors.length > 0 ? { errors, data } : { data };
    } catch (error) {
      return { errors: [...errors, locatedError(error, undefined)], data: null };
    }
  };
}

type Planning = ValidOperation & { readonly variables: Variables; isPossible: boolean };

/** One time that a plan is carried out. */
type Run = {
  readonly context: unknown;
  readonly variables: Variables;
  readonly errors: GraphQLError[];
};

/** Where a value stands in the result. */
type Path = {
  readonly prev: Path | undefined;
  readonly key: string | number;
  readonly typename: undefined;
};

/** Gives the value of a field, or of all fields, of an object at a path. */
type Execute = (source: unknown, path: Path | undefined, run: Run) => unknown;

/** Makes what the caller gets of what a resolver gave; it stands at a key of the path. */
type Complete = (value: unknown, path: Path | undefined, key: string | number, run: Run) => unknown;

function planObject(
  planning: Planning,
  type: GraphQLObjectType,
  selected: ReadonlyMap<string, FieldNode[]>,
): Execute {
  if (type.isTypeOf || selected.has('__proto__')) planning.isPossible = false;
  const fields = [...selected].map(([name, nodes]) => ({
    name,
    execute: planField(planning, type, name, nodes),
  }));
  return (source, path, run) => {
    const data: Record<string, unknown> = {};
    let isPending = false;
    try {
      for (const { name, execute } of fields) {
        const value = execute(source, path, run);
        data[name] = value;
        isPending ||= value instanceof Promise;
      }
    } catch (error) {
      // Nobody waits for the others any more, and what they reject with must not end the process.
      void Promise.allSettled(Object.values(data));
      throw error;
    }
    return isPending ? settle(data) : data;
  };
}

async function settle(data: Record<string, unknown>): Promise<unknown> {
  const values = await Promise.all(Object.values(data));
  for (const [index, name] of Object.keys(data).entries()) data[name] = values[index];
  return data;
}

function planField(
  planning: Planning,
  parentType: GraphQLObjectType,
  key: string,
  nodes: FieldNode[],
): Execute {
  const name = nodes[0]?.name.value ?? '';
  if (name === '__typename') return () => parentType.name;
  const field = parentType.getFields()[name];
  if (field === undefined) {
    planning.isPossible = false;
    return () => null;
  }
  const resolve = planResolver(planning, parentType, field, key, nodes);
  const complete = planValue(planning, field.type, `${parentType.name}.${name}`, nodes);
  const place = planPlace(resolve, complete, field.type, nodes);
  return (source, path, run) => place(source, path, key, run);
}

/** Resolves and completes. Where that fails the error is recorded, and null stands there, unless null may not. */
function planPlace(
  resolve: Execute,
  complete: Complete,
  type: GraphQLOutputType,
  nodes: readonly FieldNode[],
): Complete {
  const fail = (error: unknown, path: Path | undefined, key: string | number, run: Run) => {
    const keys = [key];
    for (let at = path; at !== undefined; at = at.prev) keys.unshift(at.key);
    const located = locatedError(error, nodes, keys);
    if (isNonNullType(type)) throw located;
    run.errors.push(located);
    return null;
  };
  return (source, path, key, run) => {
    try {
      const value = resolve(source, path, run);
      const completed =
        value instanceof Promise
          ? value.then((resolved) => complete(resolved, path, key, run))
          : complete(value, path, key, run);
      if (!(completed instanceof Promise)) return completed;
      return completed.catch((error: unknown) => fail(error, path, key, run));
    } catch (error) {
      return fail(error, path, key, run);
    }
  };
}

/** Only a resolver that declares `info` gets one of its own: to make it takes longer than most resolvers do. */
function planResolver(
  { schema, operation, fragments, variables }: Planning,
  parentType: GraphQLObjectType,
  field: GraphQLField<unknown, unknown>,
  key: string,
  nodes: readonly FieldNode[],
): Execute {
  const { resolve = defaultFieldResolver, name: fieldName, type: returnType } = field;
  const path = { prev: undefined, key, typename: undefined };
  const common = { fieldName, fieldNodes: nodes, returnType, parentType, schema, fragments };
  const info: GraphQLResolveInfo = {
    ...common,
    path,
    rootValue: undefined,
    operation,
    variableValues: variables,
  };
  if (resolve === defaultFieldResolver) {
    return (source, _, { context }) => {
      const value: unknown = Object(source)[fieldName];
      return typeof value === 'function' ? resolve(source, {}, context, info) : value;
    };
  }
  const [node] = nodes;
  // Where no dollar stands there is no variable, and the arguments are the same each time.
  const isFixed = node === undefined || !print(node).includes('$');
  let fixed: Variables | undefined;
  const argumentsFor = (values: Variables): Variables => {
    const args = fixed ?? (node ? getArgumentValues(field, node, values) : {});
    if (isFixed) fixed = args;
    return args;
  };
  return (source, prev, { context, variables: values }) => {
    const args = argumentsFor(values);
    if (resolve.length < 4) return resolve(source, args, context, info);
    return resolve(source, args, context, {
      ...info,
      variableValues: values,
      path: { ...path, prev },
    });
  };
}

function planValue(
  planning: Planning,
  type: GraphQLOutputType,
  name: string,
  nodes: FieldNode[],
): Complete {
  if (isNonNullType(type)) return planNonNull(planValue(planning, type.ofType, name, nodes), name);
  const complete = planNullable(planning, type, name, nodes);
  return (value, path, key, run) => {
    if (value instanceof Error) throw value;
    return value == null ? null : complete(value, path, key, run);
  };
}

function planNonNull(complete: Complete, name: string): Complete {
  const check = (completed: unknown) => {
    if (completed !== null) return completed;
    throw new Error(`Cannot return null for non-nullable field ${name}.`);
  };
  return (value, path, key, run) => {
    const completed = complete(value, path, key, run);
    return completed instanceof Promise ? completed.then(check) : check(completed);
  };
}

function planNullable(
  planning: Planning,
  type: GraphQLOutputType,
  name: string,
  nodes: FieldNode[],
): Complete {
  if (isListType(type)) return planList(planning, type.ofType, name, nodes);
  if (isLeafType(type)) {
    return (value) => {
      const serialized: unknown = type.serialize(value);
      if (serialized != null) return serialized;
      throw new Error(`A value of ${name} was serialized as nothing.`);
    };
  }
  if (isObjectType(type)) {
    const { schema, fragments, variables } = planning;
    const { fields } = collectSubFields(
      schema,
      fragments,
      { coerced: variables, sources: {} },
      type,
      nodes,
    );
    const execute = planObject(planning, type, fields);
    return (value, prev, key, run) => execute(value, { prev, key, typename: undefined }, run);
  }
  planning.isPossible = false;
  return () => null;
}

function planList(
  planning: Planning,
  type: GraphQLOutputType,
  name: string,
  nodes: FieldNode[],
): Complete {
  const place = planPlace((item) => item, planValue(planning, type, name, nodes), type, nodes);
  return (list, prev, key, run) => {
    if (!Array.isArray(list)) throw new GraphQLError(`A list is needed for ${name}.`);
    const path = { prev, key, typename: undefined };
    const items: unknown[] = [];
    try {
      for (let index = 0; index < list.length; index += 1) {
        items.push(place(list[index], path, index, run));
      }
    } catch (error) {
      void Promise.allSettled(items);
      throw error;
    }
    return items.some((item) => item instanceof Promise) ? Promise.all(items) : items;
  };
}
