import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';
import { createYoga, type YogaServerInstance } from 'graphql-yoga';
import { serve } from './serve.ts';

type ApiKey = { readonly clientId: string; readonly owner: string };

/** The clients of Keytrail's sandbox. */
const DEMO_CLIENTS = ['demo-admin', 'demo-reports', 'demo-old-ci'];

/** A fake registry: sixty keys, owned by seven teams. */
const REGISTRY: readonly ApiKey[] = Array.from({ length: 60 }, (_, index) => ({
  clientId: DEMO_CLIENTS[index] ?? `key-${index + 1}`,
  owner: `team-${(index % 7) + 1}`,
}));

/** Creates the subgraph with the owners of keys: a Node request listener, with `fetch` for use without a port. */
export function createOwners(): YogaServerInstance<object, object> {
  const typeDefs = parse(readFileSync(new URL('owners.graphql', import.meta.url), 'utf8'));
  const resolvers = {
    Query: {
      apiKeys: (_: unknown, { first }: { first?: number | null }) =>
        REGISTRY.slice(0, Math.max(0, first ?? REGISTRY.length)),
      ownersConnection: (_: unknown, { first, after }: { first: number; after?: string | null }) =>
        toConnection(Object.entries(Object.groupBy(REGISTRY, ({ owner }) => owner)), first, after),
    },
    ApiKey: {
      // Routers send this reference for a key from another subgraph.
      __resolveReference: ({ clientId }: { clientId: string }) => ({
        clientId,
        owner: REGISTRY.find((key) => key.clientId === clientId)?.owner ?? null,
      }),
    },
  };
  return createYoga({ schema: buildSubgraphSchema([{ typeDefs, resolvers }]), logging: 'warn' });
}

function toConnection(
  owners: readonly (readonly [string, readonly ApiKey[] | undefined])[],
  first: number,
  after?: string | null,
) {
  const start = owners.findIndex(([name]) => name === after) + 1;
  const edges = owners
    .slice(start, start + Math.max(0, first))
    .map(([name, apiKeys = []]) => ({ cursor: name, node: { name, apiKeys } }));
  return {
    edges,
    pageInfo: {
      hasNextPage: start + edges.length < owners.length,
      hasPreviousPage: start > 0,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

if (import.meta.main) {
  const { url } = await serve(createOwners(), Number(process.env['PORT'] ?? 4002));
  process.stdout.write(`owners: ${url}\n`);
}
