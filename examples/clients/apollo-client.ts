// Apollo Client without React, with automatic token refresh.
// Run it: npx node examples/clients/apollo-client.ts
import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
} from '@apollo/client';
import { ErrorLink } from '@apollo/client/link/error';
import { createSession, type Session, wasRefused } from 'keytrail/client';
import { from, switchMap } from 'rxjs';
import { clientId, clientSecret, reportFailure, url } from './settings.ts';

/**
 * Creates a client that retries an operation once with a new token if its token was rejected: a mutation only if that
 * itself was refused. A field below a deletion can be rejected after the key was deleted.
 */
export function createApolloClient(uri: string, session: Session): ApolloClient {
  const authorize = new ApolloLink((operation, forward) =>
    from(session.token(operation.getContext()['refused'])).pipe(
      switchMap((token) => {
        const { headers } = operation.getContext();
        operation.setContext({ token, headers: { ...headers, authorization: `Bearer ${token}` } });
        return forward(operation);
      }),
    ),
  );
  const renew = new ErrorLink(({ error, operation, forward }) => {
    const isQuery = operation.operationType === 'query';
    if (!(isQuery ? isUnauthenticated(error) : isRefusal(error))) return;
    operation.setContext({ refused: operation.getContext()['token'] });
    return forward(operation); // errors of the retry do not reach this link
  });
  return new ApolloClient({
    link: ApolloLink.from([renew, authorize, new HttpLink({ uri })]),
    cache: new InMemoryCache(),
  });
}

function isUnauthenticated(error: unknown): boolean {
  return (
    CombinedGraphQLErrors.is(error) &&
    error.errors.some(({ extensions }) => extensions?.['code'] === 'UNAUTHENTICATED')
  );
}

const isRefusal = (error: unknown) => CombinedGraphQLErrors.is(error) && wasRefused(error);

if (import.meta.main) {
  reportFailure();
  const client = createApolloClient(url, createSession({ url, clientId, clientSecret }));
  const query = gql`{ audit(first: 3) { nodes { occurredAt action target { identifier } } } }`;
  const { data } = await client.query<{
    audit: { nodes: { occurredAt: string; action: string; target: { identifier: string } }[] };
  }>({ query });
  for (const { occurredAt, action, target } of data?.audit.nodes ?? []) {
    console.log(occurredAt, action, target.identifier);
  }
}
