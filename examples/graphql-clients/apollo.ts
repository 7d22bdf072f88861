import {
  ApolloClient,
  ApolloLink,
  gql,
  HttpLink,
  Observable,
  type TypedDocumentNode,
} from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { print } from '@apollo/client/utilities';
import {
  DeleteApiKeyDocument,
  type DeleteApiKeyMutation,
  type DeleteApiKeyMutationVariables,
} from 'keytrail-client';
import { createCache } from './apollo-cache.ts';
import { createEventClient, type EventClient, toSink } from './events.ts';

/** Creates a link that sends operations by server-sent events: only subscriptions and queries, since Keytrail refuses mutations by events. */
export const createEventLink = (events: EventClient) =>
  new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) =>
        events.subscribe({ query: print(query), variables }, toSink(observer)),
      ),
  );

/** Creates a client that repeats a query if its connection was lost. Subscriptions are server-sent events. */
export function createClient(uri: string, token: string): ApolloClient {
  // By default, RetryLink repeats mutations too: logins and deletions that may have been carried out.
  const retry = new RetryLink({
    attempts: { max: 3, retryIf: (_error, { operationType }) => operationType === 'query' },
    delay: { initial: 100 },
  });
  const http = new HttpLink({ uri, headers: { authorization: `Bearer ${token}` } });
  const events = createEventLink(createEventClient(uri, token));
  const link = ApolloLink.split(
    ({ operationType }) => operationType === 'subscription',
    events,
    ApolloLink.from([retry, http]),
  );
  return new ApolloClient({ link, cache: createCache() });
}

// Apollo Client takes parsed documents.
const DELETE_API_KEY: TypedDocumentNode<DeleteApiKeyMutation, DeleteApiKeyMutationVariables> = gql(
  String(DeleteApiKeyDocument),
);

/** Deletes an API key, then drops the cached trail. If it failed, too: after OUTCOME_UNKNOWN the key may be deleted. */
export async function deleteApiKey(client: ApolloClient, clientId: string) {
  try {
    return await client.mutate({ mutation: DELETE_API_KEY, variables: { clientId } });
  } finally {
    client.cache.evict({ id: 'ROOT_QUERY', fieldName: 'audit' });
    client.cache.gc();
  }
}
