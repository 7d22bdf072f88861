import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, it } from 'vitest';
import { findTypeErrors } from './types.ts';

type Panel = {
  readonly title: string;
  readonly type: string;
  readonly fieldConfig?: { readonly defaults: { readonly custom?: unknown } };
  readonly options?: unknown;
  readonly targets?: readonly { readonly expr: string }[];
};

const TEXT = readFileSync(new URL('../../deploy/grafana.json', import.meta.url), 'utf8');
const { panels }: { readonly panels: readonly Panel[] } = JSON.parse(TEXT);
const EXPRESSIONS = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

/** The syntax errors that Prometheus's own parser finds, with Grafana's variables filled in. */
function findSyntaxErrors(expr: string): readonly string[] {
  const query = expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', 'a|b');
  const errors: string[] = [];
  parser.parse(query).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) errors.push(`${query.slice(0, from)} <here> ${query.slice(from, to)}`);
    },
  });
  return errors;
}

/** The module with the types of a panel's options, by type of panel. */
const TYPES: Readonly<Record<string, string>> = {
  timeseries: 'timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen',
  'state-timeline': 'statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen',
};

/** A program that assigns the dashboard to Grafana's types. Properties with a default are optional. */
function toProgram(text: string): string {
  const ownPanels: readonly Panel[] = JSON.parse(text).panels;
  const parts = ownPanels.map(({ type, options = {}, fieldConfig }, index) => {
    if (type === 'row') return '';
    const custom = fieldConfig?.defaults.custom ?? {};
    return `import type * as t${index} from '@grafana/schema/dist/esm/raw/composable/${TYPES[type]}';
export const o${index}: Plain<t${index}.Options> = ${JSON.stringify(options)};
export const c${index}: Plain<t${index}.FieldConfig> = ${JSON.stringify(custom)};`;
  });
  return `import type { Dashboard } from '@grafana/schema';
type Plain<T> = unknown extends T ? unknown : T extends string ? \`\${T}\` : { [Key in keyof T]?: Plain<T[Key]> };
export const dashboard: Plain<Dashboard> = ${text};
${parts.join('\n')}
`;
}

describe('deploy/grafana.json', () => {
  it.each(EXPRESSIONS)('has valid PromQL: $title, $expr', ({ expr }) => {
    expect(findSyntaxErrors(expr)).toEqual([]);
    expect(findSyntaxErrors(`${expr})`)).not.toEqual([]);
  });

  it('has only fields and values that Grafana knows', async () => {
    expect(await findTypeErrors(toProgram(TEXT))).toBe('');
    const errors = await Promise.all(
      [
        ['"fieldConfig"', '"fieldconfig"'],
        ['"fillOpacity"', '"fillopacity"'],
        ['"mode": "normal"', '"mode": "stacked"'],
        ['"showValue": "auto"', '"showValue": "sometimes"'],
        ['"refresh": 2', '"refresh": 7'],
      ].map(async ([good = '', bad = '']) => findTypeErrors(toProgram(TEXT.replace(good, bad)))),
    );
    for (const error of errors) expect(error).toMatch(/error TS2(322|353|561)/);
  });
});
