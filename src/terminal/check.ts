import { GatewayError } from '../errors.ts';
import { eventsOf, type MappedPage, readTrail } from '../gateway/api/read-trail.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { quote } from '../gateway/config/value-types.ts';
import { inferNullEntries, type NullEntry } from '../gateway/inference/null-entries.ts';
import { wrap } from '../util/wrap.ts';
import type { CommandLine } from './command-line.ts';
import { connect } from './live-service.ts';
import { openRecording } from './open-recording.ts';
import { print } from './output.ts';
import { read } from './read-responses.ts';
import { compareTrails, type Place } from './record/compare-trails.ts';
import { digestContract } from './record/har.ts';
import type { CommandRuntime } from './runtime.ts';
import { cut } from './show-value.ts';

/**
 * Runs `keytrail check`: reads the trail of a live service as `record` does, and prints how its mapping differs from that
 * of a recording. New keys are no drift.
 * @returns the exit status: 0 without drift, 1 with drift.
 * @throws ConfigError for invalid settings and files, GatewayError if the service is not reached or refuses.
 */
export async function check(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { from, output } = commandLine;
  await using service = await connect(runtime, commandLine, 'check');
  const [file, ...others] = from;
  if (file === undefined || others.length > 0)
    throw new ConfigError(['check needs one recording, as in --from FILE.']);
  const recording = openRecording(read(runtime, '--from', file), file);
  const { contract = digestContract(service.contract) } = recording; // those of earlier versions have none
  if (contract !== digestContract(service.contract))
    throw new ConfigError([
      `--from ${quote(file)} was recorded with another contract. Its ${toCount(recording.size, 'page')} would be read differently with this one: 0 records and 0 pages were compared. Set KEYTRAIL_CONTRACT to that contract, or record again.`,
    ]);
  const recorded = await readTrail(recording, service.contract, recording.size).catch((error) => {
    throw error instanceof GatewayError ? new ConfigError([`--from: ${error.message}`]) : error;
  });
  const live = readTrail(service, service.contract, recording.size);
  const { entries, newKeys, now } = await live.then(
    (pages) => ({ ...compareTrails(recorded, pages), now: pages }),
    (error) => ({ ...describeFailure(error), now: [] }),
  );
  const compared = { recording: count(recorded), service: count(now) };
  const drift = entries.filter(({ change }) => change !== 'same' && change !== 'new').length;
  const nullEntries = inferNullEntries(
    service.contract.audit?.event,
    eventsOf(now).map(({ raw }) => raw),
  );
  const report = { drift: drift > 0, compared, entries, newKeys, nullEntries };
  const text = output === 'json' ? JSON.stringify(report, null, 2) : formatTable(report, drift);
  await print(runtime, `${text}\n`);
  return drift > 0 ? 1 : 0;
}

/** A response without records, or with pages that repeat, is drift. Any other failure is not. */
function describeFailure(error: unknown): ReturnType<typeof compareTrails> {
  const reason = error instanceof GatewayError ? String(error.extensions.reason) : '';
  if (!/^(?:NO_RECORDS|PAGING_.*)$/.test(reason)) throw error;
  const entry = reason === 'NO_RECORDS' ? 'records' : 'paging';
  return { entries: [{ entry, change: 'lost', recorded: [], live: [] }], newKeys: [] };
}

const toCount = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

type Count = { readonly records: number; readonly pages: number };

const count = (pages: readonly MappedPage[]): Count => ({
  ...{ records: eventsOf(pages).length, pages: pages.length },
});

/** Formats the comparison in at most 100 columns. */
function formatTable(
  {
    entries,
    newKeys,
    nullEntries,
    compared,
  }: ReturnType<typeof compareTrails> & {
    readonly nullEntries: readonly NullEntry[];
    readonly compared: { readonly recording: Count; readonly service: Count };
  },
  drift: number,
): string {
  const show = ({ records, pages }: Count) =>
    `${toCount(records, 'record')} on ${toCount(pages, 'page')}`;
  const line = (entry: string, change: string, recorded: string, live: string) =>
    `  ${entry.padEnd(18)}${change.padEnd(8)}${cut(recorded, 34).padEnd(36)}${cut(live, 34)}`;
  const rows = entries.map(({ entry, change, recorded, live }) =>
    line(entry, change, formatPlaces(recorded), formatPlaces(live)),
  );
  const added = `New keys, which are no drift: ${newKeys.map((key) => cut(key, 60)).join(', ')}.`;
  const found = nullEntries.map(({ entry, at }) => `${entry} (${cut(at, 60)})`).join(', ');
  const omitted = `Null in the contract, though records have a field: ${found}. Remove the entry, or let it name the field.`;
  return [
    ...[line('entry', 'change', 'recording', 'service now'), ...rows].map((row) => row.trimEnd()),
    ...(newKeys.length > 0 ? ['', ...wrap(added, '  ')] : []),
    ...(nullEntries.length > 0 ? ['', ...wrap(omitted, '  ')] : []),
    '',
    `Compared: ${show(compared.recording)} of the recording, ${show(compared.service)} of the service.`,
    drift === 0 ? 'No drift.' : `Drift: ${drift} ${drift === 1 ? 'entry' : 'entries'}.`,
  ].join('\n');
}

function formatPlaces(places: readonly Place[]): string {
  const texts = places.map(({ at, as, found }) =>
    [at || 'the top', as, found && `in ${found}`].filter(Boolean).join(', '),
  );
  return texts.join(', ') || '-';
}
