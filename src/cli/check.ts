import { ConfigError } from '../config/config-error.ts';
import { GatewayError } from '../errors.ts';
import type { CommandLine } from './command-line.ts';
import { read } from './learn/responses.ts';
import { cut } from './learn/show-value.ts';
import { connect } from './live-service.ts';
import { type Comparison, compareTrails, listNewKeys, type Reading } from './recording/compare.ts';
import { openRecording, readTrail } from './recording/trail.ts';
import type { Runtime } from './runtime.ts';
import { wrap } from './wrap.ts';

const DRIFT: readonly Comparison['change'][] = ['lost', 'moved', 'format'];

/**
 * Runs `keytrail check`: reads the trail of a live service as `record` does, and prints how its mapping differs from that
 * of a recording. New keys are no drift.
 * @returns the exit status: 0 without drift, 1 with drift.
 * @throws ConfigError for invalid settings and files, GatewayError if the service is not reached or refuses.
 */
export async function check(runtime: Runtime, commandLine: CommandLine): Promise<number> {
  const { from, output } = commandLine;
  await using service = connect(runtime, commandLine, 'check');
  const [file, ...others] = from;
  if (file === undefined || others.length > 0)
    throw new ConfigError(['check needs one recording, as in --from FILE.']);
  const recording = openRecording(read(runtime, '--from', file), file);
  const recorded = await readTrail(recording, service.contract, recording.size).catch((error) => {
    throw error instanceof GatewayError ? new ConfigError([`--from: ${error.message}`]) : error;
  });
  const live = await readTrail(service, service.contract, recording.size).catch(toLostEntry);
  const entries = 'change' in live ? [live] : compareTrails(recorded, live);
  const newKeys = 'change' in live ? [] : listNewKeys(recorded, live);
  const drift = entries.filter(({ change }) => DRIFT.includes(change)).length;
  const report = { drift: drift > 0, entries, newKeys };
  const lines = output === 'json' ? [JSON.stringify(report, null, 2)] : formatTable(report, drift);
  runtime.stdout.write(`${lines.join('\n')}\n`);
  return drift > 0 ? 1 : 0;
}

/** A response without records, or with pages that repeat, is drift. Any other failure is not. */
function toLostEntry(error: unknown): Comparison {
  const reason = error instanceof GatewayError ? String(error.extensions.reason) : '';
  if (!/^(?:NO_RECORDS|PAGING_.*)$/.test(reason)) throw error;
  const entry = reason === 'NO_RECORDS' ? 'records' : 'paging';
  return { entry, change: 'lost', recorded: { at: [] }, live: { at: [] } };
}

/** Formats the comparison in at most 100 columns. */
function formatTable(
  { entries, newKeys }: Readonly<{ entries: readonly Comparison[]; newKeys: readonly string[] }>,
  drift: number,
): readonly string[] {
  const rows = entries.map(({ entry, change, recorded, live }) => [
    entry,
    change,
    describe(recorded),
    describe(live),
  ]);
  const line = ([entry = '', change = '', recorded = '', live = '']: readonly string[]) =>
    `  ${entry.padEnd(18)}${change.padEnd(8)}${cut(recorded, 34).padEnd(36)}${cut(live, 34)}`;
  const added = `New keys, which are no drift: ${newKeys.map((key) => cut(key, 60)).join(', ')}.`;
  return [
    line(['entry', 'change', 'recording', 'service now']).trimEnd(),
    ...rows.map((row) => line(row).trimEnd()),
    ...(newKeys.length > 0 ? ['', ...wrap(added, '  ')] : []),
    '',
    drift === 0 ? 'No drift.' : `Drift: ${drift} ${drift === 1 ? 'entry' : 'entries'}.`,
  ];
}

function describe({ at, as = [], found }: Reading): string {
  const count = found === undefined || at.length === 0 ? [] : [`in ${found}`];
  const parts = [at.map((pointer) => pointer || 'the top').join(', ') || '-', ...as, ...count];
  return parts.join(', ');
}
