import { getDocumentNodeFromSchema } from '@graphql-tools/utils';
import {
  type GraphQLSchema,
  isUnionType,
  Kind,
  lexicographicSortSchema,
  print,
  visit,
} from 'graphql';
import { builder } from './builder.ts';
import { GatewayError } from './errors.ts';
import './operations/api-key.ts';
import './operations/audit.ts';
import './operations/delete-api-key.ts';
import './operations/login.ts';

/** The schema as it is executed, and as a subgraph of Apollo Federation 2. */
export type Subgraph = {
  readonly schema: GraphQLSchema;
  /** The public schema, sorted, with its federation directives and `@oneOf`: what `schema.graphql` holds. */
  readonly sdl: string;
};

/** Builds the schema from the operations imported above. */
export function createSubgraph(): Subgraph {
  const schema = builder.toSubGraphSchema({
    linkUrl: 'https://specs.apollo.dev/federation/v2.6',
  });
  const sdl = printSubgraph(schema);
  const { _service: service, _entities: entities } = schema.getQueryType()?.getFields() ?? {};
  const entity = schema.getType('_Entity');
  const resolveEntities = entities?.resolve;
  if (!service || !entities || !resolveEntities || !isUnionType(entity)) {
    throw new TypeError('The federation plugin defines _service and _entities.');
  }
  // The plugin's own text drops `@oneOf`; a composer wants the directive defined too.
  service.resolve = () => ({ sdl: `${sdl}\ndirective @oneOf on INPUT_OBJECT\n` });
  // The plugin's own resolver takes what is no entity for a bug, and lets one that fails take its neighbours along.
  const names: ReadonlySet<unknown> = new Set(entity.getTypes().map(({ name }) => name));
  entities.resolve = (source, args: { readonly representations: readonly unknown[] }, ...rest) =>
    args.representations.map(async (representation) => {
      if (!names.has(Object(representation).__typename)) {
        throw new GatewayError('BAD_USER_INPUT', {
          message: `A representation needs a \`__typename\`: ${[...names].join(' or ')}.`,
        });
      }
      const one = { representations: [representation] };
      const resolved: unknown = await resolveEntities(source, one, ...rest);
      return Array.isArray(resolved) ? resolved[0] : null;
    });
  return { schema, sdl };
}

/** What federation adds for the router's use only (Apollo Federation 2, "Subgraph schema specification"). */
const MACHINERY: ReadonlySet<string> = new Set([
  '_service',
  '_entities',
  '_Any',
  '_Entity',
  '_Service',
]);

function printSubgraph(schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(lexicographicSortSchema(schema));
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
