import { OperationError } from '../client/errors.ts';
import { createSession, type Session, type TokenStore } from '../client/session.ts';
import type { CommandLine } from './command-line.ts';
import { type ClientCommand, openGateway } from './open-gateway.ts';
import type { Runtime } from './runtime.ts';
import { openSessionFile } from './session-file.ts';

/** A session with a gateway. Disposing it closes the connections. */
export type OpenSession = AsyncDisposable &
  Pick<Session, 'request' | 'follow'> & { readonly of: string };

/**
 * Opens the session of a command: with the token in KEYTRAIL_TOKEN, or with the file of `keytrail login`, which
 * `--session` names.
 * @throws ConfigError for invalid settings, and if nobody is logged in.
 */
export async function openSession(
  runtime: Runtime,
  commandLine: CommandLine,
  command: Exclude<ClientCommand, 'login'>,
): Promise<OpenSession> {
  const gateway = openGateway(runtime, commandLine, command);
  await using stack = new AsyncDisposableStack();
  stack.use(gateway);
  const { fetch, url } = gateway;
  const { explain } = commandLine;
  const token = runtime.environment['KEYTRAIL_TOKEN']?.trim(); // of a file it has a line break at its end
  const isGiven = token !== undefined && token !== '' && commandLine.session === undefined;
  const { clientId, tokens } = isGiven
    ? { clientId: '', tokens: holdToken(token) }
    : await openSessionFile(runtime, commandLine, gateway);
  const session = createSession({ clientId, tokens, fetch, url, explain });
  const kept = stack.move();
  return { ...session, of: gateway.of, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() };
}

/** A token that cannot be renewed. */
function holdToken(accessToken: string): TokenStore {
  let isUsed = false;
  return {
    load: () => {
      if (isUsed)
        throw new OperationError({
          message: 'The token in KEYTRAIL_TOKEN was rejected: set another one.',
          extensions: { code: 'UNAUTHENTICATED' },
        });
      isUsed = true;
      return { accessToken, refreshToken: null, expiresAt: null };
    },
    save: () => {},
  };
}
