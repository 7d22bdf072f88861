// urql with automatic token refresh.
// Run it: npx node examples/clients/urql.ts
import { Client, type CombinedError, fetchExchange, gql, type Operation } from '@urql/core';
import { authExchange } from '@urql/exchange-auth';
import { createSession, type Session, wasRefused } from 'keytrail/client';
import { clientId, clientSecret, reportFailure, url } from './settings.ts';

/**
 * Creates a client that retries an operation once with a new token if its token was rejected: a mutation only if that
 * itself was refused. A field below a deletion can be rejected after the key was deleted. The exchange does not get the
 * data, so a mutation must have one field, as Keytrail requires. urql identifies operations by document and
 * variables: of two equal mutations at the same time, the second may never get a result.
 */
export function createUrqlClient(url: string, session: Session): Client {
  const auth = authExchange(async ({ appendHeaders }) => {
    let token: string | undefined;
    let refused: string | undefined;
    return {
      addAuthToOperation: (operation) =>
        appendHeaders(operation, { authorization: `Bearer ${token}` }),
      willAuthError: () => token === undefined,
      didAuthError: (error, operation) => {
        refused = tokenOf(operation); // not `token`, which may have been refreshed since
        const isQuery = operation.kind === 'query';
        return isQuery ? isUnauthenticated(error) : wasRefused({ errors: error.graphQLErrors });
      },
      refreshAuth: async () => {
        token = await session.token(refused);
      },
    };
  });
  return new Client({ url, preferGetMethod: false, exchanges: [auth, fetchExchange] });
}

function isUnauthenticated({ graphQLErrors }: CombinedError): boolean {
  return graphQLErrors.some(({ extensions }) => extensions['code'] === 'UNAUTHENTICATED');
}

function tokenOf({ context: { fetchOptions } }: Operation): string | undefined {
  const options = typeof fetchOptions === 'function' ? fetchOptions() : fetchOptions;
  return new Headers(options?.headers).get('authorization')?.replace('Bearer ', '');
}

if (import.meta.main) {
  reportFailure();
  const client = createUrqlClient(url, createSession({ url, clientId, clientSecret }));
  const AUDIT = gql`{ audit(first: 3) { nodes { occurredAt action target { identifier } } } }`;
  const { data, error } = await client.query(AUDIT, {}).toPromise();
  if (error) throw error;
  for (const { occurredAt, action, target } of data.audit.nodes) {
    console.log(occurredAt, action, target.identifier);
  }
}
