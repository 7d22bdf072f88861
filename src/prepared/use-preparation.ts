// Exists for speed: whatever Yoga has found out about a request need not be found out again.
import { type DocumentNode, getOperationAST } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import type { PreparedOperations } from './operations.ts';

/** What is found on the server context when the answer is there. */
type Facts = {
  params: GraphQLParams;
  fields?: string;
  executed?: DocumentNode;
};

/** Learns from Yoga's way what was parsed, allowed and valid, so that it can be asked for without all that. */
export function usePreparation({ learn }: Pick<PreparedOperations, 'learn'>): Plugin<Facts, Facts> {
  return {
    onExecute({ args: { document, contextValue } }) {
      contextValue.executed = document;
    },
    onResponse({ request, response, serverContext: { executed: document, params, fields = '' } }) {
      const contentType = response.headers.get('content-type');
      if (document === undefined || contentType === null) return;
      if (request.method !== 'POST' || response.status !== 200) return;
      const { query = '', operationName = null } = params;
      const operation = getOperationAST(document, operationName);
      const accept = request.headers.get('accept') ?? '';
      if (operation)
        learn({ query, operationName, accept }, { document, operation, fields, contentType });
    },
  };
}
