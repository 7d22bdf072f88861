// Exists because to parse, validate and plan a document takes longer than to carry it out.
import { type DocumentNode, type GraphQLSchema, getOperationAST } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { OngoingRequest } from '../../observability/request-reporter.ts';
import { lazy } from '../../util/memoize.ts';
import { compileOperation, reuseResolvedRootFields } from './compile.ts';

/** What is asked for; `accept` is the header, which decides the type of the answer. */
export type OperationRequest = {
  readonly query: string;
  readonly operationName: string | null;
  readonly accept: string;
  readonly variables: Readonly<Record<string, unknown>>;
};

/** What only has to be carried out, and what is always the same in its answer and in the log. */
export type PreparedOperation = {
  readonly outcome: Parameters<OngoingRequest['end']>[0];
  readonly contentType: string;
  readonly plan: () => ReturnType<typeof compileOperation>;
};

/** What is found on the server context when the answer is there. */
type Facts = { params?: GraphQLParams; fields?: string };

/** Characters of documents: parsed and planned, one takes up to 500 bytes for each. */
const MAX_CHARACTERS = 65_536;

/**
 * Keeps the operations that were asked before, of whomever, where their documents are kept: what Yoga's way parsed,
 * allowed and found valid. An operation is planned when it is asked for the second time: many never are.
 */
export function createPreparedOperations(
  schema: GraphQLSchema,
  documents: { get(text: string): DocumentNode | undefined },
) {
  reuseResolvedRootFields(schema);
  const operations = new LRUCache<string, PreparedOperation>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_, key) => key.length,
  });
  const plugin: Plugin<Facts, Facts> = {
    onResponse({ request: { method, headers }, response, serverContext }) {
      const { params, fields } = serverContext;
      const { query = '', operationName = null } = params ?? {};
      const contentType = response.headers.get('content-type');
      const document = documents.get(query);
      if (!document || !contentType || method !== 'POST' || response.status !== 200) return;
      const asked = getOperationAST(document, operationName);
      const key = keyOf({ query, operationName, accept: headers.get('accept') ?? '' });
      if (!asked || fields === undefined || operations.has(key)) return;
      const outcome = { operation: asked.operation, fields, status: 200, prepared: true } as const;
      const plan = lazy(() => compileOperation({ schema, document, operation: asked }));
      operations.set(key, { outcome, contentType, plan });
    },
  };
  return { plugin, find: (question: OperationRequest) => operations.get(keyOf(question)) };
}

/** By what a question is known again, letter for letter. */
function keyOf({ query, operationName, accept }: Omit<OperationRequest, 'variables'>): string {
  return `${accept}\n${operationName?.length}\n${operationName}\n${query}`;
}
