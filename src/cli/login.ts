import { isUnauthenticated } from '../client/errors.ts';
import { createSession, type Tokens } from '../client/session.ts';
import type { CommandLine } from './command-line.ts';
import { openGateway } from './open-gateway.ts';
import { readSecret } from './prompt.ts';
import type { Runtime } from './runtime.ts';
import { createSessionFile } from './session-file.ts';

/**
 * Runs `keytrail login`: renews the login that is saved, or else logs in with a secret from a prompt or standard input.
 * Prints to stderr until when it lasts, and no token.
 * @throws ConfigError for invalid settings, OperationError if the login is refused, SessionLost if its outcome is unknown.
 */
export async function login(runtime: Runtime, commandLine: CommandLine): Promise<void> {
  const [clientId = ''] = commandLine.operands;
  await using gateway = openGateway(runtime, commandLine, 'login');
  const { fetch, url } = gateway;
  const { path, tokens } = await createSessionFile(runtime, commandLine, gateway, clientId);
  let saved: Tokens | null = await tokens.load();
  const save = async (next: Tokens) => {
    await tokens.save(next);
    saved = next;
  };
  const options = { clientId, fetch, url };
  const renew = () =>
    createSession({ ...options, tokens: { ...tokens, save } }).token(saved?.accessToken);
  const logIn = async () => {
    const clientSecret = await readSecret(runtime.stdin, runtime.stderr);
    const unsaved = { ...tokens, save, load: () => null };
    await createSession({ ...options, clientSecret, tokens: unsaved }).token();
  };
  if (saved?.refreshToken == null) await logIn();
  else
    await renew().catch((error) => {
      if (!isUnauthenticated(error)) throw error;
      return logIn();
    });
  const until = saved?.expiresAt ? ` until ${saved.expiresAt}` : '';
  runtime.stderr.write(`Logged in as ${clientId}${until}. The tokens are in ${path}.\n`);
}
