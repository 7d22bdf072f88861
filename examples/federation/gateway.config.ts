import type { GatewayConfigSupergraph } from '@graphql-hive/gateway-runtime';

/**
 * The configuration of Hive Gateway, under the name that `hive-gateway supergraph` looks for.
 * The caller's Authorization goes to Keytrail, to no other subgraph. Set it here and not where requests are fetched:
 * the runtime makes one of two equal requests that are under way, and only what is set here makes two callers differ.
 */
export const gatewayConfig = {
  supergraph: './supergraph.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request, subgraphName }) =>
      subgraphName === 'keytrail'
        ? { authorization: request.headers.get('authorization') }
        : undefined,
  },
} as const satisfies GatewayConfigSupergraph;
