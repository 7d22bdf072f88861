import { defineConfig } from '@graphql-hive/gateway';
import type { TrailRecord } from '../records.ts';

type Trail = { readonly events: readonly TrailRecord[] };

/** What the `hive-gateway` command reads; paths are relative to the folder of the benchmark. */

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
          '{ events { id occurred_at action outcome ip_address user_agent actor { identifier name type } target { identifier name type } } }',
        resolve: ({ events }: Trail, { count }: { readonly count: number }) =>
          events.slice(0, count),
      },
    },
  },
});
