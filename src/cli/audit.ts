import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditFilter } from '../client/operations.generated.ts';
import { ConfigError } from '../config/config-error.ts';
import { type PointInTime, quote } from '../config/value-types.ts';
import { digest } from '../util/digest.ts';
import { memoizeByObject } from '../util/memoize.ts';
import type { CommandLine } from './command-line.ts';
import type { AuditEvent } from './event-fields.ts';
import { createEventKeys } from './event-keys.ts';
import { exportTrail, type Progress } from './export-trail.ts';
import { createFormat } from './format-events.ts';
import { formatExplanation } from './format-explanation.ts';
import { type OpenSession, openSession } from './open-session.ts';
import type { Output } from './output.ts';
import { readTrail, type TrailPage } from './read-trail.ts';
import type { Runtime } from './runtime.ts';

/** Events without `--limit`. */
const LIMIT = 50;

/** An error after some events were written, so that what was written is a part. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
}

/**
 * Runs `keytrail audit`: prints the trail page by page; with `--checkpoint`, exports it from where the last run has got
 * to; with `--follow`, goes on with new events.
 * @returns the exit status: 5 if events may have been missed.
 * @throws ConfigError for invalid options, OperationError if the trail cannot be read, BrokenOff if some was written.
 */
export async function audit(runtime: Runtime, commandLine: CommandLine): Promise<number> {
  const { checkpoint: file, follow, limit, since, until } = commandLine;
  const isExport = follow || file !== undefined;
  const problems = [
    ...(isExport && until !== undefined
      ? ['--until has an end: use it without --follow and --checkpoint.']
      : []),
    ...(isExport && limit !== undefined && limit !== Number.POSITIVE_INFINITY
      ? ['--limit has an end: use it without --follow and --checkpoint.']
      : []),
  ];
  await using session = await openSession(
    runtime,
    { ...commandLine, problems: [...commandLine.problems, ...problems] },
    'audit',
  );
  const conditions = toConditions(commandLine);
  const instant = toInstant(since, runtime.now());
  const of = digest(JSON.stringify([session.of, conditions]));
  const progress = file === undefined ? null : readProgress(runtime, file, of);
  const output = runtime.openOutput();
  const printed = await createPrinter(runtime, commandLine, output, progress?.recent ?? []);
  let isMissed = false;
  try {
    await printed.begin();
    if (isExport)
      await exportTrail(session, {
        filter: conditions,
        progress: progress ?? { of, since: instant },
        follow,
        isWhole: file !== undefined || since !== undefined,
        digestOf: printed.digestOf,
        write: printed.write,
        save: (next) => saveProgress(runtime, file, next),
        onMissed: () => {
          isMissed = true;
          runtime.stderr.write(`keytrail audit: ${MISSED}\n`);
        },
        onRetry: (_, delayMs) => {
          const seconds = Math.ceil(delayMs / 1000);
          runtime.stderr.write(`keytrail audit: the stream ended. Next attempt in ${seconds} s.\n`);
        },
        pause: (ms) => sleep(ms, undefined, { signal: runtime.stopping }).catch(() => {}),
        now: runtime.now,
        signal: runtime.stopping,
      });
    else
      await printTrail(session, runtime, commandLine, { ...conditions, since: instant }, printed);
  } catch (error) {
    if (printed.count() === 0 || isOfOutput(error)) throw error;
    throw new BrokenOff(`${printed.count()} events were written, and the rest failed.`, {
      cause: error,
    });
  } finally {
    printed.end();
  }
  return isMissed ? 5 : 0;
}

const MISSED =
  'events may have been missed: none of the last events that were written was found again. If this comes at every run, a member of the records differs in each response: set `audit.identity` in the contract (KEYTRAIL_CONTRACT).';

/** Whether an error is that of a write, see {@link Output}. */
const isOfOutput = (error: unknown) => Object(error).syscall === 'write';

async function printTrail(
  session: OpenSession,
  { stopping, now }: Runtime,
  commandLine: CommandLine,
  conditions: AuditFilter,
  printed: Printer,
): Promise<void> {
  const { limit, since, until } = commandLine;
  const filter = { ...conditions, until: toInstant(until, now()) };
  const all = since === undefined ? LIMIT : Number.POSITIVE_INFINITY;
  const pages = readTrail(session, {
    ...{ filter, after: null, limit: limit ?? all, withRaw: printed.needsRaw },
  });
  for await (const page of pages) {
    await printed.write(page.events, page);
    if (stopping.aborted) return;
  }
}

function toConditions({ actor, target, action, outcome }: CommandLine): AuditFilter {
  return {
    ...{ actor: actor ?? null, target: target ?? null, actions: action ?? null },
    outcome: outcome === undefined ? null : outcome === 'success' ? 'SUCCESS' : 'FAILURE',
  };
}

/** The instant of an option; null without one. */
export function toInstant(given: PointInTime | undefined, now: Date): string | null {
  if (given === undefined) return null;
  return 'instant' in given ? given.instant : new Date(now.getTime() - given.agoMs).toISOString();
}

type Printer = Awaited<ReturnType<typeof createPrinter>>;

/** Prints events to stdout, and what people need to stderr. */
async function createPrinter(
  { stderr }: Runtime,
  commandLine: CommandLine,
  output: Output,
  before: readonly string[],
) {
  const { fields, raw: withRaw, local: isLocal, explain } = commandLine;
  const name = commandLine.output ?? (output.isTerminal ? 'table' : 'ndjson');
  const format = await createFormat(
    { output: name === 'json' ? 'ndjson' : name, fields, withRaw, isLocal },
    output,
  );
  const keys = createEventKeys(before);
  const digestOf = memoizeByObject(keys.digestOf);
  const isExport = commandLine.follow || commandLine.checkpoint !== undefined;
  const showsRaw = withRaw || fields?.some((field) => field === 'key' || field === 'raw') === true;
  const needsRaw = name !== 'table' || showsRaw || isExport;
  const showsProgress = stderr.isTTY === true && !output.isTerminal;
  const unread = new Map<string, number>();
  let count = 0;
  let isExplained = !explain;
  return {
    needsRaw,
    digestOf,
    count: () => count,
    begin: async () => {
      if (output.before === 'a part of a line') await output.write('\n');
      if (output.before === 'nothing' && format.header !== '') await output.write(format.header);
    },
    write: async (events: readonly AuditEvent[], page?: TrailPage) => {
      if (!isExplained && page !== undefined) {
        isExplained = true;
        stderr.write(formatExplanation(page.explanation));
      }
      if (events.length === 0) return;
      for (const event of events)
        for (const field of IN_EVERY_RECORD)
          if (event[field] === null) unread.set(field, (unread.get(field) ?? 0) + 1);
      const keyed = events.map((event) =>
        needsRaw ? keys.add(event, digestOf(event)) : { key: '', ...event },
      );
      await output.write(format.format(keyed));
      count += events.length;
      if (showsProgress) stderr.write(`\r${count} events`);
    },
    end: () => {
      if (showsProgress && count > 0) stderr.write('\n');
      if (stderr.isTTY !== true) return;
      if (count === 0 && output.isTerminal) stderr.write('No events.\n');
      for (const [field, number] of unread)
        stderr.write(
          `${number} of ${count} events have no readable ${field}: keytrail audit --explain says why.\n`,
        );
    },
  };
}

/** Fields that a record without them is unusual for. */
const IN_EVERY_RECORD = ['occurredAt', 'action', 'actor'] as const;

/** @throws ConfigError if the file is no checkpoint, or one of another service or filter. */
function readProgress(runtime: Runtime, file: string, of: string): Progress | null {
  let text: string;
  try {
    text = runtime.readFile(file);
  } catch (error) {
    if (Object(error).code === 'ENOENT') return null;
    throw new ConfigError([`--checkpoint ${quote(file)} cannot be read.`]);
  }
  let content: Progress & { readonly version?: unknown };
  try {
    content = Object(JSON.parse(text));
  } catch {
    content = Object({});
  }
  if (content.version !== VERSION)
    throw new ConfigError([
      `--checkpoint ${quote(file)} is no checkpoint of this version: name a new file.`,
    ]);
  if (content.of === of) return content;
  throw new ConfigError([
    `--checkpoint ${quote(file)} is of another service, or of other filters: use those, or name a new file.`,
  ]);
}

const VERSION = 1;

function saveProgress(runtime: Runtime, file: string | undefined, progress: Progress): void {
  if (file === undefined) return;
  const text = `${JSON.stringify({ version: VERSION, ...progress })}\n`;
  try {
    runtime.replaceFile(file, text, runtime.createId());
  } catch {
    throw new ConfigError([
      `--checkpoint ${quote(file)} cannot be written. Name a file in a folder that exists and that you may write to, on a disk with space.`,
    ]);
  }
}
