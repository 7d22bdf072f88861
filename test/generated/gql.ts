/* eslint-disable */
import * as types from './graphql.ts';



/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  mutation Login($clientId: ID!, $credential: LoginCredential!) {\n    login(clientId: $clientId, credential: $credential) {\n      accessToken\n      tokenType\n      refreshToken\n      expiresAt\n      raw\n    }\n  }\n": typeof types.LoginDocument,
    "\n  query Audit(\n    $first: Int\n    $after: String\n    $filter: AuditFilter\n    $parameters: [UpstreamParameter!]\n  ) {\n    audit(first: $first, after: $after, filter: $filter, parameters: $parameters) {\n      totalCount\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n      nodes {\n        id\n        occurredAt\n        action\n        outcome\n        ipAddress\n        userAgent\n        actor {\n          id\n          name\n          type\n        }\n        target {\n          id\n          name\n          type\n        }\n      }\n    }\n  }\n": typeof types.AuditDocument,
    "\n  mutation DeleteApiKey($clientId: ID!) {\n    deleteApiKey(clientId: $clientId) {\n      outcome\n      raw\n      apiKey {\n        clientId\n      }\n    }\n  }\n": typeof types.DeleteApiKeyDocument,
};
const documents: Documents = {
    "\n  mutation Login($clientId: ID!, $credential: LoginCredential!) {\n    login(clientId: $clientId, credential: $credential) {\n      accessToken\n      tokenType\n      refreshToken\n      expiresAt\n      raw\n    }\n  }\n": types.LoginDocument,
    "\n  query Audit(\n    $first: Int\n    $after: String\n    $filter: AuditFilter\n    $parameters: [UpstreamParameter!]\n  ) {\n    audit(first: $first, after: $after, filter: $filter, parameters: $parameters) {\n      totalCount\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n      nodes {\n        id\n        occurredAt\n        action\n        outcome\n        ipAddress\n        userAgent\n        actor {\n          id\n          name\n          type\n        }\n        target {\n          id\n          name\n          type\n        }\n      }\n    }\n  }\n": types.AuditDocument,
    "\n  mutation DeleteApiKey($clientId: ID!) {\n    deleteApiKey(clientId: $clientId) {\n      outcome\n      raw\n      apiKey {\n        clientId\n      }\n    }\n  }\n": types.DeleteApiKeyDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation Login($clientId: ID!, $credential: LoginCredential!) {\n    login(clientId: $clientId, credential: $credential) {\n      accessToken\n      tokenType\n      refreshToken\n      expiresAt\n      raw\n    }\n  }\n"): typeof import('./graphql.ts').LoginDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Audit(\n    $first: Int\n    $after: String\n    $filter: AuditFilter\n    $parameters: [UpstreamParameter!]\n  ) {\n    audit(first: $first, after: $after, filter: $filter, parameters: $parameters) {\n      totalCount\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n      nodes {\n        id\n        occurredAt\n        action\n        outcome\n        ipAddress\n        userAgent\n        actor {\n          id\n          name\n          type\n        }\n        target {\n          id\n          name\n          type\n        }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').AuditDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation DeleteApiKey($clientId: ID!) {\n    deleteApiKey(clientId: $clientId) {\n      outcome\n      raw\n      apiKey {\n        clientId\n      }\n    }\n  }\n"): typeof import('./graphql.ts').DeleteApiKeyDocument;


export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}
