import { getDocumentNodeFromSchema } from '@graphql-tools/utils';
import { type GraphQLSchema, Kind, print, visit } from 'graphql';
import { builder } from './builder.ts';
import './api-key.ts';
import './audit.ts';
import './api-key.ts';
import './federation.ts';
import './login.ts';

/** Builds the schema from the operations imported above, as a subgraph of Apollo Federation 2. */
export function createSchema(): GraphQLSchema {
  return builder.toSchema({
    extensions: {
      directives: {
        link: {
          url: 'https://specs.apollo.dev/federation/v2.6',
          import: ['@key', '@shareable'],
        },
      },
    },
  });
}

/** Prints the public schema, sorted, with its federation directives and `@oneOf`: what `schema.graphql` holds. */
export function printSubgraph(schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(schema);
  const isMachinery = (node: { readonly name: { readonly value: string } }) =>
    MACHINERY.has(node.name.value) ? null : undefined;
  return `${print(
    visit(document, {
      FieldDefinition: isMachinery,
      ObjectTypeDefinition: isMachinery,
      ScalarTypeDefinition: isMachinery,
      UnionTypeDefinition: isMachinery,
      // The root types have their usual names: only the link to federation is left to say.
      SchemaDefinition: ({ directives }) => ({ kind: Kind.SCHEMA_EXTENSION, directives }),
    }),
  )}\n`;
}

/** What federation adds for the router's use only (Apollo Federation 2, "Subgraph schema specification"). */
const MACHINERY: ReadonlySet<string> = new Set([
  '_service',
  '_entities',
  '_Any',
  '_Entity',
  '_Service',
]);

const printed = new WeakMap<GraphQLSchema, string>();

const Service = builder.objectRef<GraphQLSchema>('_Service').implement({
  fields: (t) => ({
    sdl: t.string({
      nullable: true,
      resolve: (schema) => {
        const sdl = printed.get(schema) ?? printSubgraph(schema);
        printed.set(schema, sdl);
        // A composer wants the directive defined, too.
        return `${sdl}\ndirective @oneOf on INPUT_OBJECT\n`;
      },
    }),
  }),
});

builder.queryField('_service', (t) =>
  t.field({ type: Service, resolve: (_, __, ___, { schema }) => schema }),
);
