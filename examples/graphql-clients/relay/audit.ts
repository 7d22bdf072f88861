import { commitMutation, type Environment, fetchQuery, graphql } from 'relay-runtime';
import type { auditDeletionMutation } from './__generated__/auditDeletionMutation.graphql.ts';
import deletion from './__generated__/auditDeletionMutation.graphql.ts';
import type { auditQuery, auditQuery$variables } from './__generated__/auditQuery.graphql.ts';
import query from './__generated__/auditQuery.graphql.ts';
import type {
  auditTargetsQuery,
  auditTargetsQuery$variables,
} from './__generated__/auditTargetsQuery.graphql.ts';
import targetsQuery from './__generated__/auditTargetsQuery.graphql.ts';

// The compiler reads these tags. A bundler with babel-plugin-relay replaces them with the artifacts imported above.
export const operations = () => [
  graphql`
    query auditQuery($first: Int!, $after: String, $filter: AuditFilter) {
      audit(first: $first, after: $after, filter: $filter) @connection(key: "Keytrail_audit") {
        edges {
          node {
            id
            action
            actor {
              identifier
              name
              apiKey {
                clientId
              }
            }
            target {
              identifier
              name
              apiKey {
                clientId
              }
            }
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  graphql`
    query auditTargetsQuery($first: Int!) {
      audit(first: $first) {
        edges {
          node {
            id
            target {
              identifier
              name
              apiKey {
                clientId
              }
            }
          }
        }
      }
    }
  `,
  graphql`
    mutation auditDeletionMutation($clientId: ID!) {
      deleteApiKey(clientId: $clientId) {
        outcome
        apiKey {
          clientId
        }
      }
    }
  `,
];

/** Reads a page from the store, or requests it. Returns it with the pages before it. */
export const readPage = (
  environment: Environment,
  variables: auditQuery$variables,
  fetchPolicy: 'network-only' | 'store-or-network' = 'store-or-network',
) => fetchQuery<auditQuery>(environment, query, variables, { fetchPolicy }).toPromise();

/** Requests only the targets of a page. */
export const readTargets = (environment: Environment, variables: auditTargetsQuery$variables) =>
  fetchQuery<auditTargetsQuery>(environment, targetsQuery, variables).toPromise();

/** Deletes an API key, then marks the cached trail as stale. If it failed, too: it may be OUTCOME_UNKNOWN. */
export function deleteApiKey(environment: Environment, clientId: string) {
  const invalidate = () => environment.commitUpdate((store) => store.getRoot().invalidateRecord());
  return new Promise<auditDeletionMutation['response']>((resolve, reject) => {
    commitMutation<auditDeletionMutation>(environment, {
      mutation: deletion,
      variables: { clientId },
      onCompleted: (response) => {
        invalidate();
        resolve(response);
      },
      onError: (error) => {
        invalidate();
        reject(error);
      },
    });
  });
}
