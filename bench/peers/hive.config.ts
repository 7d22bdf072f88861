import { defineConfig } from '@graphql-hive/gateway';
import type { TrailRecord } from '../loads.ts';

type Trail = { readonly events: readonly TrailRecord[] };

/** The configuration of the `hive-gateway` command. Paths are relative to the folder of the benchmark. */
export const gatewayConfig = defineConfig({
  supergraph: './results/supergraph.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) => ({
      authorization: request.headers.get('authorization'),
    }),
  },
  additionalResolvers: {
    Trail: {
      first: {
        selectionSet:
          '{ events { id occurred_at action outcome ip_address user_agent actor { id name type } target { id name type } } }',
        resolve: ({ events }: Trail, { count }: { readonly count: number }) =>
          events.slice(0, count),
      },
    },
  },
});
