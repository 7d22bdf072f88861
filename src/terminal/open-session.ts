import { createSession, type Session, type TokenStore } from '../client/session.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { isBearerHeader } from '../util/bearer-token.ts';
import type { CommandLine } from './command-line.ts';
import { type ClientCommand, type OpenGateway, openGateway } from './open-gateway.ts';
import type { CommandRuntime } from './runtime.ts';
import { openSessionFile } from './session-file.ts';

/** A session with a gateway. Disposing it closes the connections. */
export type OpenSession = AsyncDisposable &
  Pick<Session, 'request' | 'follow' | 'token'> &
  Pick<OpenGateway, 'of' | 'identityOf' | 'order'> &
  Pick<TokenStore, 'load'>;

/**
 * Opens the session of a command: with the token in KEYTRAIL_TOKEN, or with the file of `keytrail login`, which
 * `--session` names.
 * @throws ConfigError for invalid settings or a token that is not well-formed, and if nobody is logged in.
 */
export async function openSession(
  runtime: CommandRuntime,
  commandLine: CommandLine,
  command: Exclude<ClientCommand, 'login'>,
): Promise<OpenSession> {
  await using stack = new AsyncDisposableStack();
  const gateway = stack.use(await openGateway(runtime, commandLine, command));
  const { explain, session: file } = commandLine;
  const accessToken = runtime.environment['KEYTRAIL_TOKEN']?.trim(); // of a file it has a line break at its end
  const { clientId, tokens } =
    accessToken && file === undefined
      ? { clientId: '', tokens: hold(accessToken) }
      : await openSessionFile(runtime, commandLine, gateway);
  const onWarning = (message: string) => void runtime.stderr.write(`keytrail: ${message}\n`);
  const session = createSession({ ...gateway, clientId, tokens, explain, onWarning });
  const kept = stack.move();
  const { load } = tokens;
  return { ...gateway, ...session, load, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() };
}

/** A token that cannot be renewed. */
function hold(accessToken: string): TokenStore {
  if (!isBearerHeader(`Bearer ${accessToken}`))
    throw new ConfigError([
      'KEYTRAIL_TOKEN must be an access token, without Bearer before it, and without spaces, line breaks, commas and quotes in it.',
    ]);
  return { load: () => ({ accessToken, refreshToken: null, expiresAt: null }), save: () => {} };
}
