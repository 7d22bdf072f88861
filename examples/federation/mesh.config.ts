import {
  createPrefixTransform,
  defineConfig,
  loadGraphQLHTTPSubgraph,
} from '@graphql-mesh/compose-cli';

const KEYTRAIL = 'http://127.0.0.1:4000/graphql';
const IDENTITY = 'http://127.0.0.1:4003/graphql';

/**
 * The configuration of `mesh-compose`. All names of Keytrail get a prefix, but those that the graph shares with it. Tests
 * serve the result by Hive Gateway.
 */
export const composeConfig = defineConfig({
  subgraphs: [
    {
      sourceHandler: loadGraphQLHTTPSubgraph('keytrail', { endpoint: KEYTRAIL, federation: true }),
      transforms: [
        createPrefixTransform({
          value: 'keytrail_',
          includeRootOperations: true,
          ignore: ['ApiKey', 'PageInfo'],
        }),
      ],
    },
    {
      sourceHandler: loadGraphQLHTTPSubgraph('identity', { endpoint: IDENTITY, federation: true }),
    },
  ],
});
