/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** Shows a result in the views of the tab that requested it. `isPayload`: one of several, of a subscription. */
export type ShowResult = (result: unknown, isPayload?: boolean) => void;

/** Shows the responses of GraphiQL's tabs also as tables and as explanations. */
export type ResponseViews = {
  /** Forgets the response of the active tab, and returns what shows its next one. */
  readonly begin: () => ShowResult;
};

/**
 * Adds the views *Table* and *Explain* to GraphiQL's response, which is the view *JSON*. The page contains the source of
 * this function, so it uses nothing from outside of it.
 *
 * A table is any list of objects in the data, with the selected fields as columns, so aliases and nested lists have
 * theirs. The names and texts of a service are only ever text nodes. The table of a subscription has its newest row on
 * top, and keeps 500.
 */
export function createResponseViews(root: HTMLElement, firstTab: string) {
  type View = 'json' | 'table' | 'explain';
  type Views = {
    readonly table: HTMLElement;
    readonly explain: HTMLElement;
    readonly tables: Map<string, Table>;
  };
  type Table = {
    readonly caption: HTMLElement;
    readonly table: HTMLTableElement;
    readonly columns: readonly string[];
    received: number;
  };
  type Row = Readonly<Record<string, unknown>>;
  type List = { readonly path: string; readonly rows: readonly Row[]; readonly parent: Row };
  const MOST_ROWS = 500;

  const isObject = (value: unknown): value is Row =>
    typeof value === 'object' && value !== null && !Array.isArray(value);

  /** Creates an element. Texts become text nodes. */
  const make = <Name extends keyof HTMLElementTagNameMap>(
    name: Name,
    attributes: Readonly<Record<string, string>> = {},
    ...children: readonly (Node | string)[]
  ) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  const toText = (value: unknown): string => {
    if (Array.isArray(value)) return value.map(toText).join(', ');
    return isObject(value) ? Object.values(value).map(toText).join(' · ') : String(value);
  };

  /** An instant in the time zone of the browser. */
  const makeTime = (instant: string) => {
    const date = new Date(instant);
    const text = date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
    return make('time', { datetime: instant, title: instant }, text);
  };

  /** A value of a cell. `bdi`: the direction of one name changes no other. */
  const makeValue = (value: unknown): Node[] => {
    if (isObject(value)) {
      const members = Object.values(value).map((each) => make('bdi', {}, toText(each)));
      return members.flatMap((member, index) =>
        index === 0 ? [member] : [make('span', {}, ' · '), member],
      );
    }
    const isInstant =
      typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*Z$/.test(value);
    return [isInstant ? makeTime(value) : make('bdi', {}, toText(value))];
  };

  /** Makes the rows of one event: its fields, and the record below them. */
  const makeEvent = (event: Row, columns: readonly string[]) => {
    const row = make('tr', { role: 'row' });
    const body = make('tbody', { role: 'rowgroup' }, row);
    const { outcome } = event;
    if (outcome === 'FAILURE' || outcome === 'SUCCESS') body.className = outcome.toLowerCase();
    for (const column of columns) {
      const value = make('div', {}, ...makeValue(event[column]));
      const cell = make('td', { role: 'cell', 'data-column': column }, value);
      if (event[column] === null) cell.className = 'null';
      row.append(cell);
    }
    if (!('raw' in event)) return body;
    const button = make('button', { type: 'button', 'aria-expanded': 'false' }, 'raw');
    const text = JSON.stringify(event['raw'], null, 2);
    const record = make('tr', { role: 'row' });
    record.append(
      make('td', { role: 'cell', colspan: String(columns.length + 1) }, make('pre', {}, text)),
    );
    record.hidden = true;
    button.addEventListener('click', () => {
      record.hidden = !record.hidden;
      button.setAttribute('aria-expanded', String(!record.hidden));
    });
    row.append(make('td', { role: 'cell', 'data-column': '' }, button));
    body.append(record);
    return body;
  };

  const makeTable = (events: readonly Row[]): Table => {
    const columns = Object.keys(events[0] ?? {}).filter((key) => key !== 'raw');
    const caption = make('p', { role: 'status' });
    const head = make('tr', { role: 'row' });
    const names = events[0] !== undefined && 'raw' in events[0] ? [...columns, 'record'] : columns;
    for (const name of names) head.append(make('th', { role: 'columnheader', scope: 'col' }, name));
    const table = make('table', { role: 'table' }, make('thead', { role: 'rowgroup' }, head));
    return { caption, table, columns, received: 0 };
  };

  /** The lists of objects in the data, without those of `raw`. Of edges, their nodes are the rows. */
  const findLists = (value: unknown, path: string, found: List[] = []): readonly List[] => {
    if (!isObject(value)) return found;
    for (const [key, each] of Object.entries(value)) {
      if (key === 'raw') continue;
      const name = path === '' ? key : `${path}.${key}`;
      if (!Array.isArray(each)) findLists(each, name, found);
      else if (each.every(isObject)) {
        const rows = each.map((item) => (isObject(item['node']) ? item['node'] : item));
        found.push({ path: name, rows, parent: value });
      }
    }
    return found;
  };

  /** The numbers and flags beside a list, such as `totalCount` and `hasNextPage`. */
  const describeSiblings = (parent: Row) =>
    [parent, ...Object.values(parent).filter(isObject)]
      .flatMap((each) => Object.entries(each))
      .filter(([, value]) => ['number', 'boolean'].includes(typeof value))
      .map(([key, value]) => `${key}: ${value}`);

  const addList = ({ path, rows, parent }: List, views: Views, isPayload: boolean) => {
    let entry = views.tables.get(path);
    if (entry === undefined || (entry.received === 0 && rows.length > 0)) {
      const made = makeTable(rows);
      if (entry === undefined) views.table.append(make('section', {}, made.caption, made.table));
      else entry.table.replaceWith(made.table);
      entry = entry === undefined ? made : { ...made, caption: entry.caption };
      views.tables.set(path, entry);
    }
    const { table, columns, caption } = entry;
    entry.received += rows.length;
    for (const event of rows) {
      const body = makeEvent(event, columns);
      if (isPayload) {
        body.classList.add('new');
        // Otherwise it is marked again when its table is shown again.
        body.addEventListener('animationend', () => body.classList.remove('new'), { once: true });
        table.tHead?.after(body);
      } else table.append(body);
    }
    while (table.tBodies.length > MOST_ROWS) table.tBodies[MOST_ROWS]?.remove();
    table.hidden = entry.received === 0;
    const shown = table.tBodies.length;
    const count =
      entry.received > shown
        ? `${isPayload ? 'the last' : 'the first'} ${shown} of ${entry.received} rows`
        : `${shown} ${shown === 1 ? 'row' : 'rows'}`;
    caption.replaceChildren(
      make('strong', {}, path),
      ` ${[count, ...describeSiblings(parent)].join(' · ')}`,
    );
  };

  const makeErrors = (errors: readonly unknown[]) => {
    const list = make('ul', { class: 'errors' });
    for (const error of errors.filter(isObject)) {
      const code = isObject(error['extensions']) ? error['extensions']['code'] : undefined;
      const item = make('li', {}, make('bdi', {}, String(error['message'])));
      if (code !== undefined) item.prepend(make('strong', {}, String(code)), ' ');
      if (Array.isArray(error['path']))
        item.append(make('small', {}, ` ${error['path'].join('.')}`));
      list.append(item);
    }
    return list;
  };

  /** The fields that an explanation has, by path: each has the pointer of its value, or why it is null. */
  const findFields = (value: unknown, path: string, found: [string, Row][] = []) => {
    if (!isObject(value)) return found;
    if ('at' in value) found.push([path, value]);
    else
      for (const [key, each] of Object.entries(value))
        findFields(each, path === '' ? key : `${path}.${key}`, found);
    return found;
  };

  const makeExplanation = (explain: Row) => {
    const { calls, ...rest } = explain;
    const list = make('ol');
    for (const call of [calls].flat().filter(isObject)) {
      const { method, path, status, ms, attempts, why, curl } = call;
      const parts = [status === undefined ? 'no response' : `HTTP ${status}`, `${ms} ms`];
      if (ms === undefined) parts.pop();
      if (typeof attempts === 'number' && attempts > 1) parts.push(`${attempts} attempts`);
      if (why !== undefined) parts.push(String(why));
      const item = make('li', {}, make('code', {}, `${method} ${path}`), ` ${parts.join(' · ')}`);
      if (typeof status !== 'number' || status >= 400) item.className = 'failure';
      if (typeof curl === 'string') item.append(make('pre', {}, curl));
      list.append(item);
    }
    const fields = findFields(rest, '').map(
      ([path, field]) => [path.replace(/^mapping\.(?:event\.)?/, ''), field] as const,
    );
    const makeFields = (title: string, kept: typeof fields, toDetails: (field: Row) => string) => {
      if (kept.length === 0) return [];
      const rows = kept.flatMap(([path, field]) => [
        make('dt', {}, path),
        make('dd', {}, toDetails(field)),
      ]);
      return [make('h2', {}, title), make('dl', {}, ...rows)];
    };
    const isNull = ([, field]: (typeof fields)[number]) => field['why'] !== undefined;
    const toSource = ({ at, style, found, by, confidence }: Row) =>
      [toText(at), style, found, by, confidence]
        .filter((each) => each !== undefined && each !== '')
        .join(' · ');
    return [
      make('h2', {}, 'Calls to the service'),
      list.childElementCount > 0 ? list : make('p', {}, 'None.'),
      ...makeFields('Null, and why', fields.filter(isNull), ({ why }) => String(why)),
      ...makeFields(
        'Read from',
        fields.filter((each) => !isNull(each)),
        toSource,
      ),
    ];
  };

  const responses = new WeakMap<Element, Views>();
  const names: Readonly<Record<View, string>> = {
    json: 'JSON',
    table: 'Table',
    explain: 'Explain',
  };
  const panels = {
    table: make('div', {
      id: 'view-table',
      role: 'tabpanel',
      'aria-labelledby': 'tab-table',
      tabindex: '0',
    }),
    explain: make('div', {
      id: 'view-explain',
      role: 'tabpanel',
      'aria-labelledby': 'tab-explain',
      tabindex: '0',
    }),
  };
  const bar = make('div', {
    class: 'views',
    role: 'tablist',
    'aria-label': 'Views of the response',
  });
  const hint = make('p', { class: 'hint' });
  let chosen: View = 'json';

  const buttons = new Map<View, HTMLButtonElement>();
  for (const view of ['json', 'table', 'explain'] as const) {
    const button = make('button', { type: 'button', role: 'tab', id: `tab-${view}` }, names[view]);
    button.setAttribute('aria-controls', view === 'json' ? 'view-json' : `view-${view}`);
    button.addEventListener('click', () => {
      chosen = view;
      update();
    });
    buttons.set(view, button);
    bar.append(button);
  }
  bar.addEventListener('keydown', (event) => {
    const shown = [...buttons.values()].filter(({ hidden }) => !hidden);
    const index = shown.findIndex((button) => button.tabIndex === 0);
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const button = shown.at(next % shown.length);
    button?.focus();
    button?.click();
  });

  const list = () => root.querySelector('.graphiql-tabs');
  const activeTab = () => list()?.querySelector('.graphiql-tab-active') ?? root;
  const titleOf = (tab: Element | null | undefined) => tab?.querySelector('button')?.title;

  const sayWhatNext = () => {
    const tab = activeTab();
    const first = [...(list()?.children ?? [])].find((each) => titleOf(each) === firstTab);
    if (first !== undefined && first !== tab && !responses.has(first))
      return `Open the tab ${firstTab} and press play: the other tabs use its token.`;
    const next = titleOf(tab.nextElementSibling);
    return `Press play to run this operation.${next === undefined ? '' : ` The next tab is ${next}.`}`;
  };

  /** GraphiQL nests two buttons in an element with the role of a tab, so screen readers skip them. It is a list of buttons. */
  const correctRoles = () => {
    list()?.removeAttribute('role');
    for (const tab of list()?.children ?? []) {
      tab.removeAttribute('role');
      tab.removeAttribute('aria-selected');
      tab.querySelector('button')?.setAttribute('aria-current', String(tab === activeTab()));
    }
  };

  /** Shows the response of the active tab in the chosen view. */
  const update = () => {
    const pane = root.querySelector<HTMLElement>('.graphiql-response');
    if (pane === null) return;
    if (bar.parentElement !== pane) {
      pane.prepend(bar, hint);
      pane.append(panels.table, panels.explain);
      pane.querySelector('.result-window')?.setAttribute('id', 'view-json');
    }
    const response = responses.get(activeTab());
    const isExplained = (response?.explain.childElementCount ?? 0) > 0;
    const view = response === undefined || (chosen === 'explain' && !isExplained) ? 'json' : chosen;
    pane.dataset['view'] = view;
    bar.hidden = response === undefined;
    hint.hidden = response !== undefined;
    hint.textContent = hint.hidden ? '' : sayWhatNext();
    for (const [each, button] of buttons) {
      button.hidden = each === 'explain' && !isExplained;
      button.setAttribute('aria-selected', String(each === view));
      button.tabIndex = each === view ? 0 : -1;
    }
    for (const name of ['table', 'explain'] as const) {
      const panel = panels[name];
      const content = response?.[name];
      panel.hidden = name !== view;
      if (content === undefined) panel.replaceChildren();
      else if (panel.firstChild !== content) panel.replaceChildren(content);
    }
  };

  const updateTabs = () => {
    correctRoles();
    activeTab().scrollIntoView({ block: 'nearest', inline: 'nearest' });
    update();
  };

  // GraphiQL's parts are there after its first rendering. From then on, only its tabs change what is shown.
  new MutationObserver((_, observer) => {
    const tabs = list();
    if (tabs === null || root.querySelector('.graphiql-response') === null) return;
    observer.disconnect();
    new MutationObserver(updateTabs).observe(tabs, {
      subtree: true,
      childList: true,
      attributeFilter: ['class', 'role', 'title'],
    });
    updateTabs();
  }).observe(root, { childList: true, subtree: true });

  const begin = (): ShowResult => {
    const views: Views = { table: make('div'), explain: make('div'), tables: new Map() };
    responses.set(activeTab(), views);
    update();
    return (result, isPayload = false) => {
      if (!isObject(result)) return;
      const { data, errors, extensions } = result;
      views.table.querySelectorAll('.errors, .note').forEach((each) => {
        each.remove();
      });
      for (const list of findLists(data, '')) addList(list, views, isPayload);
      if (Array.isArray(errors)) views.table.prepend(makeErrors(errors));
      else if (views.tables.size === 0)
        views.table.append(
          make(
            'p',
            { class: 'note' },
            'The response has no list of events. The view JSON shows it.',
          ),
        );
      const rows = [...views.tables.values()];
      if (
        rows.some(({ received }) => received > 0) &&
        views.table.querySelector('[aria-expanded]') === null
      )
        views.table.append(
          make(
            'p',
            { class: 'note' },
            'Add raw to the fields: each row then opens the record of the service.',
          ),
        );
      const explain = isObject(extensions) ? extensions['explain'] : undefined;
      views.explain.replaceChildren(...(isObject(explain) ? makeExplanation(explain) : []));
      update();
    };
  };
  return { begin } satisfies ResponseViews;
}
