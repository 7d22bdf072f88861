import { createServer } from 'node:http';
import SchemaBuilder from '@pothos/core';
import { createYoga } from 'graphql-yoga';
import { fetch } from 'undici';
import type { TrailRecord } from '../loads.ts';
import { checkStatus } from './schema.ts';

/* Yoga and Pothos without options, with undici's fetch. */
type Context = { readonly request: Request };

const builder = new SchemaBuilder<{ Context: Context }>({});

const AuditParty = builder.objectRef<TrailRecord['actor']>('AuditParty').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    type: t.exposeString('type'),
  }),
});

const AuditOutcome = builder.enumType('AuditOutcome', {
  values: { SUCCESS: { value: 'success' }, FAILURE: { value: 'failure' } } as const,
});

const AuditEvent = builder.objectRef<TrailRecord>('AuditEvent').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    occurredAt: t.exposeString('occurred_at'),
    action: t.exposeString('action'),
    outcome: t.expose('outcome', { type: AuditOutcome }),
    ipAddress: t.exposeString('ip_address'),
    userAgent: t.exposeString('user_agent'),
    actor: t.expose('actor', { type: AuditParty }),
    target: t.expose('target', { type: AuditParty }),
  }),
});

const AuditConnection = builder
  .objectRef<{ readonly nodes: readonly TrailRecord[] }>('AuditConnection')
  .implement({ fields: (t) => ({ nodes: t.expose('nodes', { type: [AuditEvent] }) }) });

const DeletionOutcome = builder.enumType('DeletionOutcome', { values: ['DELETED'] as const });

const DeleteApiKeyPayload = builder
  .objectRef<{ readonly outcome: 'DELETED' }>('DeleteApiKeyPayload')
  .implement({ fields: (t) => ({ outcome: t.expose('outcome', { type: DeletionOutcome }) }) });

builder.queryType({
  fields: (t) => ({
    audit: t.field({
      type: AuditConnection,
      args: { first: t.arg.int({ required: true, defaultValue: 50 }) },
      resolve: async (_, { first }, context) => {
        const response = await call('/api/v1/audit', 'GET', context);
        const { events } = (await response.json()) as { readonly events: readonly TrailRecord[] }; // as the service documents it
        return { nodes: events.slice(0, first) };
      },
    }),
  }),
});

builder.mutationType({
  fields: (t) => ({
    deleteApiKey: t.field({
      type: DeleteApiKeyPayload,
      args: { clientId: t.arg.id({ required: true }) },
      resolve: async (_, { clientId }, context) => {
        await call(`/api/v1/secrets/${encodeURIComponent(clientId)}`, 'DELETE', context);
        return { outcome: 'DELETED' as const };
      },
    }),
  }),
});

async function call(path: string, method: 'GET' | 'DELETE', { request }: Context) {
  const authorization = request.headers.get('authorization');
  const response = await fetch(`${process.env['UPSTREAM_URL']}${path}`, {
    method,
    ...(authorization !== null && { headers: { authorization } }),
  });
  checkStatus(response.status);
  return response;
}

const yoga = createYoga({ schema: builder.toSchema() });
createServer(yoga).listen(Number(process.env['PORT']), '127.0.0.1');
