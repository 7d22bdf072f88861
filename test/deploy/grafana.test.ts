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

/** What the parser of Prometheus' own editor cannot read; Grafana's variables have been put in. */
function findMistakes(expr: string): readonly string[] {
  const sent = expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', 'a|b');
  const mistakes: string[] = [];
  parser.parse(sent).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) mistakes.push(`${sent.slice(0, from)} <here> ${sent.slice(from, to)}`);
    },
  });
  return mistakes;
}

/** Where the types of a panel's options are. */
const TYPES: Readonly<Record<string, string>> = {
  timeseries: 'timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen',
  'state-timeline': 'statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen',
};

/** The dashboard as a program over Grafana's types, in which what has a default may be left out. */
function toProgram(text: string): string {
  const own: readonly Panel[] = JSON.parse(text).panels;
  const parts = own.map(({ type, options = {}, fieldConfig }, index) => {
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
  it.each(EXPRESSIONS)('asks in PromQL: $title, $expr', ({ expr }) => {
    expect(findMistakes(expr)).toEqual([]);
    expect(findMistakes(`${expr})`)).not.toEqual([]);
  });

  it('has no field and no value that Grafana does not know', async () => {
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
