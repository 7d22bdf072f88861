/** Corrections of GraphiQL's appearance. */
export const STYLE = `
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

  @media (max-width: 900px) {
    .graphiql-container #graphiql-session { flex-direction: column; }
    .graphiql-container #graphiql-session > .graphiql-horizontal-drag-bar { display: none; }
    .graphiql-container .graphiql-editors { flex: 3 !important; }
    .graphiql-container .graphiql-response { flex: 2 !important; }
    .graphiql-container .graphiql-editor-tool { padding: 4px 16px 16px; }
    .graphiql-doc-explorer-search:not(:focus-within) [role=combobox] { width: 0 !important; }
    .graphiql-container .graphiql-logo { display: none; }
  }
`;
