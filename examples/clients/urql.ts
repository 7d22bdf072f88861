// urql with a login that renews itself.
// Run it: npx node examples/clients/urql.ts
import { Client, type CombinedError, fetchExchange, gql, type Operation } from '@urql/core';
import { authExchange } from '@urql/exchange-auth';
import { createSession, type Session } from './session.ts';
import { clientId, clientSecret, url } from './settings.ts';

/**
 * A client whose operations are sent again, once, with a renewed token when theirs was refused. Keytrail takes one
 * field in a mutation, so what is sent again was refused as a whole. urql knows operations by their text and variables:
 * of two equal mutations at once the second may never be answered.
 */
export function createUrqlClient(url: string, session: Session): Client {
  const auth = authExchange(async ({ appendHeaders }) => {
    let token = await session.token();
    let refused: string | undefined;
    return {
      addAuthToOperation: (operation) =>
        appendHeaders(operation, { authorization: `Bearer ${token}` }),
      didAuthError: (error, operation) => {
        refused = tokenOf(operation); // not `token`: the answer may have come after it was renewed
        return isUnauthenticated(error);
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
  const client = createUrqlClient(url, createSession(clientId, clientSecret, { url }));
  const AUDIT = gql`{ audit(first: 3) { nodes { occurredAt action target { identifier } } } }`;
  const { data, error } = await client.query(AUDIT, {}).toPromise();
  if (error) throw error;
  for (const { occurredAt, action, target } of data.audit.nodes) {
    console.log(occurredAt, action, target.identifier);
  }
}
