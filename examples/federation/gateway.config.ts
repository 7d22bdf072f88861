import type { GatewayConfigSupergraph } from '@graphql-hive/gateway-runtime';
import { readForwardedHeaders } from './forwarded-headers.ts';
import { hideRequests } from './subgraph-errors.ts';

/**
 * The configuration of Hive Gateway. `hive-gateway supergraph` loads the export with this name.
 * Forwards headers of the client to Keytrail, and to no other subgraph. Set them here, not in a custom `fetch`: the
 * runtime deduplicates equal requests in flight, and compares only the headers that are set here.
 */
export const gatewayConfig = {
  supergraph: './supergraph.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request, subgraphName }) =>
      readForwardedHeaders(subgraphName, request.headers),
  },
  plugins: () => [
    {
      onSubgraphExecute:
        () =>
        ({ result, setResult }) =>
          setResult(hideRequests(result)),
    },
  ],
} as const satisfies GatewayConfigSupergraph;
