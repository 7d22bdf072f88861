// Kept for speed: x4.3 with 1,000 records (npm run bench -- --load thousand). An executor interprets the document per record.
import { collectFields, collectSubFields } from '@graphql-tools/utils';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type FieldNode,
  GraphQLID,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  GraphQLString,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  print,
} from 'graphql';
import { findInvalidPointer } from '../schema/pointer-arguments.ts';

/** A valid operation, and the document it belongs to. */
type ValidOperation = Pick<GraphQLResolveInfo, 'schema' | 'operation'> & {
  readonly document: DocumentNode;
};

/** Given variables, returns a function that executes the operation; null if they are invalid or it was not compiled. */
export type CompiledOperation = (
  variables: Readonly<Record<string, unknown>>,
) => ((context: unknown) => Promise<ExecutionResult>) | null;

/** Reads a field of `source`: calls the resolver, or reads the property of the same name. */
type FieldReader = (source: unknown, run: Run) => unknown;

/** Converts what a reader returned into the value in the result; throws if graphql-js must do it. */
type FieldCompleter = (value: unknown, run: Run) => unknown;

type CompiledField = {
  /** Alias or name. */
  readonly key: string;
  readonly read: FieldReader;
  readonly complete: FieldCompleter;
  /** The property that `read` reads, if it does nothing else. */
  readonly property?: string;
  /** Whether a text is a value of its type as it is. */
  readonly isText?: boolean;
};

/** One execution, with the coerced values of the variables. */
type Run = { readonly context: unknown; readonly coerced: Record<string, unknown> };

/** What compiling a selection needs. `budget.fields`: fields that may still be compiled; fragments can expand exponentially. */
type Scope = ValidOperation & GraphQLResolveInfo & { readonly budget: { fields: number } };

/** An operation is compiled for up to 8 combinations of its Boolean variables. Yoga responds to others. */
const MAX_VARIANTS = 8;

/**
 * Compiles a query, or a mutation of one field. Root fields are resolved here, exactly once. Their values are completed
 * here unless one is wrong or unusual; graphql-js then completes them all, and reports the errors. For that the resolvers
 * of the schema must read a root value that is a Map, see `createFastPath`. Not compiled: abstract types, `__schema`,
 * `__type`, nested resolvers that take `info`, the response name `__proto__`; and nothing with Node's
 * `--disallow-code-generation-from-strings`.
 */
export function compileOperation(valid: ValidOperation): CompiledOperation {
  const { schema, document, operation } = valid;
  const { variableDefinitions = [], name } = operation;
  const variants = new Map<string, readonly CompiledField[] | null>();
  return (variables) => {
    const { coerced } = getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 });
    const flags = Object.entries(coerced ?? {}).filter(([, value]) => typeof value === 'boolean');
    const variant = flags.join(); // `@skip` and `@include` depend on Boolean variables alone
    if (coerced && variants.size < MAX_VARIANTS && !variants.has(variant))
      variants.set(variant, compileRoot(valid, Object.fromEntries(flags))); // caches no other value of the client
    const fields = variants.get(variant);
    if (!coerced || !fields || findInvalidPointer(document, coerced) !== null) return null;
    return async (context) => {
      const run = { context, coerced };
      const resolving = fields.map(({ read }) => settle(() => read(undefined, run)));
      try {
        const values = resolving.length === 1 ? [await resolving[0]] : await Promise.all(resolving);
        const members = fields.map(({ key, complete }, at) => [key, complete(values[at], run)]);
        return { data: Object.fromEntries(members) };
      } catch {
        const rootValue = new Map(fields.map(({ key }, index) => [key, resolving[index]]));
        const values = { contextValue: context, variableValues: variables };
        return execute({ schema, document, rootValue, ...values, operationName: name?.value });
      }
    };
  };
}

/** A promise of what a function returns. If that is a promise, the same one: that of an async function settles two ticks later. */
function settle(read: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(read());
  } catch (error) {
    return Promise.reject(error);
  }
}

function fallBack(): never {
  throw new Error('Left to graphql-js.');
}

/** Bounds the compiled fields by the length of the document: spreads of fragments multiply them. */
const CHARACTERS_PER_FIELD = 4;

/** `variableValues` contains the Boolean variables only: they decide which fields `@skip` and `@include` leave. */
function compileRoot(valid: ValidOperation, variableValues: Run['coerced']) {
  const { schema, document, operation } = valid;
  const named = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  const fragments = Object.fromEntries(named.map((fragment) => [fragment.name.value, fragment]));
  const budget = { fields: (document.loc?.end ?? 0) / CHARACTERS_PER_FIELD };
  // compileFields adds the missing members of `info`. No resolver reads those that other versions of graphql-js add.
  const scope = { ...valid, fragments, variableValues, rootValue: undefined, budget } as Scope;
  const values = { coerced: variableValues, sources: {} };
  try {
    const type = schema.getRootType(operation.operation) ?? fallBack();
    const root = collectFields(schema, fragments, values, type, operation.selectionSet);
    return compileFields(scope, type, root.fields);
  } catch {
    return null;
  }
}

function compileFields(
  scope: Scope,
  parentType: GraphQLObjectType,
  selected: ReadonlyMap<string, FieldNode[]>,
): readonly CompiledField[] {
  const { schema, operation, budget } = scope;
  budget.fields -= selected.size;
  if (budget.fields < 0 || parentType.isTypeOf || selected.has('__proto__')) fallBack();
  const isRoot = parentType === schema.getRootType(operation.operation);
  return [...selected].map(([key, fieldNodes]) => {
    const [node] = fieldNodes;
    const fieldName = node?.name.value ?? '';
    if (fieldName === '__typename')
      return { key, read: () => parentType.name, complete: (name) => name };
    const field = parentType.getFields()[fieldName];
    if (!node || !field || (!isRoot && (field.resolve?.length ?? 0) > 3)) fallBack();
    const { resolve, type: returnType } = field;
    const complete = compileOutput(scope, returnType, fieldNodes);
    if (!resolve) {
      const nullable = getNullableType(returnType);
      const isText = nullable === GraphQLString || nullable === GraphQLID;
      const read: FieldReader = (source) => Object(source)[fieldName];
      return { key, read, complete, property: fieldName, isText };
    }
    const path = { prev: undefined, key, typename: parentType.name };
    const info = { ...scope, fieldName, fieldNodes, returnType, parentType, path };
    // Arguments without a variable are the same in each execution.
    const constant = print(node).includes('$') ? null : getArgumentValues(field, node, {});
    const read: FieldReader = (source, { context, coerced }) =>
      resolve(source, constant ?? getArgumentValues(field, node, coerced), context, info);
    return { key, read, complete };
  });
}

function compileOutput(scope: Scope, type: GraphQLOutputType, nodes: FieldNode[]): FieldCompleter {
  const nullable = getNullableType(type);
  const complete = compileNonNull(scope, nullable, nodes);
  return (value, run) => {
    if (value == null) return type === nullable ? null : fallBack();
    return isUnusual(value) ? fallBack() : complete(value, run);
  };
}

/** Promises, Errors and functions: graphql-js treats them specially. */
function isUnusual(value: NonNullable<unknown>): boolean {
  if (typeof value !== 'object') return typeof value === 'function';
  if (value instanceof Promise) value.catch(() => {}); // handled: graphql-js awaits the same promise
  return value instanceof Promise || value instanceof Error;
}

function compileNonNull(scope: Scope, type: GraphQLOutputType, nodes: FieldNode[]): FieldCompleter {
  if (isLeafType(type)) return (value) => type.serialize(value) ?? fallBack();
  if (isListType(type)) {
    const complete = compileOutput(scope, type.ofType, nodes);
    return (items, run) =>
      Array.isArray(items) ? items.map((item) => complete(item, run)) : fallBack();
  }
  if (!isObjectType(type)) return fallBack();
  const { schema, fragments, variableValues } = scope;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectSubFields(schema, fragments, values, type, nodes);
  return compileObject(compileFields(scope, type, fields));
}

/**
 * V8 builds an object from a literal several times faster than member by member. The generated code contains only
 * GraphQL names as keys: letters, digits and `_`, so they are JavaScript identifiers too.
 */
function compileObject(fields: readonly CompiledField[]): FieldCompleter {
  const parameters = fields.flatMap((_, index) => [`read${index}`, `complete${index}`]);
  const members = fields.map(({ key, property, isText }, at) => {
    // Reading a property in place keeps V8's inline cache for it monomorphic.
    const read = property === undefined ? `read${at}(source, run)` : `source.${property}`;
    return isText
      ? `${key}: typeof (value = ${read}) === 'string' ? value : complete${at}(value, run)`
      : `${key}: complete${at}(${read}, run)`;
  });
  const body = `return (source, run) => { let value; return { ${members.join()} }; };`;
  const create = new Function(...parameters, body);
  return create(...fields.flatMap(({ read, complete }) => [read, complete]));
}
