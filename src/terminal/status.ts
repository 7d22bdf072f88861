import { OperationError } from '../client/errors.ts';
import { AuditDocument } from '../client/operations.generated.ts';
import { loadSettings } from '../gateway/config/load.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { endpointOf } from './open-gateway.ts';
import { openSession } from './open-session.ts';
import type { CommandRuntime } from './runtime.ts';
import { describeLock, type ListedSession, listSessions } from './session-file.ts';

/**
 * Runs `keytrail status`: lists the logins that are kept, and never a token. With `--check` it reads one event of the trail,
 * which shows whether the access token of a command is accepted.
 * @throws what `openSession` and the read throw, with `--check`.
 */
export async function status(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { config } = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.status });
  const { gateway, output, check } = commandLine;
  const of = gateway === undefined ? config.UPSTREAM_URL?.href : endpointOf(gateway);
  const hasToken = Boolean(runtime.environment['KEYTRAIL_TOKEN']?.trim());
  const sessions = await listSessions(runtime, { ...commandLine, hasToken }, of);
  const { write } = runtime.openOutput();
  const now = runtime.now();
  const isAccepted = check ? await checkToken(runtime, commandLine) : null;
  if (output === 'json')
    await write(`${JSON.stringify({ sessions, hasToken, isAccepted }, null, 2)}\n`);
  else {
    const blocks = sessions.map((session) => formatSession(session, now));
    const none = of === undefined ? 'Nobody is logged in.\n' : `Nobody is logged in to ${of}.\n`;
    await write(blocks.length > 0 ? blocks.join('\n') : none);
    if (hasToken)
      await write(`\nKEYTRAIL_TOKEN is set. Without --session, it is used instead of a login.\n`);
    if (isAccepted) await write('\nThe service accepts the access token.\n');
  }
  return 0;
}

/** @throws OperationError if the token is not accepted, or if that is not known. */
async function checkToken(runtime: CommandRuntime, commandLine: CommandLine): Promise<true> {
  await using session = await openSession(runtime, commandLine, 'status');
  const { errors } = await session.request(AuditDocument, { first: 1 });
  const [error] = errors ?? [];
  if (error) throw new OperationError(error);
  return true;
}

function formatSession(session: ListedSession, now: Date): string {
  const { clientId, of, since, expiresAt, hasRefreshToken, file, isLocked, hasTokens } = session;
  const isPast = expiresAt !== null && Date.parse(expiresAt) <= now.getTime();
  const validity =
    expiresAt === null
      ? 'used until it is refused'
      : `${isPast ? 'expired at' : 'valid until'} ${expiresAt}`;
  const renewal = hasRefreshToken ? 'kept' : 'none: log in with the secret again';
  const rows = [
    ...(hasTokens
      ? [
          ['at', of ?? 'a service that this file of an earlier version does not name'],
          ['since', since ?? 'unknown'],
          ['access token', validity],
          ['refresh token', renewal],
          ['file', file],
        ]
      : isLocked
        ? []
        : [['file', `${file} is damaged: no tokens can be read from it`]]),
    ...(isLocked ? [['lock', describeLock(file)]] : []),
  ];
  const lines = rows.map(([name = '', value]) => `  ${name.padEnd(15)}${value}`);
  return `${[clientId, ...lines].map(escapeUnprintable).join('\n')}\n`;
}
