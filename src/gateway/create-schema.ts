import {
  DirectiveLocation,
  GraphQLDirective,
  type GraphQLSchema,
  specifiedDirectives,
} from 'graphql';
import { addApiKey } from './schema/api-key.ts';
import { addAudit } from './schema/audit.ts';
import { createBuilder } from './schema/builder.ts';
import { addPageInfo } from './schema/connection.ts';
import { addFederation, FEDERATION_LINK } from './schema/federation.ts';
import { addLogin } from './schema/login.ts';
import { addAuditEvents } from './tail/audit-events.ts';
import type { OpenStream } from './tail/streams.ts';

/**
 * Creates the schema, as a subgraph of Apollo Federation 2. Its resolvers need a `Context`. Introspection lists types and
 * fields in the order of their definition: federation's own come last.
 * @param openStream Default: none, for a schema that is only printed.
 */
export function createSchema(openStream: OpenStream = openNone): GraphQLSchema {
  const builder = createBuilder();
  addPageInfo(builder);
  addLogin(builder);
  addAudit(builder);
  addAuditEvents(builder, openStream);
  addApiKey(builder);
  addFederation(builder);
  return builder.toSchema({
    sortSchema: false,
    directives: DIRECTIVES,
    extensions: { directives: { link: FEDERATION_LINK } },
  });
}

function openNone(): never {
  throw new Error('The schema was created without streams.');
}

/**
 * The standard directives, without the location DIRECTIVE_DEFINITION that graphql-js gives `@deprecated`. The specification
 * of September 2025 does not have it, and clients that check locations, such as Python's graphql-core 3.2 before it
 * knew this one, reject the whole introspection result.
 */
const DIRECTIVES: readonly GraphQLDirective[] = specifiedDirectives.map((directive) => {
  const locations = directive.locations.filter(
    (location) => location !== DirectiveLocation.DIRECTIVE_DEFINITION,
  );
  return new GraphQLDirective({ ...directive.toConfig(), locations });
});
