import { graphql } from '../generated/gql.ts';

/** The three operations, typed: what a client of Keytrail writes. */
export const LOGIN = graphql(`
  mutation Login($clientId: ID!, $credential: LoginCredential!) {
    login(clientId: $clientId, credential: $credential) {
      accessToken
      tokenType
      refreshToken
      expiresAt
      raw
    }
  }
`);

export const AUDIT = graphql(`
  query Audit(
    $first: Int
    $after: String
    $filter: AuditFilter
    $parameters: [UpstreamParameter!]
  ) {
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
          id
          name
          type
        }
        target {
          id
          name
          type
        }
      }
    }
  }
`);

export const DELETE_API_KEY = graphql(`
  mutation DeleteApiKey($clientId: ID!) {
    deleteApiKey(clientId: $clientId) {
      outcome
      raw
      apiKey {
        clientId
      }
    }
  }
`);
