import { ApolloLink, Observable } from '@apollo/client';
import { print } from '@apollo/client/utilities';
import { subscriptionExchange } from '@urql/core';
import { type Client, createClient, type RequestParams } from 'graphql-sse';
import { type GraphQLResponse, Observable as RelayObservable } from 'relay-runtime';

/** Creates a client of server-sent events. It repeats nothing: continue with your last checkpoint instead. */
export const createEventClient = (url: string, token?: string): Client =>
  createClient({
    url,
    retryAttempts: 0,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });

/** The link of Apollo Client for subscriptions: the second argument of `ApolloLink.split`. */
export const createApolloLink = (client: Client) =>
  new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) => client.subscribe({ query: print(query), variables }, observer)),
  );

/** The exchange of urql for subscriptions, beside `fetchExchange`. */
export const createUrqlExchange = (client: Client) =>
  subscriptionExchange({
    forwardSubscription: ({ query = '', variables }) => ({
      subscribe: (observer) => ({
        unsubscribe: client.subscribe({ query, variables: { ...variables } }, observer),
      }),
    }),
  });

/** Subscribes for Relay: the second argument of `Network.create`. */
export const createRelaySubscribe =
  (client: Client) =>
  ({ text }: { readonly text: string | null }, variables: RequestParams['variables'] = {}) =>
    RelayObservable.create<GraphQLResponse>((observer) =>
      // Relay takes `{"data": ...}` with errors as JSON has them.
      client.subscribe<never>({ query: text ?? '', variables }, observer),
    );
