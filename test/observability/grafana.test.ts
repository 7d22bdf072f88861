import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FAILURES } from '../../src/errors.ts';
import { createMetrics } from '../../src/observability/metrics.ts';

type Target = { readonly expr: string; readonly legendFormat: string };

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly datasource?: unknown;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly Target[];
};

type Dashboard = {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[];
  };
};

const DASHBOARD: Dashboard = JSON.parse(
  readFileSync(new URL('../../deploy/grafana.json', import.meta.url), 'utf8'),
);
const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');
const TARGETS = PANELS.flatMap(({ title, targets = [] }) =>
  targets.map((target) => ({ title, ...target })),
);
/** The label that Prometheus adds to every metric of a replica. */
const REPLICA = 'instance';

/** Metric name -> label -> values that occur in a sample. */
type Samples = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** The text of Prometheus after every kind of event has been counted. */
async function countEverything(): Promise<string> {
  const { observer, text } = createMetrics();
  const request = { requestId: 'r', status: 200, durationMs: 1 };
  for (const codes of Object.keys(FAILURES)) observer.onRequest({ ...request, codes });
  observer.onRequest({ ...request, operation: 'query', fields: 'audit' });
  observer.onRequest({ ...request, aborted: true });
  for (const outcome of ['2xx', '3xx', '4xx', '5xx', 'left', 'none'] as const) {
    const size = { bytes: 2, isSent: true };
    const attempt = { route: 'audit', method: 'GET', isRetry: true, seconds: 1, ...size } as const;
    observer.upstream.onAttempt?.({ ...attempt, outcome });
  }
  observer.upstream.onRejected?.('audit');
  observer.login.onRefused?.('client');
  observer.onDrift(['audit.event.id']);
  return text();
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? \S+$/gm;

function readSamples(text: string): Samples {
  const samples = new Map<string, Map<string, Set<string>>>();
  for (const [, name = '', labels = ''] of text.matchAll(SAMPLE)) {
    const known = samples.get(name) ?? new Map<string, Set<string>>();
    samples.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  }
  return samples;
}

const SELECTOR = /([a-zA-Z_:][\w:]*)\{((?:[^{}"]|"(?:[^"\\]|\\.)*")*)\}/g;
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g;
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const RANGE = /\[[^\]]*\]/g;
/** Any other name that is neither a function nor a keyword of PromQL: a metric without a selector. */
const BARE = /\b(?!(?:or|and|unless|bool|offset)\b)[a-zA-Z_:][\w:]*\b(?!\s*\()/g;

/** The metrics and labels of a PromQL expression. */
function readExpression(expr: string) {
  const selectors = [...expr.matchAll(SELECTOR)].map(([, name = '', inBraces = '']) => ({
    name,
    matchers: [...inBraces.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
      label,
      values: operator.includes('~') ? value.split('|') : [value],
    })),
  }));
  const grouping = [...expr.matchAll(GROUPING)].flatMap(([, labels = '']) =>
    labels.split(',').map((label) => label.trim()),
  );
  const rest = [SELECTOR, GROUPING, RANGE].reduce((left, part) => left.replaceAll(part, ' '), expr);
  return { selectors, grouping, bare: rest.match(BARE) ?? [] };
}

describe('the dashboard', async () => {
  const text = await countEverything();
  const samples = readSamples(text);

  it.each(TARGETS)(
    'queries metrics and labels that exist: $title, $expr',
    ({ expr, legendFormat }) => {
      const { selectors, grouping, bare } = readExpression(expr);
      expect(selectors).not.toEqual([]);
      expect(bare).toEqual([]);
      for (const { name, matchers } of selectors) {
        expect([...samples.keys()]).toContain(name);
        const labels = new Map(samples.get(name));
        expect(matchers).toContainEqual({ label: REPLICA, values: ['$instance'] });
        for (const { label, values } of matchers.filter((matcher) => matcher.label !== REPLICA)) {
          for (const value of values) {
            const pattern = new RegExp(`^(?:${value})$`);
            const known = [...(labels.get(label) ?? [])];
            expect(
              known.filter((one) => pattern.test(one)),
              `${label}: ${value}`,
            ).not.toEqual([]);
          }
        }
        expect([...labels.keys(), REPLICA]).toEqual(expect.arrayContaining(grouping));
        const inLegend = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        const remaining = grouping.length > 0 ? grouping : [...labels.keys(), REPLICA];
        expect(remaining).toEqual(expect.arrayContaining(inLegend));
      }
    },
  );

  it('shows every metric of Keytrail', () => {
    const families = [...text.matchAll(/^# TYPE (keytrail_\w+) (\w+)$/gm)].map(
      ([, name = '', type]) => (type === 'histogram' ? `${name}_bucket` : name),
    );
    expect(families.length).toBeGreaterThan(10);
    const shown = TARGETS.flatMap(({ expr }) => readExpression(expr).selectors);
    expect(shown.map(({ name }) => name)).toEqual(expect.arrayContaining(families));
  });

  it.each(PANELS)('describes what a panel shows, and its unit: $title', (panel) => {
    expect(panel.title).toMatch(/\S/);
    expect(panel.description).toMatch(/^[A-Z].*; .*\bwhen .+\.$/);
    const uid = expect.stringMatching(/^\$\{datasource\}$/);
    expect(panel.datasource).toEqual({ type: 'prometheus', uid });
    expect(panel.fieldConfig?.defaults.unit).toMatch(/\S/);
    expect(panel.targets).not.toEqual([]);
  });

  it('has no overlapping panels', () => {
    const cells = DASHBOARD.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from(
        { length: w * h },
        (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`,
      ),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of DASHBOARD.panels)
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    expect(new Set(DASHBOARD.panels.map(({ id }) => id)).size).toBe(DASHBOARD.panels.length);
  });

  it('has variables for the data source and the replicas, and no fixed ones', () => {
    const queries = DASHBOARD.templating.list.map(({ name, query }) => [name, query]);
    expect(queries).toEqual([
      ['datasource', 'prometheus'],
      [REPLICA, expect.stringMatching(/^label_values\((\w+), instance\)$/)],
    ]);
    const [, [, query = ''] = []] = queries;
    expect([...samples.keys()]).toContain(/\((\w+),/.exec(query)?.[1]);
    expect(Object.keys(DASHBOARD)).not.toContain('id');
    expect(DASHBOARD).toMatchObject({ uid: 'keytrail' });
  });
});
