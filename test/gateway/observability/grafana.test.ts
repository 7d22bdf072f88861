import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { countEverything, findUnknown, readExpression, readSamples } from '../../helpers/promql.ts';

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
  readFileSync(new URL('../../../deploy/grafana.json', import.meta.url), 'utf8'),
);
const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');
const TARGETS = PANELS.flatMap(({ title, targets = [] }) =>
  targets.map((target) => ({ title, ...target })),
);
/** The label that Prometheus adds to every metric of a replica. */
const REPLICA = 'instance';

describe('the dashboard', async () => {
  const text = await countEverything();
  const samples = readSamples(text);

  it.each(TARGETS)(
    'queries metrics and labels that exist: $title, $expr',
    ({ expr, legendFormat }) => {
      const { selectors, grouping, bare } = readExpression(expr);
      expect(selectors).not.toEqual([]);
      expect(bare).toEqual([]);
      expect(findUnknown(expr.replaceAll(`${REPLICA}=~"$instance"`, ''), samples)).toEqual([]);
      for (const { name, matchers } of selectors) {
        expect(matchers).toContainEqual({ label: REPLICA, values: ['$instance'] });
        const labels = new Map(samples.get(name));
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
