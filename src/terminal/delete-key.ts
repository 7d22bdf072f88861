import { setImmediate } from 'node:timers/promises';
import { OperationError, type ResultError } from '../client/errors.ts';
import { wasNotDone } from '../client/login-failure.ts';
import { DeleteApiKeyDocument } from '../client/operations.generated.ts';
import { formatInstant } from '../gateway/mapping/time.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { untilStopped } from '../util/running-process.ts';
import { instantOf } from './audit.ts';
import type { CommandLine } from './command-line.ts';
import { describeFailure } from './describe-failure.ts';
import { findActiveKeys } from './find-active-keys.ts';
import { openSession } from './open-session.ts';
import { ask } from './prompt.ts';
import { readKeyIds, STDIN } from './read-key-ids.ts';
import { reportFailure } from './report-failure.ts';
import type { RequestLog } from './request-log.ts';
import type { CommandRuntime } from './runtime.ts';
import { createServiceWait, refusalOfMutation, type WaitingSession } from './wait-for-service.ts';

/** The exit status of an outcome. Any other is the code of a failure that deleted nothing: 3. See `EXIT_STATUS`. */
const STATUS: ReadonlyMap<string, number> = new Map([
  ['DELETED', 0],
  ['ACCEPTED', 0],
  ['NOT_FOUND', 0],
  ['WOULD_DELETE', 0],
  ['SKIPPED_ACTIVE', 1],
  ['NOT_TRIED', 1],
  ['OUTCOME_UNKNOWN', 4],
  ['UNAUTHENTICATED', 6],
]);

/** Outcomes that say nothing about the other keys. After any other, none is tried. */
const OF_ONE_KEY: ReadonlySet<string> = new Set([
  ...['DELETED', 'ACCEPTED', 'NOT_FOUND', 'WOULD_DELETE', 'SKIPPED_ACTIVE'],
  ...['FORBIDDEN', 'CONFLICT', 'BAD_USER_INPUT'],
]);

/** What became of a key, and why if that is not clear. */
type Line = readonly [outcome: string, reason?: string | undefined];

/**
 * Runs `keytrail delete-key`: deletes one key after the other, and prints a line for each.
 * @returns the exit status: the highest of those of the outcomes. That of the signal, if one ended it.
 * @throws ConfigError for invalid options, OperationError if the trail cannot be read, PromptClosed if nothing is typed.
 */
export async function deleteKey(
  runtime: CommandRuntime,
  commandLine: CommandLine,
): Promise<number> {
  const { yes, from, operands, 'dry-run': isDry, 'keep-going': keepsGoing } = commandLine;
  const { stderr, stopping } = runtime;
  const now = runtime.now();
  const since = instantOf(commandLine['unless-active-since'], now);
  const isOfInput = from.includes(STDIN);
  const mayAsk = runtime.stdin.isTTY === true && !isOfInput;
  const isUnasked = !mayAsk && !yes && !isDry;
  const given = isUnasked ? from.filter((file) => file !== STDIN) : from;
  const { ids, problems: ofIds } = await readKeyIds(runtime, { operands, from: given });
  if (stopping.aborted) return 128 + Number(stopping.reason);
  const why = isOfInput ? 'standard input has the IDs' : 'there is no terminal to ask at';
  const hasNone = ids.length === 0 && given.length === from.length;
  const problems = [
    ...ofIds,
    ...(hasNone ? ['delete-key needs an ID, or --from FILE with one per line.'] : []),
    ...(isUnasked ? [`--yes is required: ${why}.`] : []),
    ...(since !== null && since >= now.toISOString()
      ? ['--unless-active-since must be a time in the past.']
      : []),
  ];
  await using opened = await openSession(
    runtime,
    { ...commandLine, problems: [...commandLine.problems, ...problems] },
    'delete-key',
  );
  const session = { ...opened, wait: createServiceWait(runtime, 'delete-key') };
  if (!yes && !isDry) {
    await setImmediate(); // a signal that has arrived is seen before the prompt
    const isConfirmed = !stopping.aborted && (await confirm(runtime, ids));
    if (stopping.aborted) return 128 + Number(stopping.reason);
    if (!isConfirmed) {
      stderr.write('keytrail delete-key: what was typed differs: no key was deleted.\n');
      return 1;
    }
  }
  // After the prompt: a person may take minutes, and the key may act meanwhile.
  const whyActive =
    since === null
      ? () => undefined
      : await Promise.race([
          findActiveKeys(session, formatInstant(since), stopping),
          untilStopped(runtime).then(() => () => undefined), // then no key is tried
        ]);
  let status = 0;
  let isStopped = false;
  /** @throws the error if it is a bug. */
  const stop = (error: unknown) => {
    const own = reportFailure(runtime, commandLine, error);
    if (own === undefined) throw error;
    status = Math.max(status, own);
    isStopped = true;
  };
  const decide = async (id: string): Promise<Line> => {
    if (isStopped || stopping.aborted) return ['NOT_TRIED'];
    const active = whyActive(id);
    if (active !== undefined) return ['SKIPPED_ACTIVE', active];
    if (isDry) return ['WOULD_DELETE'];
    return sendDeletion(session, id, runtime.requests).catch((error) => {
      stop(error); // of the login, or before anything was sent
      return ['NOT_TRIED'];
    });
  };
  let { write } = runtime.openOutput();
  for (const id of ids) {
    await setImmediate(); // a signal that has arrived is seen before the next deletion
    const [outcome, reason] = await decide(id);
    status = Math.max(status, STATUS.get(outcome) ?? 3);
    isStopped ||= !OF_ONE_KEY.has(outcome) && !(keepsGoing && outcome === 'OUTCOME_UNKNOWN');
    const line = [outcome, id, ...(reason === undefined ? [] : [reason])];
    const text = `${line.map(escapeUnprintable).join('\t')}\n`;
    await write(text).catch((error) => {
      stop(error); // no key is deleted of which nobody would know
      write = async (rest) => void stderr.write(rest);
      return write(text);
    });
  }
  return stopping.aborted ? 128 + Number(stopping.reason) : status;
}

/** Returns false also once the process should shut down. */
async function confirm(
  { stdin, stderr, stopping }: CommandRuntime,
  ids: readonly string[],
): Promise<boolean> {
  const shown = ids.map(escapeUnprintable);
  const isOne = shown.length === 1;
  const expected = isOne ? shown.join() : String(shown.length);
  if (!isOne) stderr.write(shown.map((id) => `  ${id}\n`).join(''));
  const keys = isOne ? 'this key' : `these ${shown.length} keys`;
  const question = `Type ${expected} to delete ${keys}: `;
  const typed = await ask(stdin, stderr, question, stopping).catch((error) => {
    if (stopping.aborted) return null;
    throw error;
  });
  return typed?.trim() === expected;
}

/** @throws the error of a login, or of a request that was not sent. */
async function sendDeletion(
  session: WaitingSession,
  clientId: string,
  requests: RequestLog,
): Promise<Line> {
  try {
    const request = () => session.request(DeleteApiKeyDocument, { clientId });
    const { data, errors } = await session.wait.repeat(request, refusalOfMutation);
    if (data?.deleteApiKey?.outcome) return [data.deleteApiKey.outcome];
    const error = errors?.find((each) => !deletedNothing(each)) ?? errors?.[0];
    return toLine(error ?? { message: 'The response has no outcome.' }, requests);
  } catch (error) {
    // A login that fails with another code, such as NOT_FOUND, says nothing about the key.
    const isOfKey = (code = '') => code === 'UNAUTHENTICATED' || code === 'OUTCOME_UNKNOWN';
    if (error instanceof OperationError && isOfKey(error.extensions.code))
      return toLine(error, requests);
    throw error;
  }
}

function toLine(error: ResultError, requests: RequestLog): Line {
  const { extensions: { code: given } = {} } = error;
  const code = given !== undefined && deletedNothing(error) ? given : 'OUTCOME_UNKNOWN';
  const needsSecret = error instanceof OperationError && error.needsSecret;
  const failure = new OperationError(
    { ...error, message: error.message, extensions: { ...error.extensions, code } },
    { needsSecret, cause: error },
  );
  return [code, describeFailure(failure, requests)?.message];
}

/** Whether the service refused the deletion, or it was never sent. An error below the field says that it was carried out. */
function deletedNothing(error: ResultError): boolean {
  const { path = [], extensions: { reason = '' } = {} } = error;
  const isSaid = reason === 'REDIRECT' || reason === 'SAYS_IT_FAILED';
  return path.length <= 1 && (isSaid || wasNotDone(error));
}
