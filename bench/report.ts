import { LOADS, type Load, PAGES } from './loads.ts';
import type { Sample } from './measure.ts';
import { PEERS, type Peer, runsLoad } from './peers.ts';
import {
  formatInteger,
  formatRatio,
  formatSpread,
  type Measurement,
  type Results,
  ratio,
  spread,
  toTable,
} from './results.ts';
import { type Limit, largestRss, TARGETS } from './targets.ts';

/** The tables of a run, in Markdown. */
export function toMarkdown(results: Results): string {
  const { machine, options, date, measurements, documentBytes } = results;
  const loads = LOADS.filter(({ name }) => measurements.some(({ load }) => load === name));
  const peers = PEERS.filter(({ name }) => measurements.some(({ peer }) => peer === name));
  return [
    `Keytrail ${machine.commit}, ${date}, ${machine.cpu}, Node ${machine.node}. Rounds: ${options.rounds}, of ${options.seconds} s each after a warm-up of 15,000 requests or ${options.warmUpSeconds} s.\n`,
    toTable([
      ['peer', ...loads.map(({ title }) => title), 'cold start, ms', 'RSS after load, MB'],
      [
        'the stub alone, sharing a core with wrk',
        ...loads.map(({ name }) => `${formatInteger(results.stub[name] ?? 0)}/s`),
        '',
        '',
      ],
      ...peers.map((peer) => overview(results, peer, loads)),
    ]),
    ...failures(results),
    ...loads.map((load) => `${load.title}:\n\n${details(measurements, load, peers)}`),
    ...pages(measurements),
    toTable([
      ['target', 'measured', 'keep', 'wanted'],
      ...TARGETS.map(({ title, measure, format, keep, wanted }) => {
        const measured = measure(results);
        const verdict = (limit: Limit | null) => {
          if (limit === null) return '';
          if (measured === null) return limit.text;
          return `${limit.text}: ${limit.isMet(measured) ? 'met' : 'not met'}`;
        };
        const text = formatSpread(measured, format) || 'not measured';
        return [title, text, verdict(keep), verdict(wanted)];
      }),
    ]),
    ...(typeof documentBytes === 'string'
      ? [`Documents were not measured: ${documentBytes}\n`]
      : []),
  ].join('\n');
}

function overview(
  { measurements }: Results,
  { name, title }: Peer,
  loads: readonly Load[],
): readonly string[] {
  const coldStart = spread(measurements, name, 'small', ({ coldStartMs }) => coldStartMs);
  const rss = largestRss(measurements, name);
  const rate = ({ name: load }: Load) => {
    const runs = measurements.filter((one) => one.peer === name && one.load === load);
    const own = spread(measurements, name, load, (sample) => sample.requestsPerSecond);
    if (own === null) return runs.length > 0 ? 'failed' : '';
    const relative = name === 'l0' ? null : ratio(measurements, name, 'l0', load);
    return relative === null
      ? `${formatInteger(own.median)}/s = 1.00`
      : formatSpread(relative, formatRatio);
  };
  return [
    title,
    ...loads.map(rate),
    coldStart === null ? '' : formatInteger(coldStart.median),
    rss === null ? '' : formatInteger(rss.median / 2 ** 20),
  ];
}

function details(measurements: readonly Measurement[], load: Load, peers: readonly Peer[]): string {
  const columns: readonly (readonly [string, (sample: Sample) => number | null])[] = [
    ['requests/s', (sample) => sample.requestsPerSecond],
    ['CPU µs per request', (sample) => sample.cpuMicros],
    ['p50 µs', (sample) => sample.p50Micros],
    ['p99 µs', (sample) => sample.p99Micros],
    ...(load.name === 'small'
      ? [['one connection µs', (sample: Sample) => sample.oneConnectionMicros] as const]
      : []),
  ];
  return toTable([
    ['peer', ...columns.map(([title]) => title)],
    ...peers
      .filter((peer) => runsLoad(peer, load))
      .map(({ name, title }) => [
        title,
        ...columns.map(([, of]) =>
          formatSpread(spread(measurements, name, load.name, of), formatInteger),
        ),
      ]),
  ]);
}

/** Keytrail's CPU time for `first: 50` by the length of the trail. */
function pages(measurements: readonly Measurement[]): readonly string[] {
  const rows = [...LOADS, ...PAGES]
    .filter(({ name, first }) => first === 50 && measurements.some(({ load }) => load === name))
    .toSorted((a, b) => a.records - b.records)
    .map(({ name, records }) => [
      formatInteger(records),
      formatSpread(
        spread(measurements, 'keytrail', name, ({ cpuMicros }) => cpuMicros),
        formatInteger,
      ),
    ]);
  return rows.length < 2
    ? []
    : [`Keytrail, \`first: 50\`:\n\n${toTable([['records', 'CPU µs per request'], ...rows])}`];
}

function failures({ measurements, skipped }: Results): readonly string[] {
  const titleOf = (name: string) => PEERS.find((peer) => peer.name === name)?.title ?? name;
  const failed = measurements.flatMap(({ peer, load, sample }) =>
    typeof sample === 'string' ? `${titleOf(peer)} failed in ${load}: ${sample}\n` : [],
  );
  const absent = Object.entries(skipped).map(
    ([peer, reason]) => `${titleOf(peer)} was skipped: ${reason}\n`,
  );
  return [...new Set([...failed, ...absent])];
}

/** A table of two peers in Markdown: the first relative to the second. */
export function toComparison(
  measurements: readonly Measurement[],
  loads: readonly Load[],
  [peer, other]: readonly [string, string],
): string {
  return toTable([
    ['load', 'requests/s', 'CPU µs per request'],
    ...loads.map(({ name, title }) => [
      title,
      formatSpread(ratio(measurements, peer, other, name), formatRatio) || 'failed',
      formatSpread(
        ratio(measurements, peer, other, name, ({ cpuMicros }) => cpuMicros),
        formatRatio,
      ),
    ]),
  ]);
}

const WIDTH = 760;
const LABEL = 270;
const BAR = 16;
const HEAD = 34;

/** A bar chart for each load in SVG: requests per second relative to L0. */
export function toSvg({ measurements }: Results): string {
  const charts: string[] = [];
  let top = 10;
  for (const load of LOADS) {
    const bars = PEERS.flatMap(({ name, title }) => {
      const value = ratio(measurements, name, 'l0', load.name)?.median;
      const fill = name === 'keytrail' ? '#c2410c' : '#94a3b8';
      return value === undefined ? [] : { title, value, fill };
    });
    if (bars.length === 0) continue;
    const scale = (WIDTH - LABEL - 60) / Math.max(...bars.map(({ value }) => value));
    const rows = bars.map(({ title, value, fill }, index) => {
      const y = top + HEAD + index * (BAR + 4);
      const width = Math.max(1, Math.round(value * scale));
      return `<text x="${LABEL - 8}" y="${y + 12}" text-anchor="end">${title}</text>
<rect x="${LABEL}" y="${y}" width="${width}" height="${BAR}" fill="${fill}"/>
<text x="${LABEL + width + 6}" y="${y + 12}">${value.toFixed(2)}</text>`;
    });
    charts.push(
      `<text x="10" y="${top + 20}" font-weight="bold">${load.title}, requests per second relative to L0</text>`,
      ...rows,
    );
    top += HEAD + bars.length * (BAR + 4) + 10;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${charts.join('\n')}
</svg>
`;
}
