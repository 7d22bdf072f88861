import type { DocumentNode } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import type { PreparedOperations } from './operations.ts';

/** What is found on the server context when the answer is there. */
type Facts = {
  params: GraphQLParams;
  operation?: string;
  fields?: string;
  executed?: DocumentNode;
};

/** Learns from Yoga's way what was parsed, allowed and valid, so that it can be asked for without all that. */
export function usePreparation({ learn }: Pick<PreparedOperations, 'learn'>): Plugin<Facts, Facts> {
  return {
    onExecute({ args: { document, contextValue } }) {
      contextValue.executed = document;
    },
    onResponse({ request, response, serverContext }) {
      const { executed, params, operation, fields = '' } = serverContext;
      const contentType = response.headers.get('content-type');
      if (executed === undefined || operation === undefined || contentType === null) return;
      if (request.method !== 'POST' || response.status !== 200) return;
      const { query = '', operationName = null } = params;
      const accept = request.headers.get('accept') ?? '';
      learn(
        { query, operationName, accept },
        { document: executed, contentType, operation, fields },
      );
    },
  };
}
