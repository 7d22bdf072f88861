import { GraphQLError } from 'graphql';
import type { TrailRecord } from '../loads.ts';

/** The part of Keytrail's schema that the loads query, for schema-first peers. */
export const TYPE_DEFS = `
  type Query { audit(first: Int = 50): AuditConnection }
  type Mutation { deleteApiKey(clientId: ID!): DeleteApiKeyPayload }
  type AuditConnection { nodes: [AuditEvent!]! }
  type AuditEvent {
    id: ID, occurredAt: String, action: String, outcome: AuditOutcome
    ipAddress: String, userAgent: String, actor: AuditParty, target: AuditParty
  }
  type AuditParty { id: ID, name: String, type: String }
  enum AuditOutcome { SUCCESS FAILURE }
  type DeleteApiKeyPayload { outcome: DeletionOutcome! }
  enum DeletionOutcome { DELETED }
`;

/** The context of {@link RESOLVERS}: calls of the service with the client's token. */
export type Context = {
  readAudit(): Promise<readonly TrailRecord[]>;
  deleteKey(clientId: string): Promise<unknown>;
};

/** Resolvers of {@link TYPE_DEFS}; fields with the service's names use the default resolver. */
export const RESOLVERS = {
  Query: {
    audit: async (_: unknown, { first }: { first: number }, service: Context) => ({
      nodes: (await service.readAudit()).slice(0, first),
    }),
  },
  Mutation: {
    deleteApiKey: async (_: unknown, { clientId }: { clientId: string }, service: Context) => {
      await service.deleteKey(clientId);
      return { outcome: 'DELETED' };
    },
  },
  AuditEvent: {
    occurredAt: (event: TrailRecord) => event.occurred_at,
    outcome: (event: TrailRecord) => event.outcome.toUpperCase(),
    ipAddress: (event: TrailRecord) => event.ip_address,
    userAgent: (event: TrailRecord) => event.user_agent,
  },
};

/** @throws GraphQLError if the service's status is not a success. */
export function checkStatus(status: number): void {
  if (status < 300) return;
  const code = status === 401 ? 'UNAUTHENTICATED' : 'UPSTREAM_ERROR';
  throw new GraphQLError(`The service responded with status ${status}.`, { extensions: { code } });
}
