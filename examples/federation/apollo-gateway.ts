import type { IncomingHttpHeaders } from 'node:http';
import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { GraphQLError } from 'graphql';
import { readForwardedHeaders } from './forwarded-headers.ts';
import { type RouterOptions, type Running, readLocal, runRouter } from './serve.ts';
import { unreachable } from './subgraph-errors.ts';

type Context = { readonly headers?: IncomingHttpHeaders };

/** Serves a supergraph with Apollo Gateway. Forwards headers of the client to Keytrail only. */
export async function startApolloGateway({ supergraphSdl, port }: RouterOptions): Promise<Running> {
  const gateway = new ApolloGateway({
    supergraphSdl,
    buildService: ({ name, url = '' }) =>
      new RemoteGraphQLDataSource<Context>({
        url,
        willSendRequest: ({ request, context: { headers = {} } }) => {
          const client = { get: (header: string) => headers[header]?.toString() ?? null };
          for (const [header, value] of Object.entries(readForwardedHeaders(name, client)))
            request.http?.headers.set(header, value);
        },
        errorFromResponse: readSubgraphError,
        didEncounterError: hideAddress,
      }),
  });
  const server = new ApolloServer<Context>({
    gateway,
    includeStacktraceInErrorResponses: false,
    introspection: true, // package.json sets NODE_ENV=production, which turns it off
  });
  const { url } = await startStandaloneServer(server, {
    listen: { host: '127.0.0.1', port },
    context: async ({ req: { headers } }) => ({ headers }),
  });
  return { url, [Symbol.asyncDispose]: () => server.stop() };
}

/** Reads the error in a response with a failure status. Apollo's own error drops the code and shows the URL. */
async function readSubgraphError(response: { json(): Promise<unknown> }): Promise<GraphQLError> {
  const body = Object(await response.json().catch(() => null));
  const [{ message = 'A subgraph failed.', extensions = {} } = {}] = body.errors ?? [];
  return new GraphQLError(message, { extensions });
}

/** Replaces Apollo's error for a subgraph that cannot be reached, because it shows the subgraph's address. */
function hideAddress(error: Error): never {
  throw error instanceof GraphQLError ? error : unreachable();
}

if (import.meta.main) {
  const supergraphSdl = readLocal('supergraph.graphql');
  await runRouter('Apollo Gateway', (port) => startApolloGateway({ supergraphSdl, port }));
}
