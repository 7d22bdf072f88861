import type { ResponseViews, ShowResult } from './response-views.ts';
import type { Tab } from './tabs.ts';

/** What the page knows. */
export type PageData = { readonly tabs: readonly Tab[]; readonly newTabHeaders: string };

/** What the page needs of the browser. The session ends when the browser's tab is closed. */
export type Browser = {
  readonly endpoint: string;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly session: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  readonly views: ResponseViews;
};

/** An operation that GraphiQL runs. */
type Operation = { query: string; variables?: unknown; operationName?: string | null };

/** GraphiQL's tabs in its storage; in the session without headers, variables and responses. */
type TabState = {
  readonly activeTabIndex: number;
  readonly tabs: readonly (Pick<Tab, 'id'> & Partial<Tab> & { operationName?: string | null })[];
};

/**
 * Creates GraphiQL's props. The page contains the source of this function, so it uses nothing from outside of it.
 *
 * Tokens are kept in a variable. The session keeps the theme and the documents of the tabs; everything else, and a
 * document that may contain a credential, is forgotten at a reload.
 */
export function createGraphiqlProps(page: PageData, { endpoint, fetch, session, views }: Browser) {
  const THEME = 'graphiql:theme';
  const TABS = 'graphiql:tabState';
  const TOKENS = ['accessToken', 'refreshToken'];

  const tokens = new Map<string, string>(); // of the last login
  const issued = new Set<string>(); // of all logins

  /** GraphiQL shows what is thrown; of an Error also the stack. */
  const fail: (message: string) => never = (message) => {
    throw { message };
  };

  const failWithout = (name: string) => {
    if (!TOKENS.includes(name)) fail(`Replace {{${name}}} first.`);
    fail(tokens.size === 0 ? 'Run the Login tab first.' : `The last login returned no ${name}.`);
  };

  /** Replaces the placeholders in the strings of a value. */
  const fill = (value: object) =>
    JSON.parse(
      JSON.stringify(value).replace(/{{([^{}"]+)}}/g, (_, name) =>
        JSON.stringify(tokens.get(name) ?? failWithout(name)).slice(1, -1),
      ),
    );

  const rememberTokens = (result: unknown) => {
    for (const payload of Object.values(Object(Object(result).data))) {
      for (const name of TOKENS) {
        const token = Object(payload)[name];
        if (typeof token !== 'string') continue;
        tokens.set(name, token);
        issued.add(token);
      }
    }
  };

  /** Reads the results of a subscription. GraphiQL calls `return` when the user stops it, also during a `read`. */
  const readResults = (body: ReadableStream<Uint8Array>, show: ShowResult) => {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let isStopped = false;
    async function* results() {
      for (let text = ''; ; ) {
        const chunk = await reader.read().catch(() => undefined);
        if (isStopped) return;
        if (chunk?.value === undefined) {
          const lost = { message: 'The connection was lost: press play again.' };
          show({ errors: [lost] }, true);
          throw lost;
        }
        const events = (text + decoder.decode(chunk.value, { stream: true })).split('\n\n');
        text = events.pop() ?? '';
        for (const event of events) {
          const [, name, data = ''] = /^event: (\w+)\ndata: ?(.*)/.exec(event) ?? [];
          if (name === 'complete') return;
          if (name !== 'next') continue;
          const payload: unknown = JSON.parse(data);
          show(payload, true);
          yield payload;
        }
      }
    }
    const stop = async () => {
      isStopped = true;
      reader.cancel().catch(() => {});
      return { done: true, value: undefined };
    };
    return Object.assign(results(), { return: stop });
  };

  const send = async (
    { query, variables, operationName }: Operation,
    headers: object | undefined,
    isIntrospection: boolean,
    show: ShowResult,
  ): Promise<unknown> => {
    const filled = fill({ headers, variables });
    const body = JSON.stringify({ query, operationName, variables: filled.variables });
    let request: Request;
    try {
      request = new Request(endpoint, { method: 'POST', headers: filled.headers ?? {}, body });
    } catch {
      fail('A header has a name or value that HTTP does not allow.');
    }
    // A subscription is sent as events, anything else as JSON.
    const accept = 'application/graphql-response+json, application/json, text/event-stream';
    request.headers.set('accept', accept);
    request.headers.set('content-type', 'application/json');
    if (!isIntrospection && !request.headers.has('x-keytrail-explain'))
      request.headers.set('x-keytrail-explain', '1'); // ignored where EXPLAIN is off
    const response = await fetch(request).catch(() =>
      fail('Keytrail does not respond. Check that it is running.'),
    );
    if (response.headers.get('content-type') === 'text/event-stream' && response.body)
      return readResults(response.body, show);
    const result: unknown = await response
      .json()
      .catch(() => fail(`The response is not JSON (HTTP ${response.status}).`));
    rememberTokens(result);
    show(result);
    return result;
  };

  const fetcher = async (
    operation: Operation,
    { headers }: { readonly headers?: object } = {},
  ): Promise<unknown> => {
    // The schema needs no token, and must load before a login.
    if (operation.operationName === 'IntrospectionQuery')
      return send(operation, undefined, true, () => {});
    const show = views.begin();
    return send(operation, headers, false, show).catch((error: unknown) => {
      show({ errors: [error] });
      throw error;
    });
  };

  const mayHaveCredential = (query: string) =>
    (/\blogin[\s,]*\(/.test(query) && query.includes('"')) ||
    [...issued].some((token) => query.includes(token));

  const toSession = ({ activeTabIndex, tabs }: TabState): TabState => ({
    activeTabIndex,
    tabs: tabs.map(({ id, title = '', query = '', operationName = null }) =>
      mayHaveCredential(query ?? '') ? { id } : { id, title, query, operationName },
    ),
  });

  const newTab = { title: '<untitled>', query: '', variables: '', headers: page.newTabHeaders };
  const saved: TabState = JSON.parse(session.getItem(TABS) ?? '{"activeTabIndex":0,"tabs":[]}');
  const closed = page.tabs.filter(({ id }) => saved.tabs.every((tab) => tab.id !== id));
  const tabs = [...saved.tabs, ...closed].map((tab) => ({
    ...{ operationName: null, response: null }, // GraphiQL requires them
    ...(page.tabs.find(({ id }) => id === tab.id) ?? newTab),
    ...tab,
  }));
  const active = tabs[saved.activeTabIndex];

  const memory = new Map([
    [THEME, session.getItem(THEME)],
    [TABS, JSON.stringify({ activeTabIndex: saved.activeTabIndex, tabs })],
  ]);
  const storage = {
    getItem: (key: string) => memory.get(key) ?? null,
    setItem: (key: string, value: string) => {
      memory.set(key, value);
      if (key === THEME) session.setItem(THEME, value);
      if (key === TABS) session.setItem(TABS, JSON.stringify(toSession(JSON.parse(value))));
    },
    removeItem: (key: string) => {
      memory.delete(key);
      session.removeItem(key);
    },
    clear: () => {
      for (const key of memory.keys()) storage.removeItem(key);
    },
    get length() {
      return memory.size;
    },
  };

  return {
    fetcher,
    storage,
    shouldPersistHeaders: true, // in `storage`: otherwise GraphiQL does not recognize the active tab, and adds another
    showPersistHeadersSettings: false,
    // GraphiQL activates the tab that equals these.
    initialQuery: active?.query,
    initialVariables: active?.variables,
    initialHeaders: active?.headers,
    defaultHeaders: page.newTabHeaders,
    onEditQuery: () => {}, // Yoga's writes the query to the URL, so to the browser's history
  };
}
