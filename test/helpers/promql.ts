import { FAILURES } from '../../src/errors.ts';
import { createMetrics } from '../../src/gateway/observability/metrics.ts';
import { path } from '../../src/gateway/upstream/path.ts';

/** Metric name -> label -> values that occur in a sample. */
export type Samples = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** The text of Prometheus after every kind of event has been counted. */
export async function countEverything(): Promise<string> {
  const { observer, text } = createMetrics();
  const request = { requestId: 'r', status: 200, durationMs: 1 };
  for (const codes of Object.keys(FAILURES)) observer.onRequest({ ...request, codes });
  observer.onRequest({ ...request, operation: 'query', fields: 'audit' });
  observer.onRequest({ ...request, aborted: true });
  for (const outcome of ['2xx', '3xx', '4xx', '5xx', 'left', 'none'] as const) {
    const size = { bytes: 2, isSent: true };
    const { value } = path`/api/v1/audit`;
    const attempt = { route: 'audit', method: 'GET', isRetry: true, seconds: 1, ...size } as const;
    observer.upstream.onAttempt?.({ ...attempt, path: value, outcome });
  }
  observer.upstream.onRejected?.('audit');
  observer.login.onRefused?.('client');
  observer.onDrift(['audit.event.id']);
  return text();
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? \S+$/gm;

/** The metrics and labels in the text format of Prometheus. */
export function readSamples(text: string): Samples {
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
export function readExpression(expr: string) {
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

/** Labels that Prometheus adds to every metric. */
const TARGET = ['job', 'instance'];

/** What an expression names that does not exist: metrics, values of labels, and labels to group by. */
export function findUnknown(expr: string, samples: Samples): readonly string[] {
  const { selectors, grouping, bare } = readExpression(expr);
  const used = [...selectors, ...bare.map((name) => ({ name, matchers: [] }))];
  return used.flatMap(({ name, matchers }) => {
    const labels = samples.get(name);
    if (labels === undefined) return [name];
    const values = matchers.flatMap(({ label, values: patterns }) =>
      patterns
        .filter((text) => ![...(labels.get(label) ?? [])].some(matches(text)))
        .map((text) => `${name}: ${label}="${text}"`),
    );
    const known = [...labels.keys(), ...TARGET];
    const groups = grouping.filter((label) => !known.includes(label));
    return [...values, ...groups.map((label) => `${name}: ${label}`)];
  });
}

function matches(pattern: string): (value: string) => boolean {
  const whole = new RegExp(`^(?:${pattern})$`);
  return (value) => whole.test(value);
}
