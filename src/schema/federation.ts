import { collectSubFields } from '@graphql-tools/utils';
import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { GatewayError } from '../errors.ts';
import { builder } from './builder.ts';

/*
 * What a router asks for by representation (Apollo Federation 2, "Subgraph schema specification"). Written out, since
 * Pothos' plugin brings Apollo's composer along: a megabyte that every start would read.
 */

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
    // Each by itself: one that fails must not take its neighbours along.
    resolve: (_, { representations }, { admitEntityFields }, info) => {
      admitEntityFields(representations.length * countFields(info));
      return representations.map(async (one) => readApiKey(one));
    },
  }),
);

/** Each of them may fail for each entity; one at least, the entity itself. */
function countFields(info: GraphQLResolveInfo): number {
  const { schema, fragments, fieldNodes, variableValues } = info;
  const type = schema.getType('ApiKey');
  if (!isObjectType(type)) return 1;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectSubFields(schema, fragments, values, type, [...fieldNodes]);
  return Math.max(1, fields.size);
}

/** A router sends what another subgraph answered: nothing has checked it yet. */
function readApiKey(representation: unknown): { readonly clientId: string } {
  const { __typename, clientId } = Object(representation);
  if (__typename !== 'ApiKey') {
    throw new GatewayError('BAD_USER_INPUT', {
      message: 'A representation needs a `__typename`: ApiKey.',
    });
  }
  const isId = typeof clientId === 'string' || Number.isSafeInteger(clientId);
  if (!isId) {
    throw new GatewayError('BAD_USER_INPUT', {
      message: 'A representation of ApiKey needs a `clientId` that is an ID.',
    });
  }
  return { clientId: String(clientId) };
}
