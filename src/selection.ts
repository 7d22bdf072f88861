// It exists for speed: what a document does not select need not be read.
import {
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';

/** What a resolver is told of the document, and where in it its field stands. */
export type Selected = {
  readonly fieldNodes: readonly FieldNode[];
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly operation: OperationDefinitionNode;
};

/**
 * Whether a field is the only one at the root of its operation, `__typename` apart, and selects none of these names.
 * What stands in fragments counts, and what `@skip` and `@include` leave out does too.
 */
export function isOnlyFieldWithout(
  names: readonly string[],
  { fieldNodes, fragments, operation }: Selected,
): boolean {
  const isItself = (field: FieldNode) =>
    fieldNodes.includes(field) || field.name.value === '__typename';
  return (
    fieldsOf(operation.selectionSet, fragments).every(isItself) &&
    fieldNodes
      .flatMap(({ selectionSet }) => fieldsOf(selectionSet, fragments))
      .every(({ name }) => !names.includes(name.value))
  );
}

/** The fields of a selection; each fragment counts once, however often it is spread. */
function fieldsOf(
  set: SelectionSetNode | undefined,
  fragments: Selected['fragments'],
  spread: Set<string> = new Set(),
): readonly FieldNode[] {
  return (set?.selections ?? []).flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    if (selection.kind === Kind.INLINE_FRAGMENT)
      return fieldsOf(selection.selectionSet, fragments, spread);
    const name = selection.name.value;
    if (spread.has(name)) return [];
    spread.add(name);
    return fieldsOf(fragments[name]?.selectionSet, fragments, spread);
  });
}
