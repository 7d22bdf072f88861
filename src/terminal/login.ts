import { OperationError } from '../client/errors.ts';
import { createSession, type TokenStore, type Tokens } from '../client/session.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import type { CommandLine } from './command-line.ts';
import { openGateway } from './open-gateway.ts';
import { readSecret } from './prompt.ts';
import type { CommandRuntime } from './runtime.ts';
import { openSessionFile } from './session-file.ts';

/**
 * Runs `keytrail login`: renews the login that is saved. Without one, and if its refresh token is refused, it logs in with
 * a secret from a prompt or standard input.
 * Prints to stderr until when it lasts, and no token.
 * @throws ConfigError for invalid settings, OperationError if the login is refused, SessionLost if its outcome is unknown.
 */
export async function login(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { stdin, stderr } = runtime;
  const [clientId] = commandLine.operands;
  await using gateway = await openGateway(runtime, commandLine, 'login');
  const { path, tokens } = await openSessionFile(runtime, commandLine, gateway, clientId);
  let current: Tokens | null = await tokens.load();
  const save = async (next: Tokens) => {
    await tokens.save(next);
    current = next;
  };
  const open = (clientSecret: string | undefined, { load }: Pick<TokenStore, 'load'>) =>
    createSession({
      ...{ clientId: clientId ?? '', clientSecret, fetch: gateway.fetch, url: gateway.url },
      tokens: { ...tokens, save, load },
      onWarning: (message) => void stderr.write(`keytrail: ${message}\n`),
    });
  const logIn = async (refusal?: OperationError) => {
    const secret = await readSecret(stdin, stderr);
    if (secret === '')
      throw refusal ?? new ConfigError(['The client secret is empty: nothing was sent.']);
    await open(secret, { load: () => null }).token();
    return '';
  };
  const renew = async () => {
    await open(undefined, tokens).token(current?.accessToken);
    return ', with the saved refresh token';
  };
  const how =
    current?.refreshToken == null
      ? await logIn()
      : await renew().catch((error) => {
          if (!(error instanceof OperationError && error.needsSecret)) throw error;
          const { code } = error.extensions;
          // Says why it asks. A secret that is piped in is expected to be needed.
          if (stdin.isTTY)
            stderr.write(
              `keytrail: The saved refresh token is not accepted (${code}): ${SECRET}\n`,
            );
          return logIn(error);
        });
  const until = current?.expiresAt ? ` until ${current.expiresAt}` : '';
  stderr.write(`Logged in as ${clientId}${until}${how}. The tokens are in ${path}.\n`);
  return 0;
}

const SECRET = 'this login needs the client secret.';
