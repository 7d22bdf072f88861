/** Variables of the playground's tabs. With the sandbox they are those of a demo client, ready to run. */
export type PlaygroundOptions = {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Client ID in the tab that deletes a key. */
  readonly keyToDelete?: string | undefined;
};

/** A tab of GraphiQL. The headers and variables are JSON. */
export type Tab = {
  readonly id: string;
  readonly title: string;
  readonly query: string;
  readonly variables: string;
  readonly headers: string;
};

/** The headers of a new tab, as JSON. */
export const AUTHORIZATION = toJson({ Authorization: 'Bearer {{accessToken}}' });

/**
 * Creates the tabs of the playground, one per step of its story. In headers and variables, the page replaces
 * `{{accessToken}}` and `{{refreshToken}}`; the user replaces any other placeholder.
 */
export function createTabs({
  clientId = '{{your client id}}',
  clientSecret = '{{its secret}}',
  keyToDelete = '{{client id of the key to delete}}',
}: PlaygroundOptions): readonly Tab[] {
  const refreshToken = '{{refreshToken}}';
  return [
    createTab(LOGIN, { clientId, credential: { clientSecret } }, '{}'),
    createTab(AUDIT, { first: 10, after: null }),
    createTab(FAILURES, { filter: { outcome: 'FAILURE' } }),
    createTab(DELETE, { clientId: keyToDelete }),
    createTab(LOGIN_AGAIN, { clientId, credential: { refreshToken } }, '{}'),
    createTab(FOLLOW, { filter: null }),
  ];
}

function createTab(query: string, variables: object, headers = AUTHORIZATION): Tab {
  const [, name = ''] = /^(?:query|mutation|subscription) (\w+)/m.exec(query) ?? [];
  return { id: name, title: name, query, variables: toJson(variables), headers };
}

function toJson(value: object): string {
  return JSON.stringify(value, null, 2);
}

// A screen of 1200 pixels shows 47 characters of a line.

const LOGIN_DEFINITION = `(
  $clientId: ID!
  $credential: LoginCredential!
) {
  login(clientId: $clientId, credential: $credential) {
    accessToken
    refreshToken
    expiresAt
  }
}
`;

const LOGIN = `# Logs in with the client secret. The page
# inserts the tokens in the other tabs, until
# a reload.
mutation Login${LOGIN_DEFINITION}`;

const AUDIT = `# Reads the first page of the audit trail.
# For the next one, set the variable "after"
# to the endCursor of this one.
query Audit($first: Int, $after: String) {
  audit(first: $first, after: $after) {
    totalCount
    nodes {
      occurredAt
      action
      outcome
      actor { identifier type }
      target { identifier type }
      ipAddress
    }
    pageInfo { hasNextPage endCursor }
  }
}
`;

const FAILURES = `# Reads only the events that failed. "raw" is
# the record as the service sent it.
query Failures($filter: AuditFilter) {
  audit(first: 3, filter: $filter) {
    nodes { occurredAt action ipAddress raw }
  }
}
`;

const DELETE = `# Deletes an API key, then reads the events
# of this key: the newest is the deletion.
mutation DeleteApiKey($clientId: ID!) {
  deleteApiKey(clientId: $clientId) {
    outcome
    apiKey {
      clientId
      audit(first: 3) {
        nodes { occurredAt action outcome }
      }
    }
  }
}
`;

const LOGIN_AGAIN = `# Logs in with the refresh token. The new
# tokens replace the previous ones.
mutation LoginAgain${LOGIN_DEFINITION}`;

const FOLLOW = `# Shows new events as they arrive, until you
# press stop. Log in from another window:
# after some seconds, the login appears here.
subscription AuditEvents(
  $filter: AuditFilter
) {
  auditEvents(filter: $filter, every: 5) {
    nodes {
      occurredAt
      action
      outcome
      actor { identifier type }
      target { identifier type }
    }
    missed
  }
}
`;
