import { type DeletionOutcome, readDeletion, requireDeletion } from '../mapping/deletion.ts';
import { requirePartyFields } from '../pagination/require-fields.ts';
import { pageSizeParameter, resolveConnection } from '../pagination/resolve-connection.ts';
import { selectEventsOfParty } from '../pagination/select-events.ts';
import { path } from '../upstream/path.ts';
import { listAudit } from './audit.ts';
import { type Builder, FIELDS_OF_PAYLOAD, rawField, UPSTREAM_CODES } from './builder.ts';
import { connectionArguments } from './connection.ts';
import { measureBelow } from './selection.ts';

/** The result of a deletion. */
type DeleteApiKeyPayload = {
  readonly clientId: string;
  readonly outcome: DeletionOutcome;
  /** The body of the response; null if it was empty. */
  readonly raw: unknown;
};

/** Adds the entity `ApiKey`, and `Mutation.deleteApiKey`. Forwards to DELETE /api/v1/secrets/{client_id}. */
export function addApiKey(builder: Builder): void {
  builder.objectType('ApiKey', {
    description:
      'An API key, identified by its client ID. The service has no operation that reads one, so the key may not exist.',
    extensions: { directives: { key: { fields: 'clientId' } } },
    fields: (t) => ({
      clientId: t.exposeID('clientId', { description: 'The client ID of the key.' }),
      audit: t.field({
        type: 'AuditEventConnection',
        nullable: true,
        description:
          'The audit events whose actor or target is this key, by its client ID as identifier or name. The trail is read once per request. Not allowed inside `audit` or `auditEvents`. Null if it fails, with the codes of `Query.audit`.',
        args: connectionArguments(builder),
        resolve: ({ clientId }, { first, after }, { calls, limits, contract }, info) => {
          const { fields } = measureBelow(info);
          const size = pageSizeParameter(contract.configured.audit?.paging);
          const trail = listAudit(calls.authorized, contract, size);
          const where = selectEventsOfParty(clientId);
          const admit = (items: number) => limits.admitValues(items, fields);
          const require = requirePartyFields(clientId);
          return resolveConnection(trail, { first, after, where, require, admit });
        },
      }),
    }),
  });

  const Outcome = builder.enumType('DeletionOutcome', {
    description: 'How far a deletion has got.',
    values: {
      DELETED: { description: 'The service deleted the key.' },
      ACCEPTED: {
        description:
          'The service accepted the request and has not yet completed it: HTTP 202, or its response says so.',
      },
    },
  });

  const Payload = builder.objectRef<DeleteApiKeyPayload>('DeleteApiKeyPayload').implement({
    description: 'The result of a deletion that the service carried out or accepted.',
    fields: (t) => ({
      apiKey: t.field({
        type: 'ApiKey',
        description: 'The key that was to be deleted.',
        resolve: ({ clientId }) => ({ clientId }),
      }),
      outcome: t.expose('outcome', {
        type: Outcome,
        description: 'Whether the key is deleted already.',
      }),
      raw: t.field(
        rawField(
          builder,
          'The response of the service, or a part of it. Null if it is empty or the part does not exist.',
        ),
      ),
    }),
  });

  builder.mutationField('deleteApiKey', (t) =>
    t.field({
      type: Payload,
      nullable: true,
      description: `Deletes the one API key with this client ID. Forwards to DELETE /api/v1/secrets/{client_id}. Null if it fails. Codes: ${UPSTREAM_CODES}, and OUTCOME_UNKNOWN: the key may have been deleted.`,
      args: {
        clientId: t.arg.id({
          required: true,
          description: 'The client ID of the key, 1 to 256 characters.',
        }),
      },
      resolve: async (_, { clientId }, { calls, limits, contract }) => {
        limits.admitValues(1, FIELDS_OF_PAYLOAD);
        const target = path`/api/v1/secrets/${{ client_id: clientId }}`;
        return calls.authorized.delete('secrets', target, (response) => {
          const reading = readDeletion(response, contract.configured, clientId);
          contract.onDeletion?.(reading);
          const outcome = requireDeletion(reading, response, contract.configured);
          return { clientId, outcome, raw: response.body ?? null };
        });
      },
    }),
  );
}
