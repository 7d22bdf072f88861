import { getStitchedSchemaFromSupergraphSdl } from '@graphql-tools/federation';
import { createYoga } from 'graphql-yoga';
import { readForwardedHeaders } from './forwarded-headers.ts';
import { type RouterOptions, type Running, readLocal, runRouter, serve } from './serve.ts';
import { hideRequests } from './subgraph-errors.ts';

/** Serves a schema that is stitched from a supergraph. Forwards headers of the client to Keytrail only. */
export async function startStitchedSchema({
  supergraphSdl,
  port,
}: RouterOptions): Promise<Running> {
  const schema = getStitchedSchemaFromSupergraphSdl({
    supergraphSdl,
    batch: true, // one request per subgraph for all root fields of a query, as other routers send it
    httpExecutorOpts: ({ name }) => ({
      headers: (request) => {
        const headers = request?.context?.request.headers;
        // The names are those in the supergraph's enum `join__Graph`, in capitals.
        return headers === undefined ? {} : readForwardedHeaders(name.toLowerCase(), headers);
      },
    }),
    onSubschemaConfig: (config) => {
      const { executor } = config;
      config.executor = async (request) => hideRequests(await executor(request));
    },
  });
  return serve(createYoga({ schema, logging: 'warn' }), port);
}

if (import.meta.main) {
  const supergraphSdl = readLocal('supergraph.graphql');
  await runRouter('Stitched schema', (port) => startStitchedSchema({ supergraphSdl, port }));
}
