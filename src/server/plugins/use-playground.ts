import type { Plugin } from 'graphql-yoga';

/** Variables of the playground's tabs. With the sandbox they are those of a demo client, ready to run. */
export type PlaygroundOptions = {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Client ID in the tab that deletes a key. */
  readonly keyToDelete?: string | undefined;
};

/** Serves GraphiQL to browsers, without any other host. It is loaded into memory at the first request for it. */
export function usePlayground(path: string, options: PlaygroundOptions): Plugin {
  let page: Promise<string> | undefined;
  return {
    async onRequest({ request, url, endResponse, fetchAPI }) {
      const wantsPage = request.headers.get('accept')?.includes('text/html');
      if (request.method !== 'GET' || url.pathname !== path || !wantsPage) return;
      page ??= render(options);
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': CONTENT_SECURITY_POLICY,
        'referrer-policy': 'no-referrer',
      };
      endResponse(new fetchAPI.Response(await page, { headers }));
    },
  };
}

/** Blocks every other host. GraphiQL's scripts and styles are inline, its editor's workers are blobs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' blob:",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * GraphiQL saves tabs and variables in local storage, and Yoga's wrapper saves the query in the URL, so in the browser's
 * history. Both may contain a token: this replaces the storage by one in memory, and keeps the URL unchanged.
 */
const KEEP_IN_MEMORY = `<script>
  for (const name of ['localStorage', 'sessionStorage']) {
    const items = new Map();
    const storage = {
      getItem: (key) => items.get(String(key)) ?? null,
      setItem: (key, value) => void items.set(String(key), String(value)),
      removeItem: (key) => void items.delete(String(key)),
      clear: () => items.clear(),
      key: (index) => [...items.keys()][index] ?? null,
      get length() { return items.size; },
    };
    Object.defineProperty(window, name, { value: storage });
  }
  history.replaceState(null, '', location.pathname); // a link must not put its own document into a tab
  history.replaceState = () => {};
</script>`;

/**
 * Replaces {{accessToken}} and {{refreshToken}} in the headers and variables of a request by the tokens of the last
 * login, which are kept in a variable of the page. It wraps the global `fetch`, which GraphiQL's default fetcher calls:
 * Yoga's page takes its options as JSON, so a custom `fetcher` is not possible.
 */
const INSERT_TOKENS = `<script>
  {
    const send = window.fetch.bind(window);
    const tokens = {};
    const fill = (text, encode) =>
      text.replace(/{{(accessToken|refreshToken)}}/g, (name, token) =>
        token in tokens ? encode(tokens[token]) : name,
      );
    const inHeader = (token) => token;
    const inJson = (token) => JSON.stringify(token).slice(1, -1);
    window.fetch = async (url, options) => {
      if (typeof url !== 'string') return send(url, options);
      const { headers, body, ...init } = options ?? {};
      const filled = [...new Headers(headers)].map(([name, value]) => [name, fill(value, inHeader)]);
      const text = typeof body === 'string' ? fill(body, inJson) : body;
      const response = await send(url, { ...init, headers: filled, body: text });
      const result = await response.clone().json().catch(() => null);
      for (const token of ['accessToken', 'refreshToken']) {
        const value = result?.data?.login?.[token];
        if (typeof value === 'string') tokens[token] = value;
      }
      return response;
    };
  }
</script>`;

/** GraphiQL's animation of its tabs never ends: a tab moves away under the pointer, and the first click is lost. */
const KEEP_TABS_STILL = '<style>.graphiql-tab { transform: none !important; }</style>';

async function render({
  clientId = 'your client id',
  clientSecret = 'its secret',
  keyToDelete = 'the client id of the key to delete',
}: PlaygroundOptions): Promise<string> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const withToken = toJson({ Authorization: 'Bearer {{accessToken}}' });
  const login = toJson({ clientId, credential: { clientSecret } });
  const loginAgain = toJson({ clientId, credential: { refreshToken: '{{refreshToken}}' } });
  const options = {
    title: 'Keytrail',
    shouldPersistHeaders: false,
    defaultTabs: [
      { query: LOGIN, variables: login, headers: '{}' },
      { query: AUDIT, variables: toJson({ first: 10 }), headers: withToken },
      { query: DELETE, variables: toJson({ clientId: keyToDelete }), headers: withToken },
      { query: LOGIN_AGAIN, variables: loginAgain, headers: '{}' },
    ],
    variables: login, // GraphiQL ignores those of the first tab unless they are also here
  };
  return renderGraphiQL(options).replace(
    '<head>',
    () => `<head>${KEEP_IN_MEMORY}${INSERT_TOKENS}${KEEP_TABS_STILL}`,
  );
}

function toJson(value: object): string {
  return JSON.stringify(value, null, 2);
}

const LOGIN_DEFINITION = `($clientId: ID!, $credential: LoginCredential!) {
  login(clientId: $clientId, credential: $credential) {
    accessToken
    refreshToken
    expiresAt
  }
}
`;

const LOGIN = `# Press play in each tab, left to right.
# The page keeps the tokens of this login
# and inserts them in the next tabs. The
# client secret is single-use.
mutation Login${LOGIN_DEFINITION}`;

const AUDIT = `# Press play. "Headers" below has a
# placeholder, which the page replaces by
# the access token.
query Audit($first: Int, $after: String, $filter: AuditFilter) {
  audit(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      occurredAt
      action
      outcome
      actor { identifier name }
      target { identifier name }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`;

const DELETE = `# Press play. Then press play in the Audit
# tab again to see the deletion.
mutation DeleteApiKey($clientId: ID!) {
  deleteApiKey(clientId: $clientId) {
    outcome
    apiKey {
      clientId
      audit(first: 3) { nodes { occurredAt action outcome } }
    }
  }
}
`;

const LOGIN_AGAIN = `# Press play. Later logins use the refresh
# token instead of the client secret. The
# page forgets all tokens when you close it.
mutation LoginAgain${LOGIN_DEFINITION}`;
