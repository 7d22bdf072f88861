/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Conditions on an event, all of which it must meet; one that is null is not asked. What could not be read of an event meets no condition. */
export type AuditFilter = {
  /** Any of these actions, letter for letter; the empty list matches nothing. */
  actions?: Array<string> | null | undefined;
  /** Id or name of the actor, letter for letter. */
  actor?: string | null | undefined;
  /** How the action ended. */
  outcome?: AuditOutcome | null | undefined;
  /** At or after this instant. */
  since?: string | null | undefined;
  /** Id or name of the target, letter for letter. */
  target?: string | null | undefined;
  /** Before this instant. */
  until?: string | null | undefined;
};

/** How an action ended. */
export type AuditOutcome =
  /** It was tried, and refused or failed. */
  | 'FAILURE'
  /** It was done. */
  | 'SUCCESS';

/** How far a deletion has come. */
export type DeletionOutcome =
  /** The service accepted the request and has not finished it (HTTP 202). */
  | 'ACCEPTED'
  /** The service said that the key is gone. */
  | 'DELETED';

/** What proves that it is the client: exactly one of the two. */
export type LoginCredential =
  {   /** The secret, for the first login of a client. */
  clientSecret: string; refreshToken?: never; }
  |  { clientSecret?: never;   /** The refresh token of the last login, for every login after the first. */
  refreshToken: string; };

/** A query parameter of the service itself. */
export type UpstreamParameter = {
  /** Its name, which may occur more than once. */
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

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
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