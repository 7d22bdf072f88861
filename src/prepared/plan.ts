// Exists for speed: an executor looks at the document again for each record, a plan has looked at it once.
import { collectFields, collectSubFields } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  GraphQLID,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLString,
  getNullableType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  locatedError,
  type OperationDefinitionNode,
} from 'graphql';
import { createArguments } from './coercion.ts';

/** A valid operation, with what it is made of. */
export type ValidOperation = {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Record<string, FragmentDefinitionNode>;
};

/** Values of variables, coerced. */
export type Variables = Record<string, unknown>;

/** As graphql-js gives it. */
export type PlanResult = { readonly errors?: readonly GraphQLError[]; readonly data: unknown };

/** An operation that only has to be carried out. */
export type Plan = (context: unknown, variables: Variables) => Promise<PlanResult>;

/**
 * Plans a query, or a mutation of one field, for variables that decide its `@skip` and `@include` as these do. It
 * gives what the specification says (GraphQL, October 2021, section 6). Null for what is not planned: abstract types,
 * `__schema`, `__type`, and the response name `__proto__`, which JavaScript keeps for itself.
 */
export function createPlan(valid: ValidOperation, variables: Variables): Plan | null {
  const { schema, fragments, operation } = valid;
  const type = schema.getRootType(operation.operation);
  if (!type) return null;
  const values = { coerced: variables, sources: {} };
  const planning: Planning = { ...valid, values, isPossible: true };
  const { fields } = collectFields(schema, fragments, values, type, operation.selectionSet);
  const execute = planObject(planning, type, fields);
  if (!planning.isPossible) return null;
  return async (context, given) => {
    const errors: GraphQLError[] = [];
    try {
      const data = await execute(undefined, undefined, { context, variables: given, errors });
      return errors.length > 0 ? { errors, data } : { data };
    } catch (error) {
      return { errors: [...errors, locatedError(error, undefined)], data: null };
    }
  };
}

type Planning = ValidOperation & {
  readonly values: { readonly coerced: Variables; readonly sources: Record<string, never> };
  isPossible: boolean;
};

/** One time that a plan is carried out. */
type Run = {
  readonly context: unknown;
  readonly variables: Variables;
  readonly errors: GraphQLError[];
};

/** Where a value stands in the result. */
type Path = GraphQLResolveInfo['path'] | undefined;

/** Gives the value of a field, or of all fields, of an object at a path. */
type Execute = (source: unknown, path: Path, run: Run) => unknown;

/** Makes what the caller gets of what a resolver gave; it stands at a key of the path. */
type Complete = (value: unknown, path: Path, key: string | number, run: Run) => unknown;

/** A field, and everywhere it is selected. */
type Selected = {
  readonly type: GraphQLOutputType;
  readonly name: string;
  readonly nodes: FieldNode[];
};

function planObject(
  planning: Planning,
  type: GraphQLObjectType,
  selected: ReadonlyMap<string, FieldNode[]>,
): Execute {
  if (type.isTypeOf || selected.has('__proto__')) planning.isPossible = false;
  const fields = [...selected].map(([key, nodes]) => ({
    key,
    execute: planField(planning, type, key, nodes),
  }));
  return (source, path, run) => {
    const data: Record<string, unknown> = {};
    let isPending = false;
    try {
      for (const { key, execute } of fields) {
        const value = execute(source, path, run);
        data[key] = value;
        if (isPromise(value)) isPending = true;
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
  for (const [index, key] of Object.keys(data).entries()) data[key] = values[index];
  return data;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value instanceof Promise;
}

function planField(
  planning: Planning,
  parentType: GraphQLObjectType,
  key: string,
  nodes: FieldNode[],
): Execute {
  const [node] = nodes;
  if (node?.name.value === '__typename') return () => parentType.name;
  const field = parentType.getFields()[node?.name.value ?? ''];
  if (node === undefined || field === undefined) {
    planning.isPossible = false;
    return () => null;
  }
  const { schema, operation, fragments, values } = planning;
  const { resolve = defaultFieldResolver, name: fieldName, type } = field;
  const path = { prev: undefined, key, typename: undefined };
  const standing: unknown = {
    ...{ fieldName, fieldNodes: nodes, returnType: type, parentType, path, rootValue: undefined },
    ...{ schema, fragments, operation, variableValues: values.coerced },
  };
  const info = standing as GraphQLResolveInfo; // other versions of graphql-js add members that no resolver here reads
  const argumentsFor = createArguments(field, node);
  // Only a resolver that declares `info` gets one of its own: to make it takes longer than most resolvers do.
  const isGeneral = resolve.length < 4 || resolve === defaultFieldResolver;
  const resolveField: Execute = (source, prev, { context, variables }) => {
    const own = isGeneral ? info : { ...info, variableValues: variables, path: { ...path, prev } };
    return resolve(source, argumentsFor(variables), context, own);
  };
  const selected = { type, name: `${parentType.name}.${fieldName}`, nodes };
  const place = planPlace(planning, selected, resolveField);
  const leaf = getNullableType(type);
  if (resolve !== defaultFieldResolver || !isLeafType(leaf))
    return (source, prev, run) => place(source, prev, key, run);
  // Most of an answer are leaves that stand in their object. What is wrong with one, the long way says.
  const isText = leaf === GraphQLString || leaf === GraphQLID;
  const isNullable = leaf === type;
  return (source, prev, run) => {
    const value = readProperty(source, fieldName);
    if (isText && typeof value === 'string') return value;
    if (value === null && isNullable) return null;
    if (typeof value !== 'string' && !(value instanceof Date)) return place(source, prev, key, run);
    try {
      return leaf.serialize(value) ?? place(source, prev, key, run);
    } catch {
      return place(source, prev, key, run);
    }
  };
}

function readProperty(source: unknown, name: string): unknown {
  return typeof source === 'object' && source !== null && name in source
    ? source[name as keyof typeof source]
    : undefined;
}

/** Resolves and completes. Where that fails the error is recorded, and null stands there, unless null may not. */
function planPlace(planning: Planning, selected: Selected, resolve: Execute): Complete {
  const complete = planValue(planning, selected);
  const fail = (error: unknown, path: Path, key: string | number, run: Run) => {
    const keys = [key];
    for (let at = path; at !== undefined; at = at.prev) keys.unshift(at.key);
    const located = locatedError(error, selected.nodes, keys);
    if (isNonNullType(selected.type)) throw located;
    run.errors.push(located);
    return null;
  };
  return (source, path, key, run) => {
    try {
      const value = resolve(source, path, run);
      const completed = isPromise(value)
        ? value.then((resolved) => complete(resolved, path, key, run))
        : complete(value, path, key, run);
      if (!isPromise(completed)) return completed;
      return completed.catch((error: unknown) => fail(error, path, key, run));
    } catch (error) {
      return fail(error, path, key, run);
    }
  };
}

function planValue(planning: Planning, selected: Selected): Complete {
  const complete = planNullable(planning, { ...selected, type: getNullableType(selected.type) });
  const isNullable = !isNonNullType(selected.type);
  const check = (completed: unknown) => {
    if (completed !== null || isNullable) return completed;
    throw new Error(`Cannot return null for non-nullable field ${selected.name}.`);
  };
  return (value, path, key, run) => {
    if (typeof value === 'object' && value instanceof Error) throw value;
    const completed = value == null ? null : complete(value, path, key, run);
    return isPromise(completed) ? completed.then(check) : check(completed);
  };
}

function planNullable(planning: Planning, { type, name, nodes }: Selected): Complete {
  if (isLeafType(type)) {
    return (value) => {
      const serialized: unknown = type.serialize(value);
      if (serialized != null) return serialized;
      throw new Error(`A value of ${name} was serialized as nothing.`);
    };
  }
  if (isListType(type)) {
    const place = planPlace(planning, { type: type.ofType, name, nodes }, (item) => item);
    return (list, prev, key, run) => {
      if (!Array.isArray(list)) throw new GraphQLError(`A list is needed for ${name}.`);
      const path = { prev, key, typename: undefined };
      const items: unknown[] = [];
      let isPending = false;
      try {
        for (let index = 0; index < list.length; index += 1) {
          const item = place(list[index], path, index, run);
          items.push(item);
          if (isPromise(item)) isPending = true;
        }
      } catch (error) {
        void Promise.allSettled(items);
        throw error;
      }
      return isPending ? Promise.all(items) : items;
    };
  }
  if (isObjectType(type)) {
    const { schema, fragments, values } = planning;
    const { fields } = collectSubFields(schema, fragments, values, type, nodes);
    const execute = planObject(planning, type, fields);
    return (value, prev, key, run) => execute(value, { prev, key, typename: undefined }, run);
  }
  planning.isPossible = false;
  return () => null;
}
