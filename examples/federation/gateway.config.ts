import type { GatewayConfigSupergraph } from '@graphql-hive/gateway-runtime';
import { hideRequests } from './subgraph-errors.ts';

/**
 * The configuration of Hive Gateway. `hive-gateway supergraph` loads the export with this name.
 * Forwards the client's Authorization to Keytrail, and to no other subgraph. Set it here, not in a custom `fetch`: the
 * runtime deduplicates equal requests in flight, and compares only the headers that are set here.
 */
export const gatewayConfig = {
  supergraph: './supergraph.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request, subgraphName }) =>
      subgraphName === 'keytrail'
        ? { authorization: request.headers.get('authorization') }
        : undefined,
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
