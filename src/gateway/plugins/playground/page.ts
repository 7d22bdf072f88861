import { createHash } from 'node:crypto';
import { createGraphiqlProps } from './graphiql-props.ts';
import { createResponseViews } from './response-views.ts';
import { VIEWS_STYLE } from './response-views-style.ts';
import { AUTHORIZATION, createTabs, type PlaygroundOptions } from './tabs.ts';

export type { PlaygroundOptions };

/** The playground's HTML, and the headers that it is served with. */
export type Page = { readonly html: string; readonly headers: Readonly<Record<string, string>> };

/** Renders GraphiQL with its scripts and styles inline: Yoga's build of it, in a page that persists nothing confidential. */
export async function renderPlayground(options: PlaygroundOptions): Promise<Page> {
  const tabs = createTabs(options);
  const { css, js, editorWorkerService, graphqlWorker, jsonWorker } = await import(
    '@graphql-yoga/render-graphiql/graphiql'
  );
  const script = `
    const workers = ${toScript({ editorWorkerService, json: jsonWorker, graphql: graphqlWorker })};
    const toUrl = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const urls = Object.fromEntries(Object.entries(workers).map(([name, text]) => [name, toUrl(text)]));
    self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_, name) => urls[name] };
    // GraphiQL assigns the library of its editors to this global.
    Object.defineProperty(self, '__MONACO', {
      set: ({ editor }) => {
        editor.onDidCreateEditor((each) => each.updateOptions({ wordWrap: 'on' }));
        const { defineTheme } = editor;
        editor.defineTheme = (name, { rules, colors, ...theme }) => {
          const isDark = theme.base === 'vs-dark';
          // Contrasts of 4.5 to 1, also in the current line.
          const own = isDark ? { token: 'comment', foreground: '#86b872' } : { token: 'number', foreground: '#066c47' };
          const number = isDark ? '#a0a0a0' : '#237893';
          const numbers = { 'editorLineNumber.foreground': number, 'editorLineNumber.dimmedForeground': number };
          defineTheme(name, { ...theme, rules: [...rules, own], colors: { ...colors, ...numbers } });
        };
      },
    });
    // In an editor, Tab indents. Escape leaves it; an editor that closes something instead stops the event.
    document.addEventListener('keydown', ({ key, target }) => {
      if (key === 'Escape') target.closest('.graphiql-editor, .result-window')?.focus();
    });
    ${js};
    const createProps = ${createGraphiqlProps};
    const createViews = ${createResponseViews};
    const root = document.querySelector('#root');
    const browser = {
      endpoint: location.pathname,
      fetch: (request) => fetch(request),
      session: sessionStorage,
      views: createViews(root, ${toScript(tabs[0]?.title ?? '')}),
    };
    const page = ${toScript({ tabs, newTabHeaders: AUTHORIZATION })};
    YogaGraphiQL.renderYogaGraphiQL(root, {
      ...createProps(page, browser),
      title: 'Keytrail',
      logo: ${toScript(LOGO)},
    });
  `;
  const hash = createHash('sha256').update(script).digest('base64');
  return {
    html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Keytrail</title>
    <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(LOGO)}">
    <style>${css}${STYLE}${VIEWS_STYLE}</style>
  </head>
  <body>
    <noscript>The playground needs JavaScript.</noscript>
    <main>
      <h1>Keytrail</h1>
      <div id="root"></div>
    </main>
    <script>${script}</script>
  </body>
</html>
`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': [...POLICY, `script-src 'sha256-${hash}'`].join('; '),
      'referrer-policy': 'no-referrer',
    },
  };
}

/** Blocks every other host and every other script. GraphiQL's styles are inline, its editor's workers are blobs. */
const POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** A key. */
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="28" height="28" viewBox="0 0 24 24" fill="none" stroke="#d60590" stroke-width="2.5" stroke-linecap="round"><circle cx="7" cy="12" r="4.5"/><path d="M11.5 12H22m-4.5 0v4m4.5-4v3"/></svg>';

/** A value as a JavaScript literal that cannot end the script element. */
function toScript(value: object | string): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** Corrections of GraphiQL's appearance. */
const STYLE = `
  h1 { position: absolute; clip-path: inset(50%); } /* for screen readers */

  /* Its animation never ends: a tab moves away under the pointer, and the first click is lost. */
  .graphiql-tab { transform: none !important; }

  /* Other tabs than the active one shrink before they scroll. */
  .graphiql-tab:not(.graphiql-tab-active) { flex-shrink: 1; min-width: 72px; }
  .graphiql-tab .graphiql-tab-button { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }

  /* Contrasts of 4.5 to 1. */
  .graphiql-container, .graphiql-dialog {
    --color-info: 208, 100%, 40%; --color-warning: 36, 100%, 32%; --alpha-secondary: .85; --alpha-tertiary: .7;
  }

  /* Its outlines are nearly transparent. */
  :focus-visible:not(.inputarea) { outline: 2px solid hsl(var(--color-primary)) !important; outline-offset: -2px; }
  .graphiql-editor { position: relative; outline-offset: 2px !important; }
  .graphiql-editor:focus-visible::after {
    content: 'Enter: edit. Escape: leave.';
    position: absolute; right: 0; bottom: 0; padding: 4px 8px;
    background: hsl(var(--color-base)); color: hsl(var(--color-neutral)); font: 13px var(--font-family);
  }

  .graphiql-doc-explorer-search:not(:focus-within) [role=combobox] { width: 8.5ch !important; }
  .graphiql-doc-explorer-content { overflow-wrap: anywhere; }

  /* A closed search covers the tabs. */
  .monaco-editor .find-widget:not(.visible) { visibility: hidden; }

  /* A long response scrolls in its own pane. */
  .graphiql-container :is(.graphiql-main, .graphiql-sessions, #graphiql-session, .graphiql-editors, .graphiql-response) { min-height: 0; }

  @media (max-width: 900px) {
    .graphiql-container #graphiql-session { flex-direction: column; }
    .graphiql-container #graphiql-session > .graphiql-horizontal-drag-bar { display: none; }
    .graphiql-container .graphiql-editors { flex: 3 !important; }
    .graphiql-container .graphiql-response { flex: 2 !important; }
    .graphiql-container .graphiql-editor-tool { padding: 4px 16px 16px; }
    .graphiql-doc-explorer-search:not(:focus-within) [role=combobox] { width: 0 !important; }
    .graphiql-container .graphiql-logo { display: none; }
  }

  /* A phone: the icons are in a row below, the active tab is whole, and play is at the top of the response. */
  @media (max-width: 500px) {
    .graphiql-container { flex-direction: column-reverse; }
    .graphiql-container .graphiql-sidebar { flex-direction: row; width: auto; justify-content: space-around; padding: 4px 0; }
    .graphiql-container .graphiql-sidebar > button { margin: 0 !important; }
    .graphiql-container .graphiql-main { margin: 0 !important; }
    .graphiql-container .graphiql-sessions { margin: 4px !important; }
    .graphiql-tab-active { flex-shrink: 0; }
    .graphiql-tab:not(.graphiql-tab-active) { min-width: 64px; }
    .graphiql-container .graphiql-editors { position: relative; z-index: 2; }
    .graphiql-container .graphiql-query-editor { position: static; padding: 8px !important; }
    .graphiql-container .graphiql-toolbar { position: static; }
    .graphiql-container :is(.graphiql-query-editor, .graphiql-editor-tool) { min-height: 0; overflow: hidden; }
    .graphiql-container .graphiql-execute-button { position: absolute; right: 8px; bottom: -48px; }
    .graphiql-container .graphiql-response { padding: 4px !important; }
  }
`;
