/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from './typed-document.ts';
/** Conditions that an event must all meet. A condition that is null does not apply. An event field that is null meets no condition. */
export type AuditFilter = {
  /** One of these actions, at most 100, compared exactly. An empty list matches nothing. */
  actions?: Array<string> | null | undefined;
  /** Identifier or name of the actor, compared exactly. */
  actor?: string | null | undefined;
  /** Whether the action succeeded. */
  outcome?: AuditOutcome | null | undefined;
  /** At or after this instant. The year 1, the zero time of Go and .NET, means no bound. */
  since?: string | null | undefined;
  /** Identifier or name of the target, compared exactly. */
  target?: string | null | undefined;
  /** Before this instant. */
  until?: string | null | undefined;
};

/** Whether an action succeeded. */
export type AuditOutcome =
  /** It was attempted, and was denied or failed. */
  | 'FAILURE'
  /** It succeeded. */
  | 'SUCCESS';

/** How far a deletion has got. */
export type DeletionOutcome =
  /** The service accepted the request and has not yet completed it: HTTP 202, or its response says so. */
  | 'ACCEPTED'
  /** The service deleted the key. */
  | 'DELETED';

/** The credential of a client: exactly one of these. */
export type LoginCredential =
  {   /** The client secret, for a client's first login. */
  clientSecret: string; refreshToken?: never; }
  |  { clientSecret?: never;   /** The refresh token of the previous login, for every later login. */
  refreshToken: string; };

/** A query parameter of the service's own. */
export type UpstreamParameter = {
  /** Its name. It may occur more than once. */
  name: string;
  /** Its value, not encoded. */
  value: string;
};

export type LoginMutationVariables = Exact<{
  clientId: string | number;
  credential: LoginCredential;
  withRaw?: boolean | null | undefined;
}>;


export type LoginMutation = { login: { accessToken: string, tokenType: string, refreshToken: string | null, expiresAt: string | null, raw?: unknown } | null };

export type AuditQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: AuditFilter | null | undefined;
  parameters?: Array<UpstreamParameter> | UpstreamParameter | null | undefined;
  withRaw?: boolean | null | undefined;
}>;


export type AuditQuery = { audit: { totalCount: number | null, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null }, nodes: Array<{ id: string | null, occurredAt: string | null, action: string | null, outcome: AuditOutcome | null, ipAddress: string | null, userAgent: string | null, raw?: unknown, actor: { identifier: string | null, name: string | null, type: string | null } | null, target: { identifier: string | null, name: string | null, type: string | null } | null }> } | null };

export type DeleteApiKeyMutationVariables = Exact<{
  clientId: string | number;
  withRaw?: boolean | null | undefined;
}>;


export type DeleteApiKeyMutation = { deleteApiKey: { outcome: DeletionOutcome, raw?: unknown, apiKey: { clientId: string } } | null };

export type AuditEventsSubscriptionVariables = Exact<{
  after?: string | null | undefined;
  filter?: AuditFilter | null | undefined;
  parameters?: Array<UpstreamParameter> | UpstreamParameter | null | undefined;
  every?: number | null | undefined;
  withRaw?: boolean | null | undefined;
}>;


export type AuditEventsSubscription = { auditEvents: { checkpoint: string, previous: string | null, missed: boolean, hasMore: boolean, nodes: Array<{ id: string | null, occurredAt: string | null, action: string | null, outcome: AuditOutcome | null, ipAddress: string | null, userAgent: string | null, raw?: unknown, actor: { identifier: string | null, name: string | null, type: string | null } | null, target: { identifier: string | null, name: string | null, type: string | null } | null }> } | null };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, unknown> | undefined;

  constructor(value: string, __meta__?: Record<string, unknown> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}

export const LoginDocument = new TypedDocumentString(`
    mutation Login($clientId: ID!, $credential: LoginCredential!, $withRaw: Boolean = false) {
  login(clientId: $clientId, credential: $credential) {
    accessToken
    tokenType
    refreshToken
    expiresAt
    raw @include(if: $withRaw)
  }
}
    `) as unknown as TypedDocumentString<LoginMutation, LoginMutationVariables>;
export const AuditDocument = new TypedDocumentString(`
    query Audit($first: Int, $after: String, $filter: AuditFilter, $parameters: [UpstreamParameter!], $withRaw: Boolean = false) {
  audit(first: $first, after: $after, filter: $filter, parameters: $parameters) {
    totalCount
    pageInfo {
      hasNextPage
      hasPreviousPage
      startCursor
      endCursor
    }
    nodes {
      id
      occurredAt
      action
      outcome
      ipAddress
      userAgent
      actor {
        identifier
        name
        type
      }
      target {
        identifier
        name
        type
      }
      raw @include(if: $withRaw)
    }
  }
}
    `) as unknown as TypedDocumentString<AuditQuery, AuditQueryVariables>;
export const DeleteApiKeyDocument = new TypedDocumentString(`
    mutation DeleteApiKey($clientId: ID!, $withRaw: Boolean = false) {
  deleteApiKey(clientId: $clientId) {
    outcome
    raw @include(if: $withRaw)
    apiKey {
      clientId
    }
  }
}
    `) as unknown as TypedDocumentString<DeleteApiKeyMutation, DeleteApiKeyMutationVariables>;
export const AuditEventsDocument = new TypedDocumentString(`
    subscription AuditEvents($after: String, $filter: AuditFilter, $parameters: [UpstreamParameter!], $every: Int, $withRaw: Boolean = false) {
  auditEvents(
    after: $after
    filter: $filter
    parameters: $parameters
    every: $every
  ) {
    nodes {
      id
      occurredAt
      action
      outcome
      ipAddress
      userAgent
      actor {
        identifier
        name
        type
      }
      target {
        identifier
        name
        type
      }
      raw @include(if: $withRaw)
    }
    checkpoint
    previous
    missed
    hasMore
  }
}
    `) as unknown as TypedDocumentString<AuditEventsSubscription, AuditEventsSubscriptionVariables>;