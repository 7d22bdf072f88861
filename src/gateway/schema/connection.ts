import { collectFields, collectSubFields } from '@graphql-tools/utils';
import type { ObjectRef } from '@pothos/core';
import { type GraphQLResolveInfo, getNamedType, isObjectType } from 'graphql';
import { memoizeByObject } from '../../util/memoize.ts';
import { type Edge, encodeCursor } from '../pagination/cursor.ts';
import type { Connection } from '../pagination/resolve-connection.ts';
import { type Builder, type BuilderTypes, rawField } from './builder.ts';

/** Adds `PageInfo`. It is shareable: other subgraphs of a federated graph may define it as well. */
export function addPageInfo(builder: Builder): void {
  builder.objectType('PageInfo', {
    description:
      'Whether there are more pages, and how to request them (GraphQL Cursor Connections Specification).',
    extensions: { directives: { shareable: {} } },
    fields: (t) => ({
      hasNextPage: t.boolean({
        description:
          'Whether there are items after this page, however few it has. Request them with `after: endCursor`.',
        resolve: (page) => page.hasNextPage(),
      }),
      hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
        description: 'Whether there are items before this page.',
      }),
      startCursor: t.string({
        nullable: true,
        description: 'The cursor of the first item. Null if the page is empty.',
        resolve: (page) => page.startCursor(),
      }),
      endCursor: t.string({
        nullable: true,
        description:
          'Pass it as `after` to continue. It is the cursor of the last item, of the last record that a filter inspected, or of the next page after empty ones of the service. Null if there is none.',
        resolve: (page) => page.endCursor(),
      }),
    }),
  });
}

/** The arguments of every connection field. */
export function connectionArguments(builder: Builder) {
  return builder.args((t) => ({
    first: t.int({ defaultValue: 50, description: 'Maximum number of items, 1 to 1000.' }),
    after: t.string({
      description:
        'Return the items after this cursor, which an earlier page contained. Null means from the start.',
    }),
  }));
}

/**
 * Adds the types of a connection: `AuditEventConnection` and `AuditEventEdge` for `AuditEvent`.
 * @param noun What an item is called in descriptions, such as `event`.
 */
export function addConnection(
  builder: Builder,
  node: ObjectRef<BuilderTypes, object>,
  { noun, description }: { readonly noun: string; readonly description: string },
) {
  const toNode = ({ page, index }: Edge) => page.item(index);
  const ConnectionEdge = builder.objectRef<Edge>(`${node.name}Edge`).implement({
    description: `The ${noun} and its cursor.`,
    fields: (t) => ({
      cursor: t.string({
        description: `Pass it as \`after\` to continue after this ${noun}. It stays valid while the list grows.`,
        resolve: encodeCursor,
      }),
      node: t.field({ type: node, description: `The ${noun}.`, resolve: toNode }),
    }),
  });
  return builder.objectRef<Connection>(`${node.name}Connection`).implement({
    description,
    fields: (t) => ({
      edges: t.field({
        type: [ConnectionEdge],
        description: `The ${noun}s of this page with their cursors.`,
        resolve: ({ edges }) => edges,
      }),
      nodes: t.field({
        type: [node],
        description: `The ${noun}s of this page, without cursors.`,
        resolve: ({ edges }) => edges.map(toNode),
      }),
      pageInfo: t.field({
        type: 'PageInfo',
        description: 'Whether there are more pages, and how to request them.',
        resolve: (page) => page,
      }),
      totalCount: t.int({
        nullable: true,
        description: `Number of ${noun}s on all pages. Null unless the service states it or returned all of its records at once.`,
        resolve: (page) => page.totalCount(),
      }),
      raw: t.field(
        rawField(
          builder,
          `The response of the service that contains the first ${noun} of this page, or a part of it. Null if the part does not exist.`,
        ),
      ),
    }),
  });
}

/**
 * Whether a connection field is the only one of its operation besides `__typename`, and selects neither `totalCount` nor
 * `raw`: then the beginning of a large response may be sufficient. Memoized, as the fast path reuses `info`.
 */
export const needsOnlyItems = memoizeByObject((info: GraphQLResolveInfo): boolean => {
  const { schema, fragments, operation, parentType, fieldNodes, variableValues } = info;
  const type = getNamedType(info.returnType);
  if (!isObjectType(type)) return false;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectFields(schema, fragments, values, parentType, operation.selectionSet);
  const others = [...fields.values()].flat().filter((node) => !fieldNodes.includes(node));
  const own = collectSubFields(schema, fragments, values, type, [...fieldNodes]).fields;
  return (
    others.every(({ name }) => name.value === '__typename') &&
    [...own.values()].flat().every(({ name }) => !['totalCount', 'raw'].includes(name.value))
  );
});
