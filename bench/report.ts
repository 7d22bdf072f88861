import { LOADS, type Load } from './loads.ts';
import { PEERS, type Peer } from './peers.ts';
import { type Results, ratio, type Spread, spread, spreadOf } from './results.ts';
import { flatness, judge, largestRss, type Reached } from './verdicts.ts';

/** The tables of a run, in Markdown. */
export function toMarkdown(results: Results): string {
  const { machine, options, date } = results;
  const loads = LOADS.filter(({ name }) => results.measurements.some(({ load }) => load === name));
  const peers = PEERS.filter(({ name }) => results.measurements.some(({ peer }) => peer === name));
  return [
    `Keytrail ${machine.commit}, ${date}, ${machine.cpu}, Node ${machine.node}. Rounds: ${options.rounds}, of ${options.seconds} s each after a warm-up of 15,000 requests or ${options.warmUpSeconds} s.`,
    toTable(
      ['peer', ...loads.map(({ title }) => title), 'cold start', 'RSS after load'],
      [
        ['the stub alone, beside wrk', ...loads.map((load) => stubCell(results, load)), '', ''],
        ...peers.map((peer) => overview(results, peer, loads)),
        ...Object.keys(results.skipped).map((name) => [
          titleOf(name),
          ...loads.map(() => 'skipped'),
          '',
          '',
        ]),
      ],
    ),
    complaints(results),
    ...loads.map((load) => `${load.title}:\n\n${details(results, load, peers)}`),
    largeTrailTable(results),
    toTable(
      ['load', 'measured', 'keep', 'wanted'],
      judge(results).map(({ title, measured, keep, wanted }) => [
        title,
        measured,
        goal(keep),
        goal(wanted),
      ]),
    ),
    ...remarks(results),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const integer = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

function overview(
  results: Results,
  { name, title }: Peer,
  loads: readonly Load[],
): readonly string[] {
  const coldStart = spread(results, name, 'small', ({ coldStartMs }) => coldStartMs);
  const rss = largestRss(results, name);
  return [
    title,
    ...loads.map((load) => rateCell(results, name, load)),
    coldStart === null ? '' : `${integer.format(coldStart.median)} ms`,
    rss === null ? '' : `${integer.format(rss / 2 ** 20)} MB`,
  ];
}

function rateCell(results: Results, name: string, { name: load }: Load): string {
  const rate = spread(results, name, load, (sample) => sample.requestsPerSecond);
  if (rate === null) return 'failed';
  const relative = ratio(results, name, 'l0', load);
  if (name === 'l0' || relative === null) return `${integer.format(rate.median)}/s = 1.00`;
  return withRange(relative, (number) => number.toFixed(2));
}

function stubCell({ stub }: Results, { name }: Load): string {
  const rate = stub[name];
  return rate === undefined ? '' : `${integer.format(rate)}/s`;
}

function details(results: Results, { name: load }: Load, peers: readonly Peer[]): string {
  const cell = (peer: string, of: Parameters<typeof spread>[3]) => {
    const found = spread(results, peer, load, of);
    return found === null ? '' : withRange(found, (number) => integer.format(number));
  };
  return toTable(
    [
      'peer',
      'requests/s',
      'CPU µs a request',
      'p50 µs',
      'p99 µs',
      ...(load === 'small' ? ['one connection µs'] : []),
    ],
    peers.map(({ name, title }) => [
      title,
      cell(name, (sample) => sample.requestsPerSecond),
      cell(name, (sample) => sample.cpuMicros),
      cell(name, (sample) => sample.p50Micros),
      cell(name, (sample) => sample.p99Micros),
      ...(load === 'small' ? [cell(name, (sample) => sample.oneConnectionMicros)] : []),
    ]),
  );
}

/** A median, with smallest and largest where there are several. */
function withRange({ min, median, max }: Spread, write: (number: number) => string): string {
  const [low, middle, high] = [write(min), write(median), write(max)];
  return low === high ? middle : `${middle} (${low} to ${high})`;
}

function range(spread: Spread | null, write: (number: number) => string): string {
  return spread === null ? '' : withRange(spread, write);
}

function complaints({ measurements, skipped }: Results): string {
  const failed = measurements.flatMap(({ peer, load, sample }) =>
    typeof sample === 'string' ? `${titleOf(peer)} failed in ${load}: ${sample}` : [],
  );
  const absent = Object.entries(skipped).map(
    ([peer, why]) => `${titleOf(peer)} is skipped: ${why}`,
  );
  return [...new Set([...failed, ...absent])].join('\n\n');
}

function remarks({ npmStartMs, documentBytes }: Results): readonly string[] {
  return [
    ...(typeof documentBytes === 'string' ? [`Documents were not measured: ${documentBytes}`] : []),
    ...(typeof npmStartMs === 'string' ? [`npm start was not measured: ${npmStartMs}`] : []),
  ];
}

function largeTrailTable(results: Results): string {
  const { largeTrails } = results;
  if (largeTrails === null) return '';
  if (typeof largeTrails === 'string') return `Large trails were not measured: ${largeTrails}`;
  const rows = [...Map.groupBy(largeTrails, ({ records }) => records)].map(([records, rounds]) => [
    integer.format(records),
    range(spreadOf(rounds.map(({ cpuMicros }) => cpuMicros)), integer.format),
  ]);
  const ratios = range(flatness(results), (number) => number.toFixed(2));
  const table = toTable(['records', 'CPU µs a request'], rows);
  return `Keytrail, first 50 of trails of growing length:\n\n${table}\n\nLargest to smallest from 1,000 records: ${ratios}`;
}

function goal({ text, isReached }: Reached): string {
  return `${text}: ${isReached === null ? 'unknown' : isReached ? 'reached' : 'not reached'}`;
}

function titleOf(name: string): string {
  return PEERS.find((peer) => peer.name === name)?.title ?? name;
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
