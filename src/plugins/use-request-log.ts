import { type FragmentDefinitionNode, getOperationAST, Kind, type SelectionSetNode } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';

/** All that is ever written about a request: names out of the schema and the table of codes, numbers, and the id. */
export type RequestRecord = {
  readonly requestId: string;
  /** query or mutation; left out when no operation was reached. */
  readonly operation?: string;
  /** Names of root fields, by comma. */
  readonly fields?: string;
  /** Codes of errors, by comma. */
  readonly codes?: string;
  readonly status: number;
  readonly durationMs: number;
  /** True when the caller left before the answer. */
  readonly aborted?: true;
};

/** What the log needs to remember of a request until its answer. */
type Facts = {
  requestId: string;
  startedAt: number;
  operation?: string;
  fields?: string;
  codes?: string;
};

/** Writes one record a request. `clock` counts milliseconds from anywhere. */
export function useRequestLog(
  write: (record: RequestRecord) => void,
  clock: () => number,
): Plugin<Facts, Facts> {
  return {
    onRequest({ serverContext }) {
      serverContext.startedAt = clock();
    },
    onExecute({ args: { document, operationName, contextValue } }) {
      // Only a valid document comes this far, so these names are names of the schema.
      const operation = getOperationAST(document, operationName);
      if (!operation) return;
      const fragments = document.definitions.filter(isFragment);
      contextValue.operation = operation.operation;
      contextValue.fields = [...rootFields(operation.selectionSet, fragments)].join(',');
    },
    onResultProcess({ result, serverContext }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      const codes = new Set(result.errors?.map(({ extensions }) => String(extensions['code'])));
      if (codes.size > 0) serverContext.codes = [...codes].join(',');
    },
    onResponse({ request, response, serverContext }) {
      const { requestId, startedAt, operation, fields, codes } = serverContext;
      write({
        requestId,
        ...(operation !== undefined && { operation }),
        ...(fields !== undefined && { fields }),
        ...(codes !== undefined && { codes }),
        status: response.status,
        durationMs: Math.round((clock() - startedAt) * 10) / 10,
        ...(request.signal.aborted && { aborted: true }),
      });
    },
  };
}

function isFragment(node: { readonly kind: string }): node is FragmentDefinitionNode {
  return node.kind === Kind.FRAGMENT_DEFINITION;
}

/** Each fragment is entered once: spread in one another they would be entered exponentially often. */
function rootFields(
  root: SelectionSetNode,
  fragments: readonly FragmentDefinitionNode[],
): ReadonlySet<string> {
  const fields = new Set<string>();
  const entered = new Set<SelectionSetNode | undefined>([undefined]);
  const enter = (set: SelectionSetNode | undefined) => {
    if (entered.has(set)) return;
    entered.add(set);
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) fields.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) enter(selection.selectionSet);
      else enter(fragments.find(({ name }) => name.value === selection.name.value)?.selectionSet);
    }
  };
  enter(root);
  return fields;
}
