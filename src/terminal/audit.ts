import { z } from 'zod';
import type { AuditFilter } from '../client/operations.generated.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { toFileText, UTF_16 } from '../gateway/config/load.ts';
import { type PointInTime, quote } from '../gateway/config/value-types.ts';
import { formatInstant, type Instant, toInstant, ZERO_TIME } from '../gateway/mapping/time.ts';
import { digest } from '../util/digest.ts';
import type { CommandLine } from './command-line.ts';
import type { AuditEvent } from './event-fields.ts';
import { createEventKeys } from './event-keys.ts';
import { exportTrail, type Progress } from './export-trail.ts';
import { createFormat } from './format-events.ts';
import { formatExplanation } from './format-explanation.ts';
import { LocalFailure, passingCode, toUnwritten } from './local-failure.ts';
import type { HeldLock } from './lock-file.ts';
import { type OpenSession, openSession } from './open-session.ts';
import type { Output } from './output.ts';
import { readTrail, type TrailPage } from './read-trail.ts';
import { reportFailure } from './report-failure.ts';
import type { CommandRuntime } from './runtime.ts';
import { createServiceWait, type WaitingSession } from './wait-for-service.ts';

/** Events without `--limit`. */
const LIMIT = 50;

/**
 * Runs `keytrail audit`: prints the trail page by page; with `--checkpoint`, exports it from where the last run has got
 * to; with `--follow`, goes on with new events.
 * @returns the exit status: 5 if events may have been missed, 1 or 4 if it failed after some were written.
 * @throws ConfigError for invalid options, OperationError if the trail cannot be read and nothing was written.
 */
export async function audit(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { checkpoint: file, follow, limit, since, until, local } = commandLine;
  const isExport = follow || file !== undefined;
  const begin = instantOf(since, runtime.now(), local);
  const end = instantOf(until, runtime.now(), local);
  const hasEnd =
    until !== undefined || (limit ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY;
  const problems = [
    ...(isExport && hasEnd ? ['--follow and --checkpoint have no --limit and no --until.'] : []),
    ...(begin !== null && end !== null && begin >= end ? ['--since must be before --until.'] : []),
  ];
  await using opened = await openSession(
    runtime,
    { ...commandLine, problems: [...commandLine.problems, ...problems] },
    'audit',
  );
  const session = { ...opened, wait: createServiceWait(runtime, 'audit', follow) };
  const conditions = toConditions(commandLine);
  const [from, to] = [begin && formatInstant(begin), end && formatInstant(end)];
  const of = digest(JSON.stringify([session.of, conditions]));
  using lock = file === undefined ? null : lockCheckpoint(runtime, file);
  // A device, such as /dev/null, has no content.
  const saved = file === undefined || lock === null ? null : readCheckpoint(runtime, file, of);
  if (saved !== null && since !== undefined)
    throw new ConfigError([
      `--since is for the first run with a checkpoint, and ${quote(file ?? '')} goes on from where the last one has got to: remove --since, or name a new file.`,
    ]);
  const output = runtime.openOutput();
  const printed = await createPrinter(runtime, commandLine, output, session, saved?.keys ?? []);
  let isMissed = false;
  try {
    await printed.begin();
    if (isExport)
      isMissed = await exportTrail(session, runtime, {
        filter: conditions,
        progress: saved,
        since: file === undefined && since === undefined ? undefined : from,
        ...{ follow, digestOf: printed.digestOf, write: printed.write },
        save: async (progress) => {
          if (file === undefined || printed.isHolding()) return;
          if (lock?.isHeld() === false) throw new LocalFailure(toTakenOver(file));
          const content: Checkpoint = { ...progress, version: VERSION, of, keys: printed.keys() };
          await runtime
            .replaceFile(file, `${JSON.stringify(content)}\n`, runtime.createId())
            .catch((error) => {
              throw toUnsaved(file, error);
            });
        },
      });
    else
      await printTrail(
        session,
        runtime,
        { limit: limit ?? (since === undefined ? LIMIT : Number.POSITIVE_INFINITY) },
        { ...conditions, since: from, until: to },
        printed,
      );
    printed.end(runtime.stopping.aborted ? 'a part' : saved === null ? 'the trail' : 'what is new');
  } catch (error) {
    printed.end('a part');
    if (printed.count() === 0 || runtime.stopping.aborted || isLocal(error)) throw error;
    const next = file === undefined ? '' : ' Run the command again to go on.';
    const rest = `${NUMBER.format(printed.count())} events were written.${next}`;
    const status = reportFailure(runtime, { ...commandLine, rest }, error);
    if (status === undefined) throw error;
    return status === 4 || status === 6 ? status : 1;
  }
  return isMissed ? 5 : 0;
}

const NUMBER = new Intl.NumberFormat('en');

/** Whether an error is that of the output, see {@link Output}, or of the checkpoint. */
const isLocal = (error: unknown) =>
  error instanceof LocalFailure || typeof Object(error).syscall === 'string';

async function printTrail(
  session: WaitingSession,
  { stopping, stderr }: CommandRuntime,
  { limit }: { readonly limit: number },
  filter: AuditFilter,
  printed: Printer,
): Promise<void> {
  const options = { filter, after: null, limit, withRaw: printed.needsRaw };
  for await (const page of readTrail(session, options)) {
    await printed.write(page.events, page);
    if (stopping.aborted) return;
    if (printed.count() === limit && page.hasNext && stderr.isTTY)
      stderr.write(`There are more than ${limit} events: --limit all prints all of them.\n`);
  }
}

function toConditions({ actor, target, action, outcome }: CommandLine): AuditFilter {
  return {
    ...{ actor: actor ?? null, target: target ?? null, actions: action ?? null },
    outcome: outcome === undefined ? null : outcome === 'success' ? 'SUCCESS' : 'FAILURE',
  };
}

/** The instant of an option; null without one. Before the year 2, it is the zero time. Days are of UTC, or of this machine's zone. */
export function instantOf(
  given: PointInTime | undefined,
  now: Date,
  isLocal = false,
): Instant | null {
  if (given === undefined) return null;
  if ('instant' in given) return given.instant;
  if ('daysAgo' in given) return toInstant(startOfDay(now, given.daysAgo, isLocal)) ?? ZERO_TIME;
  return toInstant(now.getTime() - given.agoMs) ?? ZERO_TIME;
}

function startOfDay(now: Date, daysAgo: number, isLocal: boolean): number {
  return isLocal
    ? new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime()
    : Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - daysAgo);
}

type Printer = Awaited<ReturnType<typeof createPrinter>>;

/** Prints events to stdout, and what people need to stderr. */
async function createPrinter(
  { stderr }: CommandRuntime,
  commandLine: CommandLine,
  output: Output,
  { identityOf }: OpenSession,
  before: readonly string[],
) {
  const { fields, raw: withRaw, local: isLocal, explain } = commandLine;
  const name = commandLine.output ?? (output.isTerminal ? 'table' : 'ndjson');
  const format = await createFormat(
    { output: name === 'json' ? 'ndjson' : name, fields, withRaw, isLocal },
    output,
  );
  const keys = createEventKeys(before, identityOf);
  const isExport = commandLine.follow || commandLine.checkpoint !== undefined;
  const { since, until } = commandLine;
  const conditions = { ...toConditions(commandLine), since, until };
  const isFiltered = Object.values(conditions).some((value) => value != null);
  const showsRaw = withRaw || fields?.some((field) => field === 'key' || field === 'raw') === true;
  const needsRaw = name !== 'table' || showsRaw || isExport;
  const showsProgress = stderr.isTTY === true && !output.isTerminal;
  const unread = new Map<string, number>();
  let count = 0;
  let isExplained = !explain;
  let isFirst = true;
  // A table is read from its end: what was there before the new events comes oldest first.
  const isReversed = name === 'table' && commandLine.follow;
  let held: readonly AuditEvent[] = [];
  const print = async (events: readonly AuditEvent[]) => {
    if (events.length === 0) return;
    for (const event of events)
      for (const field of IN_EVERY_RECORD)
        if (event[field] === null) unread.set(field, (unread.get(field) ?? 0) + 1);
    const keyed = events.map((event) => (needsRaw ? keys.add(event) : { key: '', ...event }));
    await output.write(format.format(keyed));
    const leftOut = isFirst ? (format.leftOut?.() ?? []) : [];
    isFirst = false;
    if (leftOut.length > 0 && stderr.isTTY)
      stderr.write(`Left out for lack of room: ${leftOut.join(', ')}. --fields chooses columns.\n`);
    count += events.length;
    if (showsProgress) stderr.write(`\r${count} events`);
  };
  return {
    needsRaw,
    digestOf: keys.digestOf,
    keys: keys.last,
    count: () => count,
    begin: async () => {
      if (output.before === 'a part of a line') await output.write('\n');
      const isAppended = output.before !== 'nothing' && commandLine.checkpoint !== undefined;
      if (!isAppended && format.header !== '') await output.write(format.header);
    },
    write: async (events: readonly AuditEvent[], page?: TrailPage) => {
      if (!isExplained && page !== undefined) {
        isExplained = true;
        stderr.write(formatExplanation(page.explanation));
      }
      const backlog = page === undefined ? held : [...held, ...events];
      const ascent = compareEnds(backlog);
      held = isReversed && page?.hasNext === true && ascent <= 0 ? backlog : [];
      if (held.length > 0) return;
      await print(isReversed && ascent < 0 ? backlog.toReversed() : backlog);
      if (page === undefined) await print(events);
    },
    /** Whether events were given to `write` that are not written yet. */
    isHolding: () => held.length > 0,
    /** Says what is known after `read` was read to its end, and nothing after a part. */
    end: (read: 'the trail' | 'what is new' | 'a part') => {
      if (showsProgress && count > 0) stderr.write('\n');
      if (read === 'a part') return;
      const isAll = read === 'the trail';
      if (count === 0 && output.isTerminal && stderr.isTTY)
        stderr.write(isAll ? 'No events.\n' : 'No new events.\n');
      else if (count === 0 && isAll && isFiltered)
        stderr.write('keytrail audit: No event matches the filter.\n');
      if (stderr.isTTY !== true) return;
      for (const [field, number] of unread)
        stderr.write(
          `${field} cannot be read in ${number} of ${count} events: keytrail audit --explain shows why.\n`,
        );
      const isToldOf = (column: string) =>
        unread.get(column === 'time' ? 'occurredAt' : column) === count;
      const empty = (format.empty?.() ?? []).filter((column) => !isToldOf(column));
      if (empty.length > 0)
        stderr.write(
          `No event has a value for ${empty.join(', ')}: keytrail audit --explain shows why.\n`,
        );
    },
  };
}

/** Negative if events begin with the newest one, positive if with the oldest one, 0 if that is not known. */
function compareEnds(events: readonly AuditEvent[]): number {
  const times = events.flatMap(({ occurredAt }) => occurredAt ?? []);
  const [first = '', last = ''] = [times[0], times.at(-1)];
  return Number(last > first) - Number(last < first);
}

/** Fields that a record without them is unusual for. */
const IN_EVERY_RECORD = ['occurredAt', 'action', 'actor'] as const;

/** The content of a checkpoint file. */
type Checkpoint = Progress & {
  readonly version: number;
  /** Digest of the service and the filter. */
  readonly of: string;
  /** The keys of the last events. */
  readonly keys: readonly string[];
};

const VERSION = 1;

const CHECKPOINT: z.ZodType<Checkpoint> = z.object({
  ...{ version: z.literal(VERSION), of: z.string(), keys: z.array(z.string()) },
  ...{ since: z.string().nullable(), checkpoint: z.string().nullable() },
  ...{ recent: z.array(z.string()), overlap: z.array(z.string()) },
  ascent: z.number().optional(), // not in files of earlier versions
  walk: z
    .object({
      ...{ cursor: z.string().nullable(), known: z.array(z.string()), found: z.number() },
      before: z.array(z.string()).optional(), // not in files of earlier versions
    })
    .nullable(),
});

/**
 * Takes the lock of a checkpoint: two runs at once would write the same events. Null for anything but a regular file.
 * @throws LocalFailure if another run has it, ConfigError for a name that leads to no file.
 */
function lockCheckpoint({ lockFile, stderr }: CommandRuntime, file: string): HeldLock | null {
  const name = `--checkpoint ${quote(file)}`;
  let lock: ReturnType<typeof lockFile>;
  try {
    lock = lockFile(file);
  } catch (error) {
    throw toUnsaved(file, error);
  }
  if (lock === 'unsupported') {
    stderr.write(
      `keytrail audit: The folder of ${name} takes no locks: see to it that one run at a time uses it.\n`,
    );
    return { isHeld: () => true, [Symbol.dispose]: () => {} };
  }
  if (lock === null || 'isHeld' in lock) return lock;
  const { pid, since, isElsewhere, path } = lock;
  const where = isElsewhere ? ' of another machine or container' : '';
  throw new LocalFailure(
    `${name} is in use by process ${pid}${where}, since ${since}. Two runs at once would write the same events: wait until that one has ended, or stop it. If it is no run of keytrail audit, remove ${quote(path)}.`,
  );
}

const toTakenOver = (file: string) =>
  `--checkpoint ${quote(file)} was taken over by another run while this one stood still. That one writes the rest.`;

/** @throws ConfigError if the file is no checkpoint, or one of another service or filter. */
function readCheckpoint(runtime: CommandRuntime, file: string, of: string): Checkpoint | null {
  const name = `--checkpoint ${quote(file)}`;
  let text: string | null;
  try {
    text = toFileText(runtime.readFile(file));
  } catch (error) {
    if (Object(error).code === 'ENOENT') return null;
    const code = passingCode(error);
    throw code === undefined
      ? new ConfigError([`${name} cannot be read: name a new file.`])
      : new LocalFailure(
          `${name} could not be read (${code}): check it, and run the command again.`,
        );
  }
  if (text === null) throw new ConfigError([`${name} ${UTF_16}`]);
  if (text.trim() === '') {
    // As `mktemp` creates it. It may also have been a checkpoint, which someone has emptied.
    runtime.stderr.write(`keytrail audit: ${name} is empty: this run is the first with it.\n`);
    return null;
  }
  let content: Checkpoint;
  try {
    content = Object(JSON.parse(text));
  } catch {
    throw new ConfigError([`${name} is no checkpoint: name a new file.`]);
  }
  if (content.version !== VERSION)
    throw new ConfigError([`${name} is no checkpoint of this version: name a new file.`]);
  if (!CHECKPOINT.safeParse(content).success)
    throw new ConfigError([`${name} is no checkpoint: name a new file.`]);
  if (content.of === of) return content;
  throw new ConfigError([
    `${name} is of another service, or of other filters: use those, or name a new file.`,
  ]);
}

const toUnsaved = (file: string, error: unknown) =>
  toUnwritten(
    `--checkpoint ${JSON.stringify(file)}`,
    error,
    'Name a file in a folder that exists and that you may write to, on a disk with space.',
    ' The next run goes on from there, and writes again what came after it.',
  );
