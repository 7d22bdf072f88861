import { throwOnSoftFailure } from '../mapping/soft-failure.ts';
import { resolveConnection } from '../pagination/connection.ts';
import { pageSizeParameter, selectEventsOfParty } from '../pagination/filter.ts';
import { path, withQuery } from '../upstream/path.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { builder, connectionArguments, rawArguments, readRaw } from './builder.ts';

builder.objectType('ApiKey', {
  description:
    'An API key, known by its client id. The service offers no way to read one, so it may not exist.',
  extensions: { directives: { key: { fields: 'clientId' } } },
  fields: (t) => ({
    clientId: t.exposeID('clientId', { description: 'The client id that names the key.' }),
    audit: t.field({
      type: 'AuditEventConnection',
      nullable: true,
      description:
        'The audit events in which this key acted or was acted upon, by its client id as id or name. However many keys one request asks about, the trail is read once. Null when it could not be read: `errors` says why.',
      args: connectionArguments,
      resolve: ({ clientId }, { first, after }, { authorized, contract }) =>
        resolveConnection(
          authorized.getTrail(withQuery(path`/api/v1/audit`, pageSizeParameter(contract.audit))),
          {
            first,
            after,
            where: selectEventsOfParty(clientId),
          },
        ),
    }),
  }),
});

builder.mutationField('deleteApiKey', (t) =>
  t.field({
    type: DeleteApiKeyPayload,
    nullable: true,
    description:
      'Deletes the one API key that the client id names. Forwards to DELETE /api/v1/secrets/{client_id}. Null when it failed: `errors` says why, and OUTCOME_UNKNOWN that the key may be gone all the same.',
    args: {
      clientId: t.arg.id({ required: true, description: 'Names the key, 1 to 256 characters.' }),
    },
    resolve: async (_, { clientId }, { authorized }) => ({
      clientId,
      ...readDeletion(await authorized.delete(path`/api/v1/secrets/${{ client_id: clientId }}`)),
    }),
  }),
);

const DeletionOutcome = builder.enumType('DeletionOutcome', {
  description: 'How far a deletion has come.',
  values: {
    DELETED: { description: 'The service said that the key is gone.' },
    ACCEPTED: {
      description: 'The service accepted the request and has not finished it (HTTP 202).',
    },
  },
});

const DeleteApiKeyPayload = builder
  .objectRef<Deletion & { readonly clientId: string }>('DeleteApiKeyPayload')
  .implement({
    description: 'What became of a deletion that the service did not refuse.',
    fields: (t) => ({
      apiKey: t.field({
        type: 'ApiKey',
        description: 'The key that was named.',
        resolve: ({ clientId }) => ({ clientId }),
      }),
      outcome: t.expose('outcome', {
        type: DeletionOutcome,
        description: 'How far the deletion has come.',
      }),
      raw: t.field({
        type: 'JSON',
        nullable: true,
        args: rawArguments,
        description:
          'The whole answer of the service, or the part at a pointer. Null when the answer was empty, or nothing is there.',
        resolve: readRaw,
      }),
    }),
  });

/** What became of a deletion. */
export type Deletion = {
  readonly outcome: 'DELETED' | 'ACCEPTED';
  /** The whole answer; null when it was empty. */
  readonly raw: unknown;
};

/**
 * Reads the answer of a deletion, any 2xx: 202 is ACCEPTED, all else DELETED.
 * @throws GatewayError UPSTREAM_ERROR when the body says that it failed.
 */
export function readDeletion({
  status,
  body = null,
}: Pick<UpstreamResponse, 'status' | 'body'>): Deletion {
  throwOnSoftFailure({ status, body });
  return { outcome: status === 202 ? 'ACCEPTED' : 'DELETED', raw: body };
}
