import type { GraphQLSchema } from 'graphql';
import { addApiKey } from './api-key.ts';
import { addAudit } from './audit.ts';
import { createBuilder } from './builder.ts';
import { addPageInfo } from './connection.ts';
import { addFederation, FEDERATION_LINK } from './federation.ts';
import { addLogin } from './login.ts';

/**
 * Creates the schema, as a subgraph of Apollo Federation 2. Its resolvers need a `Context`. Introspection lists types and
 * fields in the order of their definition: federation's own come last.
 */
export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  addPageInfo(builder);
  addLogin(builder);
  addAudit(builder);
  addApiKey(builder);
  addFederation(builder);
  return builder.toSchema({
    sortSchema: false,
    extensions: { directives: { link: FEDERATION_LINK } },
  });
}
