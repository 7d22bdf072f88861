import { isUnauthenticated, OperationError, SessionLost } from '../client/errors.ts';
import { statusOf } from '../client/request.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { wrap } from '../util/wrap.ts';
import type { ClientCommand } from './open-gateway.ts';
import { PromptClosed } from './prompt.ts';
import type { Runtime } from './runtime.ts';

/**
 * Reports an expected failure of a command that sends operations to a gateway.
 * @param hasCheckpoint whether a reader of the output must get all of it: what it has got is not written again.
 * @returns its exit status; undefined for a bug.
 */
export function reportClientFailure(
  { stderr }: Pick<Runtime, 'stderr'>,
  command: ClientCommand,
  error: unknown,
  hasCheckpoint = false,
): number | undefined {
  if (error instanceof PromptClosed) return 130;
  const { code, syscall } = Object(error);
  if (code === 'EPIPE' && !hasCheckpoint) return 0; // the reader needs no more, as `head` does
  const report = (message: string) => {
    const lines = wrap(`keytrail ${command}: ${escapeUnprintable(message)}`, '  ');
    stderr.write(`${lines.join('\n')}\n`);
  };
  if (syscall === 'write' || code === 'ENOSPC') {
    const next = hasCheckpoint ? ' The next run with this checkpoint writes the rest.' : '';
    report(`The output could not be written (${code}): what was written is a part.${next}`);
    return 1;
  }
  const failure = describe(error);
  if (failure === undefined) return undefined;
  report(command !== 'login' && needsLogin(error) ? `${failure} ${LOG_IN}` : failure);
  const isUnknown =
    error instanceof SessionLost ||
    (error instanceof OperationError && error.extensions.code === 'OUTCOME_UNKNOWN');
  return isUnknown ? 4 : 3;
}

/** The message of an expected failure, with its code. */
export function describe(error: unknown): string | undefined {
  if (error instanceof SessionLost) return error.message;
  if (error instanceof OperationError) {
    const { code = '' } = error.extensions;
    return error.message.includes(code) ? error.message : `${code}: ${error.message}`;
  }
  if (error instanceof ConfigError) return error.problems.join(' ');
  const { cause, message, name } = Object(error);
  const { code, isThroughProxy } = Object(cause);
  if (statusOf(error) !== undefined) return message; // the response is not GraphQL
  if (name === 'TypeError' && typeof code === 'string')
    return isThroughProxy
      ? `The gateway could not be reached through the proxy (${code}): check --gateway, HTTPS_PROXY, HTTP_PROXY and NO_PROXY.`
      : `The gateway could not be reached (${code}): check --gateway.`;
  return undefined;
}

/** Whether no request will succeed before someone has logged in. */
const needsLogin = (error: unknown) =>
  isUnauthenticated(error) || (error instanceof OperationError && error.needsSecret);

/** What to do if no token is accepted. */
export const LOG_IN = 'Run keytrail login, or set another KEYTRAIL_TOKEN.';
