import type { SubschemaConfig } from '@graphql-tools/delegate';
import { buildHTTPExecutor } from '@graphql-tools/executor-http';
import { stitchSchemas } from '@graphql-tools/stitch';
import { RenameRootFields, RenameTypes } from '@graphql-tools/wrap';
import { buildSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { fetchSdl } from './compose.ts';
import { readForwardedHeaders } from './forwarded-headers.ts';
import { type Running, runRouter, serve } from './serve.ts';
import { hideRequests } from './subgraph-errors.ts';

/** The options of `startRemoteSchema`. */
export type RemoteSchemaOptions = {
  /** The GraphQL URLs of the schemas. */
  readonly keytrail: string;
  readonly identity: string;
  /** A loopback port; 0 chooses a free one. */
  readonly port: number;
};

/** Serves two schemas as one, without federation. All names of Keytrail get a prefix. */
export async function startRemoteSchema({
  keytrail,
  identity,
  port,
}: RemoteSchemaOptions): Promise<Running> {
  const schema = stitchSchemas({
    subschemas: [
      {
        ...(await load('keytrail', keytrail)),
        transforms: [
          new RenameTypes((name) => `Keytrail${name}`),
          new RenameRootFields((_, name) => `keytrail_${name}`),
        ],
      },
      await load('identity', identity),
    ],
  });
  return serve(createYoga({ schema, logging: 'warn' }), port);
}

/** Reads the schema of a subgraph, even if introspection is off. Its directives of federation are ignored. */
async function load(name: string, endpoint: string): Promise<SubschemaConfig> {
  const execute = buildHTTPExecutor({
    endpoint,
    headers: (request) => {
      const headers: Headers | undefined = request?.context?.request.headers;
      return headers === undefined ? {} : readForwardedHeaders(name, headers);
    },
  });
  return {
    schema: buildSchema(await fetchSdl(endpoint), { assumeValidSDL: true }),
    executor: async (request) => hideRequests(await execute(request)),
  };
}

if (import.meta.main) {
  const keytrail = 'http://127.0.0.1:4000/graphql';
  const identity = 'http://127.0.0.1:4003/graphql';
  await runRouter('Remote schema', (port) => startRemoteSchema({ keytrail, identity, port }));
}
