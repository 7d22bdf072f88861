import { collectSubFields, getDocumentNodeFromSchema } from '@graphql-tools/utils';
import {
  type DocumentNode,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  print,
  specifiedDirectives,
  visit,
} from 'graphql';
import { GatewayError } from '../../errors.ts';
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
      resolve: (_, { representations }, { limits }, info) => {
        limits.admitEntityFields(representations.length * countEntityFields(info));
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
          sdl ??= printSubgraph(schema);
          return sdl;
        },
      }),
    }),
  });

  builder.queryField('_service', (t) =>
    t.field({ type: Service, resolve: (_, __, ___, { schema }) => schema }),
  );
}

/** Prints the public schema, sorted, with its federation directives: the text of `schema.graphql`, for composers. */
export function printSubgraph(schema: GraphQLSchema): string {
  const document = visit(toPublicDocument(schema), {
    // The root types have their default names: only the link to federation remains.
    SchemaDefinition: ({ directives }) => ({ kind: Kind.SCHEMA_EXTENSION, directives }),
  });
  return `${print(document)}\n\n${DEFINITION_OF_ONE_OF}`;
}

/** Prints the public schema, sorted, without federation: for code generators and other tools of clients. */
export function printClientSchema(schema: GraphQLSchema): string {
  const document = visit(toPublicDocument(schema), {
    SchemaDefinition: () => null,
    Directive: ({ name }) => (STANDARD_DIRECTIVES.has(name.value) ? undefined : null),
  });
  return `${print(document)}\n\n${DEFINITION_OF_ONE_OF}`;
}

const STANDARD_DIRECTIVES: ReadonlySet<string> = new Set(
  specifiedDirectives.map(({ name }) => name),
);

/**
 * `@oneOf` is standard since September 2025. Older readers, such as graphql-js 15 and 16.8 and Apollo's composer, reject a
 * schema that uses it without a definition, and newer ones (graphql-js 16.15 and 17, Relay) accept one. Leaving `@oneOf`
 * out is no alternative: generated types would accept a login with two credentials.
 */
const DEFINITION_OF_ONE_OF = 'directive @oneOf on INPUT_OBJECT\n';

/** The schema without what federation adds for the router only: its names have an underscore, `_service`, `_Any`. */
function toPublicDocument(schema: GraphQLSchema): DocumentNode {
  const omitInternal = (node: { readonly name: { readonly value: string } }) =>
    node.name.value.startsWith('_') ? null : undefined;
  return visit(getDocumentNodeFromSchema(lexicographicSortSchema(schema)), {
    FieldDefinition: omitInternal,
    ObjectTypeDefinition: omitInternal,
    ScalarTypeDefinition: omitInternal,
    UnionTypeDefinition: omitInternal,
  });
}

/** Number of fields that may fail for each entity; at least one, the entity itself. */
function countEntityFields(info: GraphQLResolveInfo): number {
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
