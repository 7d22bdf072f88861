import { defineConfig } from '@graphql-mesh/compose-cli';
import { loadOpenAPISubgraph } from '@omnigraph/openapi';

/** Composes the REST service into a supergraph. Paths are relative to the folder of the benchmark. */
export const composeConfig = defineConfig({
  subgraphs: [
    {
      sourceHandler: loadOpenAPISubgraph('service', {
        source: './peers/openapi.json',
        endpoint: '{env.UPSTREAM_URL}',
      }),
    },
  ],
  additionalTypeDefs: 'extend type Trail { first(count: Int!): [Event] }',
});
