import type { TrailRecord } from '../records.ts';

/** The part of Keytrail's schema that the loads ask for, for peers that are written schema first. */
export const TYPE_DEFS = `
  type Query {
    audit(first: Int = 50): AuditConnection
  }

  type Mutation {
    deleteApiKey(clientId: ID!): DeleteApiKeyPayload
  }

  type AuditConnection {
    nodes: [AuditEvent!]!
  }

  type AuditEvent {
    id: ID
    occurredAt: String
    action: String
    outcome: AuditOutcome
    ipAddress: String
    userAgent: String
    actor: AuditParty
    target: AuditParty
  }

  type AuditParty {
    id: ID
    name: String
    type: String
  }

  enum AuditOutcome {
    SUCCESS
    FAILURE
  }

  type DeleteApiKeyPayload {
    outcome: DeletionOutcome!
  }

  enum DeletionOutcome {
    DELETED
  }
`;

/** What a resolver of those peers is given of the service. */
export type Context = {
  readAudit(): Promise<readonly TrailRecord[]>;
  deleteKey(clientId: string): Promise<unknown>;
};

/** Resolvers of {@link TYPE_DEFS}; where names are the same the default does. */
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
