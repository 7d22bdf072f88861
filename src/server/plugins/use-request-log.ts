import {
  type ExecutionResult,
  type FragmentDefinitionNode,
  getOperationAST,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { OngoingRequest } from '../../observability/request-reporter.ts';
import type { RequestIdContext } from './use-request-id.ts';

/** What useRequestLog collects on the server context until the response. */
export type RequestLogContext = RequestIdContext & {
  /** Undefined for CORS preflights, to which Yoga responds before any onRequest. */
  report?: OngoingRequest;
  /** query or mutation. */
  operation?: string;
  /** Names of the root fields, separated by commas. */
  fields?: string;
  errors?: ExecutionResult['errors'];
};

/** Reports each request: calls `begin` when it arrives, and `end` of what `begin` returned with its response. */
export function useRequestLog(
  begin: (requestId: string, request: Request, url: URL) => OngoingRequest,
): Plugin<RequestLogContext, RequestLogContext> {
  return {
    onRequest({ request, url, serverContext }) {
      serverContext.report = begin(serverContext.requestId, request, url);
    },
    onExecute({ args: { document, operationName, contextValue } }) {
      // Only valid documents are executed, so these names are names of the schema. Yoga's contextValue is serverContext.
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

/** Visits each fragment once: the number of nested spreads can be exponential. */
function rootFields(
  root: SelectionSetNode,
  fragments: readonly FragmentDefinitionNode[],
): ReadonlySet<string> {
  const fields = new Set<string>();
  const visited = new Set<SelectionSetNode | undefined>([undefined]);
  const visit = (set: SelectionSetNode | undefined) => {
    if (visited.has(set)) return;
    visited.add(set);
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) fields.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else visit(fragments.find(({ name }) => name.value === selection.name.value)?.selectionSet);
    }
  };
  visit(root);
  return fields;
}
