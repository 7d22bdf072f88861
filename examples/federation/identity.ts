import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';
import { createYoga, type YogaServerInstance } from 'graphql-yoga';
import { serve } from './serve.ts';

const TOKEN = 'graph-token-of-';

/**
 * Creates a subgraph of a graph that was there before Keytrail: it has a `login`, a type `AuditEvent` and a token of its
 * own. It is a Node request listener, with `fetch` for use without a port.
 */
export function createIdentity(): YogaServerInstance<object, object> {
  const typeDefs = parse(readFileSync(new URL('identity.graphql', import.meta.url), 'utf8'));
  const resolvers = {
    Query: {
      me: (_: unknown, __: unknown, context: unknown) => {
        const authorization: string | null = Object(context).request.headers.get('authorization');
        const [, name] = authorization?.split(TOKEN) ?? [];
        return name === undefined ? null : { name };
      },
      events: () => [{ id: '1', message: 'ann signed up' }],
    },
    Mutation: { login: (_: unknown, { user }: { user: string }) => TOKEN + user },
  };
  return createYoga({ schema: buildSubgraphSchema([{ typeDefs, resolvers }]), logging: 'warn' });
}

if (import.meta.main) {
  const { url } = await serve(createIdentity(), Number(process.env['PORT'] ?? 4003));
  process.stdout.write(`identity: ${url}\n`);
}
