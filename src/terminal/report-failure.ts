import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { wrap } from '../util/wrap.ts';
import type { CommandLine } from './command-line.ts';
import { describeFailure, type Failure } from './describe-failure.ts';
import type { ExitStatus } from './exit-status.ts';
import { PromptClosed } from './prompt.ts';
import type { CommandRuntime } from './runtime.ts';

/** How a failure is reported. */
type ReportOptions = Pick<CommandLine, 'command' | 'errors' | 'output' | 'checkpoint'> & {
  /** A sentence that follows, such as how much was written. */
  readonly rest?: string;
};

/**
 * Reports an expected failure of a command on stderr: sentences, or one line of JSON.
 * @returns its exit status; undefined for a bug.
 */
export function reportFailure(
  { stderr, requests }: Pick<CommandRuntime, 'stderr' | 'requests'>,
  { command = 'serve', rest, checkpoint, ...options }: ReportOptions,
  error: unknown,
): ExitStatus | undefined {
  if (error instanceof PromptClosed) return 130;
  const hasCheckpoint = checkpoint !== undefined;
  const { code } = Object(error);
  if (code === 'EPIPE' && !hasCheckpoint) return 0; // the reader needs no more, as `head` does
  const failure = describeSystemFailure(error, hasCheckpoint) ?? describeFailure(error, requests);
  if (failure === undefined) return undefined;
  const sentences = [failure.message, rest].filter(Boolean).join(' ');
  if (isJson({ command, ...options })) {
    const { exit, ...facts } = failure;
    stderr.write(`${JSON.stringify({ command, ...facts, message: sentences })}\n`);
  } else {
    const lines = wrap(`keytrail ${command}: ${escapeUnprintable(sentences)}`, '  ');
    stderr.write(`${lines.join('\n')}\n`);
  }
  return failure.exit;
}

/** Whether errors are lines of JSON: with `--errors json`, and where programs read the events. */
export function isJson({
  command,
  errors,
  output,
}: Pick<CommandLine, 'command' | 'errors' | 'output'>): boolean {
  return errors === 'json' || (command === 'audit' && output !== undefined && output !== 'table');
}

/**
 * An error of the system: of the output or, if it has a path, of that file; undefined for any other error. What a command
 * knows of a file is said where it is used.
 */
function describeSystemFailure(error: unknown, hasCheckpoint: boolean): Failure | undefined {
  const { code, syscall, path } = Object(error);
  if (typeof code !== 'string' || typeof syscall !== 'string') return undefined;
  const next = hasCheckpoint ? ' The next run with this checkpoint writes the rest.' : '';
  const message =
    path === undefined
      ? `The output could not be written (${code}): what was written is a part.${next}`
      : `${JSON.stringify(path)} could not be used (${code}, ${syscall}). Check its disk and its permissions.`;
  return {
    ...{ code: 'LOCAL_FAILURE', retryable: true, retryAfterSeconds: null, status: null },
    ...{ method: null, path: null, requestId: null, exit: 1, message },
  };
}
