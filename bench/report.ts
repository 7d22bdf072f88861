import { LOADS, type Load, PAGES } from './loads.ts';
import { JAVASCRIPT_GATEWAYS, PEERS, type Peer, runsLoad } from './peers.ts';
import {
  byRound,
  formatInteger,
  formatMegabytes,
  formatRatio,
  formatSpread,
  type Measurement,
  type Results,
  ratio,
  type Spread,
  spread,
  spreadOf,
  toTable,
} from './results.ts';

/** The tables of a run, in Markdown. */
export function toMarkdown(results: Results): string {
  const { measurements, skipped, documentBytes } = results;
  const peers = measuredPeers(results);
  const failures = measurements.flatMap(({ peer, load, sample }) =>
    typeof sample === 'string' ? `${peer} failed in ${load}: ${sample}\n` : [],
  );
  return [
    toOverview(results),
    ...new Set(failures),
    ...Object.entries(skipped).map(([peer, reason]) => `${peer} was skipped: ${reason}\n`),
    ...measuredLoads(results).map(
      (load) => `${load.title}:\n\n${toLoadTable(measurements, load, peers)}`,
    ),
    ...toPageTable(measurements),
    toTargetTable(results),
    ...(typeof documentBytes === 'string'
      ? [`Documents were not measured: ${documentBytes}\n`]
      : []),
  ].join('\n');
}

/** How a run was made, and the table that compares all peers, in Markdown. */
export function toOverview(results: Results): string {
  const { machine, options, date, measurements, stub } = results;
  const loads = measuredLoads(results);
  const stubRates = loads.map(({ name }) => `${formatInteger(stub[name] ?? 0)}/s`);
  return [
    `Keytrail ${machine.commit}, ${date}, ${machine.cpu}, Node ${machine.node}. Rounds: ${options.rounds}, of ${options.seconds} s each after a warm-up of 15,000 requests or ${options.warmUpSeconds} s.\n`,
    toTable([
      ['peer', ...loads.map(({ title }) => title), 'cold start, ms', 'RSS after load, MB'],
      ['the stub alone, sharing a core with wrk', ...stubRates, '', ''],
      ...measuredPeers(results).map((peer) => toOverviewRow(measurements, peer, loads)),
    ]),
  ].join('\n');
}

function measuredLoads({ measurements }: Results): readonly Load[] {
  return LOADS.filter(({ name }) => measurements.some(({ load }) => load === name));
}

function measuredPeers({ measurements }: Results): readonly Peer[] {
  return PEERS.filter(({ name }) => measurements.some(({ peer }) => peer === name));
}

function toOverviewRow(
  measurements: readonly Measurement[],
  { name, title }: Peer,
  loads: readonly Load[],
): readonly string[] {
  const rates = loads.map(({ name: load }) => {
    const own = spread(measurements, name, load, 'requestsPerSecond');
    if (own === null)
      return measurements.some((one) => one.peer === name && one.load === load) ? 'failed' : '';
    const relative = name === 'l0' ? null : ratio(measurements, name, 'l0', load);
    return formatSpread(relative, formatRatio) || `${formatInteger(own.median)}/s = 1.00`;
  });
  return [
    title,
    ...rates,
    formatFigure(measurements, name, 'small', 'coldStartMs'),
    formatSpread(largestRss(measurements, name), formatMegabytes),
  ];
}

function toLoadTable(
  measurements: readonly Measurement[],
  load: Load,
  peers: readonly Peer[],
): string {
  const columns = [
    ['requests/s', 'requestsPerSecond'],
    ['CPU µs per request', 'cpuMicros'],
    ['p50 µs', 'p50Micros'],
    ['p99 µs', 'p99Micros'],
    ...(load.name === 'small' ? ([['one connection µs', 'oneConnectionMicros']] as const) : []),
  ] as const;
  return toTable([
    ['peer', ...columns.map(([title]) => title)],
    ...peers
      .filter((peer) => runsLoad(peer, load))
      .map(({ name, title }) => [
        title,
        ...columns.map(([, figure]) => formatFigure(measurements, name, load.name, figure)),
      ]),
  ]);
}

function formatFigure(...of: Parameters<typeof spread>): string {
  return formatSpread(spread(...of), formatInteger);
}

/** Keytrail's CPU time for `first: 50` by the length of the trail. */
function toPageTable(measurements: readonly Measurement[]): readonly string[] {
  const rows = [...LOADS, ...PAGES]
    .filter(({ name, first }) => first === 50 && measurements.some(({ load }) => load === name))
    .toSorted((a, b) => a.records - b.records)
    .map(({ name, records }) => [
      formatInteger(records),
      formatFigure(measurements, 'keytrail', name, 'cpuMicros'),
    ]);
  const table = toTable([['records', 'CPU µs per request'], ...rows]);
  return rows.length < 2 ? [] : [`Keytrail, \`first: 50\`:\n\n${table}`];
}

/** A limit of a figure; null if there is none. */
type Limit = { readonly text: string; readonly isMet: (spread: Spread) => boolean } | null;

/**
 * Keytrail's figures with what must hold (keep) and the goal (wanted), in Markdown. For orientation: absolute ratios
 * vary by machine.
 */
function toTargetTable({ measurements, documentBytes }: Results): string {
  const rate = (peer: string, load: string) => ratio(measurements, 'keytrail', peer, load);
  const fastest = (load: string) => toFastest(measurements, load);
  const coldStart = (peer: string) => spread(measurements, peer, 'small', 'coldStartMs');
  const rss = largestRss(measurements, 'keytrail');
  const growth = typeof documentBytes === 'number' ? spreadOf([documentBytes]) : null;
  const gateway = 'of the fastest other JavaScript gateway';
  const eachRound: Limit = { text: '1 in every round', isMet: ({ min }) => min >= 1 };
  const int = formatInteger;
  const mb = formatMegabytes;
  const rows: readonly (readonly [string, Spread | null, Limit, Limit, typeof int?])[] = [
    ['10 records, of L0', rate('l0', 'small'), atLeast(0.45), null],
    ['10 records, of L2', rate('l2', 'small'), null, atLeast(0.9)],
    [`10 records, ${gateway}`, fastest('small'), atLeast(1), eachRound],
    ['1,000 records with escapes, of L1', rate('l1', 'thousand'), atLeast(0.6), atLeast(0.85)],
    [`1,000 records with escapes, ${gateway}`, fastest('thousand'), atLeast(1), null],
    ['first 50 of 20,000, of L0', rate('l0', 'page'), atLeast(15), atLeast(17)],
    ['delete, of L0', rate('l0', 'delete'), atLeast(0.65), null],
    ['delete, of L2', rate('l2', 'delete'), null, atLeast(0.85)],
    ['cold start of the image, ms', coldStart('keytrail'), atMost(330), atMost(300), int],
    ['cold start of `npm start`, ms', coldStart('npm-start'), atMost(800), atMost(500), int],
    ['memory after load, image, MB', rss, atMost(250, 2 ** 20), atMost(180, 2 ** 20), mb],
    [
      'heap after 5,000 distinct documents of 3 KB, growth in MB',
      ...([growth, atMost(64, 2 ** 20), atMost(30, 2 ** 20), mb] as const),
    ],
    [
      'CPU of `first: 50` over 1,000 to 100,000 records, largest to smallest',
      ...([pageFlatness(measurements), atMost(1.3), atMost(1.15)] as const),
    ],
  ];
  return toTable([
    ['target', 'measured', 'keep', 'wanted'],
    ...rows.map(([title, measured, keep, wanted, format = formatRatio]) => [
      title,
      formatSpread(measured, format) || 'not measured',
      ...[keep, wanted].map((limit) => {
        if (limit === null || measured === null) return limit?.text ?? '';
        return `${limit.text}: ${limit.isMet(measured) ? 'met' : 'not met'}`;
      }),
    ]),
  ]);
}

function atLeast(limit: number): Limit {
  return { text: `${limit}`, isMet: ({ median }) => median >= limit };
}

function atMost(limit: number, unit = 1): Limit {
  return { text: `at most ${limit}`, isMet: ({ median }) => median <= limit * unit };
}

/** The smallest ratio to any other JavaScript gateway; null unless all were measured. */
function toFastest(measurements: readonly Measurement[], load: string): Spread | null {
  const ratios = JAVASCRIPT_GATEWAYS.map((name) => ratio(measurements, 'keytrail', name, load));
  const known = ratios.filter((one) => one !== null);
  if (known.length < ratios.length) return null;
  const least = (of: keyof Spread) => Math.min(...known.map((one) => one[of]));
  return { min: least('min'), median: least('median'), max: least('max') };
}

/** Resident memory after the load with the largest median, in bytes. */
function largestRss(measurements: readonly Measurement[], peer: string): Spread | null {
  return LOADS.map(({ name }) => spread(measurements, peer, name, 'rssBytes')).reduce(
    (largest, one) => ((one?.median ?? 0) > (largest?.median ?? 0) ? one : largest),
  );
}

/**
 * Largest to smallest CPU time per request of `first: 50` over trails of which Keytrail reads a prefix, by round. The
 * body of a shorter trail is read whole, for half the CPU time. Null unless all were measured.
 */
function pageFlatness(measurements: readonly Measurement[]): Spread | null {
  const [first = new Map<number, number>(), ...others] = [...LOADS, ...PAGES]
    .filter(({ first, records }) => first === 50 && records >= 1000)
    .map(({ name }) => byRound(measurements, 'keytrail', name, 'cpuMicros'));
  return spreadOf(
    [...first].flatMap(([round, micros]) => {
      const known = others.flatMap((each) => each.get(round) ?? []);
      if (known.length < others.length) return [];
      return Math.max(micros, ...known) / Math.min(micros, ...known);
    }),
  );
}

/** A table in Markdown: the peer `this`, without and with a contract, relative to `other`. */
export function toComparison(measurements: readonly Measurement[], loads: readonly Load[]): string {
  return toTable([
    ['load', 'contract', 'requests/s', 'CPU µs per request'],
    ...loads.flatMap(({ name, title }) =>
      (['this', 'contract'] as const).map((peer) => [
        ...[title, peer === 'this' ? 'none' : 'of `learn`'],
        formatSpread(ratio(measurements, peer, 'other', name), formatRatio) || 'failed',
        formatSpread(ratio(measurements, peer, 'other', name, 'cpuMicros'), formatRatio),
      ]),
    ),
  ]);
}

const WIDTH = 760;
const LABEL = 270;
const ROW = 20;

/** A bar chart for each load in SVG: requests per second relative to L0. */
export function toSvg({ measurements }: Results): string {
  const elements: string[] = [];
  let y = 10;
  for (const load of LOADS) {
    const bars = PEERS.flatMap(({ name, title }) => {
      const value = ratio(measurements, name, 'l0', load.name)?.median;
      return value === undefined ? [] : { name, title, value };
    });
    if (bars.length === 0) continue;
    const title = `${load.title}, requests per second relative to L0`;
    elements.push(`<text x="10" y="${y + 20}" font-weight="bold">${title}</text>`);
    y += 34;
    const scale = (WIDTH - LABEL - 60) / Math.max(...bars.map(({ value }) => value));
    for (const { name, title, value } of bars) {
      const width = Math.max(1, Math.round(value * scale));
      const fill = name === 'keytrail' ? '#c2410c' : '#94a3b8';
      elements.push(
        `<text x="${LABEL - 8}" y="${y + 12}" text-anchor="end">${title}</text>`,
        `<rect x="${LABEL}" y="${y}" width="${width}" height="${ROW - 4}" fill="${fill}"/>`,
        `<text x="${LABEL + width + 6}" y="${y + 12}">${value.toFixed(2)}</text>`,
      );
      y += ROW;
    }
    y += 10;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="sans-serif" font-size="12">
<title>Requests per second of each gateway, relative to L0</title>
<rect width="100%" height="100%" fill="white"/>
${elements.join('\n')}
</svg>
`;
}
