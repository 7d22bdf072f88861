/** The appearance of the views of a response. Their colours have a contrast of 4.5 to 1 in both themes. */
export const VIEWS_STYLE = `
  .graphiql-response { --failure: #b3001b; --success: #1a6b2f; position: relative; display: flex; flex-direction: column; }
  body.graphiql-dark .graphiql-response { --failure: #ff9aa5; --success: #7fd699; }
  @media (prefers-color-scheme: dark) {
    body:not(.graphiql-light) .graphiql-response { --failure: #ff9aa5; --success: #7fd699; }
  }
  .graphiql-response [hidden] { display: none !important; }
  .graphiql-response:not([data-view=json]) .result-window { display: none; }

  .views { display: flex; gap: 4px; padding: 4px 12px; }
  .views button {
    padding: 6px 12px; border: 0; border-bottom: 2px solid transparent; border-radius: 4px 4px 0 0; background: none;
    color: hsl(var(--color-neutral)); font: 15px var(--font-family); cursor: pointer;
  }
  .views button[aria-selected=true] { border-color: hsl(var(--color-primary)); font-weight: 600; }

  .hint { position: absolute; inset: 16px; z-index: 1; margin: 0; color: hsl(var(--color-neutral)); font: 15px var(--font-family); pointer-events: none; }

  #view-table, #view-explain {
    flex: 1; min-height: 0; overflow: auto; padding: 4px 12px 12px;
    color: hsl(var(--color-neutral)); font: 14px/1.45 var(--font-family); overflow-wrap: anywhere;
  }
  #view-table p { margin: 8px 0; }
  #view-table table { width: 100%; border-collapse: collapse; }
  #view-table { container-type: inline-size; }
  #view-table td > div { max-width: 24ch; overflow-wrap: break-word; } /* a column is as wide as its longest word, or this */
  #view-table :is(th, td) { padding: 5px 8px 5px 0; border-bottom: 1px solid hsla(var(--color-neutral), .15); text-align: start; vertical-align: top; }
  #view-table th { font-weight: 600; overflow-wrap: normal; }
  #view-table td { }
  #view-table .failure > tr { background: hsla(350, 90%, 50%, .08); }
  #view-table .failure > tr:first-child > td:first-child { box-shadow: inset 3px 0 var(--failure); }
  #view-table :is(th, td):first-child { padding-inline-start: 8px; }
  #view-table .failure [data-column=outcome], .errors strong, #view-explain .failure { color: var(--failure); font-weight: 600; }
  #view-table .success [data-column=outcome] { color: var(--success); }
  #view-table td.null { font-style: italic; }
  #view-table button { padding: 2px 8px; border: 1px solid; border-radius: 4px; background: none; color: inherit; font: inherit; cursor: pointer; }
  #view-table .new > tr { animation: arrived 4s; }
  @keyframes arrived { from { background: hsla(var(--color-primary), .25); } }
  @media (prefers-reduced-motion: reduce) { #view-table .new > tr { animation: none; } }
  .errors { margin: 8px 0; padding: 0; list-style: none; }
  .errors li { margin: 8px 0; padding: 4px 0 4px 10px; border-left: 3px solid var(--failure); }
  .graphiql-response pre { margin: 4px 0; font: 13px/1.4 var(--font-family-mono); white-space: pre-wrap; }
  #view-explain h2 { margin: 12px 0 4px; font-size: 15px; font-weight: 600; }
  #view-explain ol { margin: 0; padding-inline-start: 24px; }
  #view-explain dl { display: grid; grid-template-columns: minmax(8ch, max-content) 1fr; gap: 4px 16px; margin: 0; }
  #view-explain dt { font-family: var(--font-family-mono); font-size: 13px; }
  #view-explain dd { margin: 0; }

  /* Where a table has no room, each event is a card. */
  @container (max-width: 500px) {
    #view-table thead { position: absolute; clip-path: inset(50%); }
    #view-table tbody { display: block; padding: 6px 0; border-bottom: 1px solid hsla(var(--color-neutral), .3); }
    #view-table :is(table, tr) { display: block; }
    #view-table td { display: flex; gap: 8px; padding: 2px 8px; border: 0; }
    #view-table td[data-column]::before { content: attr(data-column); flex: 0 0 11ch; color: hsl(var(--color-neutral)); font-weight: 400; }
    #view-table td > div { max-width: none; min-width: 0; overflow-wrap: anywhere; }
  }
  @container (min-width: 600px) { #view-table time { white-space: nowrap; } }
  @media (max-width: 500px) {
    .hint { right: 64px; }
    #view-explain dl { grid-template-columns: 1fr; gap: 0; }
    #view-explain dd { margin-bottom: 6px; }
  }
`;
