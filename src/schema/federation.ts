import { collectSubFields, getDocumentNodeFromSchema } from '@graphql-tools/utils';
import {
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  print,
  visit,
} from 'graphql';
import { GatewayError } from '../errors.ts';
import { isPathSegment } from '../upstream/path.ts';
import type { Builder } from './builder.ts';

/** Links the schema to Apollo Federation 2. */
export const FEDERATION_LINK = {
  url: 'https://specs.apollo.dev/federation/v2.6',
  import: ['@key', '@shareable'],
} as const;

/**
 * Adds what a federation router queries: `_service` and `_entities` (Apollo Federation 2, "Subgraph schema
 * specification"). It does not use Pothos' federation plugin, which would load Apollo's composer, 1 MB, at every start.
 */
export function addFederation(builder: Builder): void {
  builder.scalarType('_Any', {
    serialize: () => {
      throw new TypeError('_Any is for input only');
    },
    parseValue: (value) => value,
  });

  const Entity = builder.unionType('_Entity', { types: ['ApiKey'], resolveType: () => 'ApiKey' });

  builder.queryField('_entities', (t) =>
    t.field({
      type: [Entity],
      nullable: { list: false, items: true },
      args: { representations: t.arg({ type: ['_Any'], required: true }) },
      // A promise each: one that fails does not take the others along.
      resolve: (_, { representations }, { admitEntityFields }, info) => {
        admitEntityFields(representations.length * countFields(info));
        return representations.map(async (representation) => toApiKey(representation));
      },
    }),
  );

  let sdl: string | undefined;
  const Service = builder.objectRef<GraphQLSchema>('_Service').implement({
    fields: (t) => ({
      sdl: t.string({
        nullable: true,
        resolve: (schema) => {
          // Composers want the directive to be defined as well.
          sdl ??= `${printSubgraph(schema)}\ndirective @oneOf on INPUT_OBJECT\n`;
          return sdl;
        },
      }),
    }),
  });

  builder.queryField('_service', (t) =>
    t.field({ type: Service, resolve: (_, __, ___, { schema }) => schema }),
  );
}

/** Prints the public schema, sorted, with its federation directives and `@oneOf`: the text of `schema.graphql`. */
export function printSubgraph(schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(lexicographicSortSchema(schema));
  // What federation adds for the router's use only has names with an underscore: `_service`, `_Any`.
  const omitInternal = (node: { readonly name: { readonly value: string } }) =>
    node.name.value.startsWith('_') ? null : undefined;
  return `${print(
    visit(document, {
      FieldDefinition: omitInternal,
      ObjectTypeDefinition: omitInternal,
      ScalarTypeDefinition: omitInternal,
      UnionTypeDefinition: omitInternal,
      // The root types have their default names: only the link to federation remains.
      SchemaDefinition: ({ directives }) => ({ kind: Kind.SCHEMA_EXTENSION, directives }),
    }),
  )}\n`;
}

/** Number of fields that may fail for each entity; at least one, the entity itself. */
function countFields(info: GraphQLResolveInfo): number {
  const { schema, fragments, fieldNodes, variableValues } = info;
  const type = schema.getType('ApiKey');
  if (!isObjectType(type)) return 1;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectSubFields(schema, fragments, values, type, [...fieldNodes]);
  return Math.max(1, fields.size);
}

/** A router forwards what another subgraph returned: nothing has validated it yet. */
function toApiKey(representation: unknown): { readonly clientId: string } {
  const { __typename, clientId } = Object(representation);
  if (__typename !== 'ApiKey') {
    throw new GatewayError('BAD_USER_INPUT', {
      message: 'A representation needs a `__typename`: ApiKey.',
    });
  }
  const id = Number.isSafeInteger(clientId) ? String(clientId) : clientId;
  if (typeof id !== 'string' || !isPathSegment(id)) {
    throw new GatewayError('BAD_USER_INPUT', {
      message:
        'A representation of ApiKey needs a `clientId` of 1 to 256 characters, as `deleteApiKey` takes it.',
    });
  }
  return { clientId: id };
}
