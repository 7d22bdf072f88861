import {
  type ExecutionResult,
  type FragmentDefinitionNode,
  getOperationAST,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { RequestOutcome } from '../../observability/observer.ts';

type Errors = ExecutionResult['errors'];

/** What is to be told of a request. */
type Report = { end(outcome: RequestOutcome, errors: Errors): void };

/** What is remembered of a request until its answer. */
type Facts<Begun> = {
  requestId: string;
  report?: Begun;
  operation?: string;
  fields?: string;
  errors?: Errors;
};

/** Reports each request: `begin` when it comes, `end` when it is answered. What was begun stays on the context. */
export function useRequestLog<Begun extends Report>(
  begin: (requestId: string, request: Request, url: URL) => Begun,
): Plugin<Facts<Begun>, Facts<Begun>> {
  return {
    onRequest({ request, url, serverContext }) {
      serverContext.report = begin(serverContext.requestId, request, url);
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
      serverContext.errors = result.errors;
    },
    onResponse({ request, response, serverContext }) {
      const { report, operation, fields, errors } = serverContext;
      // Nothing was begun for a preflight of CORS, which asks nothing.
      const outcome = {
        ...(operation !== undefined && { operation }),
        ...(fields !== undefined && { fields }),
        status: response.status,
        ...(request.signal.aborted && ABORTED),
      };
      report?.end(outcome, errors);
    },
  };
}

const ABORTED = { aborted: true } as const;

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
