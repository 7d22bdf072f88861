import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/** Finds a fragment by its name. */
type FindFragment = (name: string) => FragmentDefinitionNode | undefined;

/** What a selection set selects, with fragments expanded at every spread. */
export type Measure = Readonly<typeof EMPTY>;

const EMPTY = {
  /** Levels of fields. */
  depth: 0,
  /** Number of fields. `raw`, a whole record or response, counts as ten. */
  fields: 0,
  /** Characters of their keys in a result, with four of punctuation each. */
  keyLength: 0,
  /** Fields of the first level. */
  rootFields: 0,
  rootFieldsButTypename: 0,
  /** Levels of fields that return events. */
  trails: 0,
};

/** Fields that a document may have. */
export const MAX_DOCUMENT_FIELDS = 500;

/** The fields that return events. */
const TRAILS: ReadonlySet<string> = new Set(['audit', 'auditEvents']);

/**
 * Returns a function that folds the selections of a set into one value. The value of a fragment is computed once, however
 * often it is spread: spreads multiply. Fragments that spread themselves are invalid, and empty.
 * @param add Adds a selection to the sum. `inner` is the value of what is below it, or in the fragment.
 */
export function foldSelections<T>(
  findFragment: FindFragment,
  empty: T,
  add: (sum: T, selection: SelectionNode, inner: T) => T,
): (set: SelectionSetNode | undefined) => T {
  const ofFragments = new Map<string, T>();
  const foldFragment = (name: string): T => {
    if (!ofFragments.has(name)) {
      ofFragments.set(name, empty);
      ofFragments.set(name, fold(findFragment(name)?.selectionSet));
    }
    return ofFragments.get(name) ?? empty;
  };
  const innerOf = (selection: SelectionNode): T =>
    selection.kind === Kind.FRAGMENT_SPREAD
      ? foldFragment(selection.name.value)
      : fold(selection.selectionSet);
  const fold = (set: SelectionSetNode | undefined): T =>
    (set?.selections ?? []).reduce((sum, one) => add(sum, one, innerOf(one)), empty);
  return fold;
}

/** Returns a function that finds the fragments of a document. */
export function fragmentsOf({ definitions }: DocumentNode): FindFragment {
  const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  return (name) => fragments.find((fragment) => fragment.name.value === name);
}

/** Returns a function that measures selection sets. It counts regardless of `@include` and `@skip`. */
export function measureSelections(findFragment: FindFragment) {
  return foldSelections<Measure>(findFragment, EMPTY, (sum, selection, inner) => {
    const own = selection.kind === Kind.FIELD ? measureField(selection, inner) : inner;
    return {
      depth: Math.max(sum.depth, own.depth),
      fields: sum.fields + own.fields,
      keyLength: sum.keyLength + own.keyLength,
      rootFields: sum.rootFields + own.rootFields,
      rootFieldsButTypename: sum.rootFieldsButTypename + own.rootFieldsButTypename,
      trails: Math.max(sum.trails, own.trails),
    };
  });
}

function measureField({ name: { value: name }, alias }: FieldNode, inner: Measure): Measure {
  return {
    depth: inner.depth + 1,
    fields: inner.fields + (name === 'raw' ? 10 : 1),
    keyLength: inner.keyLength + (alias?.value ?? name).length + 4,
    rootFields: 1,
    rootFieldsButTypename: name === '__typename' ? 0 : 1,
    trails: inner.trails + (TRAILS.has(name) ? 1 : 0),
  };
}

/**
 * Measures what is selected below a field. Of a connection, `fields` is about the number of values per item. Memoized by
 * `fieldNodes`, which graphql-js creates once per selection.
 */
export function measureBelow({ fieldNodes, fragments }: GraphQLResolveInfo): Measure {
  const known = measured.get(fieldNodes);
  if (known !== undefined) return known;
  const selections = fieldNodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
  const measure = measureSelections((name) => fragments[name])({
    kind: Kind.SELECTION_SET,
    selections,
  });
  measured.set(fieldNodes, measure);
  return measure;
}

const measured = new WeakMap<object, Measure>();
