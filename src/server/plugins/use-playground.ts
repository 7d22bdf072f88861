import type { Plugin } from 'graphql-yoga';

/** What the tabs of the playground hold; with the sandbox its demo client, so that pressing play is enough. */
export type PlaygroundOptions = {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** The client id in the tab that deletes. */
  readonly keyToDelete?: string | undefined;
};

/** Shows GraphiQL to browsers, all of it from this process. Nothing of it is loaded before a browser asks. */
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

/** No other host, whatever the page tries. Its scripts and styles are inline, its editor's workers are blobs. */
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
 * GraphiQL keeps tabs, with their variables, in local storage, and Yoga's wrapper the query in the address, hence in the
 * browser's history. Both may hold a token: the page gets a storage that ends with it, and an address that stays.
 */
const FORGET = `<script>
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
  history.replaceState(null, '', location.pathname); // a link must not put a document of its own into a tab
  history.replaceState = () => {};
</script>`;

/**
 * The tokens of the last login stand in for their names in the headers and the variables that are sent, so that nobody
 * has to copy them. They are kept in a variable of the page. GraphiQL's own way is a `fetcher`, which is no JSON and so
 * cannot go through Yoga's page; its fetcher asks for the global `fetch` with each request.
 */
const FILL_IN = `<script>
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

/** GraphiQL's animation of its tabs never settles, and moves a tab away under the pointer: its first click was lost. */
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
    variables: login, // GraphiQL shows those of the first tab only when they are given here too
  };
  return renderGraphiQL(options).replace(
    '<head>',
    () => `<head>${FORGET}${FILL_IN}${KEEP_TABS_STILL}`,
  );
}

function toJson(value: object): string {
  return JSON.stringify(value, null, 2);
}

const LOGIN = `# Press play here, then in each tab from
# left to right. The next tabs send the
# token of this login by themselves.
# The secret is good for one login only.
mutation Login($clientId: ID!, $credential: LoginCredential!) {
  login(clientId: $clientId, credential: $credential) {
    accessToken
    refreshToken
    expiresAt
  }
}
`;

const AUDIT = `# Press play. "Headers" below holds a name
# for the token: the page fills it in.
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

const DELETE = `# Press play. The audit tab then shows
# the deletion, when you press play there.
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

const LOGIN_AGAIN = `# Press play. From the second login on it
# is the refresh token, which the page
# fills in. The tokens end with the page.
mutation LoginAgain($clientId: ID!, $credential: LoginCredential!) {
  login(clientId: $clientId, credential: $credential) {
    accessToken
    refreshToken
    expiresAt
  }
}
`;
